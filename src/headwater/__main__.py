"""`python -m headwater`: the command line."""

import sys

from headwater.cli import main

sys.exit(main())
