"""`report.html`: every run writes it, `--views` chooses, and it says in ten seconds what broke."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.page import ReadPage
from tests.helpers.repo import Repo
from tests.helpers.shop import FIXTURES, SCRIPT, build_shop

REST = SCRIPT.removeprefix("rules:\n")


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    """A shop whose change has the agent pay without asking."""
    shop = build_shop(tmp_path / "shop")
    shop.write("agents/prompts/support.md", "You help customers.\nAlways be quick first.\n")
    shop.commit("Quick")
    return shop


def test_a_run_writes_a_page_that_tells_what_broke(shop: Repo) -> None:
    done = gateval(shop, "check", "--results", "out")
    assert done.returncode == 1, done.stderr
    page = (shop.path / "out/report.html").read_text()
    found = ReadPage(page)
    assert "refund-asks-why passed before and fails now" in found.text
    assert "Expected a call of clarify_reason, saw the calls refund." in found.text
    assert "At step 2 head calls refund where base calls clarify_reason" in found.text
    assert "-Always ask for the reason first." in found.text
    assert "evals/fixtures.yaml:8" in found.text
    again = gateval(shop, "report", "out", "--format", "html")
    assert again.stdout == page


FINDS = """\
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: finds-order, labels: {agent: support}}
spec:
  input: {type: prompt, payload: {prompt: Where is order A-1?}}
  assertions:
    - {type: contains, value: tomorrow}
"""
ASKS = """\
  - when: {user: Where, turn: 1}
    toolCalls: [{name: clarify_reason, arguments: {order: A-1}}]
"""
TRIES = """\
  - when: {user: Where, turn: 2}
    toolCalls: [{name: refund, arguments: {dry: true}}]
"""
SAYS = "  - when: {user: Where}\n    reply: It comes tomorrow.\n"
LOST = SAYS.replace("comes tomorrow", "is lost")
AGAIN = ASKS.replace("turn: 1", "turn: 3").replace("A-1", "A-1, again: true")


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (ASKS.replace("clarify_reason", "refund") + TRIES + LOST, "At step 2 head calls refund where base calls clarify_reason"),
        (ASKS.replace("A-1", "A-2") + TRIES + LOST, 'At step 2 head calls clarify_reason with other arguments than base ({"order":"A-2"} instead of {"order":"A-1"})'),
        (ASKS + LOST, "At step 4 base calls refund, head does not"),
        ("  - when: {user: Where, turn: 1}\n    reply: I do not know.\n", "At step 2 base calls clarify_reason, head does not"),
        (ASKS + TRIES + AGAIN + LOST, "At step 6 head calls clarify_reason, base does not"),
        (TRIES.replace("2", "1") + ASKS.replace("turn: 1", "turn: 2") + LOST, "At step 2 head calls refund, base only at step 4"),
    ],
)  # fmt: skip
def test_the_first_screen_names_the_step_to_blame(tmp_path: Path, rules: str, said: str) -> None:
    """Six regressions as people make them: what a reader finds without opening anything."""
    shop = build_shop(tmp_path / "shop")
    shop.git("checkout", "--quiet", "main")
    shop.write("evals/fixtures.yaml", FIXTURES + FINDS)
    shop.write(".gateval/scripted/support.yaml", f"rules:\n{ASKS}{TRIES}{SAYS}{REST}")
    shop.commit("More")
    shop.branch("worse", "main")
    shop.write(".gateval/scripted/support.yaml", f"rules:\n{rules}{REST}")
    shop.commit("Worse")
    done = gateval(shop, "check", "--results", "out")
    assert done.returncode == 1, done.stderr
    text = ReadPage((shop.path / "out/report.html").read_text()).text
    assert f"{said}: 2 of 2 on head" in text or f"{said}: 0 of 2 on head, 2 of 2 on base" in text


def test_views_chooses_what_is_written(shop: Repo) -> None:
    done = gateval(shop, "check", "--results", "out", "--views", "markdown,junit")
    assert done.returncode == 1, done.stderr
    written = {one.name for one in (shop.path / "out").iterdir()}
    assert {"comment.md", "junit.xml", "summary.txt", "results.v1.json"} <= written
    assert not {"report.html", "gateval.sarif"} & written
    done = gateval(shop, "check", "--results", "html", GATEVAL_VIEWS="html")
    written = {one.name for one in (shop.path / "html").iterdir()}
    assert "report.html" in written
    assert not {"comment.md", "junit.xml"} & written


def test_a_view_that_is_not_there_is_refused_before_anything_runs(shop: Repo) -> None:
    done = gateval(shop, "check", "--results", "out", "--views", "htlm")
    assert done.returncode == 2
    assert 'There is no view "htlm". Did you mean "html"?' in done.stderr
    assert not (shop.path / "out/trials").exists()


def test_a_page_that_is_not_written_imports_nothing(shop: Repo) -> None:
    program = (
        "import sys; from gateval.cli.main import run\n"
        "run(sys.argv[1:])\n"
        "print([one for one in sys.modules if 'render.page' in one])"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, "check", "--views", "junit"],
        cwd=shop.path,
        env=shop.env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"
