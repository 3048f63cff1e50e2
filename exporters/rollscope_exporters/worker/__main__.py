"""`python -m rollscope_exporters.worker`."""

import sys

from ._command import main

sys.exit(main())
