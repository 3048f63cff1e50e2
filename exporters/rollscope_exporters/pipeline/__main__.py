"""`python -m rollscope_exporters.pipeline`."""

import sys

from ._main import main

sys.exit(main())
