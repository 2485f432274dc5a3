"""`python -m iac_scenario` is `iac-scenario`."""

import sys

from iac_scenario.entry import main

sys.exit(main())
