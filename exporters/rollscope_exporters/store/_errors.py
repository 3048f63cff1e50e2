"""What can be wrong with a store.

```
StoreError
├── NoStoreError       the file is not there (yet)
└── NewerStoreError    written by a newer version of rollscope
```
"""

from __future__ import annotations


class StoreError(Exception):
    """When the store cannot be used; the message names the file, the cause and the cure."""


class NoStoreError(StoreError):
    """When a reader comes before the pipeline has made the store."""


class NewerStoreError(StoreError):
    """When the store has a layout that this version does not know."""
