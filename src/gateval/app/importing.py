"""What `import` does: files of other tools become manifests of ours, once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from gateval.adapters.folders import write_new
from gateval.adapters.git.repository import GitRepository, open_repository
from gateval.app.readers import MEND, registries, valid_snapshot
from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.catalogue import Catalogue, select_fixtures
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.paths import nearest, show_path
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.problems import SourceLocation
from gateval.errors import EXIT_PASS, UsageError
from gateval.formats.agentv.assembly import carried, lost
from gateval.formats.agentv.recognition import may_be_suite, read_file
from gateval.formats.agentv.references import without_ending
from gateval.formats.agentv.suite_evals import lines_beside
from gateval.formats.imports.base import Imported, ImportRequest, Left, free_name, slug, written
from gateval.formats.imports.registry import IMPORTS
from gateval.formats.native.manifests import read_manifests
from gateval.formats.native.writing import document_for, manifest_text
from gateval.render.report.wording import count
from gateval.safe.sanitize import plain_line

_LINE = 400
_Found = tuple[Sequence[Agent], Sequence[Eval], Sequence[Fixture]]


def _carry_over(file: Path) -> None:
    """Write `NAME.gateval.yaml` beside a suite of AgentV, and print what does not carry over.

    Raises `InvalidManifests` where something is wrong, and `UsageError` for a file that is no
    suite, or where the new file is there already.
    """
    repository = open_repository()
    snapshot = valid_snapshot(repository, repository.worktree(), hint=MEND)
    path = _inside(repository.root, file)
    agents, evals, fixtures = _found(path, snapshot, (repository.root / path).read_bytes())
    if not evals:
        raise UsageError(
            f"{show_path(path)} is no suite of AgentV.",
            hint="Name a file with `evalcases` or `tests`, or a JSONL file with its companion.",
        )
    target = f"{without_ending(path)}.gateval.yaml"
    text = carried(agents, evals, snapshot.catalogue, snapshot.tree)
    if not write_new(repository.root, target, text):
        raise UsageError(
            f"{show_path(target)} is there already.", hint="Move it away, and import again."
        )
    held = (count(len(agents), "Agent"), count(len(evals), "Eval"), count(len(fixtures), "fixture"))
    print(f"wrote {show_path(target)}: {', '.join(held)}.")
    left = [f"  {one}" for one in lost(fixtures, snapshot.tree)]
    told = ["Not as it was:", *left] if left else []
    for line in (*told, *_next(path, agents, evals, fixtures)):
        print(plain_line(line, _LINE))


def _inside(root: Path, file: Path) -> str:
    absolute = (Path.cwd() / file).resolve()
    if not absolute.is_file():
        raise UsageError(f"There is no file {file}.")
    if not absolute.is_relative_to(root):
        raise UsageError(f"{file} is outside the repository {root}.")
    return absolute.relative_to(root).as_posix()


def _found(path: str, snapshot: Snapshot, data: bytes) -> _Found:
    """Return what a suite became: the Agents that nothing else targets, Evals and fixtures; nothing
    for a file of native manifests. Of a companion, what the lines beside it did.
    """
    catalogue: Catalogue = snapshot.catalogue
    suite = path.endswith(".jsonl") or (
        may_be_suite(path, data) and bool(read_file(path, data, registries()).pending)
    )
    files = {path, *lines_beside(path)} if suite else set()
    evals = [one for one in catalogue.evals if one.path in files]
    others = {one.target_agent for one in catalogue.evals if one.path not in files}
    targets = {one.target_agent for one in evals} - others
    fixtures = {one.name: one for each in evals for one in select_fixtures(each, catalogue)}
    agents = [one for one in catalogue.agents if one.name in targets]
    return agents, evals, tuple(fixtures.values())


def _next(
    path: str, agents: Sequence[Agent], evals: Sequence[Eval], fixtures: Sequence[Fixture]
) -> Iterator[str]:
    cases = {one.place.file for one in fixtures} - {show_path(path)}
    lines = sorted(one for one in cases if one.endswith(".jsonl"))
    yield f"Next: git rm {show_path(path)} — its Evals and fixtures stand in both files now."
    if lines:
        files = ", ".join(lines)
        yield f"Remove {files} with it: by itself, cases in JSON lines go on being read as a suite."
    kept = {one.target_agent for one in evals} - {one.name for one in agents}
    if kept:
        names = ", ".join(sorted(kept))
        yield f"Other suites target {names} too, which stays in its targets file."
    elif agents:
        files = ", ".join(sorted({show_path(one.path) for one in agents}))
        yield f"No other suite asks these targets: remove them from {files} when you like."


def import_files(
    format_: str, files: Sequence[Path], *, agent: str = "", compare: str = "", judge: str = ""
) -> int:
    """Write `NAME.gateval.yaml` beside each file, and print what does not carry over.

    A suite, which the gate reads as it is, stands in no table of imports: it is carried over.
    Nothing is written before all files are read. Raises `InvalidManifests` where one cannot be
    read, and `UsageError` where the Agent is not known or a new file is there already.
    """
    if format_ not in IMPORTS:
        for file in files:
            _carry_over(file)
        return EXIT_PASS
    repository = open_repository()
    snapshot = valid_snapshot(repository, repository.worktree(), hint=MEND)
    agent = _agent(agent, snapshot.catalogue)
    made: list[tuple[str, str, str, Imported]] = []
    names: list[str] = []
    evals = {one.name for one in snapshot.catalogue.evals}
    fixtures = {one.name for one in snapshot.catalogue.fixtures}
    for file in files:
        path = _inside(repository.root, file)
        request = ImportRequest(
            path,
            (repository.root / path).read_bytes(),
            compare,
            judge,
            lambda other: _beside(repository, other),
        )
        imported = _readable(IMPORTS[format_].read(request))
        stem = path.rpartition("/")[2].partition(".")[0]
        name = free_name(slug(stem) or "imported", evals)
        names += [name] if imported.cases else []
        text = written(name, agent, judge, imported, fixtures)
        made.append((path, f"{path.rpartition('.')[0]}.gateval.yaml", text, imported))
    taken = [show_path(target) for _, target, *_ in made if (repository.root / target).exists()]
    if taken:
        raise UsageError(
            f"{', '.join(taken)} is there already.", hint="Move it away, and import again."
        )
    for path, target, text, imported in made:
        if not imported.cases:
            print(f"{show_path(path)}: nothing of it carries over, so nothing was written.")
        elif write_new(repository.root, target, text):
            told = count(len(imported.cases), "fixture")
            print(f"wrote {show_path(target)}: an Eval of {agent}, {told}.")
        for line in _said(imported.left):
            print(plain_line(line, _LINE))
    if not names:
        raise UsageError("None of these cases carries over, so nothing was imported.")
    print(f"Next: gateval validate, then gateval run {' '.join(names)}")
    return EXIT_PASS


def _readable(imported: Imported) -> Imported:
    """Return it without the cases that would not be read back as they are, which are left."""
    known, cases, left = registries(), [], [*imported.left]
    for case in imported.cases:
        text = manifest_text([document_for("EvalFixture", "imported", {}, case.spec)])
        parsed = read_manifests("imported.yaml", text.encode(), known)
        why = parsed.problems[0].message.rstrip(".") if parsed.problems else ""
        if parsed.templates:
            why = "it holds `{{ vars` or `{{ case`, which a fixture would fill in"
        if why:
            left.append(Left(case.place, "the case", f"{why[:1].lower()}{why[1:]}"))
        else:
            cases.append(case)
    return imported._replace(cases=cases, left=left)


def _agent(asked: str, catalogue: Catalogue) -> str:
    names = sorted(one.name for one in catalogue.agents)
    if asked in names or (len(names) == 1 and not asked):
        return asked or names[0]
    known = f"Known: {', '.join(names)}." if names else "Write one first: gateval init does."
    if asked:
        raise UsageError(f'There is no Agent "{asked}".{nearest(asked, names)}', hint=known)
    raise UsageError(
        "It is not clear which Agent these cases are for.", hint=f"Name it with --agent. {known}"
    )


def _beside(repository: GitRepository, path: str) -> bytes | None:
    """Return a file of the repository; nothing through links, which may lead out of it."""
    file = repository.root / path
    if not file.resolve().is_relative_to(repository.root.resolve()) or not file.is_file():
        return None
    return file.read_bytes()


def _sort(one: Left) -> tuple[str, str, SourceLocation | None]:
    """By what things that are left are told together."""
    return one.what, one.why, one.place if one.alone else None


def _said(left: Sequence[Left]) -> Iterator[str]:
    """Yield what does not carry over, the same thing once, with its first place and how often."""
    if not left:
        return
    yield "Not carried over:"
    counts = Counter(map(_sort, left))
    first = {_sort(one): one.place for one in reversed(left)}
    for sort, number in counts.items():
        (what, why, _), place = sort, first[sort]
        often = f" ({number:,} times, first here)" if number > 1 else ""
        yield f"- {place.file}:{place.line} {what}{often}: {why}"
