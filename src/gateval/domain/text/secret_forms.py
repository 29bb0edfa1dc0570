"""The forms in which a secret leaks: as it is, and as programs encode it on the way.

Runners mask exact matches only. Base64 has three forms, since what stands before the secret in the
encoded text shifts it by zero, one or two bytes; of each, the characters that hold no bit of a
neighbour are taken.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

SHORTEST_SECRET = 8
"""Shorter ones are words such as `none` or `EMPTY`, which would be cut out of ordinary text."""


def secret_forms(secrets: Iterable[str]) -> tuple[str, ...]:
    """Return every form of these secrets, longest first, so that none is cut up by another.

    Of a secret of several lines, each line that is long enough counts as one too.
    """
    whole = dict.fromkeys(part for secret in secrets for part in (secret, *secret.splitlines()))
    forms = {
        form
        for secret in whole
        if len(secret) >= SHORTEST_SECRET
        for form in _forms(secret)
        if len(form) >= SHORTEST_SECRET
    }
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def _forms(secret: str) -> Iterator[str]:
    yield secret
    yield quote(secret, safe="")
    yield quote(secret)
    yield quote_plus(secret)
    for ascii_only in (True, False):
        escaped = json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
        yield escaped
        yield escaped.replace("/", "\\/")
        yield json.dumps(escaped, ensure_ascii=ascii_only)[1:-1]
    data = secret.encode("utf-8", "surrogatepass")
    yield data.hex()
    yield data.hex().upper()
    for offset in range(3):
        core = _base64_core(data, offset)
        yield core
        yield core.replace("+", "-").replace("/", "_")


def _base64_core(data: bytes, offset: int) -> str:
    """Return the base64 characters that depend on `data` alone when `offset` bytes precede it."""
    text = base64.b64encode(b"\0" * offset + data).decode().rstrip("=")
    first = -(-offset * 8 // 6)  # characters with bits of what precedes
    last = (offset + len(data)) * 8 // 6  # beyond: bits of what follows
    return text[first:last]
