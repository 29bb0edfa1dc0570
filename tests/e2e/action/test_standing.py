"""What one run found regressed stands: running again until it is green does not pay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gateval.domain.base import ascii_json
from gateval.domain.strict_json import read_json
from gateval.ports.storage import HISTORY
from tests.helpers.github_shop import SAME, WORSE, GitHubShop
from tests.helpers.repo import Repo


def results_of(ended: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ended.results / "results.v1.json").read_text())
    return found


def regressed(ended: Any) -> set[str]:
    return {
        one["fixture"]
        for planned in results_of(ended)["plan"]["evals"]
        for one in planned["standing"]
    }


def rewrite(shop: GitHubShop, **changes: Any) -> None:
    """Rewrite the newest stored verdict, as anybody can who may push."""
    lines = Repo.at(shop.bare).git("show", f"{HISTORY.ref}:{HISTORY.path}").splitlines()
    record = read_json(lines[-1].decode())
    assert isinstance(record, dict)
    clone = Repo(shop.folder / "forger")
    Path(clone.path / HISTORY.path).write_text(ascii_json({**record, **changes}) + "\n")
    clone.commit()
    clone.git("push", "--quiet", "--force", str(shop.bare), f"HEAD:{HISTORY.ref}")


def test_a_new_run_does_not_take_a_regression_back(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    first = shop.on_pull(pull).run_action()
    assert first.code == 1
    assert not regressed(first)
    again = shop.on_pull(pull).run_action()
    assert again.code == 1
    standing = regressed(again)
    assert standing
    assert "a new run does not take it back" in (again.results / "decision.v1.json").read_text()
    measured = {trial["key"]["fixture"] for trial in results_of(again)["trials"]}
    assert measured
    assert not measured & standing, "what stands is not measured again"


def test_it_still_stands_in_the_third_run(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    for _ in range(2):
        shop.on_pull(pull).run_action()
    third = shop.on_pull(pull).run_action()
    assert third.code == 1
    assert regressed(third)


def test_another_head_with_another_agent_is_measured(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    shop.on_pull(pull).run_action()
    shop.commit(SAME)
    pull.head_sha = shop.push()
    ended = shop.on_pull(pull, "synchronize").run_action()
    assert ended.code == 0, ended.errors
    assert not regressed(ended)


def test_a_record_can_keep_a_head_red_but_never_makes_it_green(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    shop.on_pull(pull).run_action()
    lines = Repo.at(shop.bare).git("show", f"{HISTORY.ref}:{HISTORY.path}").splitlines()
    record = read_json(lines[-1].decode())
    assert isinstance(record, dict)
    flattering = [
        {**one, "head_passes": 1000, "head_trials": 1000}
        for one in record["regressed"]  # type: ignore[union-attr]
        if isinstance(one, dict)
    ]
    rewrite(shop, verdict="pass", reasons=[], reasons_total=0, regressed=flattering)
    assert shop.on_pull(pull).run_action().code == 1


def test_nothing_stands_where_regressions_do_not_block(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    shop.on_pull(pull).run_action()
    shop.push_main(**{".github__gateval.yml": "policy: {regressions: warn}\n"})
    ended = shop.on_pull(pull).run_action()
    assert not regressed(ended)
