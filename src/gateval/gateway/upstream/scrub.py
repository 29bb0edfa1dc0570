"""Keys out of texts: whatever a provider sends back, no configured key is passed on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from gateval.domain.text.secrets import secret_forms
from gateval.gateway.upstream.endpoints import Upstream

MARK = "[key removed]"

HEAD = 4
"""So many characters of a key may get out before a stream is held back: no more than its prefix."""


class Scrubber:
    """Replaces every occurrence of the given secrets, also percent-encoded, in base64, or escaped
    as JSON may have it.

    Tried against mirrors and debugging servers, not against a provider that disguises a key on
    purpose: it has the key anyway.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        self._forms = secret_forms(secrets)
        self._byte_forms = [form.encode() for form in self._forms]
        heads = sorted({re.escape(form[:HEAD]) for form in self._forms})
        self._heads = re.compile("|".join(heads)) if heads else None
        self.longest = max(map(len, self._forms), default=0)

    def text(self, text: str) -> str:
        """Return `text` without secrets."""
        for form in self._forms:
            text = text.replace(form, MARK)
        return text

    def holds(self, text: str) -> bool:
        """Whether a whole secret stands in `text`."""
        return any(form in text for form in self._forms)

    def may_grow(self, text: str) -> bool:
        """Whether `text` ends in the beginning of a secret, which what follows may complete."""
        if self._heads is None or self._heads.search(text) is None:
            return False
        return any(
            text.endswith(form[:length])
            for form in self._forms
            for length in range(HEAD, min(len(form), len(text) + 1))
        )

    def body(self, body: bytes) -> bytes:
        """Return `body` without secrets."""
        for form in self._byte_forms:
            body = body.replace(form, MARK.encode())
        return body


def scrubber_for(upstreams: Mapping[str, Upstream]) -> Scrubber:
    """Return a scrubber for all keys and proxy passwords of these upstreams."""
    values = (value for each in upstreams.values() for value in (each.key, each.proxy))
    return Scrubber(value.get_secret_value() for value in values if value is not None)
