"""What `import` does: writes native manifests for a file of another format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gateval.adapters.git import open_repository
from gateval.adapters.new_files import write_new
from gateval.app.registries import MEND, registries, valid_snapshot
from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.catalogue import Catalogue, select_fixtures
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.repository.paths import show_path
from gateval.errors import EXIT_PASS, UsageError
from gateval.formats.agentv.importing import carried, lost
from gateval.formats.agentv.names import without_ending
from gateval.formats.agentv.suites.finding import lines_beside
from gateval.formats.registry import AGENTV, formats_of, read_file
from gateval.render.report.words.counts import count
from gateval.safe.sanitize import plain_line

_LINE = 400


@dataclass(frozen=True)
class _Found:
    """What a suite became. `agents` are those that nothing else targets."""

    agents: tuple[Agent, ...]
    evals: tuple[Eval, ...]
    fixtures: tuple[Fixture, ...]


def import_agentv(file: Path) -> int:
    """Write `NAME.gateval.yaml` beside a suite of AgentV, and print what does not carry over.

    Raises `InvalidManifests` where something is wrong, and `UsageError` for a file that is no
    suite, or where the new file is there already.
    """
    repository = open_repository(Path.cwd())
    snapshot = valid_snapshot(repository, repository.worktree(), hint=MEND)
    path = _inside(repository.root, file)
    found = _found(path, snapshot, (repository.root / path).read_bytes())
    if not found.evals:
        raise UsageError(
            f"{show_path(path)} is no suite of AgentV.",
            hint="Name a file with `evalcases` or `tests`, or a JSONL file with its companion.",
        )
    target = f"{without_ending(path)}.gateval.yaml"
    text = carried(found.agents, found.evals, snapshot.catalogue, snapshot.tree)
    if not write_new(repository.root, target, text):
        raise UsageError(
            f"{show_path(target)} is there already.", hint="Move it away, and import again."
        )
    agents, evals = count(len(found.agents), "Agent"), count(len(found.evals), "Eval")
    print(f"wrote {show_path(target)}: {agents}, {evals}, {count(len(found.fixtures), 'fixture')}.")
    for line in (*_lost(found, snapshot), *_next(path, found)):
        print(plain_line(line, _LINE))
    return EXIT_PASS


def _inside(root: Path, file: Path) -> str:
    absolute = (Path.cwd() / file).resolve()
    if not absolute.is_file():
        raise UsageError(f"There is no file {file}.")
    if not absolute.is_relative_to(root):
        raise UsageError(f"{file} is outside the repository {root}.")
    return absolute.relative_to(root).as_posix()


def _found(path: str, snapshot: Snapshot, data: bytes) -> _Found:
    """Return what a suite became; nothing for a file of native manifests. Of a companion, what the
    lines beside it did.
    """
    catalogue: Catalogue = snapshot.catalogue
    read = read_file(path, data, registries(), formats_of(path, data))
    ours = path.endswith(".jsonl") or (
        read is not None and any(one.format == AGENTV.name for one in read.pending)
    )
    files = {path, *lines_beside(path)} if ours else set()
    evals = [one for one in catalogue.evals if one.path in files]
    others = {one.target_agent for one in catalogue.evals if one.path not in files}
    targets = {one.target_agent for one in evals} - others
    fixtures = {one.name: one for each in evals for one in select_fixtures(each, catalogue)}
    agents = tuple(one for one in catalogue.agents if one.name in targets)
    return _Found(agents, tuple(evals), tuple(fixtures.values()))


def _lost(found: _Found, snapshot: Snapshot) -> Iterator[str]:
    said = [*lost(found.fixtures, snapshot.tree)]
    if said:
        yield "Not as it was:"
        yield from (f"  {one}" for one in said)


def _lines(path: str, found: _Found) -> set[str]:
    """Return the other files of JSON lines that hold the cases of a suite."""
    files = {one.place.file for one in found.fixtures}
    return {one for one in files if one.endswith(".jsonl") and one != show_path(path)}


def _next(path: str, found: _Found) -> Iterator[str]:
    lines = sorted(_lines(path, found))
    yield f"Next: git rm {show_path(path)} — its Evals and fixtures stand in both files now."
    if lines:
        files = ", ".join(lines)
        yield f"Remove {files} with it: by itself, cases in JSON lines go on being read as a suite."
    kept = {one.target_agent for one in found.evals} - {one.name for one in found.agents}
    if kept:
        names = ", ".join(sorted(kept))
        yield f"Other suites target {names} too, which stays in its targets file."
    elif found.agents:
        files = ", ".join(sorted({show_path(one.path) for one in found.agents}))
        yield f"No other suite asks these targets: remove them from {files} when you like."
