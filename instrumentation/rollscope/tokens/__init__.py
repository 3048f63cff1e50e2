"""token2text: ids → text with exact offsets, characters that were cut between tokens or turns made whole.

`register` writes a run's tokenizer into the node folder, `load` reads it in another process, and a `Decoder` turns
segments of ids into text.
"""

from ._deadline import TooSlowError, in_time
from ._decoder import Decoded, Decoder, TokenizerError, Undecoded
from ._load import load
from ._register import register
from .packing import pack_bits, pack_floats, pack_ids, unpack_ids

__all__ = [
    "Decoded",
    "Decoder",
    "TokenizerError",
    "TooSlowError",
    "Undecoded",
    "in_time",
    "load",
    "pack_bits",
    "pack_floats",
    "pack_ids",
    "register",
    "unpack_ids",
]
