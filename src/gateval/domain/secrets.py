"""Secrets in texts: which variables hold them, and the forms in which they leak.

A secret leaks as it is, and as programs encode it on the way; runners mask exact matches only.
Base64 has three forms, since what stands before the secret in the encoded text shifts it by zero,
one or two bytes; of each, the characters that hold no bit of a neighbour are taken.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, quote_plus, unquote

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


_NAME = re.compile(
    r"(KEYS?|TOKENS?|SECRETS?|PASS(WORD|WD|PHRASE)?|PWD|CREDENTIALS?|AUTH|COOKIES?|DSN)(_|$)"
)
_PASSWORD = re.compile(r"://[^/?#\s@]*:([^/?#\s]+)@")
"""The password of a URL (RFC 3986, userinfo)."""


def secret_values(environ: Mapping[str, str], names: Iterable[str]) -> Iterator[str]:
    """Yield what the variables in `names` hold, if a name such as `CRM_TOKEN` says that it is
    secret, or if it is a URL with a password; that alone, too, as written and decoded.
    """
    for name in names:
        value = environ.get(name, "")
        passwords = _PASSWORD.findall(value)
        if value and (passwords or _NAME.search(name.upper())):
            yield from dict.fromkeys((value, *passwords, *map(unquote, passwords)))


_PROVIDER_KEY = re.compile(r"\b(?:sk-[A-Za-z0-9_-]{16,}|AIza[0-9A-Za-z_-]{30,})")


def provider_keys(text: str) -> set[str]:
    """Return what has the form of a key of a model provider."""
    return set(_PROVIDER_KEY.findall(text))


def too_short(environ: Mapping[str, str], names: Iterable[str]) -> tuple[str, ...]:
    """Return those of `names` whose secret, or a part of it, is too short to be taken out of texts.

    Cutting it out would cut up ordinary words, too.
    """
    return tuple(
        name
        for name in names
        if any(len(one) < SHORTEST_SECRET for one in secret_values(environ, [name]))
    )
