"""A fixture in quarantine informs and does not block, up to its day."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.shop import EVAL, PROMPT, SCRIPT, build_shop

WORSE = PROMPT.replace("ask for the reason", "be quick")
ENTRY = "{fixture: refund-asks-why, owner: ada, until: 'DAY'}"


ROOM = 30
"""Seconds that a test has before midnight (UTC), so that it begins and ends on one day."""


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    left = 86_400 - time.time() % 86_400
    if left < ROOM:
        time.sleep(left)
    return build_shop(tmp_path / "shop")


def quarantine(shop: Repo, day: str, entry: str = ENTRY, evaluation: str = EVAL) -> None:
    """Write the policy and the Eval on main, and a change under which refunds are not asked for."""
    shop.checkout("main")
    shop.write(".github/gateval.yml", f"policy:\n  quarantine: [{entry.replace('DAY', day)}]\n")
    shop.write("evals/support-eval.yaml", evaluation)
    shop.commit("Quarantine")
    shop.git("branch", "--force", "change")
    shop.checkout("change")
    shop.write("agents/prompts/support.md", WORSE)
    shop.commit("Worse")


def checked(shop: Repo) -> tuple[int, list[dict[str, Any]], str]:
    done = gateval(shop, "check", "--base", "main")
    (folder,) = (shop.path / ".gateval/results").glob("2*")
    decision = json.loads((folder / "decision.v1.json").read_text())
    return done.returncode, decision["reasons"], done.stdout


def day(distance: int) -> str:
    return (datetime.now(UTC).date() + timedelta(days=distance)).isoformat()


def test_without_it_the_change_blocks(shop: Repo) -> None:
    quarantine(shop, day(3), "{fixture: greets, owner: ada, until: 'DAY'}")
    code, reasons, _ = checked(shop)
    assert code == 1
    assert reasons[0]["code"] == "regression"


@pytest.mark.parametrize("distance", [0, 3])
@pytest.mark.parametrize("threshold", ["", "  scoring: {passThreshold: 1.0}\n"])
def test_it_informs_without_blocking_up_to_its_day(
    shop: Repo, distance: int, threshold: str
) -> None:
    quarantine(shop, day(distance), evaluation=EVAL + threshold)
    code, reasons, text = checked(shop)
    assert code == 0, text
    (found,) = [one for one in reasons if one["code"] == "regression"]
    assert found["verdict"] == "pass"
    assert f"in quarantine until {day(distance)} (ada)" in found["text"]
    assert "refund-asks-why" in text


def test_it_ends_on_its_date(shop: Repo) -> None:
    quarantine(shop, day(-1))
    code, reasons, text = checked(shop)
    assert code == 1
    assert reasons[0]["code"] == "regression"
    assert f"The quarantine of refund-asks-why ended on {day(-1)}" in text


def test_what_ended_is_told_only_if_nothing_else_holds(shop: Repo) -> None:
    quarantine(shop, day(2), f"{ENTRY.replace('DAY', day(-1))}, {ENTRY}")
    code, reasons, text = checked(shop)
    assert code == 0, text
    assert "ended on" not in text
    (found,) = [one for one in reasons if one["code"] == "regression"]
    assert f"in quarantine until {day(2)} (ada)" in found["text"]


def test_a_name_that_is_no_fixture_s_is_told(shop: Repo) -> None:
    quarantine(shop, day(2), ENTRY.replace("asks-why", "ask-why"))
    code, _, text = checked(shop)
    text = " ".join(text.split())
    assert code == 1
    assert "policy.quarantine names refund-ask-why, and there is no such fixture. " in text
    assert 'Did you mean "refund-asks-why"?' in text


def test_it_is_about_one_eval_if_it_says_so(shop: Repo) -> None:
    entry = ENTRY.replace("{fixture", "{eval: another-eval, fixture")
    quarantine(shop, day(3), entry)
    assert checked(shop)[0] == 1


def test_a_pull_request_cannot_quarantine_for_itself(shop: Repo) -> None:
    shop.write("agents/prompts/support.md", WORSE)
    shop.write(".github/gateval.yml", f"policy:\n  quarantine: [{ENTRY.replace('DAY', day(3))}]\n")
    shop.commit("Worse, and quarantined")
    code, reasons, _ = checked(shop)
    assert code == 1
    assert {"regression", "lowered-bar"} <= {one["code"] for one in reasons}


def test_all_in_quarantine_informs_only(shop: Repo) -> None:
    more = "{fixture: greets, owner: ada, until: 'DAY'}, " + ENTRY
    quarantine(shop, day(1), more)
    shop.write(".gateval/scripted/support.yaml", SCRIPT.replace("Hello! How", "Hi! How"))
    code, reasons, text = checked(shop)
    assert code == 0, text
    assert len([one for one in reasons if "in quarantine" in one["text"]]) == 2


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{fixture: a, owner: ada, until: soon}", '"soon" is no day'),
        ("{fixture: a, owner: ada, until: '2026-13-01'}", '"2026-13-01" is no day'),
        ("{fixture: a, until: '2026-12-01'}", "owner"),
        ("{fixture: a, owner: ada}", "until"),
    ],
)
def test_what_is_no_quarantine_is_refused(shop: Repo, entry: str, said: str) -> None:
    shop.write(".github/gateval.yml", f"policy:\n  quarantine: [{entry}]\n")
    done = gateval(shop, "validate")
    assert done.returncode == 2
    assert said in done.stdout
    assert ".github/gateval.yml:2" in done.stdout
