"""The bar for hostile text: of 1,000 generated strings, none gets through in any sink."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from gateval.domain.decision.decision import make_report
from gateval.domain.plan.plan import FileEdit
from gateval.domain.results.results import Results
from gateval.domain.trials.trial import Side, Verdict
from gateval.safe.redaction import MARK, Redactor
from tests.helpers import sample_reports
from tests.helpers.hostile import ATTACK, ATTACKS, hostile_results
from tests.helpers.reports import edit, edit_fixture, edit_plan, make_results
from tests.helpers.runner_log import commands
from tests.helpers.sinks import MARKED, Sinks, breaches, render_everything
from tests.helpers.tiers import some_always

SECRET = 'sk-live/"Zq+8~é_4471'

SECRETS = (
    SECRET, quote(SECRET, safe=""), quote(SECRET), SECRET.replace("/", "\\/").replace('"', '\\"'),
    *(base64.b64encode(b"abc"[:n] + SECRET.encode() + b"tail").decode() for n in range(3)),
    base64.urlsafe_b64encode(f"x:{SECRET}".encode()).decode(),
)  # fmt: skip

DANGERS = (
    "@octocat", "@org/team", "user@example.com", "<b>", "</td>", "<img src=x>",
    "![i](https://e.example/i.png)", "[l](//e.example)", "<https://e.example>", "www.e.example",
    "<!-- x -->", "::error::x", "::set-output name=a::b", "::add-mask::x", "##[error]x",
    "\x1b[2J", "\x1b]8;;https://e.example\x07", "\x9b31m", "\u202e", "\u2066", "\u200d", "\ufeff",
    "\u00ad", "\u2028", "\x85", "Fixes #1", "closes: org/repo#2", "resolve GH-3", "/approve",
    "/lgtm cancel", "bors r+", "ok to test", "#1", "GH-1", "org/repo#1", "deadbeef",
    "0123456789abcdef0123456789abcdef01234567", "org/repo@deadbeef", "# title", "- [ ] x", "</details>",
    f"<!-- gateval:comment v1 {MARKED.stamp} head={'e' * 40} -->", *SECRETS,
)  # fmt: skip

PIECES = (
    *ATTACKS, *DANGERS, "<svg/onload=x>", "@\u200bx", "[x]: https://e.example", "-->", "<!--", "--!>", "```", "~~~", "`", "    ",
    "\t", "\n", "\r", "\r\n", "::stop-commands::t", "##vso[task.x]", "%0A::error::x", "\u200b", "|", "\\",
    SECRET[:9] + "\u200b" + SECRET[9:], SECRET[:5] + "\x1b[0m" + SECRET[5:], "gateval-0123456789abcdef",
    "$x$", ":+1:", "a", "word ", " ", "1.",
)  # fmt: skip

HOSTILE = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), min_size=1, max_size=8).map(
    "".join
)


def small() -> Results:
    """Two fixtures with everything a stranger can write: verdict, quotes, trace, output."""
    (judged,) = (a for a in sample_reports.REFUND_ASSESSMENTS if a.verdict is not None)
    results = make_results(
        "support-eval one base:pass head:fail\nsupport-eval two base:pass head:candidate"
    )
    results = edit_fixture(results, "one", description="x")
    prompts = {Side.HEAD: "", Side.BASE: "x"}  # so that a prompt's diff is shown
    agents = (one.model_copy(update={"system": prompts[one.side]}) for one in results.plan.agents)
    edits = (FileEdit(where="agents/support.yaml:4", diff="x", unread="x"),)
    results = edit_plan(results, agents=tuple(agents), edits=edits)
    assert isinstance(judged.verdict, Verdict)
    return edit(
        results,
        "support-eval/one #1 on head",
        assessments=(judged.model_copy(update={"index": 0}),),
        trace=sample_reports.REFUND_TRACE,
        output="x",
        detail=("x",),
    )


SMALL = small()
REDACTOR = Redactor([SECRET])


@pytest.mark.parametrize("part", some_always(range(20), 20))
def test_nothing_gets_through_in_any_sink(part: int) -> None:
    """The same 1,000 strings each night (some come twice), a twentieth of them at every run."""

    @seed(part)
    @settings(
        max_examples=53, deadline=None, suppress_health_check=list(HealthCheck), database=None
    )
    @given(attack=HOSTILE)
    def holds(attack: str) -> None:
        assert what_gets_through(attack) == []

    holds()


def test_not_even_all_attacks_at_once_get_through() -> None:
    assert what_gets_through(ATTACK) == []


def what_gets_through(attack: str) -> list[str]:
    report = make_report(hostile_results(SMALL, attack))
    return breaches(render_everything(report, attack, REDACTOR), SECRET)


@pytest.mark.parametrize("danger", DANGERS)
def test_the_checks_see_each_danger_when_nothing_is_done(danger: str) -> None:
    raw = {"raw": danger}

    assert breaches(Sinks(raw, raw, raw, raw), SECRET)


def test_redaction_reaches_every_field() -> None:
    hostile = hostile_results(sample_reports.regressed_results(), f"x{SECRET}y")
    redacted = REDACTOR.value(hostile)

    assert "sk-live" not in redacted.model_dump_json()
    assert MARK in redacted.model_dump_json()
    assert REDACTOR.value(SMALL) is SMALL
    assert repr(REDACTOR).startswith("Redactor(")
    assert SECRET not in repr(REDACTOR)


@pytest.mark.parametrize(
    ("log", "found"),
    [
        ("::error::x", ["error"]),
        (" \t::Error file=a::x", ["error"]),
        ("text ::error::x", []),
        ("::error x", []),
        ("text ##[group]x", ["group"]),
        (
            "::stop-commands::t\n::error::x\n##[error]y\n::t::\n::warning::z",
            ["stop-commands", "warning"],
        ),
        ("one\r::error::x", ["error"]),
        ("\u200b::error::x", ["error"]),
        (": :error::x\n# #[error]", []),
    ],
)
def test_the_runner_s_parser(log: str, found: list[str]) -> None:
    assert [command.name for command in commands(log)] == found
