"""Schedule."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.compat.rows import states
from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.shop import EVAL, build_shop


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    return build_shop(tmp_path / "shop")


def scheduled(shop: Repo, cron: str, zone: str = "") -> None:
    more = f"  timeZone: {zone}\n" if zone else ""
    shop.write("evals/support-eval.yaml", f'{EVAL}  schedule: "{cron}"\n{more}')


@states("`schedule`: a cron expression of five fields, in UTC")
@states(
    "The controller manages a periodic run",
    differs="There is no controller: a workflow that ticks (`baseline.yml`, hourly) runs the Evals "
    "that are due, which `gateval due` lists; missed runs are caught up once. `timeZone` names "
    "another zone than UTC.",
)
def test_an_eval_with_a_schedule_is_due(shop: Repo) -> None:
    scheduled(shop, "0 9 * * *")
    done = gateval(shop, "due")
    assert (done.returncode, done.stdout) == (0, "support-eval\n")
    (found,) = json.loads(gateval(shop, "due", "--json").stdout)
    assert found["due"] is True
    assert found["since"].endswith("T09:00:00Z")
    assert found["following"].endswith("T09:00:00Z")
    scheduled(shop, "0 9 * * *", "Asia/Tokyo")
    (found,) = json.loads(gateval(shop, "due", "--json").stdout)
    assert found["following"].endswith("T00:00:00Z")
    wide = gateval(shop, "get", "evals", "-o", "wide").stdout
    assert "0 9 * * *" in wide


@states(
    "An Eval without `schedule` is run on demand and on edit only",
    differs="A run by the clock runs it, too, once a day and on each new commit: whoever lets the "
    "clock tick wants to see models change.",
)
def test_without_a_schedule_nothing_is_due(shop: Repo) -> None:
    done = gateval(shop, "due")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "No Eval has a schedule.\n"


@pytest.mark.parametrize(
    ("cron", "zone", "said"),
    [
        ("0 25 * * *", "", '"25" is no hour of a schedule'),
        ("daily", "", "A schedule has five fields"),
        ("0 9 * * *", "Europe/Atlantis", '"Europe/Atlantis" is no time zone that is known here'),
    ],
)
def test_what_is_no_schedule_is_refused(shop: Repo, cron: str, zone: str, said: str) -> None:
    scheduled(shop, cron, zone)
    done = gateval(shop, "validate")
    assert done.returncode == 2
    assert said in done.stdout
    assert "evals/support-eval.yaml:8" in done.stdout or "evals/support-eval.yaml:7" in done.stdout


@states(
    "The candidate Evals of an edit have their schedule cleared, so that cron does not fire mid-gate"
)
def test_a_schedule_changes_nothing_about_a_change(shop: Repo) -> None:
    scheduled(shop, "* * * * *")
    shop.commit()
    shop.write("agents/prompts/support.md", "You help.\nAlways ask for the reason first.\n")
    done = gateval(shop, "check", "--base", "main")
    assert "support-eval" in done.stdout
    assert done.returncode == 0, done.stdout
