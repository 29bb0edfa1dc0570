"""What nobody answered has no verdict and no score; what nothing passes cannot show a regression."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.github_shop import SAME
from tests.helpers.repo import Repo
from tests.helpers.shop import EVAL as SHOP_EVAL
from tests.helpers.shop import FIXTURES as SHOP_FIXTURES
from tests.helpers.shop import build_shop

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {{name: support}}
spec:
  runtime:
    {runtime}
"""
COMMAND = "{type: command, command: [python3, main.py]}"
HTTP = """\
type: http
    command: [python3, main.py, "{port}"]
    ready: {timeoutSeconds: 3}
    request: {path: /, body: {message: "{{ prompt }}"}}
    response: {output: $.reply}"""
SET_UP = """\
type: command
    setup: {run: [python3, -c, "raise SystemExit('no such package')"], inputs: [main.py], creates: [lib]}
    command: [python3, main.py]"""
FIXTURES = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: refund}
spec:
  input: {type: prompt, payload: {prompt: I want a refund}}
  assertions: [{type: contains, value: refund}]
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: hello}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  assertions: [{type: contains, value: hello}]
"""
EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {{name: basics}}
spec:
  targetAgent: support
  fixtures: [refund, hello]
  scoring: {scoring}
"""
BENCHMARK = """\
apiVersion: gateval/v1
kind: Benchmark
metadata: {name: basics}
spec:
  version: "1"
  targetAgent: support
  tasks:
    - name: ship
      instruction: Ship it.
      criteria: [{label: shipped, axis: correctness, check: {type: contains, value: shipped}}]
    - name: stay
      instruction: Stay.
      criteria: [{label: stays, axis: safety, check: {type: contains, value: stays}}]
"""
EXPERIMENT = """\
apiVersion: gateval/v1
kind: Experiment
metadata: {name: basics}
spec:
  task: {python: ../agents/main.py:answer}
  data: [{input: hello, expected: HELLO}, {input: world, expected: WORLD}]
  scorers: [exactMatch]
"""
MISSING = "import openai\nprint('refund hello')\n"
WRONG = "answer = str\nprint('no idea')\n"

WHAT = {
    "passes": {"evals/basics.yaml": EVAL.format(scoring="{}")},
    "threshold": {"evals/basics.yaml": EVAL.format(scoring="{passThreshold: 0.8}")},
    "weighted": {"evals/basics.yaml": EVAL.format(scoring="{model: weighted}")},
    "benchmark": {"evals/basics.yaml": BENCHMARK},
    "experiment": {"evals/basics.yaml": EXPERIMENT},
}


def two_sides(
    path: Path, what: str, program: str, runtime: str = COMMAND, **head: str
) -> tuple[Repo, Path]:
    """Return a repository whose change alters a comment of the agent, and the results' folder."""
    repo = Repo(path / "repo")
    repo.write("README.md", "Ours.\n")
    repo.commit("Before everything")
    for name, text in WHAT[what].items():
        repo.write(name, text)
    repo.write("evals/fixtures.yaml", FIXTURES)
    if what != "experiment":
        repo.write("agents/support.yaml", AGENT.format(runtime=runtime))
    repo.write("agents/main.py", program)
    repo.commit("Before")
    repo.branch("change")
    repo.write("agents/main.py", program + "# mended\n")
    for name, text in head.items():
        repo.write(name.replace("__", "/"), text)
    repo.commit("After")
    return repo, path / "out"


def title(output: str) -> str:
    """The first sentence of a summary, on one line."""
    return " ".join(output.partition("\nhead: ")[0].split())


def no_figure(text: str) -> None:
    """No score and no limit of one stands there."""
    assert not re.search(r"\b[01]\.\d\d\b", re.sub(r"in \d+\.\d s|\d+\.\d s", "", text)), text


@pytest.mark.parametrize("what", WHAT)
def test_an_eval_that_neither_side_answers_is_inconclusive_and_has_no_score(
    tmp_path: Path, what: str
) -> None:
    repo, out = two_sides(tmp_path, what, MISSING)
    done = gateval(repo, "check", "--base", "main", "--results", str(out))
    assert done.returncode == 3, done.stdout + done.stderr
    first = title(done.stdout)
    assert "did not start, on base neither: the module openai is not installed" in first
    assert "not measured" in done.stdout
    table = done.stdout.partition("Not measured")[0]
    no_figure(table.replace("0.80", ""))
    comment = (out / "comment.md").read_text("utf-8")
    no_figure(comment.partition("Not measured")[0].replace("0.80", ""))
    assert 'name="score" value="not measured"' in (out / "junit.xml").read_text("utf-8")
    record = json.loads((out / "run.v1.json").read_text("utf-8"))["evals"][0]
    assert (record["low"], record["high"], record["limits"]) == (None, None, None)
    assert not [one for one in record["fixtures"] if one.get("score") is not None]
    assert not [one for one in record.get("axes", ()) if one.get("score") is not None]
    assert not [one for one in record.get("averages", ()) if one.get("mean") is not None]
    assert "failing" not in record


@pytest.mark.parametrize(
    ("runtime", "said"),
    [
        pytest.param(HTTP, "the module openai is not installed", id="http"),
        pytest.param(SET_UP, "the set-up ended with exit code 1", id="set-up"),
    ],
)
def test_the_cause_is_said_for_servers_and_set_ups_too(
    tmp_path: Path, runtime: str, said: str
) -> None:
    repo, out = two_sides(tmp_path, "passes", MISSING, runtime)
    done = gateval(repo, "check", "--base", "main", "--results", str(out))
    assert done.returncode == 3, done.stdout + done.stderr
    first = title(done.stdout)
    assert f"support did not start, on base neither: {said}" in first


def test_what_looks_back_shows_no_score_of_what_was_not_measured(tmp_path: Path) -> None:
    repo, _ = two_sides(tmp_path, "passes", MISSING)
    assert gateval(repo, "check", "--base", "main").returncode == 3
    shown = gateval(repo, "get", "evals").stdout
    assert "not measured" in shown
    for words in (("get", "evals"), ("history",), ("history", "basics"), ("get", "fixtures")):
        no_figure(gateval(repo, *words).stdout)
    points = json.loads(gateval(repo, "history", "basics", "--json").stdout)["basics"]
    assert [(one.get("score"), one.get("low"), one.get("high")) for one in points] == [(None,) * 3]
    assert gateval(repo, "history", "basics", "--plot", "out.svg").returncode == 0
    compared = gateval(repo, "compare", "HEAD", "HEAD")
    assert compared.returncode == 0, compared.stderr
    no_figure(compared.stdout)
    page = gateval(repo, "show").stdout
    assert "0.00" not in page


@pytest.mark.parametrize("what", [one for one in WHAT if one != "threshold"])
def test_an_eval_of_which_nothing_passes_passes_with_a_warning_on_top(
    tmp_path: Path, what: str
) -> None:
    repo, out = two_sides(tmp_path, what, WRONG)
    done = gateval(repo, "check", "--base", "main", "--results", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    first = title(done.stdout)
    assert "nothing passes on base either; this" in first
    assert "cannot see a regression" in first
    assert "threshold" not in first
    assert "nothing passes on base either" in (out / "comment.md").read_text("utf-8").split("\n")[1]
    decision = json.loads((out / "decision.v1.json").read_text("utf-8"))
    first = decision["reasons"][0]
    assert (first["code"], first["verdict"]) == ("dead-baseline", "pass")


def test_a_policy_keeps_what_cannot_see_a_regression_from_passing(tmp_path: Path) -> None:
    repo, out = two_sides(tmp_path, "passes", WRONG)
    repo.checkout("main")
    repo.write(".github/gateval.yml", "policy: {deadBaseline: block}\n")
    repo.commit("Strict")
    repo.checkout("change")
    done = gateval(repo, "check", "--base", "main", "--results", str(out))
    assert done.returncode == 3, done.stdout + done.stderr
    assert "inconclusive — basics: nothing passes" in title(done.stdout)


def test_a_written_threshold_that_both_miss_still_fails(tmp_path: Path) -> None:
    repo, out = two_sides(tmp_path, "threshold", WRONG)
    done = gateval(repo, "check", "--base", "main", "--results", str(out))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "is below its threshold" in title(done.stdout)


def test_a_change_that_first_adds_the_gate_config_is_told_and_not_blocked(tmp_path: Path) -> None:
    config = {".github__gateval.yml": "policy: {}\n"}
    repo, _ = two_sides(tmp_path, "passes", MISSING, COMMAND, **config)
    done = gateval(repo, "check", "--base", "main")
    assert done.returncode == 0, done.stdout + done.stderr
    first = title(done.stdout)
    assert "support did not start, on base neither: the module openai is not installed" in first
    assert "so it is told and not blocked" in first
    whole = gateval(repo, "check", "--base", "main~1")
    assert whole.returncode == 0, whole.stdout + whole.stderr
    assert "support did not start: the module openai" in title(whole.stdout)
    repo.checkout("main")
    repo.write(".github/gateval.yml", "policy: {}\n")
    repo.commit("The gate")
    repo.checkout("change")
    again = gateval(repo, "check", "--base", "main")
    assert again.returncode == 3, again.stdout + again.stderr


@pytest.mark.parametrize(
    ("what", "said"),
    [("passes", "1 Eval measured; nothing regressed"), ("threshold", "1 Eval meets its threshold")],
)
def test_a_title_speaks_of_a_threshold_that_somebody_wrote(
    tmp_path: Path, what: str, said: str
) -> None:
    repo, out = two_sides(tmp_path, what, "print('refund hello')\n")
    done = gateval(repo, "check", "--base", "main", "--results", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    assert said in title(done.stdout)


def test_a_run_that_fails_without_a_written_threshold_does_not_speak_of_one(tmp_path: Path) -> None:
    repo, _ = two_sides(tmp_path, "passes", "print('hello')\n")
    done = gateval(repo, "run", "basics")
    assert done.returncode == 1, done.stdout + done.stderr
    first = title(done.stdout)
    assert "threshold" not in first
    assert "not all fixtures of basics pass" in first
    passes = gateval(build_shop(tmp_path / "shop"), "run", "support-eval")
    assert "threshold" not in title(passes.stdout)
    silent, _ = two_sides(tmp_path / "silent", "passes", MISSING)
    done = gateval(silent, "run", "basics")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "0.00" not in done.stdout


@pytest.mark.parametrize("model", ["fixtures", "weighted"])
def test_a_judge_that_gave_no_verdict_has_no_number(tmp_path: Path, model: str) -> None:
    """Another assertion of the same answer passed; that is no score of the whole."""
    shop = build_shop(tmp_path / "shop")
    shop.checkout("main")
    greets = SHOP_FIXTURES.split("---\n")[1] + "    - {type: judge, rubric: Is it polite?}\n"
    shop.write("evals/fixtures.yaml", greets)
    scoring = "  scoring: {model: weighted, passScore: 0.9}\n" if model == "weighted" else ""
    judge = "  judge: {model: scripted/judge}\n"
    shop.write("evals/support-eval.yaml", SHOP_EVAL + scoring + judge)
    shop.write(".gateval/scripted/judge.yaml", 'rules: [{reply: "I have no verdict."}]\n')
    shop.commit()
    shop.branch("next")
    shop.write("agents/prompts/support.md", SAME)
    shop.commit()
    done = gateval(shop, "check", "--base", "main")
    assert done.returncode == 3, done.stdout + done.stderr
    (out,) = (shop.path / ".gateval/results").glob("2*")
    assert "judge" in title(done.stdout)
    no_figure(done.stdout.partition("is modified")[0])
    comment = (out / "comment.md").read_text()
    no_figure(comment.partition("Cost and time")[0])
    assert 'name="score" value="not measured"' in (out / "junit.xml").read_text()
    for words in (
        ("show", "greets"),
        ("get", "evals"),
        ("get", "eval", "support-eval"),
        ("get", "fixtures"),
        ("history",),
        ("history", "support-eval"),
        ("compare", "main", "HEAD"),
    ):
        shown = gateval(shop, *words)
        assert shown.returncode == 0, shown.stderr
        assert "not measured" in shown.stdout or words == ("get", "fixtures"), shown.stdout
        no_figure(shown.stdout)
    status = json.loads(gateval(shop, "get", "eval", "support-eval", "-o", "json").stdout)
    points = json.loads(gateval(shop, "history", "support-eval", "--json").stdout)
    for told in (status, points["support-eval"][0]):
        assert not [name for name in told if name in {"passing", "passingFixtures", "score"}], told
