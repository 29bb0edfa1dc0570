"""Encrypts and decrypts files in the format of age (https://age-encryption.org/v1).

The library is imported only where something is sealed: few runs need it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from gateval.errors import UsageError
from gateval.ports.repository import CannotOpen, Unseal

if TYPE_CHECKING:
    from gateval.domain.plan.sealing import OwnKey

IDENTITY_VARIABLE = "GATEVAL_IDENTITY"

_KEY = re.compile(r"AGE-SECRET-KEY-1[0-9A-Za-z]+")
_NOBODYS = "No matching keys found"
_NOT_OURS = (
    f"No key in {IDENTITY_VARIABLE} opens this file: it is sealed for others. Take the key that "
    "belongs to one of `policy.recipients`, or have the file sealed again for yours."
)
_DAMAGED = (
    "This file is damaged: it was cut off or changed after it was sealed, or never was. Take it "
    "from git again, or seal it again."
)


def identities(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys in the environment, as age-keygen writes them; none if there are none.

    Raises `UsageError` when the variable is set and holds none.
    """
    text = environ.get(IDENTITY_VARIABLE, "")
    found = tuple(_KEY.findall(text))
    if text.strip() and not found:
        raise UsageError(
            f"{IDENTITY_VARIABLE} holds no key of age: it begins with AGE-SECRET-KEY-1.",
            hint="Put the text of the file there that `gateval seal --new-key` wrote.",
        )
    return found


def opener(environ: Mapping[str, str]) -> Unseal | None:
    """Return what opens sealed files with the keys in the environment; None without any.

    Raises `UsageError` for what is no key.
    """
    keys = identities(environ)
    return _opening(keys) if keys else None


@cache
def _opening(keys: tuple[str, ...]) -> Callable[[bytes], bytes]:
    import pyrage

    try:
        known = [pyrage.x25519.Identity.from_str(key) for key in keys]
    except pyrage.IdentityError:
        raise UsageError(
            f"A key in {IDENTITY_VARIABLE} is damaged: its check sum is wrong.",
            hint="Copy the whole line that begins with AGE-SECRET-KEY-1.",
        ) from None

    def opened(data: bytes) -> bytes:
        try:
            return bytes(pyrage.decrypt(data, known))
        except pyrage.DecryptError as error:
            raise CannotOpen(_NOT_OURS if str(error) == _NOBODYS else _DAMAGED) from None

    return opened


def seal(data: bytes, recipients: Iterable[str]) -> bytes:
    """Return the data encrypted for all of these (`age1…`), as a file of text.

    Raises `UsageError` for what names nobody.
    """
    import pyrage

    known: list[Any] = []
    for one in recipients:
        try:
            known.append(pyrage.x25519.Recipient.from_str(one))
        except pyrage.RecipientError:
            raise UsageError(
                f"{one[:80]!r} in `policy.recipients` is no public key of age.",
                hint="It begins with age1; `gateval seal --new-key` and age-keygen print it.",
            ) from None
    return bytes(pyrage.encrypt(data, known, armored=True))


def own_digest(environ: Mapping[str, str]) -> Callable[[str], str]:
    """Return what gives digests that only who has the first key of the environment can make.

    They end with `@` and which key that is. Without a key they are empty.
    """
    keys = identities(environ)
    return partial(keyed_digest, keys[0]) if keys else lambda _: ""


def keyed_digest(key: str, text: str) -> str:
    """Return the digest of a text that only who has this key can make."""
    from gateval.domain.forge.check_run import key_id

    secret = hashlib.sha256(f"gateval digest {key}".encode()).digest()
    digest = hmac.digest(secret, text.encode("utf-8", "surrogatepass"), "sha256")
    return f"{digest.hex()}@{key_id(key)}"


def own_key(environ: Mapping[str, str]) -> OwnKey:
    """Return what keeps texts for the gate itself, with the keys in the environment.

    Anybody can encrypt for a public key, so what is kept is signed as well.
    """
    from gateval.domain.plan.sealing import NO_KEY, OwnKey  # the plan: not where nothing is sealed

    keys = identities(environ)
    if not keys:
        return NO_KEY
    import pyrage

    own = pyrage.x25519.Identity.from_str(keys[0]).to_public()
    unseal = _opening(keys)

    def keep(text: str, about: str) -> str:
        signed = f"{keyed_digest(keys[0], _about(about, text))}\n{text}"
        data = signed.encode("utf-8", "surrogatepass")
        return base64.b64encode(bytes(pyrage.encrypt(data, [own]))).decode()

    def kept(blob: str, about: str) -> str | None:
        try:
            found = unseal(base64.b64decode(blob, validate=True)).decode("utf-8", "surrogatepass")
        except (CannotOpen, ValueError):
            return None
        digest, _, text = found.partition("\n")
        known = (keyed_digest(key, _about(about, text)) for key in keys)
        return text if any(hmac.compare_digest(digest, one) for one in known) else None

    return OwnKey(keep, kept)


def _about(about: str, text: str) -> str:
    return f"kept {about}\n{text}"


def new_identity() -> tuple[str, str]:
    """Return a new key, and the public one that belongs to it."""
    import pyrage

    made = pyrage.x25519.Identity.generate()
    return str(made), str(made.to_public())
