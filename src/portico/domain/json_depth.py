"""Limit on how deeply arrays and objects of a JSON text may be nested.

Decoders recurse, some of them until the process dies, and so does the code behind them. Depth is therefore bounded
where a text enters, before or beside its decoding.
"""

import re
from itertools import accumulate

MAX_DEPTH = 128

_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_BRACKETS = b"[]{}"
_OTHERS = bytes(byte for byte in range(256) if byte not in _BRACKETS)
_STEPS = [1 if byte in b"[{" else -1 for byte in range(256)]


def is_too_deep(text: bytes) -> bool:
    """Whether a text nests deeper than `MAX_DEPTH`. It need not be proper JSON."""
    # Most messages are too short to hold that many pairs of brackets, or have fewer.
    if len(text) <= 2 * MAX_DEPTH or text.count(b"[") + text.count(b"{") <= MAX_DEPTH:
        return False
    brackets = _STRING.sub(b"", text).translate(None, _OTHERS)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > MAX_DEPTH
