"""Every view of a report by the name that `gateval report --format` gives it, and the files of a
run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

from gateval.domain.paths import nearest, show_path
from gateval.errors import UsageError

if TYPE_CHECKING:
    from gateval.adapters.results_folder import ResultsFolder
    from gateval.domain.decision.decision import Report
    from gateval.domain.text import Screen
    from gateval.domain.trials.trial import Trial
    from gateval.render.view import ReportView


RESULTS_FILE = "results.v1.json"
EVIDENCE_FILE = "results.v1.json.age"
DECISION_FILE = "decision.v1.json"
PLAN_FILE = "plan.v1.json"
PART_FILE = "part.v1.json"
REUSABLE_FILE = "reusable.v1.json"
REUSABLE_BYTES = 32 * 1024 * 1024
TRIALS_FILE = "trials.jsonl"
"""Where a run of an earlier version left its trials; now they lie in a store."""
TRIGGER_FILE = "trigger.v1.json"
RUN_FILE = "run.v1.json"
CALIBRATIONS_FILE = "calibrations.v1.json"

RUN_IS = (
    "A run is named by its id, as the folders of .gateval/results are called, or by the path of "
    "its folder or of its results.v1.json."
)
"""How every command takes a run, for a hint."""


class View(NamedTuple):
    """The file of a view, and the function that writes it, as `module:name`.

    A `record` is written from the report itself: what is stored never comes from what is shown.
    A `kept` view is written whatever is asked for.
    """

    file: str
    writer: str
    record: bool = False
    kept: bool = False

    def render(self, view: ReportView) -> str:
        """Return the text of the view."""
        return "".join(self.pieces(view))

    def pieces(self, view: ReportView) -> Iterable[str]:
        """Return the text of the view, of which not all need be in memory at once."""
        module, name = self.writer.split(":")
        write = getattr(import_module(f"gateval.render.{module}"), name)
        found = write(view.report if self.record else view)
        return (found,) if isinstance(found, str) else cast("Iterable[str]", found)


VIEWS: Mapping[str, View] = {
    "summary": View("summary.txt", "terminal.summary:render_summary", kept=True),
    "markdown": View("comment.md", "comment:render_comment"),
    "junit": View("junit.xml", "junit:render_junit"),
    "html": View("report.html", "page.document:page_pieces"),
    "sarif": View("gateval.sarif", "sarif:render_sarif"),
    "json": View(DECISION_FILE, "stage:dump_decision", record=True),
    "results": View(RESULTS_FILE, "stage:results_pieces", record=True),
}

SEAL = "json"
"""The view that is written last: where it stands, all others do."""


def written_views(asked: Collection[str]) -> Collection[str]:
    """Return the names of the views that a run writes, in the order of writing: those asked for,
    every one for none, and what is kept always. Raises `UsageError`.
    """
    wrong = next((one for one in asked if one not in VIEWS), None)
    if wrong is not None:
        raise UsageError(
            f'There is no view "{show_path(wrong)[:80]}".{nearest(wrong, VIEWS)}',
            hint=f"Known are {', '.join(VIEWS)}, with commas between them.",
        )
    names = [
        name
        for name, view in VIEWS.items()
        if not asked or name in asked or view.record or view.kept
    ]
    return sorted(names, key=lambda name: name == SEAL)


def all_views(report: Report, asked: Collection[str] = ()) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield the name and the pieces of every view that is asked for, in the order of writing."""
    from gateval.render.view import ReportView

    shown = ReportView(report)
    for name in written_views(asked):
        yield name, VIEWS[name].pieces(shown)


def write_views(
    report: Report,
    folder: ResultsFolder,
    asked: Collection[str] = (),
    stored: Collection[Trial] = (),
    whole: Collection[str] = (),
) -> dict[str, str]:
    """Write the views that are asked for into the folder of a run; return their texts by name, that
    of those of which not all is in memory at once empty, unless it is one of `whole`.

    `stored` are the trials that the run has stored there.
    """
    from gateval.app.run.finished import Counted, note_compared

    texts, page = {}, ""
    for name, given in all_views(report, asked):
        pieces = tuple(given) if name in whole else given
        counted = Counted(pieces)
        file = folder.write(VIEWS[name].file, counted)
        texts[name] = "".join(pieces) if isinstance(pieces, tuple) else ""
        page = counted.digest.hexdigest() if name == "html" else page
        if VIEWS[name].file == RESULTS_FILE:
            note_compared(report, folder.path, file, counted, stored, page)
    return texts


def summary_for(report: Report, screen: Screen) -> str:
    """Return the summary laid out for a screen."""
    from gateval.render.terminal.summary import render_summary
    from gateval.render.view import ReportView

    return render_summary(ReportView(report), screen)


def warm_up(asked: Collection[str]) -> None:
    """Do the slow part of a first view beforehand: import libraries, compile templates."""
    from gateval.domain.decision.decision import make_report
    from gateval.domain.plan.plan import Plan
    from gateval.domain.results.results import Results
    from gateval.domain.tree import Revision

    head = Revision(name="", commit=None, tree="0" * 40)
    nothing = make_report(Results(plan=Plan(head=head, nothing="Nothing to evaluate.")))
    for _, pieces in all_views(nothing, asked):
        "".join(pieces)
