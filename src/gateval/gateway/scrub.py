"""Keys out of texts: whatever a provider sends back, no configured key is passed on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gateval.domain.secret_forms import secret_forms
from gateval.gateway.upstream import Upstream

MARK = "[key removed]"


class Scrubber:
    """Replaces every occurrence of the given secrets, also percent-encoded, in base64, or escaped
    as JSON may have it.

    Tried against mirrors and debugging servers, not against a provider that disguises a key on
    purpose: it has the key anyway.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        self._forms = secret_forms(secrets)
        self._byte_forms = [form.encode() for form in self._forms]

    def text(self, text: str) -> str:
        """Return `text` without secrets."""
        for form in self._forms:
            text = text.replace(form, MARK)
        return text

    def body(self, body: bytes) -> bytes:
        """Return `body` without secrets."""
        for form in self._byte_forms:
            body = body.replace(form, MARK.encode())
        return body


def scrubber_for(upstreams: Mapping[str, Upstream]) -> Scrubber:
    """Return a scrubber for all keys and proxy passwords of these upstreams."""
    values = (value for each in upstreams.values() for value in (each.key, each.proxy))
    return Scrubber(value.get_secret_value() for value in values if value is not None)
