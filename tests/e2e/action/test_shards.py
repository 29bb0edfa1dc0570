"""A run that shards of a matrix measure together: the sample workflow, walked job by job."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from gateval.ports.storage import RUNS
from tests.helpers.calibrations import FIXTURES, calibration, script, verdict
from tests.helpers.command import ROOT
from tests.helpers.github_shop import SAME, WORSE, GitHubShop
from tests.helpers.main_branch import SHAKY
from tests.helpers.repo import Repo
from tests.helpers.workflow_run import WorkflowWalk
from tests.servers.github.state.pull import Pull

SAMPLE = ROOT / "examples/workflows/shards.yml"
MORE = "\n---\n".join(
    f"""\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {{name: hello-{number}, labels: {{agent: support}}}}
spec:
  input: {{type: prompt, payload: {{prompt: Hello {number}}}}}
  assertions:
    - {{type: contains, value: Hello}}"""
    for number in range(5)
)
EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: support-eval}
spec:
  targetAgent: support
  fixtureSelector: {matchLabels: {agent: support}}
  execution: {parallel: 8}
"""


@pytest.fixture
def big(shop: GitHubShop) -> GitHubShop:
    """A shop whose agent may answer otherwise each time, with seven fixtures."""
    shop.push_main(
        **{
            ".gateval__scripted__support.yaml": SHAKY,
            "evals__more.yaml": MORE,
            "evals__support-eval.yaml": EVAL,
        }
    )
    return shop


def keep_long_run(shop: GitHubShop, minutes: float) -> None:
    """Have git tell of a run of main in which each trial took so many minutes."""
    payload = shop.push_payload()
    job = shop.job("push", payload, sha=shop.repo.branches["main"])
    job.check_out(shop.bare, "refs/heads/main", "--depth=1000")
    ended = job.run_action(inputs={"evals": "support-eval"})
    record = json.loads((ended.results / "run.v1.json").read_text())
    record["seconds"] = 60 * minutes * record["evals"][0]["spent"]["trials"]
    clone = Repo(Path(mkdtemp(dir=shop.folder)) / "clone")
    Path(clone.path / RUNS.path).write_text(json.dumps(record, separators=(",", ":")) + "\n")
    clone.commit()
    clone.git("push", "--quiet", "--force", str(shop.bare), f"HEAD:{RUNS.ref}")


def walked(
    shop: GitHubShop,
    pull: Pull,
    disturb: Callable[[str, str, int], str] = lambda *_: "",
    run: int = 700,
) -> WorkflowWalk:
    walk = WorkflowWalk(shop, pull, SAMPLE, run, disturb)
    walk.walk()
    return walk


def jobs_of(walk: WorkflowWalk) -> dict[str, int]:
    """How many legs of each job ran."""
    names = [name for name, _, _ in walk.ran]
    return {name: names.count(name) for name in dict.fromkeys(names)}


def forget(shop: GitHubShop, pull: Pull) -> None:
    """Have GitHub forget what runs left there."""
    git = Repo.at(shop.bare)
    for name in git.git("for-each-ref", "--format=%(refname)", "refs/gateval").decode().split():
        git.git("update-ref", "-d", name)
    pull.comments.clear()
    shop.repo.check_runs.clear()


VOLATILE = {"seconds", "started_at", "run", "at", "recorded_at", "id", "hash", "resumed"}
"""What differs between two runs that measured the same."""


MOMENT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|\b[\d,]+\.\d s\b"
"""What tells in a comment when a run was, and how long answers took, which a busy machine draws
out.
"""


def steady(value: Any) -> Any:
    """A value without what is volatile."""
    if isinstance(value, dict):
        return {key: steady(each) for key, each in value.items() if key not in VOLATILE}
    return [steady(each) for each in value] if isinstance(value, list) else value


def said(shop: GitHubShop, pull: Pull, results: Path) -> dict[str, Any]:
    """What a run left: its results, the verdict, the comment and the record."""
    read = {
        one: json.loads((results / one).read_text()) for one in ("results.v1.json", "run.v1.json")
    }
    return {
        "results": steady(read["results.v1.json"]),
        "record": steady(read["run.v1.json"]),
        "checks": shop.conclusions(pull.head_sha),
        "comment": [re.sub(MOMENT, "now", one.body) for one in pull.comments],
    }


def in_shards(folder: Path, shards: int) -> Path:
    """The sample with so many shards."""
    path = folder / f"shards-{shards}.yml"
    path.write_text(SAMPLE.read_text().replace("shards: auto", f"shards: {shards}"))
    return path


def test_without_a_round_one_job_measures_all(big: GitHubShop) -> None:
    pull = big.open_pull(SAME)
    walk = walked(big, pull)
    assert jobs_of(walk) == {"plan": 1, "finish": 1, "publish": 1}
    assert big.conclusions(pull.head_sha) == ["success"]


def test_one_round_is_all_where_nothing_looks_worse(big: GitHubShop, tmp_path: Path) -> None:
    pull = big.open_pull(SAME)
    walk = WorkflowWalk(big, pull, in_shards(tmp_path, 3), 700)
    walk.walk()
    jobs = {"plan": 1, "measure-1": 3, "next-1": 1, "finish": 1, "publish": 1}
    assert jobs_of(walk) == jobs
    assert big.conclusions(pull.head_sha) == ["success"]
    assert walk.environs["publish"] == set()
    writing = [name for name, job in walk.jobs.items() if "write" in job["permissions"].values()]
    assert writing == ["publish"]


def test_lost_shards_leave_it_incomplete_until_they_are_run_again(
    big: GitHubShop, tmp_path: Path
) -> None:
    keep_long_run(big, 6)
    pull = big.open_pull(WORSE)
    lost = {("measure-1", "2-of-3", 1), ("measure-2", "1-of-1", 2)}
    path = in_shards(tmp_path, 3)
    walk = WorkflowWalk(big, pull, path, 700, lambda *at: "lost" if at in lost else "")
    walk.walk()
    told = walk.legs["finish"][""].ended
    assert told is not None
    assert "Nothing came back from shard 2 of 3 in round 1; run that job again." in told.log
    assert big.conclusions(pull.head_sha) == ["action_required"]
    assert "shard 2 of 3 in round 1" in pull.comments[0].body
    walk.run_failed_again()
    assert [(name, at) for name, at, attempt in walk.ran if attempt == 2] == [
        ("measure-1", "2-of-3"), ("next-1", ""), ("measure-2", "1-of-1"), ("next-2", ""),
        ("finish", ""), ("publish", ""),
    ]  # fmt: skip
    assert big.conclusions(pull.head_sha)[-1] == "action_required"
    walk.run_failed_again()
    assert big.conclusions(pull.head_sha)[-1] == "failure"
    last = walk.legs["publish"][""].ended
    assert last is not None
    results = json.loads((last.results / "results.v1.json").read_text())
    keys = [json.dumps(one["key"]) for one in results["trials"]]
    assert len(set(keys)) == len(keys) == 7 * 2 + 2 * 5


def test_a_run_that_was_cancelled_is_published_as_incomplete_and_goes_on(
    big: GitHubShop, tmp_path: Path
) -> None:
    pull = big.open_pull(SAME)
    stop = {("measure-1", "2-of-2", 1)}
    path = in_shards(tmp_path, 2)
    walk = WorkflowWalk(big, pull, path, 700, lambda *at: "cancelled" if at in stop else "")
    walk.walk()
    assert [name for name, _, _ in walk.ran] == ["plan", "measure-1", "measure-1", "publish"]
    assert big.conclusions(pull.head_sha) == ["action_required"]
    walk.run_failed_again()
    assert big.conclusions(pull.head_sha)[-1] == "success"


def test_running_everything_again_draws_no_lot_again(big: GitHubShop, tmp_path: Path) -> None:
    pull = big.open_pull(SAME)
    walk = WorkflowWalk(big, pull, in_shards(tmp_path, 2), 700)
    walk.walk()
    before = dict(walk.artifacts)
    walk.run_all_again()
    shard = walk.legs["measure-1"]["1-of-2"].ended
    assert shard is not None
    assert re.search(r"(\d+) runs measured, \1 of them at an earlier try", shard.log)
    assert before.items() <= walk.artifacts.items()
    assert big.conclusions(pull.head_sha) == ["success", "success"]


def row(rounds: int, job: str, shard: str, how: str, *, often: bool = False) -> Any:
    marks = () if often else (pytest.mark.exhaustive,)
    return pytest.param(rounds, job, shard, how, id=f"{rounds}-{job}-{how}", marks=marks)


@pytest.mark.drawn("job", "shard", "how")
@pytest.mark.parametrize(
    ("rounds", "job", "shard", "how"),
    [
        row(0, "plan", "", "lost", often=True),
        row(0, "plan", "", "cancelled"),
        row(0, "finish", "", "lost"),
        row(0, "finish", "", "cancelled", often=True),
        row(1, "plan", "", "lost"),
        row(1, "measure-1", "*", "lost", often=True),
        row(1, "measure-1", "1-of-2", "cancelled"),
        row(1, "next-1", "", "lost"),
        row(1, "next-1", "", "cancelled", often=True),
        row(1, "finish", "", "lost"),
        row(1, "finish", "", "cancelled"),
        row(1, "publish", "", "lost"),
        row(2, "measure-1", "2-of-2", "lost"),
        row(2, "measure-1", "*", "cancelled"),
        row(2, "next-1", "", "lost"),
        row(2, "next-1", "", "cancelled"),
        row(2, "measure-2", "*", "lost"),
        row(2, "measure-2", "*", "cancelled", often=True),
        row(2, "next-2", "", "lost"),
        row(2, "next-2", "", "cancelled"),
        row(2, "finish", "", "lost", often=True),
        row(2, "finish", "", "cancelled"),
        row(2, "publish", "", "cancelled"),
    ],
)
def test_whatever_job_is_lost_or_cancelled_the_run_ends_the_same_once_it_is_run_again(
    big: GitHubShop, tmp_path: Path, rounds: int, job: str, shard: str, how: str
) -> None:
    if rounds == 2:
        keep_long_run(big, 6)
    prompt, conclusion = (WORSE, "failure") if rounds == 2 else (SAME, "success")
    pull = big.open_pull(prompt)

    def disturb(name: str, at: str, attempt: int) -> str:
        hit = attempt == 1 and name == job and shard in {at, "*"}
        return how if hit else ""

    path = in_shards(tmp_path, 2) if rounds else SAMPLE
    walk = WorkflowWalk(big, pull, path, 700, disturb)
    walk.walk()
    assert (job, 1) in {(name, attempt) for name, _, attempt in walk.ran}
    if conclusion == "failure":
        assert "success" not in big.conclusions(pull.head_sha)
    walk.run_failed_again()
    assert big.conclusions(pull.head_sha)[-1] == conclusion
    at_finish = (rounds, job, how) == (2, "next-1", "lost")  # which measured that look itself
    assert at_finish or not rounds or f"measure-{rounds}" in jobs_of(walk)
    assert f"measure-{rounds + 1}" not in jobs_of(walk)
    last = walk.legs["publish"][""].ended
    assert last is not None
    results = json.loads((last.results / "results.v1.json").read_text())
    keys = [json.dumps(one["key"]) for one in results["trials"]]
    assert len(set(keys)) == len(keys) == 7 * 2 + 2 * 5 * (rounds == 2)
    assert results["info"]["seconds"] > 0


@pytest.mark.parametrize(
    ("prompt", "lost", "conclusion"),
    [(SAME, ("finish",), "success"), (WORSE, ("next-1", "finish"), "action_required")],
    ids=["all is there", "a look is missing"],
)
def test_where_the_last_measuring_job_is_lost_the_rounds_are_published(
    big: GitHubShop, tmp_path: Path, prompt: str, lost: tuple[str, ...], conclusion: str
) -> None:
    pull = big.open_pull(prompt)
    path = in_shards(tmp_path, 2)
    walk = WorkflowWalk(big, pull, path, 700, lambda *at: "lost" if at[0] in lost else "")
    walk.walk()
    assert big.conclusions(pull.head_sha) == [conclusion]
    told = "The job that ends the run left nothing." in pull.comments[0].body
    assert told == (conclusion != "success")


def test_what_the_lost_last_job_alone_would_have_asked_is_no_pass(
    shop: GitHubShop, tmp_path: Path
) -> None:
    """All trials are there; which answers the judge prefers nobody knows."""
    both = json.dumps({"preferred": "tie", "summary": "Alike.", "evidence": "first", "quote": ""})
    rules = [{"when": {"user": '"second"'}, "reply": both}, {"reply": verdict(1.0)}]
    preferring = "".join(
        f"{one.rstrip()}\n    - {{type: preference, rubric: Is it kind?}}\n---\n"
        for one in MORE.split("\n---\n")
    )
    shop.push_main(
        **{
            ".gateval__scripted__support.yaml": SHAKY,
            ".gateval__scripted__judge.yaml": json.dumps({"rules": rules}),
            "evals__fixtures.yaml": preferring,
            "evals__support-eval.yaml": f"{EVAL}  judge: {{model: scripted/judge}}\n",
        }
    )
    pull = shop.open_pull(SAME)
    lost = {("finish", "", 1)}
    path = in_shards(tmp_path, 2)
    walk = WorkflowWalk(shop, pull, path, 700, lambda *at: "lost" if at in lost else "")
    walk.walk()
    assert shop.conclusions(pull.head_sha) == ["action_required"]
    told = (
        "compared 0 of 5 answers with base's: The judge was not shown head's answer beside base's"
    )
    assert told in pull.comments[0].body
    walk.run_failed_again()
    assert shop.conclusions(pull.head_sha)[-1] == "success"


def test_judges_are_measured_once_where_the_run_is_planned(
    shop: GitHubShop, tmp_path: Path
) -> None:
    judged = EVAL + "  judge: {model: scripted/judge, calibration: tone, minAgreement: 0.6}\n"
    shop.push_main(
        **{
            ".gateval__scripted__judge.yaml": script(wrong=2, of=20, agent=verdict(1.0)),
            "evals__tone.yaml": calibration(20),
            "evals__fixtures.yaml": FIXTURES,
            "evals__support-eval.yaml": judged,
        }
    )
    pull = shop.open_pull(SAME)
    alone = shop.on_pull(pull, run=700).run_action()
    assert alone.code == 0, alone.errors
    found = said(shop, pull, alone.results)
    forget(shop, pull)
    walk = WorkflowWalk(shop, pull, in_shards(tmp_path, 2), 700)
    walk.walk()
    (replay,) = json.loads(walk.artifacts["gateval-part-plan-1"]["part.v1.json"])["calibrations"]
    assert len(replay["examples"]) == 20
    last = walk.legs["publish"][""].ended
    assert last is not None
    assert said(shop, pull, last.results) == found


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        ({"step": "run", "shard": "3-of-2", "parts": "p"}, 'The input shard is "3-of-2"'),
        ({"step": "run", "shard": "1-of-2"}, "The input parts is missing"),
        ({"step": "finish"}, "The input parts is missing"),
        ({"step": "run", "parts": "p"}, "needs the input shard"),
        ({"step": "all", "shards": "2"}, "shards is no matter of the step all"),
        ({"step": "plan", "shards": "257"}, 'The input shards is "257"'),
        ({"step": "run", "shard": "1-of-2", "parts": "p"}, "The folder p cannot be read"),
    ],
)
def test_inputs_of_shards_that_cannot_be_followed(
    shop: GitHubShop, inputs: dict[str, str], sentence: str
) -> None:
    pull = shop.open_pull(SAME)
    ended = shop.on_pull(pull).run_action(inputs=inputs)
    assert ended.code == 2
    assert sentence in " ".join(ended.errors.split())
    assert shop.repo.check_runs == {}


def test_the_same_comes_of_one_machine_and_of_any_number_of_shards(
    big: GitHubShop, tmp_path: Path
) -> None:
    pull = big.open_pull(WORSE)
    alone = big.on_pull(pull, run=700).run_action()
    assert alone.code == 1
    found = said(big, pull, alone.results)
    for shards in (1, 2, 7):
        forget(big, pull)
        keep_long_run(big, 6)
        walk = WorkflowWalk(big, pull, in_shards(tmp_path, shards), 700)
        walk.walk()
        assert jobs_of(walk)["measure-1"] == shards
        assert jobs_of(walk)["measure-2"] == 1
        last = walk.legs["publish"][""].ended
        assert last is not None
        now = said(big, pull, last.results)
        (tmp_path / f"{shards}.json").write_text(json.dumps(now, indent=1))
        (tmp_path / "alone.json").write_text(json.dumps(found, indent=1))
        assert now == found
