"""Eight ways by which one sealed trial could be told from another, each beside the same in plain
text, where it does tell: score, axis, cost, tokens, sizes of files, errors, cache hits, order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.sealed.test_sealed_bits import OTHER, MoodyDesk
from tests.e2e.sealed.test_sealed_outcomes import AGENT, PROGRAM, differing, folded, on_branch
from tests.helpers import stored
from tests.helpers.command import gateval
from tests.helpers.providers import provider
from tests.helpers.repo import Repo
from tests.helpers.sealed import CONFIG, KEY, KIND, seal
from tests.helpers.tiers import some_always
from tests.servers.github.server import GitHubServer
from tests.servers.model_server import Answer, Call, failure, reply

FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: asks-NUMBER, labels: {held: "yes"}}
spec:
  input: {type: prompt, payload: {prompt: "NUMBER"}}
  assertions:
    - {type: contains, value: fine, axis: manners, weight: 2}
    - {type: notContains, value: refund, axis: safety, weight: 5}
    - {type: judge, rubric: "Mentions no quokka.", axis: manners}
---
"""

EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: held-out}
spec:
  targetAgent: desk
  fixtureSelector: {matchLabels: {held: "yes"}}
  judge: {model: openai/judge}
  execution: {parallel: 2}
  scoring: {passThreshold: 0.5, model: weighted, passScore: 0.95}
"""

ONE = "if number == 2: "

ATTACKS = {
    "score": (f'{ONE}good = "no"', f'{ONE}good = "fine, a refund"'),
    "axis": (f'{ONE}good = "no"', 'if number == 7: good = "fine, a refund"'),
    "cost": (f'{ONE}good += " CHEAP"', f'{ONE}good += " DEAR"'),
    "tokens": ("", f'{ONE}said["usage"] = {{"input_tokens": 90000, "output_tokens": 7}}'),
    "sizes of files": (f'{ONE}good += "x" * 40', f'{ONE}good += "x" * 9000'),
    "errors": (f'{ONE}good = "no"', f"{ONE}os.kill(os.getpid(), 9)"),
    "cache hits": (f'{ONE}good += " COLD"', f'{ONE}good += " CACHED"'),
    "order": (f"{ONE}time.sleep(0.8)", "if number == 9: time.sleep(0.8)"),
}
"""Two answers of an agent that differ in this alone: not in verdict and rate."""


def judges(call: Call) -> Answer:
    """Judge all alike, at prices that differ, but for what is too long for this judge."""
    if b"TOO LONG" in call.raw:
        return failure(call, 400, "too long")
    answer = reply(call, json.dumps(KIND), usage=(10, 90_000) if b"DEAR" in call.raw else (10, 5))
    if b"CACHED" not in call.raw:
        return answer
    body: dict[str, Any] = json.loads(answer.body)
    body["usage"]["prompt_tokens_details"] = {"cached_tokens": 8}
    return Answer(body=json.dumps(body).encode())


def shop(path: Path, *, sealed: bool) -> Repo:
    repo = Repo(path)
    repo.write("desk/agent.yaml", AGENT)
    repo.write("desk/desk.py", PROGRAM.replace("ANSWERS", ""))
    prices = "prices: {openai/judge: {input: 1, output: 3}}"
    repo.write(".github/gateval.yml", CONFIG.replace("{", f"{{{prices}, ", 1))
    text = "".join(FIXTURE.replace("NUMBER", str(n)) for n in range(12)) + EVAL
    if sealed:
        seal(repo, "evals/held.yaml", text)
    else:
        repo.write("evals/held.yaml", text)
    repo.commit()
    return repo


def public(
    repo: Repo, out: Path, name: str, answers: str, codes: AbstractSet[int] = frozenset({0, 1})
) -> dict[str, str]:
    """Check a change; return all that everybody may see of it, with the times taken out."""
    whole = "import os\nsaid = {}\n" + answers
    on_branch(repo, name, whole)
    program = (repo.path / "desk/desk.py").read_text()
    printed = 'print(json.dumps({"output": good, **said}))'
    program = program.rstrip().replace('print(json.dumps({"output": good}))', printed)
    repo.write("desk/desk.py", f"{program:<300000}")
    repo.commit("Says more")
    with provider(judges) as (_, environ):
        words = ("check", "--base", "main", "--head", name, "--results", str(out))
        done = gateval(repo, *words, **environ, **KEY)
    assert done.returncode in codes, done.stdout + done.stderr
    found = {"stdout": done.stdout, "stderr": done.stderr.replace(str(out), "OUT")}
    for name, text in stored.written(out).items():
        age = text.startswith("-----BEGIN AGE")
        found[name] = f"{len(text) // 8000} times 8 kB" if age else text
    return {name: folded(text) for name, text in found.items()} | {"exit": str(done.returncode)}


@pytest.mark.parametrize("sealed", some_always([True, False], 2))
@pytest.mark.parametrize("attack", some_always(ATTACKS, 3))
def test_no_public_byte_tells_it(tmp_path: Path, attack: str, sealed: bool) -> None:
    repo = shop(tmp_path / "shop", sealed=sealed)
    told = [
        public(repo, tmp_path / f"out-{number}", f"next-{number}", answers)
        for number, answers in enumerate(ATTACKS[attack], 1)
    ]
    assert (differing(*told) == []) is sealed, {
        name: (told[0].get(name), told[1].get(name)) for name in differing(*told)
    }


def test_an_agent_that_hides_all_but_one_from_the_judge_aims_no_rate_at_that_one(
    tmp_path: Path,
) -> None:
    repo, out = shop(tmp_path / "shop", sealed=True), tmp_path / "out"
    public(repo, out, "next-1", 'if number != 2: good = "fine, TOO LONG"', codes={3})
    (told,) = json.loads((out / "results.v1.json").read_text("utf-8"))["sealed"]
    assert (told["verdict"], told["rate"]) == ("inconclusive", None)


@pytest.fixture
def desk(github_server: GitHubServer, tmp_path: Path) -> Iterator[MoodyDesk]:
    shop = MoodyDesk(github_server, tmp_path)
    with provider(shop.answer) as (_, environ):
        shop.environ = environ
        yield shop


_BASE64 = re.compile(r"[A-Za-z0-9+/]{200,}={0,2}")
NAMES = re.compile(
    r"change-\d|Change \d!|\b(issues|pulls?|runs)/\d+|/\d+\.1\b|\bid\\?\":\s*\\?\"[-\d]+|#\d+\b"
    r"|issuecomment-\d+|\bc1\d\d\d\b|::add-mask::\S+|check-runs/\d+|127.0.0.1:\d+"
    r"|\"(pull_request|run|number)\":\s*\d+|before=[.\d]+|\brun=\d+"
)


def on_github(desk: MoodyDesk, number: int, wrong: set[int]) -> list[str]:
    """Run the gate on a pull request; return all it said there, and what it left in git."""
    pull = desk.open_pull(f"{OTHER}Change {number}!", branch=f"change-{number}")
    before = len(desk.server.log.entries)
    ended = desk.run(pull, wrong)
    assert ended.code == 1, ended.errors
    said = [f"{one.method} {one.path} {json.dumps(one.body)}" for one in desk.server.log.entries]
    bare = Repo.at(desk.bare)
    refs = bare.git("for-each-ref", "--format=%(refname)", "refs/gateval").decode().split()
    newest = [
        bare.git("show", f"{ref}:{name}").decode().rstrip().rpartition("\n")[2]
        for ref in refs
        for name in bare.git("ls-tree", "-r", "--name-only", ref).decode().split()
    ]
    assert newest
    texts = [*said[before:], *newest, ended.log, ended.summary, *ended.outputs.values()]
    kept = [_BASE64.sub(lambda one: f"KEPT {len(one[0]) // 4000}", text) for text in texts]
    return sorted(NAMES.sub("NAME", folded(text)) for text in kept)


def test_no_request_and_no_record_tells_which_of_them_fail(desk: MoodyDesk) -> None:
    ways = [{3, 4, 5}, {0, 1, 2}, {0, 8, 9}]  # the first finds no records yet
    _, first, second = (on_github(desk, number, wrong) for number, wrong in enumerate(ways))
    differ = [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]]
    assert differ == []
