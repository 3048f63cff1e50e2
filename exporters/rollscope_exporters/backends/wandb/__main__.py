"""`python -m rollscope_exporters.backends.wandb`."""

import sys

from ._sync import main

sys.exit(main())
