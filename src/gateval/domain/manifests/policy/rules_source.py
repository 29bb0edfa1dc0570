"""Where a gate config lies that others extend."""

from __future__ import annotations

import re
from typing import Self

from gateval.domain.base import Value

_SOURCE = re.compile(r"([A-Za-z0-9._-]+/[A-Za-z0-9._-]+)/([A-Za-z0-9._/-]+)@([0-9a-f]{40})")
_EXPECTED = (
    "Write it as OWNER/REPO/path@SHA, such as acme/rules/gateval.yml@ and the 40 hexadecimal "
    "digits of a commit. Branches and tags can move, so they do not count."
)


class RulesSource(Value):
    """A gate config in another repository, at one commit: `OWNER/REPO/path@SHA`."""

    repository: str
    path: str
    commit: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Take such a text apart. Raises `ValueError` with a sentence."""
        found = _SOURCE.fullmatch(text)
        if found is None:
            raise ValueError(_EXPECTED)
        repository, path, commit = found.groups()
        steps = (*repository.split("/"), *path.split("/"))
        if any(step in {"", ".", ".."} for step in steps):
            raise ValueError(_EXPECTED)
        return cls(repository=repository, path=path, commit=commit)

    def __str__(self) -> str:
        return f"{self.repository}/{self.path}@{self.commit[:7]}"
