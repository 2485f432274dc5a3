"""`python -m iac_mcp`: how a client starts the server with a Python of its choice."""

import sys

from iac_mcp.entry import main

sys.exit(main())
