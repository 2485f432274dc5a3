"""`python -m iac_scenario` is `iac-scenario`."""

import sys

from iac_scenario.cli import main

sys.exit(main())
