"""The action beside the runner, whole: `main` and `post`, as an ordinary user and as root."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from tests.helpers.beside_runner import BOTH_RUNNERS, Runner
from tests.helpers.isolation import open_folder
from tests.helpers.program_shop import RUDELY, ProgramShop
from tests.helpers.runner import Ended, Job
from tests.servers.artifacts import artifact_service, runtime_token


def results(ended: Ended) -> dict[str, Any]:
    """What a run stored."""
    found: dict[str, Any] = json.loads((ended.results / "results.v1.json").read_text())
    return found


def owners(job: Job) -> set[int]:
    """Whose the folders of the workspace are."""
    return {path.lstat().st_uid for path in job.workspace.rglob("*") if path.is_dir()}


@BOTH_RUNNERS
def test_a_change_that_makes_it_worse(shop: ProgramShop, runner: Runner) -> None:
    pull = shop.change(RUDELY)
    job = shop.on_pull(pull)
    ended = runner.run_main(job)
    assert ended.code == 1, ended.log + ended.errors
    assert shop.conclusions(pull.head_sha) == ["failure"]
    assert [one.user.login for one in pull.comments] == ["github-actions[bot]"]
    assert ended.outputs["verdict"] == "fail"
    assert "greets" in ended.summary
    own = runner.user if runner.user is not None else os.geteuid()
    assert owners(job) == {own}
    requests = shop.server.log.count()
    assert runner.run_post(job).code == 0
    assert shop.server.log.count() == requests, "there is nothing left to do"


def test_the_page_of_a_run_is_uploaded(shop: ProgramShop, runner: Runner) -> None:
    pull = shop.change(RUDELY)
    with artifact_service() as service:
        ended = runner.run_main(shop.on_pull(pull), inputs={}, **service.environ)
    assert ended.code == 1, ended.log + ended.errors
    assert list(service.kept) == ["gateval-report-1.html"], ended.log
    assert "[Report with all traces](" in pull.comments[0].body
    assert runtime_token() not in json.dumps(results(ended))


def test_a_change_that_does_no_harm_and_what_its_agent_is_held_by(
    shop: ProgramShop, runner: Runner
) -> None:
    pull = shop.change()
    ended = runner.run_main(shop.on_pull(pull))
    assert ended.code == 0, ended.log + ended.errors
    assert shop.conclusions(pull.head_sha) == ["success"]
    stored = results(ended)
    wanted = "own user per candidate" if runner.user is None and os.geteuid() == 0 else "weaker"
    assert stored["info"]["isolation"].startswith(wanted)
    assert "secret kept" in json.dumps(stored["trials"])


def test_the_second_run_installs_nothing(shop: ProgramShop, runner: Runner) -> None:
    pull = shop.change()
    first = runner.run_main(shop.on_pull(pull))
    assert first.code == 0, first.log + first.errors
    (before,) = runner.cache.iterdir()
    made = before.stat().st_ctime_ns
    ended = runner.run_main(shop.on_pull(pull), UV_OFFLINE="1", PIP_NO_INDEX="1")
    assert ended.code == 0, ended.log + ended.errors
    (after,) = runner.cache.iterdir()
    assert (after, after.stat().st_ctime_ns) == (before, made)


@pytest.mark.exhaustive  # it installs once more
def test_what_root_installed_serves_an_ordinary_user_too(
    shop: ProgramShop, ordinary: Runner
) -> None:
    if ordinary.user is None:
        pytest.skip("only root can start a runner as another user")
    with open_folder() as folder:
        of_root = Runner(folder, None)
        of_ordinary = Runner(folder / "other", ordinary.user, of_root.tool_cache)
        pull = shop.change()
        assert of_root.run_main(shop.on_pull(pull)).code == 0
        ended = of_ordinary.run_main(shop.on_pull(pull), UV_OFFLINE="1", PIP_NO_INDEX="1")
        assert ended.code == 0, ended.log + ended.errors


def test_inputs_reach_the_gate(shop: ProgramShop, runner: Runner) -> None:
    pull = shop.change()
    job = shop.on_pull(pull)
    ended = runner.run_main(job, inputs={"step": "plan", "results": "planned", "max-parallel": "2"})
    assert ended.code == 0, ended.log + ended.errors
    assert (job.workspace / "planned/plan.v1.json").is_file()
    wrong = runner.run_main(shop.on_pull(pull), inputs={"max-parallel": "none"})
    assert wrong.code == 2
    assert "max-parallel" in wrong.errors
