"""Which environment variables hold secrets, going by their names and by what they hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import unquote

from gateval.domain.text.secret_forms import SHORTEST_SECRET

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


def too_short(environ: Mapping[str, str], names: Iterable[str]) -> tuple[str, ...]:
    """Return those of `names` whose secret, or a part of it, is too short to be taken out of texts.

    Cutting it out would cut up ordinary words, too.
    """
    return tuple(
        name
        for name in names
        if any(len(one) < SHORTEST_SECRET for one in secret_values(environ, [name]))
    )
