"""What the comment leads to, and the prompt's diff: ours stay ours, whatever strangers wrote."""

from __future__ import annotations

import re

import pytest

from gateval.domain.decision.decision import Report, make_report
from gateval.domain.plan.plan import AgentChange, ChangeKind
from gateval.domain.plan.planned_eval import Bar, Reason
from gateval.domain.problems import SourceLocation
from gateval.domain.trials.trial import Side
from gateval.render.comment import render_comment
from gateval.render.report.facts import PLAIN
from gateval.render.report.wording import GLOSSARY
from gateval.render.view import ReportView
from gateval.safe.sanitize import code, source_link
from tests.helpers.github_markdown import read, to_html
from tests.helpers.hostile import ATTACK
from tests.helpers.reports import edit_fixture, edit_plan, make_results

TREE = f"https://github.com/octo/shop/blob/{'d' * 40}"
RUN = "https://github.com/octo/shop/actions/runs/7"
FRAME = PLAIN._replace(tree_url=TREE, run_url=RUN, files_url=f"{RUN}#artifacts")
ROWS = "support-eval one base:pass,pass,pass head:fail,fail,fail"


def report(base: str, head: str, rows: str = ROWS, **fixture: object) -> Report:
    """One Agent whose prompt was `base` and is `head`."""
    results = make_results(rows)
    if fixture:
        results = edit_fixture(results, "one", **fixture)
    prompts = {Side.HEAD: head, Side.BASE: base}
    agents = [one.model_copy(update={"system": prompts[one.side]}) for one in results.plan.agents]
    why = Reason(where="agents/prompts/support.md", what="spec.system", before="a", after="b")
    changed = AgentChange(agent="support", kind=ChangeKind.MODIFIED, reasons=(why,))
    return make_report(edit_plan(results, agents=tuple(agents), changes=(changed,)))


def links(markdown: str) -> list[str]:
    return re.findall(r'href="([^"]*)"', to_html(markdown))


BEFORE = "You help customers.\nAsk why first.\nBe kind.\n"
AFTER = BEFORE.replace("Ask why first.", "Refund at once.")


def test_the_prompts_whole_diff_stands_beside_the_regression() -> None:
    comment = render_comment(ReportView(report(BEFORE, AFTER), FRAME))
    assert (
        "```diff\n@@ -1,3 +1,3 @@\n You help customers.\n-Ask why first.\n+Refund at once.\n"
        " Be kind.\n```" in comment
    )
    order = ["### Regressed", "Changed here: ", "```diff", "What changed in each agent"]
    assert [comment.index(one) for one in order] == sorted(comment.index(one) for one in order)


@pytest.mark.parametrize(
    ("head", "rows"),
    [(BEFORE, ROWS), (AFTER, "support-eval one base:pass,pass,pass head:pass,pass,pass")],
)
def test_there_is_none_where_no_prompt_changed_or_nothing_got_worse(head: str, rows: str) -> None:
    assert "```diff" not in render_comment(ReportView(report(BEFORE, head, rows), FRAME))


def test_a_diff_that_does_not_fit_is_told_and_not_cut() -> None:
    long = "".join(f"Rule {number}: be good, whatever they say to you.\n" for number in range(900))
    comment = render_comment(ReportView(report("Short.\n", long), FRAME), limit=20_000)
    assert "900 lines added, 1 removed; the diff is too long for here" in comment
    assert "```diff" not in comment
    assert "+Rule 899" in render_comment(ReportView(report("Short.\n", long), FRAME), limit=320_000)


def test_nothing_in_a_prompt_leaves_its_block() -> None:
    for base, head in (("kind\n", ATTACK), (ATTACK, "kind\n")):
        comment = render_comment(ReportView(report(base, head), FRAME))
        page = read(comment)
        assert page.balanced
        assert page.comments == read(render_comment(ReportView(report("a", "a"), FRAME))).comments
        assert "evil.example" not in page.prose
        assert "@octocat" not in page.code
        assert not re.search(r"(?m)^[ +-]/merge", comment)
        ours = [one for one in links(comment) if one != GLOSSARY]
        assert all(one.startswith("https://github.com/octo/shop/") for one in ours)


def test_fixtures_assertions_and_prompts_lead_to_their_lines_on_head() -> None:
    found = links(
        render_comment(
            ReportView(
                report(BEFORE, AFTER, place=SourceLocation(file="evals/a b.yaml", line=3)), FRAME
            )
        )
    )
    assert f"{TREE}/evals/a%20b.yaml?plain=1#L3" in found
    assert f"{TREE}/evals/one.yaml?plain=1#L8" in found
    assert f"{TREE}/agents/prompts/support.md?plain=1#L1" in found
    assert "https://github.com/octo/shop/actions/runs/7#artifacts" in found


def test_on_a_machine_of_ones_own_the_words_alone_are_linked() -> None:
    assert links(render_comment(ReportView(report(BEFORE, AFTER)))) == [GLOSSARY]


def test_what_stands_on_the_target_branch_alone_is_not_looked_for_on_head() -> None:
    seen = report(BEFORE, AFTER)
    (planned,) = seen.results.plan.evals
    own = planned.model_copy(update={"name": "own"})
    barred = planned.model_copy(update={"bar": Bar(eval="own")})
    results = edit_plan(seen.results, evals=(own, barred))
    comment = render_comment(ReportView(make_report(results), FRAME))
    assert "#### one" in comment
    assert f"{TREE}/evals/" not in comment


@pytest.mark.parametrize(
    "path",
    [
        "a](https://evil.example) [b.md",
        "x?raw=true#L1&y=<b>",
        "`a`.md",
        "a b\u202e.md",
        "ü/\u00e9.md",
        "%2e%2e/x",
        "javascript:alert(1)",
        "//evil.example/x",
        "../../evil/x",
        "a/./b",
        '"a\\nb"',
        "\ud83d.md",
        "x" * 301,
        "",
    ],
)
def test_a_path_never_leads_elsewhere(path: str) -> None:
    made = source_link(code(path, 400), TREE, path, 7)
    for address in links(made):
        assert address.startswith(f"{TREE}/")
        assert address.endswith("?plain=1#L7")
        inside = address.removeprefix(f"{TREE}/").removesuffix("?plain=1#L7")
        assert re.fullmatch(r"[A-Za-z0-9._~/%-]+", inside)
        assert ".." not in inside.split("/")
    assert len(links(made)) <= 1
