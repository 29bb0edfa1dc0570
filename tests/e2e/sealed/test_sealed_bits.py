"""What runs give away of a seal is counted: each answer that is another one, in whatever run."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateval.ports.storage import RUNS
from tests.helpers.github_shop import GitHubShop
from tests.helpers.providers import provider
from tests.helpers.repo import Repo
from tests.helpers.runner import Ended, Job
from tests.helpers.sealed import CONFIG, IDENTITY, seal
from tests.servers.github.server import GitHubServer
from tests.servers.github.state.pull import Pull
from tests.servers.model_server import Answer, Call, reply

FIXTURES = 10

DESK = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: support}
spec:
  models: [openai/gpt-test]
  system: {file: prompts/support.md}
"""

HELD = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: asks-NUMBER, labels: {held: "yes"}}
spec:
  input: {type: prompt, payload: {prompt: "Number NUMBER."}}
  assertions: [{type: contains, value: fine}]
---
"""

EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: held-out}
spec:
  targetAgent: support
  fixtureSelector: {matchLabels: {held: "yes"}}
  scoring: {passThreshold: 0.8}
"""

OTHER = "Be quick.\n"
"""The prompt of a change; who answers for its agent is told by it."""

BOTH, VERDICT = 7.04, 2.58
"""Bits of a verdict with its rate, log2(6 * 22), and of one alone, log2(6)."""


class MoodyDesk(GitHubShop):
    """A sealed Eval of ten fixtures, whose Agent answers in a change as `wrong` says just now: to
    these of them wrongly. `asked` counts its calls, base's among them.
    """

    def __init__(self, server: GitHubServer, folder: Path) -> None:
        super().__init__(server, folder)
        self.wrong = frozenset[int]()
        self.asked = self.of_base = 0
        self.slow = 0.0
        self.environ: dict[str, str] = {}
        self.policy("")
        for path in ("evals/fixtures.yaml", "evals/support-eval.yaml"):
            self.work.delete(path)
        self.work.write("agents/support.yaml", DESK)
        self.seal()
        self.push_main()

    def seal(self, more: str = "") -> None:
        """Seal the fixtures and their Eval on main; with `more`, a second file beside it."""
        held = "".join(HELD.replace("NUMBER", str(number)) for number in range(FIXTURES))
        seal(self.work, "evals/held.yaml", held + EVAL)
        if more:
            seal(self.work, "evals/more.yaml", more)

    @property
    def sealed_at(self) -> str:
        """The commit of main that sealed them."""
        log = ("log", "-1", "--format=%H", "main", "--", "evals/held.yaml.age")
        return self.work.git(*log).decode().strip()

    def policy(self, rule: str) -> None:
        """Write the gate config on main, with another rule."""
        self.work.checkout("main")
        self.work.write(".github/gateval.yml", CONFIG.replace("{", f"{{{rule}", 1))

    def answer(self, call: Call) -> Answer:
        """Say what a candidate is told."""
        self.asked += 1
        body = json.dumps(call.body)
        self.of_base += "Be quick" not in body
        found = re.search(r"Number (\d+)\.", body)
        wrong = "Be quick" in body and found and int(found[1]) in self.wrong
        return reply(call, "No." if wrong else "That is fine.", delay=self.slow)

    def run(
        self, pull: Pull, wrong: int | set[int] = 0, job: Job | None = None, **inputs: str
    ) -> Ended:
        """Run the action on a pull request whose agent is wrong in so many fixtures, or these."""
        self.wrong = frozenset(range(wrong) if isinstance(wrong, int) else wrong)
        job = job or self.on_pull(pull)
        return job.run_action(inputs=inputs, GATEVAL_IDENTITY=IDENTITY, **self.environ)

    def counted(self) -> list[float]:
        """The bits of each entry on the seal, oldest first."""
        entries = self.repo.checks("gateval (sealed)", self.sealed_at)
        return [float(re.findall(r"bits=([\d.]+)", one.text or "")[0]) for one in entries]


def told(ended: Ended) -> dict[str, Any]:
    """What a run tells of the sealed Eval; its own verdict where that did not run."""
    read = json.loads((ended.results / "results.v1.json").read_text("utf-8"))
    (one,) = read.get("sealed") or [ended.outputs]
    return {name: one.get(name) for name in ("verdict", "rate")}


@pytest.fixture
def desk(github_server: GitHubServer, tmp_path: Path) -> Iterator[MoodyDesk]:
    shop = MoodyDesk(github_server, tmp_path)
    with provider(shop.answer) as (_, environ):
        shop.environ = environ
        yield shop


def test_a_run_of_the_same_head_that_says_the_same_costs_nothing(desk: MoodyDesk) -> None:
    pull = desk.open_pull(OTHER)
    first, again = desk.run(pull, wrong=3), desk.run(pull, wrong=3)
    assert told(first) == told(again) == {"verdict": "fail", "rate": 0.7}
    assert desk.counted()[0] == BOTH
    assert sum(desk.counted()) == BOTH


def test_an_agent_that_answers_otherwise_in_each_run_of_one_head_is_counted(
    desk: MoodyDesk,
) -> None:
    """It is told over the network what to answer: each run would give as many bits as the first."""
    pull = desk.open_pull(OTHER)
    rates = [told(desk.run(pull, wrong=wrong))["rate"] for wrong in (0, 1, 2, 3)]
    assert rates == [1.0, 0.9, 0.8, 0.7]
    assert sum(desk.counted()) >= 4 * BOTH


def test_heads_that_were_measured_end_at_the_limit_like_others(desk: MoodyDesk) -> None:
    desk.policy("sealedBits: 10, ")
    desk.push_main()
    pull = desk.open_pull(OTHER)
    ends = []
    for wrong in range(5):
        asked = desk.asked
        ended = desk.run(pull, wrong=wrong)
        ends.append((told(ended)["verdict"], told(ended)["rate"], desk.asked > asked))
    assert ends[0] == ("pass", 1.0, True)
    assert ("fail", None, True) in ends, "verdicts alone"
    assert ends[-1] == ("incomplete", None, False), "and then nothing runs"


def test_a_run_that_is_killed_has_paid(desk: MoodyDesk) -> None:
    """It may have told: what is counted before is taken back by what was told alone."""
    pull = desk.open_pull(OTHER)
    desk.run(pull)
    desk.slow = 60
    process = desk.on_pull(pull).start(inputs={}, GATEVAL_IDENTITY=IDENTITY, **desk.environ)
    while len(desk.counted()) < 2 and process.poll() is None:
        time.sleep(0.05)
    process.kill()
    process.communicate(timeout=60)
    assert sum(desk.counted()) >= 2 * BOTH


def test_a_warning_comes_first_and_a_new_seal_begins_anew(desk: MoodyDesk) -> None:
    desk.policy("sealedBits: 8, ")
    desk.push_main()
    said = []
    for number in range(4):
        pull = desk.open_pull(f"{OTHER}Change {number}!", branch=f"change-{number}")
        ended = desk.run(pull, 1)
        said.append((" ".join(ended.summary.split()), told(ended)["rate"]))
        for one in desk.repo.checks("gateval (sealed)", desk.sealed_at)[:-1]:
            del desk.repo.check_runs[one.id]  # as GitHub does with all but the newest thousand
    assert "bits a month" not in said[0][0]
    assert said[0][1] == said[1][1] == 0.9
    assert "7 of 8 bits a month of evals/held.yaml.age were told" in said[1][0]
    assert "14 of 8 bits" in said[2][0]
    assert "so verdicts alone are told" in said[2][0]
    assert said[2][1] is None
    assert "more than twice as many as may be" in said[3][0]
    desk.work.checkout("main")
    desk.work.delete("evals/held.yaml.age")
    desk.seal()
    desk.push_main()
    again = desk.run(desk.open_pull(f"{OTHER}Change 5!", branch="change-5"), 1)
    assert told(again) == {"verdict": "fail", "rate": 0.9}


def test_files_that_one_commit_sealed_are_counted_once_for_each_eval(desk: MoodyDesk) -> None:
    desk.work.checkout("main")
    desk.work.delete("evals/held.yaml.age")
    desk.seal(EVAL.replace("held-out", "second"))
    desk.push_main()
    pull = desk.open_pull(OTHER)
    for _ in range(2):
        assert desk.run(pull).code == 0
    assert desk.counted() == [2 * BOTH, 0.0]


def test_records_hold_verdict_rate_and_a_keyed_digest_and_base_is_measured_beside_head(
    desk: MoodyDesk,
) -> None:
    """What a push to main measured of a sealed Eval is no baseline: nothing of it is kept."""
    desk.push_main(**{"agents__prompts__support.md": "Ask why.\n"})
    job = desk.job("push", desk.push_payload(), sha=desk.work.id("main"))
    job.check_out(desk.bare, "refs/heads/main", "--depth=1000")
    assert job.run_action(inputs={}, GATEVAL_IDENTITY=IDENTITY, **desk.environ).code == 0
    before = desk.of_base
    ended = desk.run(desk.open_pull(OTHER), wrong=1)
    assert desk.of_base - before >= FIXTURES
    runs = Repo.at(desk.bare).git("show", f"{RUNS.ref}:{RUNS.path}").decode().splitlines()
    found = json.loads((ended.results / "results.v1.json").read_text("utf-8"))["sealed"][0]
    kept = next(json.loads(one) for one in runs if '"pull_request":1' in one)["evals"][0]
    assert (kept["verdict"], kept["low"], kept["digest"]) == ("fail", 0.9, found["digest"])
    assert "asks-" not in "".join(runs)
