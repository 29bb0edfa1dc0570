"""What `show` does: one trial of a stored run, for a person to read; and where the last run is.

What a stored file says of a judge's quotes is not believed: each is looked for in its step again.

A pull request can bring files to this place, so links are not followed and names are checked; what
the files say is read like any results from elsewhere.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from gateval.adapters.machine import screen_of
from gateval.adapters.results_folder import PARENTS, run_folders
from gateval.app.run.finished import finished_fixture
from gateval.app.run.views import DECISION_FILE, EVIDENCE_FILE, PLAN_FILE, RESULTS_FILE, RUN_IS
from gateval.app.stored import find_run, named_run, read_limited, read_results, root_here, runs_here
from gateval.domain.base import JsonObject
from gateval.domain.decision.decision import Report, make_report
from gateval.domain.history.standing import BUDGET_SPENT, ended_by_budget
from gateval.domain.paths import nearest
from gateval.domain.plan.plan import Plan
from gateval.domain.results.results import Results
from gateval.domain.strict_json import object_of
from gateval.domain.trials.trial import Assessment, Trial
from gateval.domain.verdicts import GateVerdict
from gateval.errors import EXIT_PASS, StageFileError, UsageError
from gateval.render.report.facts import FixtureFacts, gather
from gateval.render.report.wording import GLOSSARY
from gateval.render.stage import PLAN_LIMIT
from gateval.render.terminal.fixture_page import ShowOptions, render_fixture, render_list
from gateval.render.view import ReportView

_ALL = "`gateval check` without --failed measures all that the change calls for."


def last_run(root: Path) -> Path:
    """Return the folder of the last run. Raises `UsageError` when none is stored."""
    runs = runs_here(root)
    if not runs:
        raise UsageError(
            "No run is stored in this repository.",
            hint=f"`gateval check` stores one in {'/'.join(PARENTS)}, unless --results names "
            "another folder.",
        )
    return root.joinpath(*PARENTS, max(runs))


def failed_in(report: Report) -> tuple[tuple[str, str], ...]:
    """Return the Eval and the name of each fixture that did not pass, each pair once."""
    found = [
        (fact.planned.own_name, fact.fixture.name)
        for fact in gather(report)
        if not fact.status.fine
    ]
    return tuple(dict.fromkeys(found))


def failed_last(root: Path) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the id of the last run that measured anything, and what did not pass in it.

    Raises `UsageError` when everything passed or nothing was ever measured, `StageFileError` when a
    run cannot be read.
    """
    last_run(root)
    for run in sorted(runs_here(root), reverse=True):
        results = read_results(root.joinpath(*PARENTS, run))
        if not results.trials:
            continue
        if failed := failed_in(make_report(results)):
            return run, failed
        if any(one.verdict is not GateVerdict.PASS for one in results.sealed):
            raise UsageError(
                f"In {run} only what is sealed did not pass, and its fixtures are not told.",
                hint=_ALL,
            )
        raise UsageError(
            f"Nothing failed in the last run that measured anything, {run}.", hint=_ALL
        )
    raise UsageError("No run that is stored here measured anything.", hint=_ALL)


def with_spent_here(plan: Plan, root: Path) -> Plan:
    """Return the plan, which stays incomplete if a run stored here used up the same budget."""
    head = plan.head.commit or plan.head.tree
    for run in run_folders(root, [DECISION_FILE]):
        folder = root.joinpath(*PARENTS, run)
        decision = _object(folder / DECISION_FILE)
        reasons = decision.get("reasons")
        if decision.get("head") != head or not isinstance(reasons, list):
            continue
        ended = any(
            isinstance(one, dict) and ended_by_budget(str(one.get("verdict")), str(one.get("code")))
            for one in reasons
        )
        if ended and _object(folder / PLAN_FILE).get("policy_digest") == plan.policy_digest:
            return plan.replace(budget_spent=BUDGET_SPENT)
    return plan


def _object(path: Path) -> JsonObject:
    """The JSON object in a file of an earlier run; an empty one where there is none to be read."""
    try:
        found = json.loads(read_limited(str(path), PLAN_LIMIT))
    except (StageFileError, ValueError, RecursionError):
        return {}
    return object_of(found)


def show_run(
    environ: Mapping[str, str],
    words: tuple[str, ...],
    *,
    repetition: int | None,
    full: bool,
) -> int:
    """Print the fixtures of a run, or the trace of one. `words` are a run, a fixture, or both.

    Raises `UsageError` for a word that is neither, `StageFileError` for what cannot be read.
    """
    folder, fixture = _found(words)
    screen = screen_of(sys.stdout, environ)
    if fixture is not None:
        texts = _one_fixture(environ, folder, fixture, ShowOptions(screen, repetition, full))
    else:
        shown = folder.name if folder.parent.name == "results" else str(folder)
        texts = [render_list(ReportView(_report(environ, folder)), shown, screen)]
    with suppress(BrokenPipeError):
        sys.stdout.write("\n".join(texts))
    if sys.stderr.isatty():
        print(f"Words: {GLOSSARY}", file=sys.stderr)
    return EXIT_PASS


def _one_fixture(
    environ: Mapping[str, str], folder: Path, word: str, look: ShowOptions
) -> list[str]:
    """Return the page of a fixture, given as FIXTURE or EVAL/FIXTURE, one for each Eval with it.

    Of a finished run nothing else is read, unless it has something sealed that can be opened.
    """
    evaluation, _, name = word.rpartition("/")
    found = None
    if not _can_be_opened(environ, folder):
        found = finished_fixture(folder, folder / RESULTS_FILE, evaluation, name)
    if found is None:
        view = ReportView(_report(environ, folder))
        facts, plan = _facts(view, word), view.plan
    else:
        facts, plan = [_looked_at(one) for one in found.facts], found.plan
    if look.repetition and all(look.repetition > len(one.head) for one in facts):
        most = max(len(one.head) for one in facts)
        raise UsageError(
            f"{name} ran {most} times on head; there is no repetition {look.repetition}."
        )
    return [render_fixture(plan, one, look) for one in facts]


def _report(environ: Mapping[str, str], folder: Path) -> Report:
    results = _read(environ, folder)
    return make_report(results.replace(trials=tuple(map(_checked, results.trials))))


def _can_be_opened(environ: Mapping[str, str], folder: Path) -> bool:
    """Whether there is something sealed, and a key that may open it."""
    if not (folder.is_dir() and (folder / EVIDENCE_FILE).exists()):
        return False
    from gateval.adapters.age import identities

    return bool(identities(environ))


def _looked_at(fact: FixtureFacts) -> FixtureFacts:
    head, base = (tuple(map(_checked, side)) for side in (fact.head, fact.base))
    return replace(fact, head=head, base=base)


def _read(environ: Mapping[str, str], folder: Path) -> Results:
    """Return the results of a run; with a key that opens them, those of sealed Evals, too."""
    if _can_be_opened(environ, folder):
        from gateval.app.sealing import opened_results

        try:
            return opened_results(environ, folder / EVIDENCE_FILE)
        except UsageError as error:
            print(f"What is sealed is not shown. {error.sentence}", file=sys.stderr)
    return read_results(folder)


def _found(words: tuple[str, ...]) -> tuple[Path, str | None]:
    """Return the run and the fixture that the words name. One word is a run if there is such."""
    root = root_here()
    if len(words) > 1:
        return named_run(root, words[0]), words[1]
    if words and (named := find_run(root, words[0])) is not None:
        return named, None
    if root is None:
        raise UsageError("There is no repository here whose runs could be shown.", hint=RUN_IS)
    return last_run(root), words[0] if words else None


def _facts(view: ReportView, word: str) -> list[FixtureFacts]:
    """Return the facts of the fixtures of this name."""
    found = [one.facts for one in view.fixture(word)]
    if not found:
        name = word.rpartition("/")[2]
        names = sorted({one.fixture.name for one in view.fixtures})
        raise UsageError(
            f'There is no fixture "{word}" in this run, and no run of that name.'
            f"{nearest(name, names)}",
            hint=f"Known: {', '.join(names[:20]) or 'none'}.",
        )
    return found


def _checked(trial: Trial) -> Trial:
    if trial.trace is None or not any(one.verdict for one in trial.assessments):
        return trial
    trace = trial.trace

    from gateval.judging.quotes import check_evidence  # not where a run looks for the last one

    def checked(one: Assessment) -> Assessment:
        if one.verdict is None:
            return one
        return one.replace(verdict=check_evidence(one.verdict, trace))

    return trial.replace(assessments=tuple(map(checked, trial.assessments)))
