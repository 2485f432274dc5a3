"""`python -m iac_runtime`: how a client starts the server with a Python of its choice."""

import sys

from iac_runtime.entry import main

sys.exit(main())
