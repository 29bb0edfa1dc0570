"""Where base is only stored, one trial of it made now says who is to blame for a refused model."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.e2e.test_answers_without_a_model import AGENT, EVAL, FIXTURE, PROGRAM, RUNTIMES, serve
from tests.helpers.github_shop import GitHubShop
from tests.helpers.main_branch import Main
from tests.helpers.providers import provider
from tests.helpers.runner import Ended
from tests.servers.blob_store import BlobStore
from tests.servers.model_server import Answer, Call, failure

BODY, SPEC = RUNTIMES["command"]


@pytest.fixture
def main(shop: GitHubShop) -> Iterator[Main]:
    with BlobStore() as store:
        main = Main(shop, store)
        shop.work.checkout("main")
        for path in ("agents", "evals"):
            shop.work.delete(path)
        shop.push_main(
            **{
                "desk__agent.yaml": AGENT.format(runtime=SPEC, more=""),
                "desk__desk.py": f"MODELS = ['fine']\n{PROGRAM}{BODY}",
                "evals__eval.yaml": EVAL + "  execution: {repsPerFixture: 5}\n",
                "evals__hello.yaml": FIXTURE.replace("TURNS", ""),
            }
        )
        yield main


def gated(main: Main, models: list[str], *, retired: bool = False) -> Ended:
    """Measure main while `fine` answers; then gate a change that asks `models`."""
    with provider(serve) as (_, environ):
        main.measured(env=environ)
    shop = main.shop
    shop.work.branch("change", "main")
    shop.work.write("desk/desk.py", f"MODELS = {models!r}\n{PROGRAM}{BODY}")
    shop.work.commit()
    shop.push()

    def now(call: Call) -> Answer:
        return failure(call, 404, "Model retired.") if retired else serve(call)

    with provider(now) as (_, environ):
        return main.gate(shop.repo.open_pull("change", by=shop.ada), **environ)


def base_trials(ended: Ended) -> int:
    results = json.loads((ended.results / "results.v1.json").read_text())
    assert results["plan"]["baseline"] is not None, ended.log
    return sum(trial["key"]["side"] == "base" for trial in results["trials"])


def test_one_live_trial_of_base_decides(main: Main) -> None:
    ended = gated(main, ["gone"])
    assert ended.code == 1, ended.log
    assert base_trials(ended) == 1
    assert "does not exist or you do not have access" in ended.summary


def test_a_model_that_was_retired_since_is_nobodys_fault(main: Main) -> None:
    ended = gated(main, ["fine", "next"], retired=True)
    assert ended.code == 3, ended.log
    assert base_trials(ended) == 1
    assert "Model retired" in ended.summary


def test_what_was_stored_says_that_base_asked_models(main: Main) -> None:
    ended = gated(main, [])
    assert ended.code == 3, ended.log
    assert base_trials(ended) == 0
    assert "desk: base asked models in earlier runs, and head in none of 5" in ended.summary


def test_the_label_accepts_an_agent_without_models(main: Main) -> None:
    shop = main.shop
    shop.work.branch("change", "main")
    shop.work.write("desk/desk.py", f"MODELS = []\n{PROGRAM}{BODY}")
    shop.work.commit()
    shop.push()
    pull = shop.repo.open_pull("change", by=shop.ada)
    with provider(serve) as (_, environ):
        ended = shop.on_pull(pull).run_action(inputs={}, **environ)
        assert ended.code == 3, ended.log
        assert "accept-bar-change" in pull.comments[0].body
        labelled = shop.label(pull, "accept-bar-change").run_action(inputs={}, **environ)
    assert labelled.code == 0, labelled.log
    entry = shop.audit()[-1]
    assert entry.kind == "bar-accepted"
    assert entry.bars[0].startswith("desk: base asked models in"), "what was accepted"
