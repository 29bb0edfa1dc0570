"""What a run found, as its check run keeps it: a memory that needs no `contents: write`.

What regressed, and under which policy a budget was used up. It stands in the details of a completed
check run, where only our own App can have written it. A finding is the digest of what was compared,
and two counts: no name. Those on sealed Evals are encrypted for the gate's own key, all in one text
whose size tells nothing of how many there are.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Self

from pydantic import Field

from gateval.domain.base import Value

MOST = 200
"""Findings that one check run keeps."""

_DIGITS = 32
_KEY_DIGITS = 8
_MARK = rf"[0-9a-f]{{{_DIGITS}}}(?:@[0-9a-f]{{{_KEY_DIGITS}}})?"
_COUNTS = r"\d{1,4}/\d{1,4}"
_ONE = re.compile(rf"(?P<mark>{_MARK}):(?P<base>{_COUNTS}):(?P<head>{_COUNTS})")
_ALL = re.compile(
    r"<!-- gateval:findings v1 total=(?P<total>\d{1,9})(?: spent=(?P<spent>[0-9a-f]{64}))?"
    r"(?: kept=(?P<kept>[A-Za-z0-9+/=]{1,48000}))?"
    r"(?P<listed>[0-9a-f@:/ ]*) -->"
)

Count = Annotated[int, Field(ge=0, le=1000)]
Counted = Annotated[int, Field(ge=1, le=1000)]


class RegressionFinding(Value):
    """A comparison that regressed: `mark` says which, in digests (`marks`), and how it went."""

    mark: str = Field(pattern=rf"^{_MARK}$")
    base_passes: Count
    base_trials: Counted
    head_passes: Count
    head_trials: Counted

    @property
    def key_id(self) -> str:
        """Which key its mark was made with; empty for none."""
        return self.mark.partition("@")[2]

    def __str__(self) -> str:
        base = f"{self.base_passes}/{self.base_trials}"
        return f"{self.mark}:{base}:{self.head_passes}/{self.head_trials}"


class RunFindings(Value):
    """What one run found: `total` counts all, `listed` holds the first `MOST` that have a mark.

    `spent` is the digest of the policy whose budget the run used up; empty if it used up none.
    `kept` are findings on sealed Evals, encrypted; empty where none was measured.
    """

    total: int = Field(default=0, ge=0)
    spent: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")
    listed: tuple[RegressionFinding, ...] = Field(default=(), max_length=MOST)
    kept: str = Field(default="", pattern=r"^[A-Za-z0-9+/=]*$", max_length=48_000)

    @property
    def whole(self) -> bool:
        """Whether every finding is listed."""
        return self.total <= len(self.listed)

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read what `str` gives; None for anything else, and for more than we write."""
        found = _ALL.fullmatch(text.strip())
        if found is None:
            return None
        try:
            listed = tuple(map(_finding, found["listed"].split()))
            given = {"spent": found["spent"] or "", "kept": found["kept"] or ""}
            return cls(total=int(found["total"]), listed=listed, **given)
        except ValueError:
            return None

    def __str__(self) -> str:
        listed = "".join(f" {one}" for one in self.listed)
        spent = f" spent={self.spent}" if self.spent else ""
        kept = f" kept={self.kept}" if self.kept else ""
        return f"<!-- gateval:findings v1 total={self.total}{spent}{kept}{listed} -->"


def marks(key: str) -> tuple[str, ...]:
    """Return the mark of the comparison with this digest."""
    return (key[:_DIGITS],)


def earlier_marks(key: str, secrets: Sequence[str]) -> tuple[str, ...]:
    """Return the marks that earlier versions gave a sealed comparison: one for each secret."""
    return tuple(f"{_keyed(secret, key)[:_DIGITS]}@{key_id(secret)}" for secret in secrets)


def key_id(secret: str) -> str:
    """Return what tells keys apart and gives nothing of them away."""
    return _keyed(secret, "which key")[:_KEY_DIGITS]


def unknown_keys(listed: Iterable[RegressionFinding], secrets: Sequence[str]) -> bool:
    """Whether a finding was marked with a key that is not here."""
    known = {"", *map(key_id, secrets)}
    return any(one.key_id not in known for one in listed)


def _keyed(secret: str, text: str) -> str:
    about = f"gateval finding {text}".encode()
    return hmac.new(secret.encode(), about, hashlib.sha256).hexdigest()


def _finding(written: str) -> RegressionFinding:
    found = _ONE.fullmatch(written)
    if found is None:
        raise ValueError("no finding")
    (base_passes, base_trials), (head_passes, head_trials) = (
        map(int, found[side].split("/")) for side in ("base", "head")
    )
    return RegressionFinding(
        mark=found["mark"],
        base_passes=base_passes,
        base_trials=base_trials,
        head_passes=head_passes,
        head_trials=head_trials,
    )
