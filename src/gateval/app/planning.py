"""What `plan`, `validate` and `closure` do: read git, start nothing, import little."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gateval.adapters.git.repository import GitRepository, open_repository
from gateval.adapters.machine import SystemClock, screen_of
from gateval.app.guard import LINE_LIMIT
from gateval.app.readers import registries, rules_here, valid_snapshot
from gateval.domain.manifests.catalogue import Catalogue, select_fixtures
from gateval.domain.manifests.evaluation import EVAL_KINDS, SCRIPTED_FOLDER
from gateval.domain.manifests.gate_config import GATE_CONFIG_PATH
from gateval.domain.paths import show_path
from gateval.domain.text import show_bytes
from gateval.errors import EXIT_PASS, EXIT_USAGE, GatevalError, RepositoryError, UsageError
from gateval.pipeline.read import find_head, find_revisions, survey, with_outside
from gateval.render.report.wording import count, words_of
from gateval.safe.sanitize import plain_line

if TYPE_CHECKING:
    from gateval.domain.plan.plan import Plan
    from gateval.domain.planning.selection import Pick
    from gateval.domain.planning.snapshot import Snapshot
    from gateval.domain.problems import Problem
    from gateval.domain.tree import Revision


SAID_ONCE = 60
"""Characters of a sentence that is written out once only, however often it is true."""


def announce_worktree(revision: Revision) -> None:
    """Say so on stderr when uncommitted changes are what is measured."""
    if revision.worktree:
        print(
            "Measuring a snapshot of the working tree, uncommitted changes included.",
            file=sys.stderr,
        )


def make_plan(
    repository: GitRepository,
    environ: Mapping[str, str],
    *,
    base: str | None,
    head: str | None,
    pick: Pick | None = None,
) -> Plan:
    """Plan a change, or what was picked of it. While git looks through the repository, Python
    imports the rest.
    """
    from concurrent.futures import ThreadPoolExecutor

    with repository.reading():
        with ThreadPoolExecutor(1) as aside:
            finding = aside.submit(find_revisions, repository, base=base, head=head)
            from gateval.domain.planning.selection import ALL
            from gateval.pipeline.plan import plan_a_change

            revisions = finding.result()
        announce_worktree(revisions.head)
        rules, whole = rules_here(environ), pick or ALL
        today = SystemClock().utc_now()[:10]
        return plan_a_change(repository, registries(), revisions, rules, pick=whole, today=today)


def show_plan(
    environ: Mapping[str, str], *, base: str | None, head: str | None, as_json: bool
) -> int:
    """Print the plan as a table or as `plan.v1`."""
    from gateval.domain.plan.sealing import shut_plan

    repository = open_repository()
    made = make_plan(repository, environ, base=base, head=head)
    if made.policy.budget.limits_usd:
        from gateval.app.run.context import refuse_unpriced

        refuse_unpriced(made)
    plan = shut_plan(made)
    if plan.evals:
        from gateval.domain.results.outlook import seen_drops

        plan = plan.replace(sees=seen_drops(plan))
    if as_json:
        from gateval.render.stage import dump

        sys.stdout.write(dump(plan))
    elif plan.nothing and not (plan.warnings or plan.changes or plan.binds):
        print(plan.nothing)
    else:
        from gateval.render.terminal.plan_table import render_plan

        screen = screen_of(sys.stdout, environ)
        likely = _likely(plan, repository, environ) if plan.evals else ()
        sys.stdout.write(render_plan(plan, screen, likely))
    return EXIT_PASS


def _likely(plan: Plan, repository: GitRepository, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return what the plan may take, by the runs that are stored here, and what today's have taken;
    nobody is asked for more.
    """
    from gateval.app.run_history import stored_runs
    from gateval.domain.history.forecast import forecast
    from gateval.render.report.plan_wording import forecast_lines

    names = {planned.own_name for planned in plan.evals}
    runs = stored_runs(repository).newest(names)
    lines = forecast_lines(forecast(plan, runs), plan.policy.budget)
    if plan.policy.budget.per_day.usd is None:
        return lines
    from gateval.app.day_spending import DaySpending
    from gateval.settings import read_settings

    return (*lines, DaySpending(repository, read_settings(dict(environ))).says(plan))


def validate_manifests(paths: Sequence[Path]) -> int:
    """Print every problem of every manifest; with `paths`, only theirs."""
    from gateval.domain.manifests.catalogue_checks import warnings_of
    from gateval.domain.planning.outside import (
        missing_interpreters,
        missing_programs,
        outside_paths,
    )
    from gateval.domain.problems import sort_problems

    repository = open_repository()
    wanted = [_inside(repository, path) for path in paths]
    snapshot = survey(repository, registries(), _whatever_is_here(repository))
    shown = outside_paths(snapshot)
    snapshot = with_outside(snapshot, _surveyed_base(repository)) if shown else snapshot
    for path in wanted:
        if path and not any(_within(known, path) for known in snapshot.tree):
            raise UsageError(
                f"{show_path(path)} is not tracked, or ignored by git.",
                hint="Gateval reads what a commit would hold.",
            )
    for path in wanted:
        if _is_unread(path, snapshot):
            print(f"warning: {show_path(path)} holds no manifest: nothing in it was checked.")
    problems = [p for p in snapshot.problems if _concerns(p, wanted)]
    for line in _lines(problems):
        print(plain_line(line, LINE_LIMIT))
    # What a broken manifest would have selected is unknown: no warnings before all can be read.
    found = (
        *warnings_of(snapshot.catalogue),
        *missing_programs(snapshot),
        *missing_interpreters(snapshot.catalogue, shutil.which),
        *(one.problem for one in shown),
    )
    # A mapping that fits nothing may be why an agent cannot be started.
    unfit = [w for w in snapshot.catalogue.passed_over if w.place.file == GATE_CONFIG_PATH]
    told = unfit if snapshot.problems else found
    warnings = sort_problems((*told, *_unread(repository, snapshot)))
    for line in _lines([w for w in warnings if _concerns(w, wanted)]):
        print(f"warning: {plain_line(line, LINE_LIMIT)}")
    counts = _counts(snapshot.catalogue)
    if problems:
        print(f"{counts}: {count(len(problems), 'problem')}.")
        return EXIT_USAGE
    print(f"{counts}: valid.")
    if counts == _counts(Catalogue()):
        print("There is nothing to evaluate here yet. `gateval init` writes the first manifests.")
    return EXIT_PASS


def _unread(repository: GitRepository, snapshot: Snapshot) -> Iterator[Problem]:
    """Yield the files that look like manifests and are none that is read.

    Those that git ignores are looked for where something is missing or wrong.
    """
    from gateval.formats.registry import SUFFIXES
    from gateval.pipeline.manifests import ignored_manifests, other_endings

    yield from other_endings(repository, snapshot.tree)
    catalogue = snapshot.catalogue
    if snapshot.problems or not (catalogue.agents and catalogue.evals and catalogue.fixtures):
        yield from ignored_manifests(repository.ignored(SUFFIXES))


def _counts(catalogue: Catalogue) -> str:
    more = len({one.name for one in catalogue.found} - {one.name for one in catalogue.agents})
    kinds = Counter(one.kind for one in catalogue.evals)
    of = {name: one.kind for one in catalogue.evals for name in one.fixtures}
    cases = Counter(of.get(one.name, "Eval") for one in catalogue.fixtures)
    shown = [one for one in EVAL_KINDS if kinds[one] or cases[one]] or ["Eval"]
    return ", ".join(
        (
            count(len(catalogue.agents), "Agent"),
            *([f"{more} more in files of other tools"] if more else ()),
            *(count(kinds[one], words_of([one]).manifest) for one in shown),
            *(count(cases[one], words_of([one]).case) for one in shown),
            count(len(catalogue.calibrations), "calibration"),
        )
    )


def _lines(problems: Iterable[Problem]) -> Iterator[str]:
    """Yield each problem as a line; what was said in so many words already is not said again."""
    said: dict[str, Problem] = {}
    for problem in problems:
        first = said.setdefault(problem.message, problem)
        again = first is not problem and len(problem.message) > SAID_ONCE
        message = f"the same as at {first.place}" if again else problem.message
        yield str(problem.replace(message=message))


def _whatever_is_here(repository: GitRepository) -> Revision:
    """Return what `find_head` does, and the working tree where nothing was committed yet."""
    try:
        return find_head(repository, None)
    except RepositoryError:
        if repository.has_commit():
            raise
        return repository.worktree()


def _surveyed_base(repository: GitRepository) -> Snapshot | None:
    """Return what is here without the change; None where there is no telling what that is."""
    try:
        base = find_revisions(repository, base=None, head=None).base
    except (RepositoryError, UsageError):
        return None
    return survey(repository, registries(), base)


def _is_unread(path: str, snapshot: Snapshot) -> bool:
    """Whether a file that was named is nothing that Gateval reads."""
    known = path in snapshot.manifest_paths or path == GATE_CONFIG_PATH
    script = path.startswith(f"{SCRIPTED_FOLDER}/") and Path(path).stem in snapshot.scripts
    told = any(problem.place.file == show_path(path) for problem in snapshot.problems)
    return path in snapshot.tree and not (known or script or told)


def _inside(repository: GitRepository, path: Path) -> str:
    absolute = Path(os.path.normpath(Path.cwd() / path))
    try:
        relative = absolute.relative_to(repository.root)
    except ValueError:
        raise UsageError(f"{path} is outside the repository {repository.root}.") from None
    return "" if relative == Path() else relative.as_posix()


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")


def _concerns(problem: Problem, wanted: Sequence[str]) -> bool:
    if not wanted:
        return True
    return any(not path or _within(problem.place.file, show_path(path)) for path in wanted)


def show_closure(name: str, *, head: str | None, as_json: bool) -> int:
    """Print the closure of one Agent. Raises `UsageError` when there is none of that name."""
    repository = open_repository()
    revision = find_head(repository, head)
    announce_worktree(revision)
    snapshot = survey(repository, registries(), revision)
    from gateval.domain.planning.selection import refuse_names

    catalogue = snapshot.catalogue
    agents = {one.name: one for one in (*catalogue.untargeted, *catalogue.agents)}
    refuse_names("Agent", [name], [*agents])
    from gateval.domain.planning.change import inventory  # which knows plans

    found = inventory(agents[name], snapshot)
    sizes = repository.sizes(file.oid for file in found.files if file.kind != "submodule")
    if as_json:
        files = [
            {"path": file.shown, "kind": file.kind, "bytes": sizes.get(file.oid), "why": file.why}
            for file in found.files
        ]
        shown = {"version": "closure.v1", "agent": found.agent, "cwd": found.cwd, "files": files}
        print(json.dumps(shown, indent=2))
        return EXIT_PASS
    for file in found.files:
        size = f"{sizes[file.oid]:>12,}" if file.oid in sizes else f"{file.kind:>12}"
        print(plain_line(f"{size}  {file.shown}  ({file.why})", LINE_LIMIT))
    total = sum(sizes.get(file.oid, 0) for file in found.files)
    print(f"{count(len(found.files), 'file')}, {show_bytes(total)}: all that {name} gets.")
    return EXIT_PASS


def evals_here(rev: str | None) -> list[tuple[str, str]]:
    """Return the name of each Eval on a revision, and what it is about.

    Raises `InvalidManifests` where they cannot be read, `UsageError` where there are none.
    """
    repository = open_repository()
    revision = find_head(repository, rev)
    snapshot = valid_snapshot(repository, revision)
    found = snapshot.catalogue.evals
    if not found:
        raise UsageError(
            f"There is no Eval to run on {revision.short}.",
            hint="`gateval init` writes the first.",
        )
    fixtures = [len(select_fixtures(one, snapshot.catalogue)) for one in found]
    return [
        (one.name, f"Agent {one.target_agent}, {count(number, 'fixture')}")
        for one, number in zip(found, fixtures, strict=True)
    ]


def names_here(kind: str) -> tuple[str, ...]:
    """Return the names of all manifests of a kind (`agents`) in the working tree, for a shell.

    Empty where they cannot be read: a shell that completes a word is not the place to say why.
    """
    try:
        repository = open_repository()
        catalogue = survey(repository, registries(), find_head(repository, None)).catalogue
    except GatevalError:
        return ()
    found = {
        "agents": [one.name for one in (*catalogue.agents, *catalogue.untargeted)],
        "evals": [one.name for one in catalogue.evals],
        "fixtures": [one.name for one in catalogue.fixtures],
        "calibrations": [one.name for one in catalogue.calibrations],
    }
    return tuple(sorted(found[kind]))
