"""A judgement of what an Agent would say again is not paid twice, if the forge confirms it, and only
then: a forged judgement is a forged pass.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

import pytest

from gateval.adapters.own_code import engine_digest
from tests.helpers.calibrations import verdict
from tests.helpers.github_shop import SAME, GitHubShop
from tests.helpers.main_branch import CONFIG, Main
from tests.helpers.providers import provider
from tests.helpers.repo import Repo
from tests.helpers.runner import Ended
from tests.helpers.shop import AGENT, EVAL, FIXTURES, SCRIPT
from tests.servers.blob_store import BlobStore, archive
from tests.servers.github.state.actions import Artifact, WorkflowRun
from tests.servers.model_server import Answer, Call, ModelServer, reply

JUDGED = EVAL + "  judge: {model: openai/gpt-5}\n"
KIND = "    - {type: contains, value: Hello}\n    - {type: judge, rubric: Is it kind?}\n"
POLITE = FIXTURES.replace("    - {type: contains, value: Hello}\n", KIND)
FILE = "reusable.v1.json"
RECORDS = "refs/gateval/runs:runs.jsonl"


class Judged:
    """A default branch whose runs leave what a real judge said, and the judge."""

    def __init__(self, main: Main, judge: ModelServer, environ: dict[str, str]) -> None:
        self.main, self.judge, self.environ = main, judge, environ

    def leaves(self, change: Callable[[bytes], bytes] = lambda it: it) -> WorkflowRun:
        """Measure the default branch, and have its artifact hold `change` of what it left."""
        run = self.main.measured(env=self.environ)
        (ended,) = self.main.shop.folder.glob(f"**/{FILE}")
        content = change(ended.read_bytes())
        place = self.main.store.put(archive({FILE: content}))
        run.artifacts.append(Artifact(977, "gateval-reusable", archive({FILE: content}), place))
        return run

    def asked(self, act: Callable[[], Ended]) -> tuple[Ended, int]:
        """What comes of a run, and how often it asked the judge."""
        before = len(self.judge.calls)
        ended = act()
        return ended, len(self.judge.calls) - before

    def gate(self) -> tuple[Ended, int]:
        self.pull = self.main.shop.open_pull(SAME)
        return self.asked(lambda: self.main.gate(self.pull, **self.environ))


@pytest.fixture
def judged(shop: GitHubShop) -> Iterator[Judged]:
    def said(call: Call) -> Answer:
        rude = b"you fool" in call.raw
        return reply(call, verdict(0.0, "you fool") if rude else verdict(1.0))

    with BlobStore() as store, provider(said) as (judge, environ):
        main = Main(shop, store)
        shop.push_main(
            **{
                ".github__gateval.yml": CONFIG.replace("10", "1"),
                ".gateval__scripted__support.yaml": SCRIPT,
                "evals__fixtures.yaml": POLITE,
                "evals__support-eval.yaml": JUDGED,
            }
        )
        yield Judged(main, judge, environ)


def test_what_the_default_branch_left_is_not_paid_again(judged: Judged) -> None:
    judged.leaves()
    ended, asked = judged.gate()
    assert (ended.code, asked) == (0, 1), ended.errors + ended.log
    said = "1 judged in run 4711-1 count here: rules answer for the Agent"
    assert said in judged.pull.comments[0].body
    trials = json.loads((ended.results / "results.v1.json").read_text())["trials"]
    sides = {(one["key"]["fixture"], one["key"]["side"]): one for one in trials}
    assert len(sides) == 4
    assert sides["greets", "base"]["judge_usage"]["input_tokens"] == 0, (
        "nothing was paid for it here"
    )
    assert sides["greets", "base"]["trace"]["steps"]


def in_git(judged: Judged, change: Callable[[bytes], bytes]) -> None:
    """Change the records that whoever may push can write."""
    bare = judged.main.shop.bare
    line = Repo.at(bare).git("show", RECORDS)
    clone = Repo(judged.main.shop.folder / "forged")
    (clone.path / "runs.jsonl").write_bytes(change(line))
    clone.commit()
    clone.git("push", "--quiet", "--force", str(bare), "HEAD:refs/gateval/runs")


def forged(content: bytes) -> bytes:
    """The same judgements with another score."""
    changed = content.replace(b'"summary":"Kind."', b'"summary":"Best."')
    assert changed != content
    return changed


def opened(content: bytes) -> bytes:
    """The file in an artifact."""
    with zipfile.ZipFile(io.BytesIO(content)) as files:
        return files.read(FILE)


def an_altered_file(judged: Judged) -> None:
    judged.leaves(forged)


def a_file_that_a_forged_record_names(judged: Judged) -> None:
    run = judged.leaves(forged)
    (made,) = [one for one in run.artifacts if one.name == "gateval-reusable"]
    name = sha256(opened(made.content)).hexdigest().encode()
    in_git(judged, lambda it: re.sub(rb'"reusable":"\w+"', b'"reusable":"' + name + b'"', it))


def of_a_pull_request(judged: Judged) -> None:
    judged.leaves().event = "pull_request"


def of_a_workflow_that_a_branch_brought(judged: Judged) -> None:
    judged.leaves().path = ".github/workflows/mine.yml"


def of_another_branch(judged: Judged) -> None:
    judged.leaves().branch = "mine"


@pytest.mark.parametrize(
    "attack",
    [
        an_altered_file,
        a_file_that_a_forged_record_names,
        of_a_pull_request,
        of_a_workflow_that_a_branch_brought,
        of_another_branch,
    ],
)
def test_what_nobody_confirms_is_judged_anew(
    judged: Judged, attack: Callable[[Judged], None]
) -> None:
    attack(judged)
    ended, asked = judged.gate()
    assert (ended.code, asked) == (0, 2), ended.errors + ended.log
    assert "count here" not in judged.pull.comments[0].body


def test_another_version_of_the_gate_takes_over_nothing(judged: Judged) -> None:
    """Its addresses are others, whatever a record says."""
    made: dict[str, Any] = {}

    def older(content: bytes) -> bytes:
        made.update(json.loads(content))
        for one in made["trials"]:
            one["address"] = sha256((one["address"] + engine_digest()).encode()).hexdigest()
        return json.dumps(made).encode()

    run = judged.leaves(older)
    name = sha256(json.dumps(made).encode()).hexdigest().encode()
    renamed = re.compile(rb'"reusable":"\w+"').sub
    in_git(judged, lambda it: renamed(b'"reusable":"' + name + b'"', it))
    line = Repo.at(judged.main.shop.bare).git("show", RECORDS)
    run.artifacts[:] = [one for one in run.artifacts if one.name == "gateval-reusable"]
    judged.main.upload(run, line)
    ended, asked = judged.gate()
    assert (ended.code, asked) == (0, 2), ended.errors + ended.log


PROGRAM = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: support}
spec:
  models: [scripted/support]
  modelCalls: optional
  runtime: {type: command, command: [echo, Hello]}
"""


@pytest.mark.drawn("files")
@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"agents__support.yaml": PROGRAM}, 3),
        ({".gateval__scripted__support.yaml": SCRIPT + "    probability: 0.999\n"}, 0),
        ({"agents__support.yaml": AGENT.replace("[scripted/support]", "[openai/gpt-5]")}, 1),
        ({"evals__fixtures.yaml": POLITE + "    - {type: latency, maxSeconds: 60}\n"}, 0),
        ({"evals__support-eval.yaml": JUDGED.replace("openai/gpt-5", "scripted/support")}, 3),
    ],
    ids=["a program", "a rule by chance", "a real model", "a clock", "nothing paid"],
)
def test_what_is_not_the_same_for_certain_is_left_to_nobody(
    judged: Judged, files: dict[str, str], code: int
) -> None:
    judged.main.shop.push_main(**files)
    judged.main.measured(env=judged.environ, ok=code)
    assert list(judged.main.shop.folder.glob("**/run.v1.json"))
    assert not list(judged.main.shop.folder.glob(f"**/{FILE}"))
    assert b"reusable" not in Repo.at(judged.main.shop.bare).git("show", RECORDS)


def test_a_judge_that_looks_again_is_asked_whoever_looked_first(judged: Judged) -> None:
    judged.leaves()
    script = SCRIPT.replace("Hello! How can I help?", "Hello, you fool.")
    judged.main.shop.work.branch("change", "main")
    judged.main.shop.work.write(".gateval/scripted/support.yaml", script)
    ended, asked = judged.gate()
    assert ended.code == 1, ended.errors + ended.log
    trials = json.loads((ended.results / "results.v1.json").read_text())["trials"]
    greeting = [one for one in trials if one["key"]["fixture"] == "greets"]
    again = [
        one["assessments"][1].get("again") for one in greeting if one["key"]["repetition"] == 1
    ]
    assert again == ["passed", "failed"]
    assert "1 judged in run 4711-1 count here" in judged.pull.comments[0].body
    base = [one for one in greeting if one["key"]["side"] == "base"]
    assert base[0]["judge_usage"]["input_tokens"] == 10, "for the second look alone"
    looked = sum("again" in one["assessments"][1] for one in greeting)
    assert asked == len(greeting) - 1 + looked
