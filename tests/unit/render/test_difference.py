"""Where head first went another way than base, and how often."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gateval.domain.decision.decision import make_report
from gateval.domain.trials.trial import AssessmentStatus
from gateval.render.report.evidence import Pair, first_difference, nearest_base
from gateval.render.view import ReportView
from tests.helpers.assessments import make_assessment
from tests.helpers.reports import edit, make_results
from tests.helpers.trials import trace

ASK = ["user: refund", "call ask {}", "result ask: why", "says: Why?"]
PAY = ["user: refund", "call pay {}", "result pay: ok", "says: Paid."]


def said_of(
    head: Sequence[Sequence[str]], base: Sequence[Sequence[str]], blamed: Sequence[int] = ()
) -> str:
    """What is said of the first difference of a fixture that fails on head and passes on base."""
    most = max(len(head), len(base))
    ends = f"base:{','.join(['pass'] * most)} head:{','.join(['fail'] * most)}"
    results = make_results(f"a-eval f {ends}")
    for side, traces in (("head", head), ("base", base)):
        for number, steps in enumerate(traces, 1):
            shown = trace(*steps) if steps else None
            results = edit(results, f"a-eval/f #{number} on {side}", trace=shown, output="x")
            if side == "head":
                failed = make_assessment(
                    type="contains",
                    status=AssessmentStatus.FAILED,
                    reason="No.",
                    steps=tuple(blamed),
                )
                results = edit(results, f"a-eval/f #{number} on head", assessments=(failed,))
    counts = {"head": len(head), "base": len(base)}
    asked = [one for one in results.trials if one.key.repetition <= counts[one.key.side]]
    results = results.model_copy(update={"trials": tuple(asked)})
    (fact,) = ReportView(make_report(results)).fixtures
    return str(first_difference(fact, Pair(fact.worst, nearest_base(fact, fact.worst))))


def call(arguments: str) -> list[str]:
    return ["user: refund", f"call find {arguments}", "result find: [1]", "says: Found."]


@pytest.mark.parametrize(
    ("head", "base", "said"),
    [
        ([PAY, PAY], [ASK, ASK], "At step 2 head calls `pay` where base calls `ask`: 2 of 2 on head, 0 of 2 on base"),
        ([PAY, ASK], [ASK, ASK], "At step 2 head calls `pay` where base calls `ask`: 1 of 2 on head, 0 of 2 on base"),
        ([[*ASK[:3], "call pay {}"]], [ASK], "At step 4 head calls `pay` where base answers in words: 1 of 1 on head, 0 of 1 on base"),
        ([ASK[:1]], [ASK], "At step 2 base calls `ask`, head does not: 0 of 1 on head, 1 of 1 on base"),
        ([[*ASK, "call pay {}"]], [ASK], "At step 5 head calls `pay`, base does not: 1 of 1 on head, 0 of 1 on base"),
        ([[PAY[0], *PAY[1:3], *ASK[1:]]], [[ASK[0], *ASK[1:3], *PAY[1:]]], "At step 2 head calls `pay`, base only at step 4: 1 of 1 on head, 0 of 1 on base"),
        ([[*PAY[:3], *ASK[1:]]] * 2, [[*ASK[:3], *PAY[1:3], "call ask {}"]] * 2, "At step 2 base calls `ask`, head only at step 4: 0 of 2 on head, 2 of 2 on base"),
        ([call('{"id": 2}')], [call('{"id": 1}')], "At step 2 head calls `find` with other arguments than base (`{\"id\":2}` instead of `{\"id\":1}`): 1 of 1 on head, 0 of 1 on base"),
        ([[*ASK[:2], "result ask: no"]], [ASK[:3]], "At step 3 `ask` answers head otherwise than base (`no` instead of `why`): 1 of 1 on head, 0 of 1 on base"),
        ([['user: a', 'call ask {}', 'result ask: {"sum": 226, "id": 1}']], [['user: a', 'call ask {}', 'result ask: {"id": 1, "sum": 217}']], 'At step 3 `ask` answers head otherwise than base (`{"sum":226}` instead of `{"sum":217}`): 1 of 1 on head, 0 of 1 on base'),
        ([["user: pay", *ASK[1:]]], [ASK], "At step 1 the user tells head something else than base: 1 of 1 on head, 0 of 1 on base"),
        ([[*ASK[:3], "says: No."]], [ASK], "At step 4 head words its answer otherwise than base: 1 of 1 on head, 0 of 1 on base"),
        ([ASK], [ASK], "None"),
        ([[]], [ASK], "None"),
    ],
)  # fmt: skip
def test_the_first_difference_is_named_and_counted(
    head: Sequence[Sequence[str]], base: Sequence[Sequence[str]], said: str
) -> None:
    assert said_of(head, base) == said


def test_what_varies_on_base_itself_is_no_difference() -> None:
    base = [call('{"id": 1}'), call('{"id": 2}')]
    later = [*call('{"id": 3}')[:3], "call pay {}", "says: Found."]
    assert said_of([later], base) == (
        "At step 4 head calls `pay`, base does not: 1 of 1 on head, 0 of 2 on base"
    )


def test_head_is_held_beside_the_nearest_repetition_of_base() -> None:
    far = ["user: refund", "call a {}", "call b {}", "call c {}", "says: Why?"]
    assert said_of([PAY], [far, ASK]).startswith(
        "At step 2 head calls `pay` where base calls `ask`"
    )


def test_an_answers_wording_counts_only_where_nothing_else_differs() -> None:
    head = ["user: refund", "says: I see.", "call pay {}"]
    base = ["user: refund", "says: Hm.", "call ask {}"]
    assert said_of([head], [base]).startswith("At step 3 head calls `pay` where base calls `ask`")


def test_of_answers_that_are_worded_otherwise_the_blamed_one_is_named() -> None:
    head = ["user: refund", "says: I am on it.", "call pay {}", "result pay: ok", "says: Call us."]
    base = ["user: refund", "says: One moment.", *head[2:4], "says: Paid."]
    said = "head words its answer otherwise than base: 1 of 1 on head, 0 of 1 on base"
    assert said_of([head], [base], blamed=[5]) == f"At step 5 {said}"
    assert said_of([head], [base]) == f"At step 2 {said}"
