"""What is read of one file: what every manifest format gives."""

from __future__ import annotations

from typing import NamedTuple

from gateval.domain.manifests.catalogue import Broken
from gateval.domain.paths import Problem
from gateval.formats.base import Pending
from gateval.formats.native.cases import Template
from gateval.formats.native.written import Manifest


class Parsed(NamedTuple):
    """The content of a file: its manifests, and all its problems in order of place.

    `broken` holds what is there but cannot be used, as far as it says what it is; `templates` are
    fixtures that have to be filled in, `pending` what other files complete. With `left`, documents
    of others stand beside its own. A `locked` file is sealed, and there is no key; `salt` goes into
    the digests of what was sealed.
    """

    manifests: tuple[Manifest, ...]
    problems: tuple[Problem, ...]
    broken: tuple[Broken, ...] = ()
    templates: tuple[Template, ...] = ()
    pending: tuple[Pending, ...] = ()
    left: bool = False
    locked: bool = False
    salt: str = ""

    @property
    def empty(self) -> bool:
        """Whether nothing in it is known to be ours, well or badly written."""
        return not (self.manifests or self.templates or self.problems or self.locked)

    @property
    def nothing(self) -> bool:
        """Whether nothing of it is of the format that read it."""
        return self.empty and not self.pending

    def beside(self, other: Parsed) -> Parsed:
        """Return what two formats read in one file, each problem once."""
        return Parsed(
            (*self.manifests, *other.manifests),
            tuple(dict.fromkeys((*self.problems, *other.problems))),
            (*self.broken, *other.broken),
            (*self.templates, *other.templates),
            (*self.pending, *other.pending),
            self.left and other.nothing,
        )
