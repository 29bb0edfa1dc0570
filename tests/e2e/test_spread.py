"""A run that several processes of the command line measure together, as machines of any CI would."""

from __future__ import annotations

import hashlib
import json
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gateval.adapters.store import STORE_FOLDER
from tests.helpers.calibrations import verdict
from tests.helpers.command import gateval, start_gateval
from tests.helpers.providers import provider
from tests.helpers.repo import Repo
from tests.helpers.shop import AGENT
from tests.helpers.stored import content, trials
from tests.servers.model_server import Answer, Call, reply

CASES = 24
EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: desk-eval}
spec:
  targetAgent: support
  fixtureSelector: {matchLabels: {of: desk}}
  judge: {model: openai/judge}
  execution: {parallel: 24, repsPerFixture: 2}
"""
FIXTURE = """\
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: case-NUMBER, labels: {of: desk}}
spec:
  input: {type: prompt, payload: {prompt: "Case NUMBER."}}
  assertions:
    - {type: contains, value: kind}
"""
JUDGED = "    - {type: judge, rubric: Is it kind?}\n"
VOLATILE = {"seconds", "started_at", "run", "waited", "latency"}
"""What differs between two runs that measured the same."""


def desk_answers(seed: int) -> Callable[[Call], Answer]:
    """Answer kindly now and then, and less often where the prompt is curt."""
    draw = random.Random(seed)

    def answer(call: Call) -> Answer:
        text = "\n".join(str(one["content"]) for one in call.body["messages"])
        if "rubric" in text:
            return reply(call, verdict(1.0))
        kind = draw.random() < (0.65 if "Be curt" in text else 0.98)
        return reply(call, "I am kind." if kind else "I am not.")

    return answer


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """An agent with many fixtures, worse on the branch `next`, and the folder `alone` of one run."""
    folder = tmp_path_factory.mktemp("desk")
    repo = Repo(folder / "desk")
    repo.write("agents/support.yaml", AGENT.replace("scripted/support", "openai/agent"))
    repo.write("agents/prompts/support.md", "Be kind.\n")
    cases = (
        FIXTURE.replace("NUMBER", str(number)) + JUDGED * (number % 8 == 0)
        for number in range(CASES)
    )
    repo.write("evals/desk.yaml", EVAL + "".join(cases))
    repo.write(".gitignore", "out/\n")
    repo.commit()
    repo.branch("next")
    repo.write("agents/prompts/support.md", "Be curt.\n")
    repo.commit("Curt")
    plan = gateval(repo, "plan", "--base", "main", "--head", "next", "--json")
    (repo.path / "out").mkdir()
    (repo.path / "out/plan.json").write_text(plan.stdout)
    with provider(desk_answers(7)) as (_, environ):
        told = ("--record", "--results", "out/alone")
        done = gateval(repo, "run", "--plan", "out/plan.json", *told, **environ)
    assert done.returncode == 1, done.stdout + done.stderr
    return repo


@dataclass
class Machines:
    """The jobs of one run, each a process; `killed` is asked before each shard how many trials of
    it are stored when it is killed, 0 for never.
    """

    repo: Repo
    name: str
    killed: Callable[[], int] = lambda: 0
    extra: dict[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ("--replay", "out/alone", "--offline")
    count: int = 0

    @property
    def parts(self) -> str:
        return f"out/{self.name}"

    def job(self, *words: str, code: int = 0) -> str:
        """Run one job to its end; return what it says on stdout."""
        done = gateval(self.repo, *self._command(words), **self.extra)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def shard(self, name: str, at: int) -> bool:
        """Measure one shard; say whether it was killed."""
        words, most = ("--shard", name, "--round", str(at)), self.killed()
        if not most:
            self.job(*words)
            return False
        process = start_gateval(self.repo, *self._command(words), **self.extra)
        folder = self.repo.path / self.parts / f"job-{self.count}"
        while process.poll() is None and len(trials(folder)) < most:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        return process.returncode != 0

    def run(self, shards: int, code: int) -> Path:
        """Walk all rounds, and return the folder of the results."""
        at, killed = 1, 0
        names = json.loads(self.job("--step", "plan", "--shards", str(shards)))
        while names:
            lost = [name for name in names if self.shard(name, at)]
            killed += len(lost)
            self.killed = lambda: 0
            for name in lost:
                self.shard(name, at)
            names = json.loads(self.job("--step", "next", "--shards", str(shards)))
            at += 1
        self.job("--step", "finish", code=code)
        return self.repo.path / self.parts / f"job-{self.count}"

    def _command(self, words: tuple[str, ...]) -> tuple[str, ...]:
        self.count += 1
        parts = () if "plan" in words else ("--parts", self.parts)
        out = ("--results", f"{self.parts}/job-{self.count}")
        return ("run", "--plan", "out/plan.json", *words, *parts, *out, *self.words)


def steady(value: Any) -> Any:
    """A value without what is volatile."""
    if isinstance(value, dict):
        return {key: steady(each) for key, each in value.items() if key not in VOLATILE}
    return [steady(each) for each in value] if isinstance(value, list) else value


def said(folder: Path) -> dict[str, str]:
    """The digests of what a run says: its results but for what is volatile, verdict and comment."""
    results = steady(json.loads((folder / "results.v1.json").read_text()))
    results["info"] = {key: results["info"][key] for key in ("ended", "over_budget")}
    decision = (folder / "decision.v1.json").read_text()
    texts = {
        "results": json.dumps(results, sort_keys=True),
        "decision": json.dumps(steady(json.loads(decision)), sort_keys=True),
        "comment": re.sub(r"\b[\d,]+\.\d s\b", "", (folder / "comment.md").read_text()),
    }
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}


@pytest.mark.parametrize(
    ("shards", "kills"),
    [
        (2, True),
        pytest.param(1, True, marks=pytest.mark.exhaustive),
        pytest.param(7, True, marks=pytest.mark.exhaustive),
        pytest.param(20, True, marks=pytest.mark.exhaustive),
    ],
)
def test_one_recording_gives_the_same_in_any_number_of_shards_some_of_them_killed(
    desk: Repo, shards: int, kills: bool
) -> None:
    luck = random.Random(shards)
    killed = (lambda: luck.choice((0, 1, 3))) if kills else (lambda: 0)
    replay = Machines(desk, f"replay-{shards}", killed)
    found = replay.run(shards, code=1)
    alone = desk.path / "out/again"
    if not alone.exists():
        words = ("--replay", "out/alone", "--offline", "--results", "out/again")
        done = gateval(desk, "run", "--plan", "out/plan.json", *words)
        assert done.returncode == 1, done.stdout + done.stderr
    assert said(found) == said(alone)


def test_a_shard_reads_nothing_of_what_others_measure_in_its_round(desk: Repo) -> None:
    """Twenty shards would else read what nineteen left, each of them; who joins them reads it."""
    replay = Machines(desk, "apart")
    replay.job("--step", "plan", "--shards", "2")
    replay.shard("1/2", 1)
    (part,) = (desk.path / replay.parts / f"job-{replay.count}").glob("part.v1.json")
    whole = part.read_bytes()
    part.write_bytes(b"?" + whole[1:])
    replay.shard("2/2", 1)
    replay.job("--step", "next", "--shards", "2", code=2)
    part.write_bytes(whole)
    replay.job("--step", "next", "--shards", "2")


def test_shards_of_a_replay_decide_about_no_run_that_measures(desk: Repo) -> None:
    """What a recording says is given to who asks to see it again, and to nobody else."""
    replay = Machines(desk, "mixed")
    replay.job("--step", "plan", "--shards", "1")
    replay.shard("1/1", 1)
    replay.words = ()
    replay.extra = {"OPENAI_API_KEY": "sk-none", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    done = gateval(desk, *replay._command(("--step", "finish")), **replay.extra)
    assert done.returncode in {2, 3}, done.stdout
    assert "replayed from a recording, so they measure nothing" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--shard", "3/2"), '--shard is "3/2"'),
        (("--shard", "1/2", "--shards", "2"), "--shards is no matter of the step run"),
        (("--step", "next"), "--parts is missing"),
        (("--step", "finish", "--parts", "out/none"), "The folder out/none cannot be read"),
        (("--round", "2"), "--shard is missing"),
        (("--step", "run"), "--shard is missing"),
    ],
)
def test_options_of_shards_that_cannot_be_followed(
    desk: Repo, words: tuple[str, ...], sentence: str
) -> None:
    done = gateval(desk, "run", "--plan", "out/plan.json", *words, OPENAI_API_KEY="sk-none")
    assert done.returncode in {2, 3}, done.stdout + done.stderr
    assert sentence in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


@dataclass
class Shard:
    """One shard of a live run, in a folder of its own, and what its provider was asked."""

    repo: Repo
    name: str
    seed: int = 3
    asked: list[Call] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return self.repo.path / "out" / self.name / "shard"

    def words(self, which: str = "1/2") -> tuple[str, ...]:
        """The command, the same at each try."""
        parts = self.folder.parent
        parts.mkdir(exist_ok=True)
        places = ("--parts", str(parts), "--results", str(self.folder))
        return ("run", "--plan", "out/plan.json", "--shard", which, *places)

    def answer(self, call: Call) -> Answer:
        self.asked.append(call)
        self.seed += 1
        drawn = desk_answers(self.seed)(call)
        time.sleep(0.05)
        return drawn

    def killed_at(self, many: int) -> list[dict[str, Any]]:
        """Kill it as soon as so many trials are stored; return these."""
        with provider(self.answer) as (_, environ):
            process = start_gateval(self.repo, *self.words(), **environ)
            while process.poll() is None and len(trials(self.folder)) < many:
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
            _, told = process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL, told
        return trials(self.folder)

    def again(self, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Give the same command again, or another one."""
        with provider(self.answer) as (_, known):
            return gateval(self.repo, *(words or self.words()), **known, **environ)


def by_key(found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Trials by their keys, without what a store may have apart."""
    return {json.dumps(one["key"]): one for one in found}


def test_the_command_of_a_killed_shard_goes_on_from_what_it_has(desk: Repo) -> None:
    """Killed three times; each trial counts once, as it was drawn first."""
    shard, kept = Shard(desk, "killed"), dict[str, dict[str, Any]]()
    for many in (1, 4, 9):
        now = by_key(shard.killed_at(len(kept) + many))
        assert now.items() >= kept.items()
        kept = now
    done = shard.again()
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(kept)} of them at an earlier try." in done.stderr
    after = trials(shard.folder)
    assert by_key(after).items() >= kept.items()
    part = json.loads((shard.folder / "part.v1.json").read_text())
    assert len(part["trials"]) == len(by_key(part["trials"])) == len(by_key(after))
    lines = sum(content(one).count(b'{"key":') for one in (shard.folder / STORE_FOLDER).glob("0*"))
    assert lines == len(after), "what was kept is not written again"
    asked = len(shard.asked)
    assert shard.again().returncode == 0
    assert len(shard.asked) == asked, "and nothing is paid again"


def test_a_killed_shard_does_not_spend_its_share_twice(desk: Repo, tmp_path: Path) -> None:
    repo = Repo.at(tmp_path / "desk")
    shutil.copytree(desk.path, repo.path, ignore=shutil.ignore_patterns("out"))
    repo.checkout("main")
    repo.write(".github/gateval.yml", "policy: {gateway: {callsPerRun: 40}}\n")
    repo.commit("At most 40 calls")
    plan = gateval(repo, "plan", "--base", "main", "--head", "next", "--json")
    (repo.path / "out").mkdir()
    (repo.path / "out/plan.json").write_text(plan.stdout)
    shard = Shard(repo, "paid")
    paid = sum(one["trace"]["model_calls"] for one in shard.killed_at(6))
    before = len(shard.asked)
    done = shard.again()
    assert done.returncode == 3, done.stdout + done.stderr
    assert "callsPerRun" in done.stderr
    assert 0 < len(shard.asked) - before <= 20 - paid


@pytest.mark.drawn("change", "sentence")
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("another shard", "was measured by another shard"),
        ("another engine", "another version of Gateval measured it"),
        ("another plan", "is not empty"),
        ("open to others", "others may write to"),
        ("another run", "is not empty"),
    ],
)
def test_what_a_shard_does_not_go_on_from(desk: Repo, change: str, sentence: str) -> None:
    shard = Shard(desk, change.replace(" ", "-"))
    which, plan = "1/2", shard.folder / "plan.v1.json"
    assert shard.killed_at(3)
    match change:
        case "another shard":
            which = "2/2"
        case "another engine":
            plan.write_text(json.dumps(json.loads(plan.read_text()) | {"engine": "0" * 64}))
        case "another plan":
            text = plan.read_text()
            plan.write_text(text.replace(json.loads(text)["head"]["commit"], "1" * 40))
        case "open to others":
            shard.folder.chmod(0o777)
        case _:
            (shard.folder / "results.v1.json").write_text("{}")
    asked = len(shard.asked)
    done = shard.again(*shard.words(which))
    assert done.returncode in {2, 3}, done.stdout + done.stderr
    assert sentence in " ".join(done.stderr.split())
    assert len(shard.asked) == asked


TOKEN = "crm-7f3a9c2d1e8b4f60"


@pytest.fixture
def passing(tmp_path: Path) -> Repo:
    """An agent that says what `policy.candidateEnv` passes on to it."""
    repo = Repo(tmp_path / "desk")
    repo.write(".github/gateval.yml", "policy: {candidateEnv: [CRM_TOKEN]}\n")
    runtime = f"  runtime: {{type: command, command: [{sys.executable}, desk.py]}}\n"
    agent = "apiVersion: gateval/v1\nkind: Agent\nmetadata: {name: support}\nspec:\n"
    repo.write("agents/support/agent.yaml", agent + runtime)
    repo.write(
        "agents/support/desk.py", "import os\nprint('I am kind.', os.environ['CRM_TOKEN'])\n"
    )
    repo.write(
        "evals/desk.yaml",
        EVAL.replace("  judge: {model: openai/judge}\n", "") + FIXTURE.replace("NUMBER", "1"),
    )
    repo.write(".gitignore", "out/\n")
    repo.commit()
    repo.branch("next")
    repo.write("agents/support/prompt.md", "Be kinder.\n")
    repo.commit("Another prompt")
    return repo


def machines_of(repo: Repo) -> Machines:
    plan = gateval(repo, "plan", "--base", "main", "--head", "next", "--json")
    (repo.path / "out").mkdir()
    (repo.path / "out/plan.json").write_text(plan.stdout)
    return Machines(repo, "spread", words=(), extra={"CRM_TOKEN": TOKEN})


def test_what_the_policy_passes_on_is_in_no_file_of_a_job(passing: Repo) -> None:
    machines = machines_of(passing)
    machines.job("--step", "plan", "--shards", "1")
    machines.job("--shard", "1-of-1", "--round", "1")
    machines.job("--step", "next")
    machines.job("--step", "finish", code=0)
    files = [one for one in (passing.path / machines.parts).rglob("*") if one.is_file()]
    assert "part.v1.json" in {one.name for one in files}
    assert any(b"I am kind. " in content(one) for one in files)
    assert [one.name for one in files if TOKEN.encode() in content(one)] == []


def test_what_the_policy_passes_on_and_a_file_shows_is_named_before_anything_runs(
    passing: Repo,
) -> None:
    fixture = FIXTURE.replace("NUMBER", "1").replace("value: kind", f"value: {TOKEN}")
    passing.write("evals/desk.yaml", EVAL.replace("  judge: {model: openai/judge}\n", "") + fixture)
    passing.commit("The token in a fixture")
    machines = machines_of(passing)
    without = gateval(passing, *machines._command(("--step", "plan", "--shards", "1")))
    assert without.returncode == 0, without.stderr  # a job that passes nothing on
    for words in (("--step", "plan", "--shards", "1"), ("--shard", "1-of-1", "--round", "1")):
        done = gateval(passing, *machines._command(words), **machines.extra)
        assert done.returncode == 2, done.stdout + done.stderr
        told = " ".join(done.stderr.split())
        assert "Eval desk-eval holds the value of CRM_TOKEN, which policy.candidateEnv" in told
        assert TOKEN not in told
