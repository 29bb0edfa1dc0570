"""Takes secrets and personal data out of everything that is going to be shown, stored or
promoted.

It works on values, not on rendered text: escaping and invisible breaks would hide a secret from a
search, and cutting to a length could leave half of one. A secret that is disguised by invisible
characters, which the sanitiser would remove, is found all the same.

Personal data are found by datafog, secrets by the rules of detect-secrets; neither sends anything
anywhere. What both miss, a person has to see: the command prints what it took out and what it
writes. Equal values get equal marks, so that an answer still fits what it answers.

Secrets in texts: which variables hold them, and the forms in which they leak.

A secret leaks as it is, and as programs encode it on the way; runners mask exact matches only.
Base64 has three forms, since what stands before the secret in the encoded text shifts it by zero,
one or two bytes; of each, the characters that hold no bit of a neighbour are taken.
"""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache
from typing import Any, TypeVar, cast
from urllib.parse import quote, quote_plus, unquote

from pydantic import JsonValue

from gateval.domain.base import JsonObject, Value
from gateval.domain.trials.trial import TrialKey
from gateval.safe.sanitize import visible

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


MARK = "[secret removed]"

_ODD = re.compile(r"[^\n\r\t -~]")
"""Characters that can hide others. Most texts have none and need no closer look."""

_ODD_IN_JSON = ("\x7f", "\\u", "\\b", "\\f")
"""The same as ASCII that is JSON holds them, and some of what is none."""

_WITHOUT_TEXT = frozenset({int, float, bool, type(None)})

V = TypeVar("V", bound=Value)
T = TypeVar("T", bound=Value | TrialKey)


class Redactor:
    """Replaces every known form of the given secrets by `MARK`."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._forms = secret_forms(secrets)
        self._in_json = tuple(json.dumps(form, ensure_ascii=False)[1:-1] for form in self._forms)

    def __repr__(self) -> str:
        return f"Redactor({len(self._forms)} forms)"

    def text(self, text: str) -> str:
        """Return `text` without secrets; text without any comes back as it is."""
        if not self._forms:
            return text
        if self._holds(text):
            text = self._replace(text)
        if _ODD.search(text) is None:
            return text
        shown = visible(text)
        return self._replace(shown) if self._holds(shown) else text

    def value(self, value: T) -> T:
        """Return a value with every text in it redacted, however deep; keys of mappings too."""
        if not self._forms or (isinstance(value, Value) and self._is_clean(value)):
            return value
        return cast("T", self._walk(value))

    def _is_clean(self, value: Value) -> bool:
        """Whether its JSON shows already that no text in it is to be changed, as of most values."""
        try:
            text = value.model_dump_json(serialize_as_any=True, warnings=False)
        except ValueError:  # half of a surrogate pair
            return False
        return text.isascii() and not _holds_one((*_ODD_IN_JSON, *self._in_json), text)

    def _holds(self, text: str) -> bool:
        return _holds_one(self._forms, text)

    def _replace(self, text: str) -> str:
        for form in self._forms:
            text = text.replace(form, MARK)
        return text

    def _walk(self, part: object) -> object:
        kind = type(part)
        if kind in _WITHOUT_TEXT:
            return part
        if kind is str:
            return self.text(cast("str", part))
        if isinstance(part, Value):
            return self._fields(part)
        if is_dataclass(part) and not isinstance(part, type):
            held = {one.name: getattr(part, one.name) for one in fields(part)}
            moved = {name: new for name, one in held.items() if (new := self._walk(one)) is not one}
            return replace(part, **moved) if moved else part
        if isinstance(part, tuple | list):
            items = [self._walk(item) for item in part]
            same = all(one is other for one, other in zip(part, items, strict=True))
            return part if same else type(part)(items)
        if isinstance(part, dict):
            redacted = {self._walk(key): self._walk(item) for key, item in part.items()}
            return redacted if redacted != part else part
        if isinstance(part, str) and not isinstance(part, Enum):
            return self.text(part)
        return part

    def _fields(self, value: Value) -> Value:
        """Copy without validation: a mark in the place of a name may break the name's pattern."""
        held, moved = value.__dict__, {}
        for name in type(value).model_fields:
            part = held[name]
            redacted = self._walk(part)
            if redacted is not part:
                moved[name] = redacted
        return value.replace(**moved) if moved else value


def _holds_one(parts: Iterable[str], text: str) -> bool:
    for part in parts:  # noqa: SIM110 - a loop is quicker, and all texts come here
        if part in text:
            return True
    return False


PERSONAL = ("EMAIL", "PHONE", "SSN", "CREDIT_CARD", "IP_ADDRESS")
"""Kinds of personal data. Dates and postal codes are not among them: an order's number looks the
same."""

_SECRETS = (
    "ArtifactoryDetector", "AWSKeyDetector", "AzureStorageKeyDetector", "DiscordBotTokenDetector",
    "GitHubTokenDetector", "GitLabTokenDetector", "JwtTokenDetector", "MailchimpDetector",
    "NpmDetector", "OpenAIDetector", "PrivateKeyDetector", "PypiTokenDetector",
    "SendGridDetector", "SlackDetector", "SquareOAuthDetector", "StripeDetector",
    "TelegramBotTokenDetector", "TwilioKeyDetector",
)  # fmt: skip

_TOKEN = re.compile(r"[A-Za-z0-9_\-+/=.]{20,}")
_DIGITS = 3
_ENTROPY = 4.0
"""Bits a character from which a long word of letters and digits is taken for a key."""

_SHORTEST = 6
"""Characters of a password that is told by the word before it."""


class PersonalRedactor:
    """Replaces secrets and personal data by marks such as `[email 1]`, counted in `found`.

    `secrets` are those that the gate knows itself.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known = Redactor(secrets)
        self._marks: dict[tuple[str, str], str] = {}
        self.found: Counter[str] = Counter()

    def value(self, value: V) -> V:
        """Return a value with every text in it redacted."""
        return type(value).model_validate(self._walk(value.model_dump(mode="json")))

    def json(self, value: JsonObject) -> JsonObject:
        """Return an object with every text in it redacted, keys too."""
        return {self.text(key): self._walk(one) for key, one in value.items()}

    def text(self, text: str) -> str:
        """Return `text` without secrets and personal data."""
        text = self._known.text(text)
        for kind, part in [*_secrets(text), *_personal(text)]:
            if part in text:
                text = text.replace(part, self._mark(kind, part))
        return text

    def _mark(self, kind: str, part: str) -> str:
        number = 1 + sum(known == kind for known, _ in self._marks)
        self.found[kind] += 1
        return self._marks.setdefault((kind, part), f"[{kind} {number}]")

    def _walk(self, part: JsonValue) -> JsonValue:
        if isinstance(part, str):
            return self.text(part)
        if isinstance(part, list):
            return [self._walk(one) for one in part]
        if isinstance(part, dict):
            return {self.text(key): self._walk(one) for key, one in part.items()}
        return part


def _personal(text: str) -> Iterator[tuple[str, str]]:
    import datafog

    found = datafog.scan(text, entity_types=[*PERSONAL]).entities
    for one in sorted(found, key=lambda entity: -len(entity.text)):
        yield one.type.lower().replace("_", " "), one.text


def _secrets(text: str) -> Iterator[tuple[str, str]]:
    """Yield secrets by their known forms, then long words that look drawn by chance."""
    for detector in _detectors():
        for match in (m for pattern in detector.denylist for m in pattern.finditer(text)):
            yield "secret", _whole(text, match)
    yield from (("secret", word) for line in text.splitlines() for word in _named(line))
    for match in _TOKEN.finditer(text):
        word = match.group()
        mixed = len(re.findall(r"\d", word)) >= _DIGITS and re.search(r"[A-Za-z]", word)
        if mixed and _entropy(word) >= _ENTROPY:
            yield "secret", word


def _named(line: str) -> Iterator[str]:
    """Yield what stands behind `password:` and its like, where it looks like one."""
    from detect_secrets.plugins.keyword import KeywordDetector

    for found in KeywordDetector().analyze_line("a.cfg", line, 1):  # where values have no quotes
        word = (found.secret_value or "").split(maxsplit=1)[:1]
        yield from (w for w in word if len(w) >= _SHORTEST and re.search(r"\d", w))


def _whole(text: str, match: re.Match[str]) -> str:
    """Return the whole word around a match: some rules match only its beginning."""
    start, end = match.span()
    while start and _is_of_word(text[start - 1]):
        start -= 1
    while end < len(text) and _is_of_word(text[end]):
        end += 1
    return text[start:end]


def _is_of_word(char: str) -> bool:
    return char.isalnum() or char in "_-+/=."


@cache
def _detectors() -> tuple[Any, ...]:
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class

    classes: Iterable[Any] = get_mapping_from_secret_type_to_class().values()
    known = {one.__name__: one for one in classes}
    return tuple(known[name]() for name in _SECRETS)


def _entropy(word: str) -> float:
    """Shannon's entropy of its characters, in bits."""
    from detect_secrets.plugins.high_entropy_strings import Base64HighEntropyString

    return float(Base64HighEntropyString().calculate_shannon_entropy(word))
