"""What the views say of a run: counted right, by its cause, and in the same words everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.github_shop import WORSE
from tests.helpers.shop import EVAL, FIXTURES, build_shop

ASKS_WHY, GREETS = FIXTURES.split("---\n")


def eight(asks: str = "clarify_reason") -> str:
    """Eight fixtures that a rude prompt fails; the first asks for this tool."""
    named = [ASKS_WHY.replace("refund-asks-why", f"asks-{number}") for number in range(8)]
    named[0] = named[0].replace("tool: clarify_reason", f"tool: {asks}")
    return "---\n".join(named)


def test_a_fixture_counts_once_however_many_versions_of_it_regress(tmp_path: Path) -> None:
    """One of them is edited, so head is held against the target branch's version as well."""
    shop = build_shop(tmp_path / "shop")
    shop.checkout("main")
    shop.write("evals/fixtures.yaml", eight())
    shop.write("evals/support-eval.yaml", EVAL + "  scoring: {passThreshold: 0.1}\n")
    shop.commit()
    shop.branch("worse")
    shop.write("evals/fixtures.yaml", eight() + "    - {type: notContains, value: Refunded}\n")
    shop.write("evals/support-eval.yaml", EVAL + "  scoring: {passThreshold: 0.05}\n")
    shop.write("agents/prompts/support.md", WORSE)
    shop.commit()
    done = gateval(shop, "check", "--base", "main")
    assert done.returncode == 1, done.stdout + done.stderr
    first = " ".join(done.stdout.split("Head")[0].split())
    assert "8 fixtures passed before and fail now" in first, done.stdout


PARTLY = GREETS.replace(
    "    - {type: contains, value: Hello}\n",
    "    - {type: contains, value: Hello, weight: 3}\n"
    "    - {type: contains, value: Goodbye, weight: 2}\n",
)


@pytest.mark.parametrize("model", ["fixtures", "weighted"])
def test_a_fixture_has_one_score_everywhere(tmp_path: Path, model: str) -> None:
    shop = build_shop(tmp_path / "shop")
    shop.write("evals/fixtures.yaml", PARTLY)
    shop.write("evals/support-eval.yaml", EVAL + f"  scoring: {{model: {model}, passScore: 0.9}}\n"
               if model == "weighted" else EVAL)  # fmt: skip
    shop.commit()
    ran = gateval(shop, "run", "support-eval")
    assert "score 0.60" in ran.stdout, ran.stdout + ran.stderr
    (folder,) = (shop.path / ".gateval/results").glob("2*")
    assert "score 0.60" in (folder / "comment.md").read_text().lower()
    (greets,) = json.loads(gateval(shop, "get", "eval", "support-eval", "-o", "json").stdout)[
        "fixtureResults"
    ]
    assert (greets["score"], greets["result"]) == ("0.60", "Fail")
    (row,) = json.loads(gateval(shop, "get", "fixtures", "-o", "json").stdout)
    assert [one["score"] for one in row["results"]] == ["0.60"]
    assert "score 0.60" in gateval(shop, "show", "greets").stdout
    junit = (folder / "junit.xml").read_text()
    assert "score 0.60" in junit
