"""Judges that runs by the clock ask in batches, and the next start that takes the answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
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

    def tick(self, environ: Mapping[str, str], *, minutes: str = "50") -> Ended:
        """Run the job of the next tick; what it uploaded is there for the one after."""
        run = next(self._runs)
        payload = {**self.shop.push_payload(), "schedule": "23 * * * *"}
        may = {"contents": "write", "checks": "write", "actions": "read"}
        sha, token = self.shop.repo.branches["main"], self.shop.token(**may)
        job = self.shop.job("schedule", payload, sha=sha, run=run, token=token)
        job.check_out(self.shop.bare, "refs/heads/main")
        ended = job.run_action(inputs={"max-minutes": minutes}, **self.service.environ, **environ)
        known = WorkflowRun(run, "schedule", "main", sha, "x", "acme/shop")
        for number, (name, content) in enumerate(self.service.kept.items(), start=1):
            told = Artifact(1_000 * run + number, name, content, self.store.put(content))
            known.artifacts.append(told)
        self.service.kept.clear()
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
        clock.served.polls = 10**9
        cut = clock.tick(environ, minutes="1")
        assert cut.code == 3, cut.log
        assert clock.asked == [FIXTURES + EXAMPLES], "trials and examples in one"
        clock.served.polls = 0
        ended = clock.tick(environ)
        assert ended.code == 0, ended.log + ended.errors
        info = json.loads((ended.results / "results.v1.json").read_text())["info"]
        assert f"of {FIXTURES} more the judge alone is asked again" in info["resumed"]
        assert clock.asked[:2] == [FIXTURES + EXAMPLES, 62], "50 again, and the one with words"
        assert clock.served.alone == 0
        third = clock.tick(environ)
        assert "this commit was measured at" in third.log, "it counts now"

        made = len(clock.served.made)
        job = clock.shop.on_pull(clock.shop.open_pull(SAME), run=9_900)
        ended = job.run_action(inputs={}, **environ)
        assert ended.code == 0, ended.log + ended.errors
        assert (len(clock.served.made), clock.served.alone > 0) == (made, True)
