"""Programs that try to get out of the sandbox, or to keep it: each as a line or a few.

`CHECKED` are tried as they come, past the check of names and types too, which is no wall.
"""

from typing import Final

ATTRIBUTES: Final = (
    "().__class__.__bases__[0].__subclasses__()", "''.__class__.__mro__[-1]", "notes.__dict__",
    "notes.list.__globals__", "notes.list.__self__", "notes.list.__code__.co_consts",
    "notes.__loader__.load_module('os')", "notes.__spec__", "notes.make.__func__",
    "(lambda: 0).__closure__", "type(notes).__init__.__globals__", "type('X', (), {})()",
    "getattr(notes, '__dict__')", "setattr(notes, 'list', notes.delete)\nnotes.list('notes[0]')",
    "delattr(notes, 'list')", "vars(notes)", "dir(notes)", "object.__subclasses__()",
    "'{0.__class__.__mro__}'.format(1)", "'{0.list.__globals__}'.format(notes)",
    "f'{notes.list.__globals__}'", "str.format_map('{x.__class__}', {'x': 1})",
)  # fmt: skip
IMPORTS: Final = (
    "import os\nos.environ", "import os\nos.system('touch ESCAPED')",
    "import subprocess\nsubprocess.run(['touch', 'ESCAPED'])", "import sys\nsys.modules",
    "import socket\nsocket.create_connection(('127.0.0.1', 22))",
    "import ctypes\nctypes.CDLL(None)", "import importlib\nimportlib.import_module('os')",
    "from pathlib import Path\nPath('/etc/passwd').read_text()",
    "import pathlib\npathlib.Path('ESCAPED').write_text('x')",
    "import asyncio\nasyncio.create_subprocess_shell('touch ESCAPED')",
    "__import__('os').system('touch ESCAPED')", "__builtins__['open']('/etc/passwd')",
    "eval('__import__(\"os\").environ')", "exec('import os; os.environ')",
    "compile('1', 'x', 'eval')", "open('/etc/passwd').read()", "open('ESCAPED', 'w').write('x')",
    "import pickle\npickle.loads(b'cos\\nsystem\\n(S\"touch ESCAPED\"\\ntR.')", "input()",
)  # fmt: skip
FRAMES: Final = (
    "try:\n    1 / 0\nexcept Exception as e:\n    r = e.__traceback__.tb_frame.f_globals\nr",
    "import sys\nsys._getframe(0).f_back.f_globals",
    "def g():\n    yield 1\ng().gi_frame.f_globals", "import inspect\ninspect.stack()",
    "try:\n    raise ValueError(notes)\nexcept ValueError as e:\n    r = e.args[0].__dict__\nr",
    "raise BaseException('x')", "raise SystemExit(0)", "raise KeyboardInterrupt",
    "ValueError('as a value')", "[notes.list, notes]",
)  # fmt: skip
HUGE: Final = (
    "10 ** 10 ** 10", "1 << (1 << 40)", "'x' * 10 ** 10", "[0] * 10 ** 10",
    "x = ['y']\nwhile True:\n    x += x", "list(range(10 ** 12))",
    "def f(n):\n    return f(n + 1)\nf(0)", "x = []\nfor i in range(100000):\n    x = [x]\nx",
    "x = []\nx.append(x)\nx", "int('9' * 100000) ** 50", "'%*d' % (10 ** 9, 1)",
    "f'{1:>1000000000}'", "(" * 5000 + ")" * 5000, "while True:\n    pass",
    "try:\n    while True:\n        pass\nexcept BaseException:\n    pass\n'caught'",
    "while True:\n  try:\n    while True:\n      pass\n  except BaseException:\n    pass",
    "import time\ntime.sleep(1000)", "import re\nre.match('(a+)+$', 'a' * 40 + 'b')",
)  # fmt: skip
ESCAPES: Final = (*ATTRIBUTES, *IMPORTS, *FRAMES, *HUGE)
