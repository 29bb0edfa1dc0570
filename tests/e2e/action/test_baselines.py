"""Stored trials of the default branch stand for base, if the forge confirms them, and only then."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.github_shop import SAME, WORSE, GitHubShop
from tests.helpers.main_branch import SHAKY, Main
from tests.helpers.repo import Repo
from tests.helpers.runner import Ended
from tests.helpers.shop import EVAL, FIXTURES
from tests.helpers.tiers import some_always
from tests.servers.blob_store import BlobStore
from tests.servers.github.state.actions import WorkflowRun


@pytest.fixture
def store() -> Iterator[BlobStore]:
    with BlobStore() as opened:
        yield opened


@pytest.fixture
def main(shop: GitHubShop, store: BlobStore) -> Main:
    return Main(shop, store)


def base_trials(ended: Ended) -> int:
    results = json.loads((ended.results / "results.v1.json").read_text())
    return sum(trial["key"]["side"] == "base" for trial in results["trials"])


def baseline(ended: Ended) -> dict[str, Any] | None:
    plan: dict[str, Any] = json.loads((ended.results / "plan.v1.json").read_text())
    found: dict[str, Any] | None = plan["baseline"]
    return found


def test_a_confirmed_baseline_makes_base_s_trials_needless(main: Main, store: BlobStore) -> None:
    main.measured()
    pull = main.shop.open_pull(SAME)
    first = main.gate(pull)
    assert first.code == 0, first.errors
    used = baseline(first)
    assert used is not None, first.log
    assert [one["run"] for one in used["runs"]] == [4711]
    assert base_trials(first) == 0
    assert f"(baseline {used['digest'][:12]})" in first.log
    assert all("Authorization" not in headers for headers in store.seen)

    main.shop.commit(SAME + "Be very brief.\n")
    main.shop.push()
    second = main.gate(pull)
    assert second.code == 0, second.errors
    assert base_trials(second) == 0
    again = baseline(second)
    assert again is not None
    assert again["digest"] == used["digest"]


def test_a_break_is_found_with_stored_trials_and_base_as_it_is_now(main: Main) -> None:
    main.measured()
    ended = main.gate(main.shop.open_pull(WORSE))
    assert ended.code == 1, ended.errors
    assert baseline(ended) is not None
    assert base_trials(ended) >= 3
    assert "refund-asks-why passed before and fails now" in ended.summary


def test_without_a_run_on_main_base_runs_beside_head(main: Main) -> None:
    ended = main.gate(main.shop.open_pull(SAME))
    assert (ended.code, base_trials(ended)) == (0, 2)
    assert baseline(ended) is None


def forged(change: Callable[[WorkflowRun], None]) -> Callable[[Main, WorkflowRun], None]:
    return lambda _, run: change(run)


def _set(**values: str) -> Callable[[WorkflowRun], None]:
    return lambda run: run.__dict__.update(values)


def _other_record(main: Main, run: WorkflowRun) -> None:
    line = _lines(main)
    run.artifacts.clear()
    main.upload(run, line.replace(b'"pppppppppp"', b'"ffffffffff"'))


def _no_artifact(_: Main, run: WorkflowRun) -> None:
    run.artifacts.clear()


def _expired(_: Main, run: WorkflowRun) -> None:
    run.artifacts[0].expired = True


def _damaged(main: Main, run: WorkflowRun) -> None:
    path = "/" + run.artifacts[0].place.split("/", 3)[3]
    main.store.blobs[path] = b"PK nonsense"


def _tag_of_the_branch_s_name(main: Main, run: WorkflowRun) -> None:
    """The record and the run are of a commit that was never on main; both say `main`."""
    shop = main.shop
    evil = shop.commit(SAME, "aside")
    shop.repo.push_from(shop.work.path, "aside", "aside", by=shop.ada)
    bare = Repo.at(shop.bare)
    line = bare.git("show", "refs/gateval/runs:runs.jsonl").replace(run.sha.encode(), evil.encode())
    _store(main, line)
    run.artifacts.clear()
    run.sha = evil
    main.upload(run, line)


def _store(main: Main, line: bytes) -> None:
    """Push a file of runs, as anybody who may push can."""
    bare = Repo.at(main.shop.bare)
    blob = bare.git("hash-object", "-w", "--stdin", stdin=line).decode().strip()
    tree = bare.git("mktree", stdin=f"100644 blob {blob}\truns.jsonl\n".encode()).decode().strip()
    commit = bare.git("commit-tree", tree, "-m", "Forged").decode().strip()
    bare.git("update-ref", "refs/gateval/runs", commit)


def _lines(main: Main) -> bytes:
    return Repo.at(main.shop.bare).git("show", "refs/gateval/runs:runs.jsonl")


def _forged_line(main: Main, _: WorkflowRun) -> None:
    line = _lines(main)
    _store(main, line.replace(b'"pppppppppp"', b'"ffffffffff"'))


@pytest.mark.parametrize(
    ("forge", "said"),
    some_always(
        [
            (forged(_set(event="workflow_dispatch")), "it ran for workflow_dispatch"),
            (forged(_set(event="pull_request")), "it ran for pull_request"),
            (forged(_set(branch="change")), "it ran on another branch than main"),
            (forged(_set(path=".github/workflows/other.yml")), "it is a run of .github"),
            (forged(_set(sha="1" * 40)), "it ran on another commit"),
            (_other_record, "is another record"),
            (_forged_line, "is another record"),
            (_no_artifact, "the run has no artifact gateval-baseline"),
            (_expired, "is another record"),
            (_damaged, "is damaged"),
            (_tag_of_the_branch_s_name, "on main"),
            (lambda main, _: main.shop.repo.workflow_runs.clear(), "knows nothing of it"),
        ],
        3,
        spread=True,
    ),
)
def test_what_is_not_proven_is_measured_beside_head(
    main: Main, forge: Callable[[Main, WorkflowRun], None], said: str
) -> None:
    run = main.measured()
    forge(main, run)
    ended = main.gate(main.shop.open_pull(SAME))
    assert ended.code == 0, ended.errors
    assert said in ended.log
    assert baseline(ended) is None
    assert base_trials(ended) == 2


def test_a_record_of_a_fork_s_run_is_not_believed(main: Main) -> None:
    mallory = main.shop.server.world.user("mallory")
    main.shop.server.world.fork(main.shop.repo, mallory, git=main.shop.folder / "server/fork.git")
    main.measured(head_repository="mallory/shop")
    ended = main.gate(main.shop.open_pull(SAME))
    assert "it ran for another repository" in ended.log
    assert baseline(ended) is None


def test_what_a_pull_request_measured_is_never_looked_at(main: Main) -> None:
    pull = main.shop.open_pull(SAME)
    main.gate(pull)
    again = main.gate(pull)
    assert baseline(again) is None
    assert "does not count" not in again.log


def test_without_the_permission_it_is_told_and_base_runs(main: Main) -> None:
    main.measured()
    ended = main.gate(main.shop.open_pull(SAME), token=main.shop.token())
    assert ended.code == 0, ended.errors
    assert "actions: read" in ended.log
    assert base_trials(ended) == 2


def test_in_a_shallow_clone_nothing_is_proven(main: Main) -> None:
    main.measured()
    main.shop.push_main(README="More\n")
    main.shop.push_main(README="And more\n")
    pull = main.shop.open_pull(SAME)
    token = main.shop.token(contents="write", pull_requests="write", checks="write", actions="read")
    ended = main.shop.on_pull(pull, token=token).run_action()
    assert ended.code == 0, ended.errors
    assert base_trials(ended) in {0, 2}
    if baseline(ended) is None:
        assert "fetch-depth: 0" in ended.log


@pytest.mark.parametrize("config", ["policy: {baseline: {trials: 0}}\n"])
def test_policy_can_do_without(main: Main, config: str) -> None:
    main.measured()
    main.shop.push_main(**{".github__gateval.yml": config})
    ended = main.gate(main.shop.open_pull(SAME))
    assert (base_trials(ended), baseline(ended)) == (2, None)


@pytest.mark.parametrize(
    ("path", "text"),
    some_always(
        [
            ("agents__prompts__support.md", SAME),
            (".gateval__scripted__support.yaml", SHAKY.replace("Hello!", "Hello Hello!")),
            ("evals__fixtures.yaml", FIXTURES.replace("severity: high", "severity: low")),
            ("evals__support-eval.yaml", EVAL + "  execution: {timeoutSeconds: 77}\n"),
            ("evals__support-eval.yaml", EVAL + "  judge: {model: scripted/support}\n"),
        ],
        3,
        spread=True,
    ),
)
def test_what_measured_something_else_is_no_baseline(main: Main, path: str, text: str) -> None:
    main.measured()
    main.shop.push_main(**{path: text})
    ended = main.gate(main.shop.open_pull(SAME + "Be kind.\n"))
    found = baseline(ended)
    stored = json.loads((ended.results / "plan.v1.json").read_text())["evals"][0]["stored"]
    alike = ["greets"] if "fixtures" in path else []
    assert [one["fixture"] for one in stored] == alike
    assert (found is not None, base_trials(ended)) == (bool(alike), 1 if alike else 2)


def test_the_folder_of_a_run_can_be_reported_again(main: Main, tmp_path: Path) -> None:
    main.measured()
    ended = main.gate(main.shop.open_pull(WORSE))
    from tests.helpers.command import gateval

    repo = Repo(tmp_path / "elsewhere")
    done = gateval(repo, "report", str(ended.results))
    assert done.returncode == 1, done.stderr
    assert "refund-asks-why" in done.stdout


def test_a_label_restates_what_was_found_with_stored_trials(main: Main) -> None:
    main.measured()
    pull = main.shop.open_pull(WORSE)
    assert main.gate(pull).code == 1
    labelled = main.shop.label(pull).run_action()
    assert labelled.code == 0, labelled.errors
    assert "The evals run:" not in labelled.log
    assert main.shop.conclusions(pull.head_sha)[-1] == "neutral"


def test_a_record_that_is_written_twice_counts_once(main: Main) -> None:
    """Its line and its artifact are genuine: only how often it stands there is a pusher's."""
    config = "policy:\n  baseline: {repetitions: 2, trials: 10}\n"
    main.shop.push_main(**{".github__gateval.yml": config})
    main.measured()
    _store(main, _lines(main) * 5)
    ended = main.gate(main.shop.open_pull(SAME))
    used = baseline(ended)
    assert used is not None, ended.log
    assert [one["run"] for one in used["runs"]] == [4711]
    plan = json.loads((ended.results / "plan.v1.json").read_text())
    assert {len(one["marks"]) for one in plan["evals"][0]["stored"]} == {2}


def test_a_second_attempt_of_a_run_does_not_count(main: Main) -> None:
    """Whoever may start a run again could do so until base looks as they want it."""
    run = main.measured()
    again = _lines(main).replace(b'"id":"4711-1"', b'"id":"4711-2"')
    _store(main, again)
    run.artifacts.clear()
    main.upload(run, again)
    ended = main.gate(main.shop.open_pull(SAME))
    assert (base_trials(ended), baseline(ended)) == (2, None)
