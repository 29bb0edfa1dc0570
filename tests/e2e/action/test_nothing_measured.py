"""The action on an Agent that answers on neither side: what stands on GitHub and in the records."""

from __future__ import annotations

import json

import pytest

from gateval.domain.history.run_record import newest_first
from tests.helpers.github_shop import SAME, GitHubShop
from tests.helpers.repo import Repo

BROKEN = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: support}
spec:
  runtime: {type: command, command: [sh, main.sh]}
"""
MISSING = {"agents__support.yaml": BROKEN, "agents__main.sh": "frobnicate\n"}
CAUSE = "support gave no answer, on base neither: the agent ended with exit code 127"


@pytest.mark.parametrize("configured", [True, False])
def test_what_neither_side_answers_has_no_score_on_github(
    shop: GitHubShop, *, configured: bool
) -> None:
    config = {".github__gateval.yml": "policy: {}\n"}
    shop.push_main(**MISSING, **(config if configured else {}))
    shop.commit(SAME)
    if not configured:
        shop.work.write(".github/gateval.yml", "policy: {}\n")
    shop.work.write("agents/main.sh", MISSING["agents__main.sh"] + "# mended\n")
    shop.work.commit()
    shop.push()
    pull = shop.repo.open_pull("change", by=shop.ada)
    ended = shop.on_pull(pull).run_action()
    assert ended.code == (3 if configured else 0), ended.errors
    conclusion = "action_required" if configured else "success"
    assert shop.conclusions(pull.head_sha) == [conclusion]
    assert ended.outputs["score"] == ""
    assert ended.outputs["verdict"] == ("inconclusive" if configured else "pass")
    title = pull.comments[0].body.split("\n")[1]
    assert CAUSE in title
    assert ("told and not blocked" in title) is not configured
    assert "| not measured | not measured |" in pull.comments[0].body
    bare = Repo.at(shop.bare)
    (run,) = newest_first(bare.git("show", "refs/gateval/runs:runs.jsonl"))
    assert (run.evals[0].low, run.evals[0].high, run.evals[0].limits) == (None, None, None)
    assert {one.trials for one in run.evals[0].fixtures} == {"x"}
    lines = bare.git("show", "refs/gateval/history:history.jsonl").decode().splitlines()
    stored = json.loads(lines[-1])["evals"][0]
    assert (stored["low"], stored["high"], stored["failed"], stored["unmeasured"]) == (
        None,
        None,
        0,
        2,
    )


def test_a_stored_verdict_without_a_score_is_said_again_without_one(shop: GitHubShop) -> None:
    shop.push_main(**MISSING, **{".github__gateval.yml": "policy: {}\n"})
    shop.commit(SAME)
    shop.work.write("agents/main.sh", MISSING["agents__main.sh"] + "# mended\n")
    shop.work.commit()
    shop.push()
    pull = shop.repo.open_pull("change", by=shop.ada)
    assert shop.on_pull(pull).run_action().code == 3
    pull.label("force-eval-bypass", by=shop.ada)
    again = shop.on_label(pull, "force-eval-bypass").run_action()
    assert again.code == 0, again.errors
    assert again.outputs["score"] == ""
    assert "not measured" in pull.comments[0].body
    assert "0.00" not in pull.comments[0].body.partition("<details>")[0]
