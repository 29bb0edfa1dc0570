"""What `show` does: one trial of a stored run, for a person to read.

What a stored file says of a judge's quotes is not believed: each is looked for in its step again.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from gateval.adapters.age import identities
from gateval.adapters.screen import screen_of
from gateval.app.history.last_run import last_run
from gateval.app.names import EVIDENCE_FILE, RUN_IS
from gateval.app.seals.unsealing import opened_results
from gateval.app.stored import find_run, named_run, read_results, root_here
from gateval.domain.decision.report import make_report
from gateval.domain.repository.place import nearest
from gateval.domain.results.results import Results
from gateval.domain.trials.trial import Assessment, Trial
from gateval.errors import EXIT_PASS, UsageError
from gateval.judging.evidence import check_evidence
from gateval.render.terminal.fixture_page import ShowOptions, render_fixture, render_list
from gateval.render.view import FixtureView, ReportView


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
    view = ReportView(make_report(_confirmed(_read(environ, folder))))
    screen = screen_of(sys.stdout, environ)
    if fixture is None:
        texts = [render_list(view, _shown(folder), width=screen.width, color=screen.color)]
    else:
        look = ShowOptions(screen.width, screen.color, repetition, full)
        texts = [render_fixture(view, one, look) for one in _fixtures(view, fixture, repetition)]
    with suppress(BrokenPipeError):
        sys.stdout.write("\n".join(texts))
    return EXIT_PASS


def _read(environ: Mapping[str, str], folder: Path) -> Results:
    """Return the results of a run; with a key that opens them, those of sealed Evals, too."""
    evidence = folder / EVIDENCE_FILE
    if folder.is_dir() and evidence.exists() and identities(environ):
        try:
            return opened_results(environ, evidence)
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


def _shown(folder: Path) -> str:
    return folder.name if folder.parent.name == "results" else str(folder)


def _fixtures(view: ReportView, fixture: str, repetition: int | None) -> tuple[FixtureView, ...]:
    """Return the fixtures of this name, given as FIXTURE or EVAL/FIXTURE."""
    found = view.fixture(fixture)
    name = fixture.rpartition("/")[2]
    names = sorted({one.fixture.name for one in view.fixtures})
    if not found:
        raise UsageError(
            f'There is no fixture "{fixture}" in this run, and no run of that name.'
            f"{nearest(name, names)}",
            hint=f"Known: {', '.join(names[:20]) or 'none'}.",
        )
    if repetition and all(repetition > len(one.facts.head) for one in found):
        most = max(len(one.facts.head) for one in found)
        raise UsageError(f"{name} ran {most} times on head; there is no repetition {repetition}.")
    return found


def _confirmed(results: Results) -> Results:
    trials = tuple(_looked_at(trial) for trial in results.trials)
    return results.model_copy(update={"trials": trials})


def _looked_at(trial: Trial) -> Trial:
    if trial.trace is None or not any(one.verdict for one in trial.assessments):
        return trial
    trace = trial.trace

    def checked(one: Assessment) -> Assessment:
        if one.verdict is None:
            return one
        return one.model_copy(update={"verdict": check_evidence(one.verdict, trace)})

    return trial.model_copy(update={"assessments": tuple(map(checked, trial.assessments))})
