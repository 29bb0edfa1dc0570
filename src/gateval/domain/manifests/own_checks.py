"""People's own checks: which files are theirs, so that no candidate gets them and all count.

A check's own files are the folder of the program that its `command` or `function` names; a program
that stands beside the manifest, or above it, is a file of its own. `include` adds files that it
shares with others, which are not hidden from candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pydantic import JsonValue

from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.paths import resolve_path
from gateval.domain.tree import Tree, has_folder, under

OWN_CHECKS: Mapping[str, str] = {
    "python": "function",
    **dict.fromkeys(("script", "codeJudge", "judgeFromScript", "compositeScript"), "command"),
}
"""The assertions that run a program of the repository: type → the option that names it."""

INCLUDE, SETUP = "include", "setup"

CWD = "cwd"
"""The option with the folder in which the program runs, of those that have one."""


def own_checks(fixture: Fixture) -> Iterator[AssertionSpec]:
    """Yield the assertions of a fixture that are checks of one's own, those inside others too."""
    for assertion in fixture.assertions:
        if assertion.parts or assertion.type in OWN_CHECKS:
            yield from (one for one in assertion.within() if one.type in OWN_CHECKS)


def has_own_checks(fixtures: Iterable[Fixture]) -> bool:
    """Whether one of the fixtures has a check of one's own, which starts a process."""
    return any(True for fixture in fixtures for _ in own_checks(fixture))


def starting_folder(spec: AssertionSpec, folder: str) -> str | None:
    """Return the folder in which a check's program runs, from the root; None if it leads out."""
    cwd = spec.options.get(CWD)
    return resolve_path(folder, cwd) if isinstance(cwd, str) else folder


def named_paths(spec: AssertionSpec, folder: str) -> Iterator[str]:
    """Yield the paths that a check's program may stand at, from the root; there or not."""
    written = spec.options.get(OWN_CHECKS[spec.type])
    words = [written.partition("::")[0]] if isinstance(written, str) else _words(written)
    start = starting_folder(spec, folder)
    for word in words:
        outside = start is None or word.startswith(("/", "-"))
        path = None if outside else resolve_path(start or "", word)
        if path and not under(folder, {path}):
            yield path


def own_roots(spec: AssertionSpec, folder: str, tree: Tree) -> Iterator[str]:
    """Yield the folders and files that are a check's own, of those that are in the tree."""
    for path in named_paths(spec, folder):
        if path in tree:
            around = path.rpartition("/")[0]
            yield path if not around or under(folder, {around}) else around
        elif has_folder(tree, path):
            yield path


def all_own_roots(fixtures: Iterable[Fixture], tree: Tree) -> frozenset[str]:
    """Return the folders and files that are the own ones of any check."""
    return frozenset(
        root
        for fixture in fixtures
        for spec in own_checks(fixture)
        for root in own_roots(spec, fixture.folder, tree)
    )


def set_up_inputs(spec: AssertionSpec) -> list[str]:
    """Return the patterns of the files that the set-up of a check sees."""
    setup = spec.options.get(SETUP)
    return _texts(setup.get("inputs")) if isinstance(setup, dict) else []


def included(spec: AssertionSpec) -> list[str]:
    """Return what `include` of a check says."""
    return _texts(spec.options.get(INCLUDE))


def _words(command: JsonValue) -> list[str]:
    """The words of a command; a line for a shell among them counts word by word, too."""
    words = _texts(command)
    return words + [part for word in words if " " in word for part in word.split()]


def _texts(value: JsonValue) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
