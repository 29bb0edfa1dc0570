"""What `get` and `due` do: manifests and runs side by side, as a table, JSON or YAML."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from pydantic import JsonValue

from gateval.adapters.git.repository import GitRepository, open_repository
from gateval.adapters.machine import screen_of
from gateval.adapters.results_folder import PARENTS, run_folders
from gateval.app.run.views import CALIBRATIONS_FILE
from gateval.app.run_history import Runs, known_runs
from gateval.domain.calibration import Binding, StoredAgreement, binding_of, script_of
from gateval.domain.history.baseline import Bind, DatedAgreement, calibration_rows, judge_agreement
from gateval.domain.history.run_record import RunRecord
from gateval.domain.history.status import (
    EvalStatus,
    Present,
    agent_rows,
    definition_rows,
    fixture_rows,
    newest_runs,
    shown,
    status_of,
)
from gateval.domain.history.trend import DueEval, Moments, due_eval, last_runs
from gateval.domain.manifests.catalogue import select_fixtures
from gateval.domain.manifests.evaluation import Calibration, Eval, EvalKind
from gateval.domain.paths import nearest
from gateval.domain.planning.planner import define
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.problems import InvalidManifests
from gateval.domain.text import Screen
from gateval.domain.trials.trial import Side
from gateval.errors import EXIT_PASS, UsageError
from gateval.formats.native.cron import last_time, next_time
from gateval.pipeline.read import find_head


def due_evals(
    evals: Iterable[Eval], records: Iterable[RunRecord], now: datetime
) -> tuple[DueEval, ...]:
    """Return the Evals that have a schedule, each with whether it is due `now`."""
    last = last_runs(records, now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
    return tuple(
        due_eval(
            one.name,
            one.schedule,
            one.time_zone,
            Moments(
                last=last_time(one.schedule, one.time_zone, now),
                following=next_time(one.schedule, one.time_zone, now),
            ),
            last.get(one.name, ""),
        )
        for one in sorted(evals, key=lambda one: one.name)
        if one.schedule is not None
    )


def show_due(environ: Mapping[str, str], *, as_json: bool, fetch: bool) -> int:
    """Print the names of the Evals that are due, one a line; the rest is said on stderr."""
    here = look_here(environ, fetch=fetch)
    evals = here.snapshot.catalogue.evals
    found = due_evals(evals, here.runs.newest(), datetime.now(UTC))
    if as_json:
        print(json.dumps([shown(one) for one in found]))
        return EXIT_PASS
    for one in found:
        if one.due:
            print(one.name)
    print(summary(found), file=sys.stderr)
    return EXIT_PASS


def summary(found: Iterable[DueEval]) -> str:
    """Return a sentence on what is due, and when something is next."""
    every = tuple(found)
    due = [one for one in every if one.due]
    if due:
        each = [f"{one.name} (since {one.since or 'ever'})" for one in due]
        return f"Due: {', '.join(each)}."
    upcoming = min(
        (one for one in every if one.following), key=lambda one: one.following, default=None
    )
    if upcoming is None:
        return "No Eval has a schedule."
    return f"No Eval is due; the next is {upcoming.name} at {upcoming.following}."


@dataclass(frozen=True)
class LocalHistory:
    """The manifests of the working tree and the runs that are known."""

    repository: GitRepository
    snapshot: Snapshot
    runs: Runs


def look_here(environ: Mapping[str, str], *, fetch: bool) -> LocalHistory:
    """Read the manifests and the runs. Raises `InvalidManifests`, `RecordsError`."""
    repository = open_repository(environ=environ)
    with ThreadPoolExecutor(2) as aside:  # git and the remote work while Python imports
        head = aside.submit(find_head, repository, None)
        runs = aside.submit(known_runs, repository, environ, fetch=fetch)
        from gateval.app.readers import registries
        from gateval.pipeline.read import survey

        snapshot = survey(repository, registries(), head.result())
        if snapshot.problems:
            raise InvalidManifests(snapshot.problems)
        return LocalHistory(repository, snapshot, runs.result())


def statuses(here: LocalHistory, names: frozenset[str] | None = None) -> tuple[EvalStatus, ...]:
    """Return how the Evals stand, all or those of these names, in the order of their names."""
    catalogue = here.snapshot.catalogue
    evals = [one for one in catalogue.evals if names is None or one.name in names]
    measured: list[DatedAgreement] = []
    if any(one.judge.calibration for one in evals):
        measured = known_agreements(here.runs, here.snapshot)
    present = [
        present_of(one, here.snapshot, judge_agreement(one, measured))
        for one in sorted(evals, key=lambda one: one.name)
    ]
    newest = newest_runs(here.runs.newest([one.name for one in present]), present)
    running = here.runs.running()
    return tuple(
        status_of(one, newest.get(one.name), running=one.name in running) for one in present
    )


def present_of(evaluation: Eval, snapshot: Snapshot, agreement: str = "") -> Present:
    """Return an Eval as it is now, with its Agent's closure and what is known of its judge."""
    agent = snapshot.catalogue.agent(evaluation.target_agent)
    return Present(
        name=evaluation.name,
        agent=evaluation.target_agent,
        closure=define(agent, snapshot, Side.HEAD).closure if agent else "",
        fixtures=len(select_fixtures(evaluation, snapshot.catalogue)),
        schedule=evaluation.schedule or "",
        time_zone=evaluation.time_zone,
        agreement=agreement,
        kind=evaluation.kind,
        tasks=evaluation.scoring.model.tasks,
        version=evaluation.version,
    )


def show(environ: Mapping[str, str], kind: str, name: str | None, *, form: str, fetch: bool) -> int:
    """Print all of a kind, or one of it. Raises `UsageError` for a name that is not there."""
    here = look_here(environ, fetch=fetch)
    found = _KINDS[kind](here, name)
    if name is not None:
        found = [row for row in found if row["name"] == name]
        if not found:
            raise _unknown(kind, name, here)
    if form in {"json", "yaml"}:
        _print_data(found[0] if name is not None else list(found), form)
        return EXIT_PASS
    screen = screen_of(sys.stdout, environ)
    _print_table(kind, found, name, screen, wide=form == "wide")
    return EXIT_PASS


def _evals(
    here: LocalHistory, name: str | None, kind: EvalKind | None = None
) -> list[dict[str, JsonValue]]:
    own = {
        one.name
        for one in here.snapshot.catalogue.evals
        if kind in {None, one.kind} and name in {None, one.name}
    }
    return [shown(one) for one in statuses(here, frozenset(own))]


_KINDS: Mapping[str, Callable[[LocalHistory, str | None], list[dict[str, JsonValue]]]] = {
    "evals": _evals,
    "benchmarks": partial(_evals, kind="Benchmark"),
    "experiments": partial(_evals, kind="Experiment"),
    "agents": lambda here, _: [
        *agent_rows(here.snapshot.catalogue, statuses(here)),
        *definition_rows(here.snapshot.catalogue),
    ],
    "fixtures": lambda here, _: fixture_rows(here.snapshot.catalogue, statuses(here)),
    "calibrations": lambda here, _: calibration_rows(
        here.snapshot.catalogue, known_agreements(here.runs, here.snapshot), binding(here.snapshot)
    ),
}


def _print_data(found: JsonValue, form: str) -> None:
    if form == "yaml":
        from gateval.formats.yaml_writer import write_yaml

        sys.stdout.write(write_yaml(found))
    else:
        print(json.dumps(found, indent=2))


def _print_table(
    kind: str,
    found: list[dict[str, JsonValue]],
    name: str | None,
    screen: Screen,
    *,
    wide: bool,
) -> None:
    from gateval.render.tables import render_one, render_rows

    if name is not None:
        text = render_one(found[0], screen)
    else:
        screen = screen._replace(width=max(screen.width, 200)) if wide else screen
        text = render_rows(kind, found, screen, wide=wide)
    sys.stdout.write(text)


def _unknown(kind: str, name: str, here: LocalHistory) -> UsageError:
    known = [str(row["name"]) for row in _KINDS[kind](here, None)]
    noun = {"evals": "Eval", "agents": "Agent"}.get(kind, kind.removesuffix("s"))
    return UsageError(
        f'There is no {noun} "{name}" here.{nearest(name, known)}',
        hint=f"Known: {', '.join(sorted(known)[:20]) or 'none'}.",
    )


_RUNS = 30
_FILES = 20
_FILE_LIMIT = 16 * 1024 * 1024


def known_agreements(runs: Runs, snapshot: Snapshot) -> list[DatedAgreement]:
    """Return what is known of the calibrations here, the newest first."""
    names = [one.name for one in snapshot.catalogue.calibrations]
    if not names:
        return []
    of_runs = (
        DatedAgreement(record.at, one)
        for _, record in zip(range(_RUNS), runs.newest(names), strict=False)
        for one in record.agreements
    )
    return sorted([*of_runs, *_of_folders(runs)], key=lambda one: one.at, reverse=True)


def binding(snapshot: Snapshot) -> Bind:
    """Return what tells to what a replay would be bound on this revision."""
    from gateval.judging.calibrating import judge_digests

    def bind(calibration: Calibration, bound: Binding) -> Binding:
        script, ours = script_of(bound.judge, snapshot.scripts), judge_digests()
        attacks = ours.attacks if bound.attacks else ""
        return binding_of(
            calibration, bound.judge, prompt=ours.prompt, script=script, attacks=attacks
        )

    return bind


def _of_folders(runs: Runs) -> Iterator[DatedAgreement]:
    """What `gateval calibrate` left in this clone. A pull request can bring such files, too."""
    from pydantic import ValidationError

    from gateval.domain.results.self_check import CalibrationReport

    folders = sorted(run_folders(runs.root, (CALIBRATIONS_FILE,)), reverse=True)
    for name in folders[:_FILES]:
        file = runs.root.joinpath(*PARENTS, name, CALIBRATIONS_FILE)
        try:
            if file.stat().st_size > _FILE_LIMIT:
                continue
            report = CalibrationReport.model_validate_json(file.read_bytes())
        except (OSError, ValidationError):
            continue
        for one in report.judges:
            bound, counts = one.replay.binding, one.replay.agreement
            kept = StoredAgreement(
                calibration=one.calibration,
                binding=bound,
                counts=counts,
                versions=one.replay.versions,
            )
            day, clock = name[:8], name[9:15]
            yield DatedAgreement(
                f"{day[:4]}-{day[4:6]}-{day[6:]}T{clock[:2]}:{clock[2:4]}:{clock[4:]}Z", kept
            )
