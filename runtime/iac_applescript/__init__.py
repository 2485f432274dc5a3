"""Raw scripts with judgement: analyse, run, explain, and remember what works.

Bottom up: `analysis` (words, tokens, the readers of both languages); beside it the store of what
worked, the causes of failures, dictionary views, guides, system state; on top the tools: a row each
in `tools`, which leads to its function in `performing`.
"""
