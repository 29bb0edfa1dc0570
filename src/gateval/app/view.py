"""What `view` does: a server on this machine for the person who started it, with the pages of runs,
and labels: an experiment's go into its feedback file, others are written as `challenge` does.

What is sealed is never opened for it: pages are made of what a run stored for everybody. A
candidate of the same user could take the token out of this process, so it answers nothing while one
may live.
"""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from html import unescape
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import unquote

from gateval.adapters.age import IDENTITY_VARIABLE
from gateval.adapters.folders import write_whole
from gateval.adapters.git.repository import GitRepository, open_repository
from gateval.adapters.loopback_server import Front, LoopbackServer, PageAnswer
from gateval.adapters.machine import SystemClock
from gateval.adapters.results_folder import PARENTS
from gateval.app.challenge import label_verdict
from gateval.app.compare import runs_of
from gateval.app.guard import LINE_LIMIT
from gateval.app.kept_page import keep_page, kept_page, made_page
from gateval.app.readers import valid_snapshot
from gateval.app.run.finished import finished_page
from gateval.app.run.views import RESULTS_FILE, VIEWS, warm_up
from gateval.app.run_history import Runs, known_runs, record_in
from gateval.app.stored import named_run, read_results, runs_here
from gateval.domain.decision.decision import make_report
from gateval.domain.history.compared import compare_runs
from gateval.domain.paths import show_path
from gateval.domain.problems import InvalidManifests
from gateval.domain.promotion import Objection
from gateval.domain.results.results import Results
from gateval.domain.trials.trial import Side
from gateval.errors import EXIT_PASS, GatevalError, UsageError
from gateval.formats.native.feedback_file import feedback_file, feedback_line, with_feedback
from gateval.gateway.processes import candidate_lives
from gateval.pipeline.read import find_head
from gateval.render.page.document import page_policy
from gateval.render.page.site import (
    HEAT,
    HISTORY,
    Leads,
    SiteFrame,
    render_heat,
    render_history,
    render_run,
    render_side_by_side,
)
from gateval.safe.sanitize import plain_line
from gateval.settings import read_settings

_BUSY = "A run is measuring here, and what it measures could read this. Look again when it ended."
_HEAD = 10_000
"""Characters of a page in which it says its policy, which is that of this version's program."""

_LARGE = 4 * 1024 * 1024
"""Bytes of results from which making their page takes a person's time."""

_SCORES = "The scores alone: the page with all trials is being made, and comes by itself."

_LATEST = 100
"""Runs to choose from."""


def serve_view(environ: Mapping[str, str], run: str | None, *, port: int, fetch: bool) -> int:
    """Serve until somebody ends it (Ctrl-C). Raises `UsageError` in CI, and beside candidates."""
    if read_settings(environ).in_ci:
        raise UsageError(
            "This is a job in CI, where nobody can look, and others share the machine.",
            hint="`gateval view --export DIR` writes a static site; each run has its report.html.",
        )
    repository = open_repository(environ=environ)
    pages = Pages(repository, known_runs(repository, environ, fetch=fetch), environ)
    first = pages.first(run)
    if pages.busy:
        raise UsageError(_BUSY, hint="`gateval view` can be started then.")
    token = secrets.token_urlsafe(32)
    try:
        server = LoopbackServer(
            port, _front(), token, lambda path, said: pages.answer(path, said, first)
        )
    except OSError as error:
        raise UsageError(f"Port {port} cannot be listened on: {error.strerror}.") from error
    with server:
        place = f"http://127.0.0.1:{server.server_port}/"
        print(f"{place}#token={token}", flush=True)
        print("Open it in a browser of this machine; Ctrl-C ends it.", file=sys.stderr, flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print(file=sys.stderr)
    return EXIT_PASS


def _front() -> Front:
    from gateval.render.page.site import render_shell, shell_policy

    return Front(render_shell(), shell_policy())


class Pages:
    """The pages that are served, and what is written. Everything is what it is when it is asked."""

    def __init__(self, repository: GitRepository, runs: Runs, environ: Mapping[str, str]) -> None:
        self._repository = repository
        self._root = repository.root
        self._runs = runs
        self._environ = {k: one for k, one in environ.items() if k != IDENTITY_VARIABLE}
        self._making = Lock()

    @property
    def busy(self) -> bool:
        """Whether candidates of this user may live."""
        lives = candidate_lives()
        return bool(self._runs.running()) if lives is None else lives

    def first(self, run: str | None) -> str:
        """Return the page to begin with. Raises `UsageError` for a run that is not here."""
        if run is None:
            return HISTORY
        folder = named_run(self._root, run)
        if folder.name not in runs_here(self._root) or folder.parent.name != PARENTS[1]:
            raise UsageError(
                f"{show_path(run)} is not among the runs of this repository, whose pages are here.",
                hint=f"`gateval report {show_path(run)} --format html` writes its page.",
            )
        return f"runs/{folder.name}.html"

    def answer(self, path: str, said: Mapping[str, Any], first: str) -> PageAnswer:
        """Answer the page in the browser."""
        if self.busy:
            return PageAnswer(503, _BUSY, "text/plain")
        try:
            if path == "/runs":
                return PageAnswer(200, json.dumps({"runs": self._listed(), "first": first}), _JSON)
            if path == "/page":
                return self._page(str(said.get("page", "")), whole=said.get("whole") is True)
            if path == "/label":
                return PageAnswer(200, "\n".join(self._label(said)), "text/plain")
        except GatevalError as error:
            return PageAnswer(422, error.sentence, "text/plain")
        return PageAnswer(404, "There is nothing here.", "text/plain")

    def _listed(self) -> list[dict[str, str]]:
        return [
            {"run": run, "said": f"{run} {self._said(run)}".strip()}
            for run in sorted(runs_here(self._root), reverse=True)[:_LATEST]
        ]

    def _said(self, run: str) -> str:
        record = record_in(self._root.joinpath(*PARENTS, run))
        if record is None:
            return ""
        return f"{record.verdict} {record.revision}{', a part' if record.part else ''}"

    def _page(self, page: str, *, whole: bool) -> PageAnswer:
        known = frozenset(runs_here(self._root))

        def leads(run: str) -> str:
            return f"runs/{run}.html" if run in known else ""

        frame = SiteFrame(note=f"{self._root.name}: runs on branches, not those of pull requests.")
        if page == HISTORY:
            return PageAnswer(200, render_history(list(self._runs.newest()), leads, frame))
        if page == HEAT:
            return PageAnswer(200, render_heat(self._runs.newest(), leads, frame))
        kind, _, rest = page.partition("/")
        if kind == "runs" and rest.removesuffix(".html") in known:
            return self._report(rest.removesuffix(".html"), whole=whole)
        if kind == "compare" and rest.count("/") == 1:
            first, second = map(unquote, rest.split("/"))
            return PageAnswer(200, self._compared(first, second, leads))
        raise UsageError(f"There is no page {show_path(page)[:200]} here.")

    def _report(self, run: str, *, whole: bool) -> PageAnswer:
        """Answer the page of a run; of a large one that has to be made first, unless the `whole` is
        asked for, the scores that it recorded, with a status that says that there is more.
        """
        folder = self._root.joinpath(*PARENTS, run)
        if self._repository.tracks(folder.relative_to(self._root)):  # a change brought it
            return PageAnswer(200, made_page(lambda: _made(folder)).decode())
        with self._making if whole else nullcontext():
            if (page := _stored(folder)) is not None:
                return PageAnswer(200, page)
            if not whole and (scores := _scores(folder)) is not None:
                return PageAnswer(202, scores)
            return PageAnswer(200, keep_page(folder, lambda: _made(folder)))

    def _compared(self, first: str, second: str, leads: Leads) -> str:
        sides = [runs_of(word, self._repository, self._runs) for word in (first, second)]
        found = compare_runs(*sides)
        of = [one.record.id for side in sides for one in side[:1]]
        pages = {run: page for run in of if (page := leads(run))}
        return render_side_by_side(found, (first[:40], second[:40]), pages, SiteFrame())

    def _label(self, said: Mapping[str, Any]) -> list[str]:
        """Write what a person says of a verdict. Raises `GatevalError`."""
        run, fixture, note = (str(said.get(key, "")) for key in ("run", "fixture", "note"))
        score, repetition, reason = (said.get(key) for key in ("score", "repetition", "reason"))
        known = run in runs_here(self._root) and reason in set(Objection)
        if (
            not known
            or type(score) is not int
            or score not in {0, 1}
            or type(repetition) is not int
        ):
            raise UsageError("A label names a run, a fixture, a repetition, 0 or 1, and a reason.")
        if not note.strip():
            raise UsageError("Say why in a word or two: whoever reads the label later needs it.")
        told = add_feedback(
            self._repository,
            read_results(self._root.joinpath(*PARENTS, run)),
            fixture,
            repetition=repetition,
            up=score == 1,
            note=note.strip(),
        )
        return told or label_verdict(
            self._environ,
            fixture=fixture,
            score=float(score),
            reason=str(reason),
            note=note.strip(),
            run=run,
            repetition=repetition,
            calibration=None,
            redact=False,
            may_agree=True,
        )


_JSON = "application/json"


def _stored(folder: Path) -> str | None:
    """Return the page of a run as it was written or kept; None where it has to be made."""
    page = finished_page(folder, folder / RESULTS_FILE, folder / VIEWS["html"].file)
    page = kept_page(folder) if page is None or not _is_ours(page) else page
    return page if page is not None and _is_ours(page) else None


def _is_ours(page: str) -> bool:
    return page_policy() in unescape(page[:_HEAD])


def _scores(folder: Path) -> str | None:
    """Return the page of the scores that a large run recorded; None where there is none."""
    try:
        small = (folder / RESULTS_FILE).stat().st_size < _LARGE
    except OSError:
        return None
    record = None if small else record_in(folder)
    if record is None or record.id != folder.name:
        return None
    return render_run(record, SiteFrame(note=_SCORES))


def _made(folder: Path) -> Iterator[str]:
    from gateval.render.view import ReportView

    yield from VIEWS["html"].pieces(ReportView(make_report(read_results(folder))))
    warm_up(("html",))  # what was known of these results is known of none


def add_feedback(
    repository: GitRepository,
    results: Results,
    fixture: str,
    *,
    repetition: int,
    up: bool,
    note: str,
) -> list[str] | None:
    """Add a line about head's answer in a repetition of `EVAL/FIXTURE`, and return what was done;
    None where the Eval is no experiment that has such a file.

    Raises `UsageError` where there is no answer, or the file would not be read with that line.
    """
    evaluation, _, name = fixture.rpartition("/")
    planned = next((one for one in results.plan.evals if one.own_name == evaluation), None)
    snapshot = valid_snapshot(repository, find_head(repository, None))
    known = snapshot.catalogue.eval(evaluation)
    if planned is None or known is None:
        return None
    path = feedback_file(known, (repository.root / known.path).read_bytes())
    if not path:
        return None
    trial = next(
        (
            one
            for one in results.trials
            if (one.key.eval, one.key.fixture) == (planned.name, name)
            and (one.key.side, one.key.repetition) == (Side.HEAD, repetition)
        ),
        None,
    )
    if trial is None or not trial.output or trial.output_truncated:
        raise UsageError(f"There is no whole answer of repetition {repetition} to say anything of.")
    line = feedback_line(planned.fixture(name), up=up, output=trial.output, note=note)
    line |= {"who": repository.who(), "when": SystemClock().utc_now()}
    file = repository.root / path
    before = file.read_bytes()
    write_whole(file, with_feedback(path, before, line))
    try:
        valid_snapshot(repository, find_head(repository, None))
    except InvalidManifests as error:
        write_whole(file, before)
        raise UsageError(
            f"{path} would not be read with that line: {error.problems[0]}",
            hint="Nothing was changed.",
        ) from error
    word = "up" if up else "down"
    return [plain_line(f"{path}: thumbs {word} for the answer to {name}.", LINE_LIMIT)]
