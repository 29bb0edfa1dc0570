"""Names of commits: what they mean, where they meet, and which branch is the default."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from gateval.adapters.git.run import FULL_CONTENT, FULL_HISTORY, Git, looked_up
from gateval.domain.paths import show_path
from gateval.errors import GatevalError, RepositoryError, UsageError

if TYPE_CHECKING:
    from gateval.domain.forge.trigger import Landed
    from gateval.domain.plan.plan import Revision

_FOUND = re.compile(r"(?P<oid>[0-9a-f]{40,64}) (?P<kind>commit|tree|blob|tag) \d+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

_REMOTE_HEAD = "refs/remotes/origin/HEAD"
_DEFAULTS = (
    _REMOTE_HEAD,
    "refs/remotes/origin/main",
    "refs/remotes/origin/master",
    "refs/heads/main",
    "refs/heads/master",
)


def resolve(git: Git, name: str) -> Revision:
    """Return the commit called `name` and its tree. One process: four questions to `cat-file`."""
    check_name(name)
    questions = (f"{name}^{{commit}}", f"{name}^{{tree}}", name, "HEAD")
    lines = [os.fsdecode(line) for line in looked_up(git, _lines(questions))]
    commit, tree = map(_FOUND.fullmatch, lines[:2])
    if commit and tree:
        from gateval.domain.plan.plan import Revision  # pydantic: while git works

        return Revision(name=name, commit=commit["oid"], tree=tree["oid"])
    raise _unresolved(git, name, lines)


def check_name(name: str) -> None:
    """Raise `UsageError` for a name that git could take for something else."""
    if not name or name.startswith("-") or _CONTROL.search(name):
        raise UsageError(
            f"{show_path(name) or 'An empty name'} cannot be the name of a revision.",
            hint="Name a branch, a tag or a commit.",
        )
    if not name.isascii() and any(0xD800 <= ord(char) <= 0xDFFF for char in name):
        raise UsageError(f"The revision name {show_path(name)} is not valid UTF-8.")


def merge_bases(git: Git, one: str, other: str) -> tuple[str, ...]:
    """Return the best common ancestors of two commits; none when they share no history."""
    check_name(one)
    check_name(other)
    answer = git.run("merge-base", "--all", "--end-of-options", one, other, accept=(0, 1))
    if answer.code == 0:
        return tuple(_split(answer.out))
    if _is_shallow(git):
        raise RepositoryError(
            f"No common ancestor of {show_path(one)} and {show_path(other)} is in this clone.",
            hint=FULL_HISTORY,
        )
    return ()


def landed(git: Git, old: str, new: str) -> tuple[Landed, ...]:
    """Return the newest hundred commits of `old..new` along first parents."""
    from gateval.domain.forge.trigger import Landed

    check_name(old)
    check_name(new)
    options = ("--first-parent", "--max-count=100", "--no-show-signature", "--format=%P%n%s", "-z")
    answer = git.run("log", *options, "--end-of-options", f"{old}..{new}", "--")
    lines = os.fsdecode(answer.out).removesuffix("\0").split("\0") if answer.out else ()
    found = (line.partition("\n") for line in lines)
    return tuple(Landed(subject, merge=" " in parents) for parents, _, subject in found)


def default_branch(git: Git) -> str | None:
    """Return the name of the default branch, as short as it is unambiguous, or None.

    In this order: what the remote `origin` says, its `main` or `master`, the local `main` or
    `master`, and a local branch of the name that git gives to first branches here. A remote whose
    HEAD is detached names a commit, perhaps the very one to measure, and no branch.
    """
    if found := _first_branch(git, _DEFAULTS):
        return found
    configured = git.run("config", "--get", "init.defaultBranch", accept=(0, 1)).out
    name = os.fsdecode(configured).removesuffix("\n")
    return _first_branch(git, (f"refs/heads/{name}",)) if name else None


def _first_branch(git: Git, refs: tuple[str, ...]) -> str | None:
    layout = "--format=%(refname) %(refname:short) %(symref:short)"
    answer = git.run("for-each-ref", layout, "--", *refs)
    found = dict(line.split(" ", 1) for line in _split(answer.out))
    for ref in refs:
        if ref in found:
            short, _, target = found[ref].partition(" ")
            if target or ref != _REMOTE_HEAD:
                return target or short
    return None


def _unresolved(git: Git, name: str, lines: list[str]) -> GatevalError:
    """The error for a name, from what git answered to the four questions of `resolve`.

    A name that nobody can know is the caller's mistake; what a clone lacks is not.
    """
    commit, _, plain, head = map(_FOUND.fullmatch, lines)
    shown = show_path(name)
    hint = "Name a branch, a tag or a commit."
    if any(line.endswith(" ambiguous") for line in lines):
        return UsageError(f"{shown} is short for several objects.", hint="Use a longer id.")
    if commit:
        return RepositoryError(f"The files of the commit {shown} are missing.", hint=FULL_CONTENT)
    if plain and plain["kind"] != "tag":
        return UsageError(f"{shown} names a {plain['kind']}, not a commit.", hint=hint)
    if not head:
        return RepositoryError(
            f"There is no revision {shown}: the current branch has no commit yet.",
            hint="Commit something first.",
        )
    if _is_shallow(git):
        message = f"There is no revision {shown} in this shallow clone."
        return RepositoryError(message, hint=FULL_HISTORY)
    return UsageError(
        f"There is no revision {shown} in this repository.",
        hint="Check the spelling, or fetch it first.",
    )


def _is_shallow(git: Git) -> bool:
    return git.run("rev-parse", "--is-shallow-repository").out.strip() == b"true"


def _lines(names: tuple[str, ...]) -> bytes:
    return b"".join(os.fsencode(name) + b"\n" for name in names)


def _split(out: bytes) -> list[str]:
    return os.fsdecode(out).removesuffix("\n").split("\n") if out else []
