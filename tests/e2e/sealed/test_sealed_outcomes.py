"""Which sealed fixture fails, and by what, changes no public byte: only verdict and coarse rate."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.helpers import stored
from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.sealed import CONFIG, KEY, seal
from tests.helpers.tiers import some_always

FIXTURES = 10

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec:
  runtime: {type: command, command: [python3, desk.py]}
"""

PROGRAM = """\
import json, sys, time
number = int(json.load(sys.stdin)["prompt"])
good = f"number {number} is fine"
ANSWERS
print(json.dumps({"output": good}))
"""

FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: asks-NUMBER, labels: {held: "yes"}}
spec:
  input: {type: prompt, payload: {prompt: "NUMBER"}}
  assertions:
    - {type: contains, value: fine, axis: manners}
    - {type: notContains, value: refund, axis: safety}
---
"""

EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: held-out}
spec:
  targetAgent: desk
  fixtureSelector: {matchLabels: {held: "yes"}}
  scoring: {passThreshold: 0.5MODEL}
"""

PLAIN = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: in-the-open, labels: {plain: "yes"}}
spec:
  input: {type: prompt, payload: {prompt: "99"}}
  assertions: [{type: contains, value: fine}]
---
apiVersion: gateval/v1
kind: Eval
metadata: {name: for-everybody}
spec:
  targetAgent: desk
  fixtureSelector: {matchLabels: {plain: "yes"}}
"""


def shop(path: Path, *, model: str = "", config: str = CONFIG) -> Repo:
    """Return a repository with a sealed Eval of ten fixtures and a plain one."""
    made = Repo(path)
    made.write("desk/agent.yaml", AGENT)
    made.write("desk/desk.py", PROGRAM.replace("ANSWERS", ""))
    made.write(".github/gateval.yml", config)
    made.write("evals/plain.yaml", PLAIN)
    fixtures = [FIXTURE.replace("NUMBER", str(n)) for n in range(FIXTURES)]
    seal(made, "evals/held.yaml", "".join(fixtures) + EVAL.replace("MODEL", model))
    made.commit("Sealed")
    return made


def on_branch(repo: Repo, name: str, answers: str) -> None:
    """Commit on a branch of its own a program that answers otherwise."""
    repo.checkout("main")
    repo.branch(name)
    program = PROGRAM.replace("ANSWERS", answers)
    repo.write("desk/desk.py", f"{program:<300000}")  # sizes are public, and lines of short files
    repo.commit("Answers otherwise")


_DECLARED = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|\d{8}-\d{6}-[0-9a-f]{4}"), "TIME"),
    (re.compile(r"\b[0-9a-f]{7,64}\b"), "HEX"),
    (re.compile(r'"(seconds|waited)":\s*[\d.]+'), "SECONDS"),
    (re.compile(r"in \d+\.\d s|[\d.]+ s an answer|\b\d+\.\d+ s\b|[\d.]+ times"), "SECONDS"),
    (re.compile(r'time="[\d.]+"'), "SECONDS"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC"), "TIME"),
    (re.compile(r"next-\d"), "BRANCH"),
)
"""What differs between any two runs: ids, moments, the length of the run, of plain trials too."""


_BLOCK = re.compile(r"(?<=>)H4sI[A-Za-z0-9+/]+={0,2}(?=</script>)")
_TIMES = re.compile(r"<svg[^>]*><title>Seconds to an answer.*?</svg>")
_DRAWN = re.compile(r"<[^>]*>|[\d.]+")
"""Marks of the plot, and the seconds beside them: of plain trials alone."""


def folded(text: str) -> str:
    text = _BLOCK.sub(lambda one: gzip.decompress(base64.b64decode(one[0])).decode(), text)
    text = _TIMES.sub(lambda one: _DRAWN.sub(" ", one[0]), text)
    for pattern, word in _DECLARED:
        text = pattern.sub(word, text)
    return text


def public(repo: Repo, out: Path, branch: str, *words: str) -> dict[str, str]:
    """Run the gate on a branch; return all that it made public, by name, with times folded."""
    done = gateval(
        repo, "check", "--base", "main", "--head", branch, "--results", str(out), *words, **KEY
    )
    assert done.returncode in {0, 1, 3}, done.stderr
    found = {"stdout": done.stdout, "stderr": done.stderr.replace(str(out), "OUT")}
    for name, text in stored.written(out).items():
        sealed = text.startswith("-----BEGIN AGE")
        found[name] = f"{len(text) // 2000} times 2 kB" if sealed else text
    return {name: folded(text) for name, text in found.items()} | {"exit": str(done.returncode)}


def differing(first: dict[str, str], second: dict[str, str]) -> list[str]:
    return sorted(n for n in {*first, *second} if first.get(n) != second.get(n))


ATTACKS = {
    "which fails": [f'if number == {n}: good = "no"' for n in (2, 9)],
    "which axis": [f'if number == 2: good = "{said}"' for said in ("no", "fine, a refund")],
    "how": [f"if number == 2: {how}" for how in ('good = "no"', "sys.exit(3)")],
    "how long it took": [
        f"if number == 2: time.sleep({how})\nif number == 2: good = 'no'" for how in (0, 1)
    ],
    "how much was said": [
        f'if number == 2: good = "no" * {much}\nif number == 3: good += "x" * {much}'
        for much in (1, 4000)
    ],
    "what was printed": [
        f'if number == 2: good = "no"; print("{said}", file=sys.stderr)' for said in ("a", "b")
    ],
}


@pytest.mark.parametrize("model", ["", ", model: weighted"])
@pytest.mark.parametrize("attack", some_always(ATTACKS, 3))
def test_no_public_byte_tells_one_from_the_other(tmp_path: Path, attack: str, model: str) -> None:
    repo = shop(tmp_path / "shop", model=model)
    told: list[dict[str, str]] = []
    for number, answers in enumerate(ATTACKS[attack], 1):
        on_branch(repo, f"next-{number}", answers)
        told.append(public(repo, tmp_path / f"out-{number}", f"next-{number}"))
    assert differing(*told) == [], _shown(told)
    assert "held-out" in told[0]["stdout"]
    assert "in-the-open" in told[0]["results.v1.json"]
    results = json.loads((tmp_path / "out-1/results.v1.json").read_text("utf-8"))
    assert {one["key"]["eval"] for one in results["trials"]} == {"for-everybody"}
    again = gateval(repo, "report", str(tmp_path / "out-1"))
    assert again.stdout == (tmp_path / "out-1/summary.txt").read_text("utf-8")


def _shown(told: Sequence[dict[str, str]]) -> str:
    lines = []
    for name in differing(*told):
        pairs = zip(*(one.get(name, "").splitlines() for one in told), strict=False)
        lines += [f"{name}: {_where(a, b)}" for a, b in pairs if a != b][:3]
    return "\n".join(lines)


def _where(a: str, b: str) -> str:
    at = next(n for n in range(len(a)) if a[:n] != b[:n])
    return f"{a[max(0, at - 150) : at + 150]!r} | {b[at : at + 150]!r}"


def test_the_verdict_and_a_rate_in_steps_are_told_and_the_key_opens_the_rest(
    tmp_path: Path,
) -> None:
    repo, out = shop(tmp_path / "shop"), tmp_path / "out"
    on_branch(repo, "next-1", 'if number in (2, 3, 4): good = "no"')
    done = gateval(
        repo, "check", "--base", "main", "--head", "next-1", "--results", str(out), **KEY
    )
    assert done.returncode == 1, done.stderr
    (told,) = json.loads((out / "results.v1.json").read_text("utf-8"))["sealed"]
    assert (told["eval"], told["verdict"], told["rate"]) == ("held-out", "fail", 0.7)
    assert len(told["digest"].partition("@")[0]) == 64
    assert "asks-2" not in done.stdout
    assert "policy.recipients" in done.stdout, "who can be asked"
    shown = gateval(repo, "show", str(out), "asks-2", **KEY)
    assert shown.returncode == 0, shown.stderr
    assert "no" in shown.stdout
    assert done.stderr.count("Preparing desk (head)") == 1, "further looks are not told"
    without = gateval(repo, "show", str(out), "asks-2")
    assert without.returncode != 0
    kept = repo.path / ".git/gateval/findings.jsonl"
    assert not kept.exists() or "asks-" not in kept.read_text("utf-8")


def test_how_many_sealed_fixtures_pass_is_told_by_no_command_that_looks_back(
    tmp_path: Path,
) -> None:
    repo = shop(tmp_path / "shop")
    assert gateval(repo, "run", "held-out", **KEY).returncode == 0
    looked = gateval(repo, "history", "held-out")
    assert f"–/{FIXTURES}" in looked.stdout, looked.stdout
    got = gateval(repo, "get", "eval", "held-out", "-o", "json", **KEY)
    row = json.loads(got.stdout)
    assert "passingFixtures" not in row
    assert f"–/{FIXTURES}" in gateval(repo, "get", "evals", **KEY).stdout


def test_what_an_earlier_check_kept_of_a_sealed_eval_is_taken_out_of_its_memory(
    tmp_path: Path,
) -> None:
    """Earlier versions kept names of sealed fixtures, and so did checks before it was sealed."""
    repo = Repo(tmp_path / "shop")
    repo.write("desk/agent.yaml", AGENT)
    repo.write("desk/desk.py", PROGRAM.replace("ANSWERS", ""))
    repo.write(".github/gateval.yml", CONFIG)
    repo.write("evals/plain.yaml", PLAIN)
    held = "".join(FIXTURE.replace("NUMBER", str(n)) for n in range(2)) + EVAL.replace("MODEL", "")
    repo.write("evals/held.yaml", held)
    repo.commit("In plain text")
    on_branch(repo, "next-1", 'good = "no"')
    kept = repo.path / ".git/gateval/findings.jsonl"
    assert gateval(repo, "check", "--base", "main", "--head", "next-1").returncode == 1
    assert "asks-1" in kept.read_text("utf-8")
    repo.checkout("main")
    seal(repo, "evals/held.yaml", held)
    repo.commit("Sealed")
    on_branch(repo, "next-2", 'good = "no"')
    again = gateval(repo, "check", "--base", "main", "--head", "next-2", **KEY)
    assert again.returncode == 1, again.stderr
    assert "asks-" not in kept.read_text("utf-8")
    assert "in-the-open" in kept.read_text("utf-8"), "what is not sealed stays"
