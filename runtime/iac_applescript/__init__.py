"""Raw scripts with judgement: analyse, run, explain, and remember what works.

The parts, bottom up: tokenizers, vocabulary, the readers of both languages, analysis; beside them
the store of what worked, the table of failures, dictionary views, skills, system state; on top the
eleven tools (`tools`), each with a plan that a gate judges before anything is carried out.
"""
