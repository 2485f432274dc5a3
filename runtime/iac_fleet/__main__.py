"""`python -m iac_fleet`."""

import sys

from iac_fleet.entry import main

sys.exit(main())
