"""Which lines changed in the files that Agents depend on, as far as readers are shown them.

What a sealed Eval is made of is among it in no case, even if a candidate gets it; nor is what says
what is asked. Each file is there once, however many Agents depend on it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from gateval.domain.manifests.catalogue import scripted_names
from gateval.domain.manifests.evaluation import is_sealed
from gateval.domain.paths import show_path
from gateval.domain.plan.plan import ChangeKind, FileEdit, Plan
from gateval.domain.plan.sealing import sealed_fixtures
from gateval.domain.planning.change import changed_files
from gateval.domain.planning.fixture_files import attached_paths
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.tree import TreeEntry, changed_paths

LARGEST_FILE = 256 * 1024
"""Bytes of a file that is compared line by line."""

OF_FILE, OF_AGENT, OF_RUN = 16_000, 64_000, 256_000
"""Bytes of the lines of one file, of all of an Agent's, and of all together."""

FILES = 100
"""Changed files of one Agent that are compared."""


class Edited(NamedTuple):
    """A changed file of an Agent: where it is named, its paths on head and base, None for none."""

    where: str
    head: str | None
    base: str | None

    @property
    def paths(self) -> tuple[str, ...]:
        """Where it is, and where it was."""
        return tuple(dict.fromkeys(path for path in (self.head, self.base) if path is not None))

    def entries(self, head: Snapshot, base: Snapshot) -> tuple[TreeEntry, ...]:
        """What the trees of the sides hold there that have it."""
        sides = ((head, self.head), (base, self.base))
        return tuple(side.tree[path] for side, path in sides if path and path in side.tree)


def edited_files(
    plan: Plan, head: Snapshot, base: Snapshot, tip: Snapshot | None
) -> dict[str, list[Edited]]:
    """Return the changed files whose lines readers may see, by Agent that is asked something."""
    asked = {one.agent for one in plan.evals}
    names = [
        one.agent for one in plan.changes if one.agent in asked and one.kind is ChangeKind.MODIFIED
    ]
    if not names:
        return {}
    changed = sorted(changed_paths(head.tree, base.tree))
    sides = [one for one in (head, base, tip) if one is not None]
    apart = {path for one in sides for path in _of_sealed(one)}
    found: dict[str, list[Edited]] = {}
    for name in names:
        mine = [
            one
            for one in _of_agent(name, head, base, changed)
            if not any(path in apart or is_sealed(path) or _asks(path, sides) for path in one.paths)
        ]
        found[name] = [*_rules_of(name, head, base), *mine][:FILES]
    return found


def _of_agent(
    name: str, head: Snapshot, base: Snapshot, changed: Sequence[str]
) -> Iterator[Edited]:
    ours, theirs = head.catalogue.agent(name), base.catalogue.agent(name)
    if ours is not None and theirs is not None:
        for one in changed_files(ours, theirs, head, base, changed):
            yield Edited(one.reason.where, one.head, one.base)


def _rules_of(name: str, head: Snapshot, base: Snapshot) -> Iterator[Edited]:
    """Yield the rules of scripted models that answer for an Agent, where they differ."""
    agent = head.catalogue.agent(name)
    for script in scripted_names(agent) if agent else ():
        ours, theirs = head.scripts.get(script), base.scripts.get(script)
        if ours and theirs and ours.digest != theirs.digest:
            yield Edited(show_path(ours.path), ours.path, theirs.path)


def _asks(path: str, sides: Sequence[Snapshot]) -> bool:
    """Whether a file says what is asked on one side, though `include` may give it to an Agent."""
    return any(path in one.manifest_paths or one.is_hidden(path) for one in sides)


def _of_sealed(side: Snapshot) -> Iterator[str]:
    sealed = sealed_fixtures(side.catalogue)
    for fixture in side.catalogue.fixtures:
        if fixture.name in sealed:
            yield from attached_paths(fixture)


def file_edits(
    files: Mapping[str, Sequence[Edited]], large: Collection[Edited], hunks: Mapping[str, bytes]
) -> tuple[FileEdit, ...]:
    """Return what is shown of each file, the Agents' in their order. `large` are not compared.

    Of each Agent the files with the fewest bytes come first, so that a lock file takes nothing from
    what somebody wrote; each gets what is left of the room of a file, of the Agent and of the run.
    Only whole lines are kept: a half could show half of a secret.
    """
    found: dict[str, FileEdit] = {}
    left = OF_RUN
    for mine in files.values():
        room = OF_AGENT
        whole = [edit for one in mine if (edit := _whole(one, large, hunks)) is not None]
        for edit in sorted(whole, key=lambda one: (_size(one), one.where)):
            known = found.get(edit.where)
            shown = known or _cut(edit, min(OF_FILE, room, left))
            room -= _size(shown)
            left -= 0 if known else _size(shown)
            found[edit.where] = shown
    return tuple(found.values())


def _size(edit: FileEdit) -> int:
    return len(edit.diff.encode()) + 1


def _whole(one: Edited, large: Collection[Edited], hunks: Mapping[str, bytes]) -> FileEdit | None:
    """Return all lines of a file, or why there are none; None where it moved as it was."""
    if one in large:
        return FileEdit(where=one.where, unread=f"larger than {LARGEST_FILE:,} bytes")
    data = next((hunks[path] for path in one.paths if path in hunks), None)
    if data is None:
        return None
    if not data:
        return FileEdit(where=one.where, unread="no other lines, but another place or mode")
    try:
        return FileEdit.model_construct(where=one.where, diff=_text(data))  # is cut in any case
    except UnicodeDecodeError:
        return FileEdit(where=one.where, unread="no text in UTF-8")


def _text(data: bytes) -> str:
    """Return hunks as text. Raises `UnicodeDecodeError` for what is none."""
    lines = data.removesuffix(b"\n").split(b"\n")
    if b"\0" in data:
        raise UnicodeDecodeError("utf-8", b"\0", 0, 1, "no text")
    if all(line.endswith(b"\r") for line in lines if line[:1] in {b" ", b"+", b"-"}):
        lines = [line.removesuffix(b"\r") for line in lines]
    # git cuts what it puts behind the numbers of a hunk, perhaps within a character
    return "\n".join(
        line.decode(errors="replace" if line.startswith(b"@@") else "strict") for line in lines
    )


def _cut(edit: FileEdit, room: int) -> FileEdit:
    lines, kept = edit.diff.split("\n") if edit.diff else [], 0
    for line in lines:
        room -= len(line.encode()) + 1
        if room < 0:
            break
        kept += 1
    left = len(lines) - kept
    return FileEdit(where=edit.where, diff="\n".join(lines[:kept]), left=left, unread=edit.unread)
