"""Judges that runs by the clock ask in batches, and the next start that takes the answers."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Iterator
from itertools import count

import pytest

from tests.helpers.calibrations import answer, calibration, verdict
from tests.helpers.github_shop import SAME, GitHubShop
from tests.helpers.providers import provider
from tests.helpers.runner import Ended
from tests.servers.artifacts import ArtifactService, artifact_service
from tests.servers.batches import BatchServer
from tests.servers.blob_store import BlobStore
from tests.servers.github.state.actions import Artifact, WorkflowRun
from tests.servers.model_server import Answer, Call, reply

FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {{name: q{number}, labels: {{agent: support}}}}
spec:
  input: {{type: prompt, payload: {{prompt: "Question {number}"}}}}
  assertions: [{{type: judge, rubric: Is it kind?}}]
"""
EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: support-eval}
spec:
  targetAgent: support
  fixtureSelector: {matchLabels: {agent: support}}
  judge: {model: openai/gpt-4o, calibration: tone}
"""
FIXTURES, EXAMPLES = 5, 20
CONFIG = "policy: {judge: {batch: true}}\n"


def judge(call: Call) -> Answer:
    """Right about all examples, and kind to all answers."""
    found = re.search(r"Answer no\. (\d{3})", call.raw.decode())
    if found is None:
        return reply(call, verdict(1.0), usage=(1_000, 100))
    number = int(found[1])
    return reply(call, verdict(float(number % 2), answer(number)), usage=(1_000, 100))


class Clock:
    """Jobs of the schedule of a shop, and what they left for later ones."""

    def __init__(self, shop: GitHubShop, service: ArtifactService, store: BlobStore) -> None:
        self.shop, self.service, self.store = shop, service, store
        self.served = BatchServer(judge, polls=0)
        self._runs = count(9_001)
        shop.push_main(
            **{
                ".github__gateval.yml": CONFIG,
                "evals__tone.yaml": calibration(EXAMPLES, judgeModels=["openai/gpt-4o"]),
                "evals__fixtures.yaml": "---\n".join(
                    FIXTURE.format(number=number) for number in range(FIXTURES)
                ),
                "evals__support-eval.yaml": EVAL,
            }
        )

    def tick(self, *, cancelled: bool = False, minutes: str = "50", **environ: str) -> Ended:
        """Run the job of the next tick; what it uploaded is there for the one after. One that is
        cancelled ends when its first batch is out.
        """
        run, before, made = next(self._runs), dict(self.service.kept), len(self.served.made)
        payload = {**self.shop.push_payload(), "schedule": "23 * * * *"}
        may = {"contents": "write", "checks": "write", "actions": "read"}
        sha, token = self.shop.repo.branches["main"], self.shop.token(**may)
        job = self.shop.job("schedule", payload, sha=sha, run=run, token=token)
        job.check_out(self.shop.bare, "refs/heads/main")
        self.served.polls = 10**9 if cancelled or minutes == "1" else 0
        process = job.start(inputs={"max-minutes": minutes}, **self.service.environ, **environ)
        while cancelled and process.poll() is None and len(self.served.made) == made:
            time.sleep(0.05)
        if cancelled:
            time.sleep(1)
            process.send_signal(signal.SIGTERM)
        ended = job.end(process)
        known = WorkflowRun(run, "schedule", "main", sha, "x", "acme/shop")
        for number, (name, content) in enumerate(self.service.kept.items(), start=1):
            if before.get(name) != content:
                told = Artifact(1_000 * run + number, name, content, self.store.put(content))
                known.artifacts.append(told)
        self.shop.repo.workflow_runs[run] = known
        return ended

    @property
    def asked(self) -> list[int]:
        return [len(lines) for lines in self.served.made]


@pytest.fixture
def clock(shop: GitHubShop) -> Iterator[Clock]:
    with BlobStore() as store, artifact_service() as service:
        yield Clock(shop, service, store)


def test_the_next_start_takes_the_answers_and_pull_requests_never_wait(clock: Clock) -> None:
    """The calibration is replayed in batches, too, and asked again about what it was right about."""
    with provider(clock.served) as (_, environ):
        cut = clock.tick(minutes="1", **environ)
        assert cut.code == 3, cut.log
        assert clock.asked == [FIXTURES + EXAMPLES], "trials and examples in one"
        ended = clock.tick(**environ)
        assert ended.code == 0, ended.log + ended.errors
        assert f"of {FIXTURES} more the judge alone is asked again" in ended.log
        assert clock.asked[:2] == [FIXTURES + EXAMPLES, 62], "50 again, and the one with words"
        assert clock.served.alone == 0
        third = clock.tick(**environ)
        assert "this commit was measured at" in third.log, "it counts now"

        made = len(clock.served.made)
        ended = clock.shop.on_pull(clock.shop.open_pull(SAME), run=9_900).run_action(**environ)
        assert ended.code == 0, ended.log + ended.errors
        assert (len(clock.served.made), clock.served.alone > 0) == (made, True)


def test_canaries_are_mixed_into_the_batch_and_stay_the_same_in_who_goes_on(clock: Clock) -> None:
    with provider(clock.served) as (_, environ):
        first = clock.tick(**environ)
        assert first.code == 0, first.log
        made = len(clock.served.made)
        clock.shop.push_main(README="Another commit\n")
        cut = clock.tick(cancelled=True, **environ)
        assert cut.code == 130, cut.log
        assert clock.asked[made:] == [FIXTURES + 10]
        ended = clock.tick(**environ)
    assert ended.code == 0, ended.log + ended.errors
    assert clock.asked[made:] == [FIXTURES + 10], "nothing more is asked"
    (used,) = json.loads((ended.results / "results.v1.json").read_text())["calibrations"]
    assert (used["watch"]["asked"], used["watch"]["wrong"]) == (10, [])
