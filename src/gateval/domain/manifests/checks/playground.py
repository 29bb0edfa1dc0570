"""What can be wrong with a playground, and with assertions that look at one."""

from __future__ import annotations

from collections.abc import Iterator

from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.manifests.fixtures.playground import PlaygroundSpec
from gateval.domain.manifests.fixtures.services import references
from gateval.domain.repository.paths import resolve_pattern, show_path
from gateval.domain.repository.patterns import folder_of, has_wildcard, match_any
from gateval.domain.repository.place import Problem, nearest
from gateval.domain.repository.tree import Tree, has_folder, under
from gateval.domain.text.quoting import quote

STATE_CHECKS = frozenset(
    {
        "fileExists",
        "fileEquals",
        "fileMatches",
        "fileJson",
        "directoryListing",
        "environmentVariable",
        "commandResult",
        "httpResponse",
        "sqlQuery",
    }
)
"""The assertions that look at a playground's end state."""

_PRIVATE = ("HOME", "TMPDIR", "PATH")


def looks_at_state(assertion: AssertionSpec) -> bool:
    """Whether an assertion, or one inside it, looks at a playground's end state."""
    if not assertion.parts:
        return assertion.type in STATE_CHECKS
    return any(one.type in STATE_CHECKS for one in assertion.within())


def playground_problems(fixture: Fixture, tree: Tree) -> Iterator[Problem]:
    """Yield what is wrong with the playground of a fixture, and with checks on its end state."""
    spec = fixture.playground
    if spec is not None:
        for key, message in _wrong(spec, fixture, tree):
            place = fixture.places.get("spec.playground", fixture.place)
            yield Problem(place=place, path=f"spec.playground.{key}", message=message)
    for assertion in (one for each in fixture.assertions for one in each.within()):
        if assertion.type in STATE_CHECKS:
            yield from _blind(assertion, spec)
    for assertion in fixture.assertions:
        if assertion.turn is not None and looks_at_state(assertion):
            message = "The end state is looked at after the last turn: of the whole, not of a turn."
            yield Problem(place=assertion.place, message=message)


def _blind(assertion: AssertionSpec, spec: PlaygroundSpec | None) -> Iterator[Problem]:
    """An assertion that has nothing to look at."""
    if spec is None:
        message = f"`{assertion.type}` looks at a playground. Add spec.playground, `{{}}` at least."
        yield Problem(place=assertion.place, message=message)
        return
    named, known = assertion.options.get("service"), [one.name for one in spec.services]
    if isinstance(named, str) and named not in known:
        message = f"The playground has no service {quote(named)}.{nearest(named, known)}"
        yield Problem(place=assertion.place, message=message)


def _wrong(spec: PlaygroundSpec, fixture: Fixture, tree: Tree) -> Iterator[tuple[str, str]]:
    folder = fixture.folder
    for key, written, path in spec.own_sources(folder):
        if path is None:
            yield key, f"{quote(written)} leads out of the repository."
        elif under(folder, {path}):
            yield (
                key,
                (
                    f"{quote(written)} holds the manifest itself. Give the playground a "
                    "folder of its own, as agents get it in its trials alone."
                ),
            )
        elif not _is_there(key, path, tree):
            kind = "file" if key == "sqlite.source" else "folder with files"
            yield key, f"{show_path(path)} is no {kind} of this revision. Correct it, or track it."
    for index, written in enumerate(spec.files):
        path = resolve_pattern(folder, written)
        if path is None:
            yield f"files[{index}]", f"{quote(written)} leads out of the repository."
        elif not _matches(path, tree):
            yield f"files[{index}]", f"{quote(written)} matches no file of this revision."
    yield from _services(spec)
    for name in spec.env:
        if name.upper() in _PRIVATE or name.upper().startswith("GATEVAL_"):
            yield f"env.{name}", f"{name} is set by the gate. Choose another name."


def _is_there(key: str, path: str, tree: Tree) -> bool:
    if key == "sqlite.source":
        return path in tree and tree[path].is_file
    return path not in tree and has_folder(tree, path)


def _matches(path: str, tree: Tree) -> bool:
    if not has_wildcard(path):
        return path in tree or has_folder(tree, path)
    start = folder_of(path)
    matches = match_any([path])
    return any(matches(one) for one in tree if not start or one.startswith(f"{start}/"))


def _services(spec: PlaygroundSpec) -> Iterator[tuple[str, str]]:
    known: list[str] = []
    for index, service in enumerate(spec.services):
        if service.name in known:
            message = f"The service {quote(service.name)} stands here twice."
            yield f"services[{index}].name", message
        for text in (*service.command, *service.env.values()):
            for name, _ in references(text):
                if name not in known:
                    hint = nearest(name, known)
                    message = f"There is no service {quote(name)} before this one.{hint}"
                    yield f"services[{index}]", message
        known.append(service.name)
