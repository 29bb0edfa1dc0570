"""Annotations: on which line, how loud, how many."""

from __future__ import annotations

from gateval.domain.forge.check_run import MESSAGE_LIMIT, TITLE_LIMIT, AnnotationLevel
from gateval.render.github import MOST, annotate, left_out_note
from gateval.render.report.facts import Frame
from gateval.render.view import ReportView
from tests.helpers import sample_reports
from tests.helpers.reports import make


def test_a_failing_assertion_is_marked_on_its_line() -> None:
    (assertion, below) = annotate(ReportView(make("a-eval one high base:pass head:fail")))

    assert (assertion.path, assertion.line) == ("evals/one.yaml", 8)
    assert assertion.level is AnnotationLevel.FAILURE
    assert assertion.title == "one: contains failed at step 2"
    assert assertion.message == (
        'Expected "yes" in the answer; it says no.\n'
        "a-eval, severity high: passed 2 of 2 before, 0 of 2 now"
    )
    assert (below.path, below.line, below.title) == (
        "evals/a-eval.yaml",
        2,
        "a-eval is below its threshold",
    )


def test_what_passes_has_none() -> None:
    assert annotate(ReportView(sample_reports.passing())) == ()
    assert annotate(ReportView(sample_reports.nothing())) == ()


def test_what_was_not_measured_warns_on_the_fixture() -> None:
    (found,) = annotate(ReportView(make("a-eval one head:provider")))

    assert found.level is AnnotationLevel.WARNING
    assert found.title == "one: not measured"
    assert found.message.startswith("The provider had a bad day.\n")


def test_claims_never_more_than_warn() -> None:
    report = sample_reports.regressed()

    assert {one.level for one in annotate(ReportView(report))} >= {AnnotationLevel.FAILURE}
    assert {one.level for one in annotate(ReportView(report, Frame(unverified="claim")))} == {
        AnnotationLevel.WARNING
    }


def test_what_blocks_comes_before_what_warns() -> None:
    """An Eval below its threshold has no fixture to stand at, and blocks nevertheless."""
    found = annotate(ReportView(make("a-eval one high head:provider\nb-eval two head:fail")))
    assert [one.level for one in found] == [
        AnnotationLevel.FAILURE,
        AnnotationLevel.FAILURE,
        AnnotationLevel.WARNING,
    ]
    assert found[1].title == "b-eval is below its threshold"


def test_the_worst_come_first() -> None:
    rows = "a-eval weak low base:pass head:fail\na-eval bad critical base:pass head:fail"

    assert [one.title.split(":")[0] for one in annotate(ReportView(make(rows)))][:2] == [
        "bad",
        "weak",
    ]


def test_many_are_counted() -> None:
    found = annotate(ReportView(sample_reports.many(700)))

    assert len(found) > MOST
    assert left_out_note(found) == (
        f"{len(found) - MOST:,} more annotations are not shown on the files; the worst 200 are."
    )
    assert left_out_note(found[: MOST + 1]).startswith("1 more annotation is not")
    assert left_out_note(found[:MOST]) == ""


def test_hostile_texts_stay_within_the_limits() -> None:
    for one in annotate(ReportView(sample_reports.hostile())):
        assert len(one.title) <= TITLE_LIMIT
        assert len(one.message.encode()) <= MESSAGE_LIMIT
        assert "\n" not in one.title + one.path
