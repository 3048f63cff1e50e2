"""What all records have in common."""

from __future__ import annotations

from typing import ClassVar, TypeAlias

import msgspec

Scalar: TypeAlias = bool | int | float | str
Message: TypeAlias = "dict[str, object]"
"""A chat message in OpenAI format."""


class Plain(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="record"):
    """A record, told apart from others by its tag; what is at its default is not written."""

    signal: ClassVar[str]
