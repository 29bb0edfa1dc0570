"""The page of a run: what it says before anything runs, what it holds, and what it leaves out."""

from __future__ import annotations

import random
import re
import sys
from types import FrameType

import pytest

from gateval.domain.decision.decision import Report, make_report
from gateval.domain.plan.plan import FileEdit
from gateval.domain.planning.file_edits import OF_RUN
from gateval.domain.results.results import Results
from gateval.domain.trials.trial import AssessmentStatus
from gateval.render.page import data as page_of
from gateval.render.page.document import render_page
from gateval.render.page.template import as_json, seen
from gateval.render.report.wording import GLOSSARY
from gateval.render.view import ReportView
from tests.helpers.assessments import make_assessment
from tests.helpers.hostile import ATTACK, hostile_results
from tests.helpers.page import ReadPage
from tests.helpers.reports import edit, edit_plan, make, make_results
from tests.helpers.sample_reports import regressed_results, stored
from tests.helpers.sealed import hidden_words
from tests.helpers.trials import trace
from tests.unit.render.conftest import Golden


def page(report: Report) -> ReadPage:
    return ReadPage(render_page(ReportView(report)))


def regressed() -> Report:
    return make_report(regressed_results())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, 5 < 6\nand\tmore", "plain, 5 < 6\nand\tmore"),
        ("Größe, 注文, заказ, ✓ “quoted” — 10 €", "Größe, 注文, заказ, ✓ “quoted” — 10 €"),
        ("a\u202eb", "a⟦U+202E⟧b"),
        ("zero\u200bwidth \u00ad", "zero⟦U+200B⟧width ⟦U+00AD⟧"),
        ("tag \U000e0041\ufe01", "tag ⟦U+E0041⟧⟦U+FE01⟧"),
        ("\x1b[31m\x00\x7f", "⟦U+001B⟧[31m⟦U+0000⟧⟦U+007F⟧"),
        ("one\r\ntwo\rthree\u2028", "one\ntwo⟦U+000D⟧three⟦U+2028⟧"),
        ("half \ud83d \ufffe", "half ⟦U+D83D⟧ ⟦U+FFFE⟧"),
        ("❤\ufe0f 👨\u200d👩\u200d👧", "❤ 👨👩👧"),
        ("x\u0301\u0302\u0303\u0304\u0305", "x\u0301\u0302\u0303…"),
        ("\u3164\u115f", "⟦U+3164⟧⟦U+115F⟧"),
    ],
)
def test_what_hides_is_named_and_nothing_else_is(text: str, shown: str) -> None:
    assert seen(text) == shown


def test_json_can_end_no_element() -> None:
    text = as_json(["</script><!--<script>", "&lt;", "\u2028", "\ud800"])
    assert not set("<>&\u2028") & set(text)
    assert text.isascii()


def test_the_first_screen_needs_no_program() -> None:
    said = page(regressed()).text
    assert "Fail" in said
    assert "Passed 2 of 2 before, 0 of 2 now." in said
    assert "evals/refund.yaml:14" in said
    assert "Quoted by the judge from step 4" in said
    assert "At step 2 head calls lookup_order, base does not: 2 of 2 on head" in said
    assert "invoice does not answer" in said or "does not answer" in said


def test_a_reason_leads_to_the_step() -> None:
    links = [one.get("href") for tag, one in page(regressed()).tags if tag == "a"]
    assert "#support-eval/refund-must-clarify/head/1/4" in links


def test_what_changed_beside_the_prompt_is_named_too() -> None:
    shown = page(stored("weighted-fails"))
    assert "+Be brief.Changed here: .gateval/scripted/support.yaml" in shown.text
    assert shown.blocks["agents"]["support"]["changes"] == [
        [".gateval/scripted/support.yaml scripted model support", "", ""]
    ]


def test_the_quoted_step_is_one_where_head_has_gone_another_way() -> None:
    results = make_results("a-eval f base:pass,pass head:fail,fail")
    head = trace("user: go", "call find {}", "result find: 1", "call pay {}", "call ask {}")
    base = trace("user: go", "call find {}", "result find: 1", "call ask {}", "call pay {}")
    late = make_assessment(
        type="toolSequence", status=AssessmentStatus.FAILED, score=0.0, reason="No.", steps=(2, 5)
    )
    for number in (1, 2):
        told = {"trace": head, "output": "x", "assessments": (late,)}
        results = edit(results, f"a-eval/f #{number} on head", **told)
        results = edit(results, f"a-eval/f #{number} on base", trace=base, output="x")
    shown = page(make_report(results))
    assert "Step 5calls ask" in shown.text
    assert "#a-eval/f/head/1/5" in [one.get("href") for _, one in shown.tags]


def test_what_was_not_measured_is_no_failure() -> None:
    shown = page(make("a-eval f base:pass head:provider\na-eval g base:pass head:fail"))
    assert "This is no failure" in shown.text
    assert "the model provider was down" in shown.text


def test_an_agent_that_is_silent_is_not_said_to_be_without_fault() -> None:
    shown = page(make("a-eval f base:candidate head:candidate"))
    assert "Not measured" in shown.text
    assert "This is no failure" not in shown.text


def test_judges_that_were_measured_have_a_plot() -> None:
    page = render_page(ReportView(stored("judge-calibrated")))
    plot = page.partition("<title>Agreement of judges with people")[2].partition("</svg>")[0]
    assert "tone: scripted/judge" in plot
    assert ">0.60 is asked<" in plot
    assert "Agreement of judges" not in render_page(ReportView(stored("passes")))


def test_nothing_runs_but_the_one_program_and_nothing_is_loaded() -> None:
    found = page(regressed())
    assert found.policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in found.policy
    kinds = [one.get("type") for tag, one in found.tags if tag == "script"]
    assert kinds.count("module") == 1
    assert set(kinds) == {"module", "application/json", "application/gzip"}
    loads = [
        one for _, one in found.tags if {"src", "srcset", "style", "data", "action"} & one.keys()
    ]
    assert loads == []
    assert led_away(found) == {GLOSSARY}
    assert not [name for _, one in found.tags for name in one if name.startswith("on")]


def led_away(found: ReadPage) -> set[str]:
    """Where links lead that leave the page, wherever on the other."""
    led = {(one.get("href") or "").partition("#")[0] for _, one in found.tags}
    return led - {""}


@pytest.mark.parametrize("results", [regressed_results()], ids=["regressed"])
def test_hostile_text_adds_no_element(results: Results) -> None:
    """The same elements as with harmless words in all these places, and no other address."""
    hostile = page(make_report(hostile_results(results)))
    plain = page(make_report(hostile_results(results, "x" * len(ATTACK))))
    assert {tag for tag, _ in hostile.tags} <= {tag for tag, _ in plain.tags} | {"pre"}
    assert hostile.policy == plain.policy
    names = {name for _, one in plain.tags for name in one}
    assert {name for _, one in hostile.tags for name in one} <= names
    assert led_away(hostile) == {GLOSSARY}
    assert not re.search("[\u202a-\u202e\u200b\x1b]", hostile.text)


def test_the_document_before_compression(golden: Golden) -> None:
    """All that stands in the page: its text, lines and blocks, but style and program."""
    shown = render_page(ReportView(regressed()))
    found = ReadPage(shown)
    bare = re.sub(r"(?s)<style>.*?</style>|<script.*?</script>\n?", "", shown)
    bare = re.sub(r"sha256-[\w+/=]+", "sha256-...", bare)
    opened = [found.lines, found.blocks]
    told = "\n".join(as_json(one) for one in opened)
    golden(f"{bare}\n{told}\n".replace(',"', ',\n"'), "txt")


def large(fixtures: int, repetitions: int, steps: int) -> Report:
    """A run with traces of random words, which hardly pack."""
    ends = ",".join(["fail"] * repetitions)
    rows = [f"a-eval f{number:04} base:{ends} head:{ends}" for number in range(fixtures - 1)]
    rows.append(f"a-eval worst critical base:{ends.replace('fail', 'pass')} head:{ends}")
    results = make_results("\n".join(rows))
    words = random.Random(1)
    said = [
        *("user: go" for _ in range(1)),
        *(f"says: {words.randbytes(1_500).hex()}" for _ in range(steps)),
    ]
    shown = trace(*said)
    trials = tuple(one.model_copy(update={"trace": shown, "output": "x"}) for one in results.trials)
    return make_report(results.model_copy(update={"trials": trials}))


def test_what_does_not_fit_is_left_out_by_a_fixed_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = render_page(ReportView(large(60, 2, 60)))
    assert len(shown.encode()) <= page_of.LIMIT
    found = ReadPage(shown)
    names = [one[page_of_name] for one in found.lines["fixtures"]]
    assert names[0] == "worst"
    assert len(names) == 60
    whole = sorted(
        int(name[:-1]) for name in found.blocks if name.endswith("a") and name != "agents"
    )
    assert whole == list(range(len(whole)))
    assert 0 < len(whole) < 60
    assert not [name for name in found.blocks if name.endswith("b")]


page_of_name = 1


def test_all_lines_of_changed_files_that_a_plan_may_hold_fit() -> None:
    """Even such as take the most room: each is escaped, or named."""
    rows = "\n".join(f"a{at}-eval f base:pass head:fail" for at in range(60))
    results = make_results(rows)
    said = "\n".join(["+" + '"\ufeff' * 30] * (OF_RUN // 60 // 122))
    of = [one.reasons[0].where for one in results.plan.changes]
    edits = tuple(FileEdit(where=where, diff=said) for where in of)
    assert len(edits) == 60
    shown = render_page(ReportView(make_report(edit_plan(results, edits=edits))))
    assert len(shown.encode()) <= page_of.LIMIT
    assert len(ReadPage(shown).blocks) == 1 + 2 * 60


def test_lines_of_very_many_fixtures_fit() -> None:
    shown = render_page(ReportView(large(12_000, 1, 1)))
    assert len(shown.encode()) <= page_of.LIMIT
    lines = ReadPage(shown).lines
    assert lines["left"] > 0
    assert len(lines["fixtures"]) + lines["left"] == 12_000
    assert lines["fixtures"][0][page_of_name] == "worst"


def test_a_long_trace_is_cut_and_says_so() -> None:
    results = make_results("a-eval f base:pass head:fail")
    long = trace("user: go", *(f"says: {'x' * 7_990}" for _ in range(200)))
    results = edit(results, "a-eval/f #1 on head", trace=long, output="x")
    block = page(make_report(results)).blocks["0a"]
    (trial,) = [one for one in block["trials"] if one["side"] == "head"]
    assert trial["left"] + len(trial["steps"]) == 201
    assert trial["left"] > 70


def test_the_search_for_canaries_opens_the_blocks() -> None:
    results = make_results("a-eval f base:pass head:fail")
    told = trace("user: go", "says: no", "says: the ophicleide", "says: end")
    results = edit(results, "a-eval/f #1 on head", trace=told, output="x")
    shown = render_page(ReportView(make_report(results)))
    assert "ophicleide" not in shown
    assert hidden_words(shown.encode()) == {"ophicleide"}


def test_equal_reports_give_equal_pages() -> None:
    assert render_page(ReportView(regressed())) == render_page(ReportView(regressed()))


def steps_to_page(fixtures: int) -> int:
    """How many functions the page of a run calls of which not one of so many fixtures ran."""
    rows = "\n".join(f"a-eval f{n:03} base:pass head:pass" for n in range(fixtures))
    view = ReportView(make_report(make_results(rows).replace(trials=())))
    calls = 0

    def count(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        render_page(view)
    finally:
        sys.setprofile(None)
    return calls


def test_a_page_costs_each_fixture_that_did_not_run_the_same() -> None:
    steps_to_page(1)
    few, many = steps_to_page(100), steps_to_page(400)
    assert many / few < 4.4
