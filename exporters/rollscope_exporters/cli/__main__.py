"""`python -m rollscope_exporters.cli`."""

import sys

from . import main

sys.exit(main())
