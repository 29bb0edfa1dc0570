"""Regular expressions from a pull request, matched by RE2 in time linear in the text.

Linear is not enough: the factor is the size of the compiled pattern. With RE2's default of 8 MB a
pattern of 600 characters takes a minute for 200,000 characters of text; with the limit here and
`TEXT_LIMIT`, the worst one found takes about 4 seconds, and usual ones less than a millisecond.
"""

from __future__ import annotations

import functools
from typing import Any

_MEMORY_LIMIT = 512 * 1024


@functools.lru_cache(maxsize=256)
def compiled(pattern: str) -> Any:
    """Return re2's pattern object (re2 has no types). Raises ValueError with a sentence."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY_LIMIT
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        why = error.args[0]
        shown = why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)
        raise ValueError(
            f"the pattern cannot be used: {shown}; patterns are RE2's, which has no look-around "
            "and no backreferences, so that none can hang the gate"
        ) from None
