"""python -m dp4sql"""

import sys

from dp4sql.cli import main

sys.exit(main())
