"""What AgentV's files say and nobody may pass over: through the command line, in small repositories."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.command import gateval
from tests.helpers.repo import Repo

TARGETS = """\
targets:
  - name: default
    provider: cli
    command: python3 bot.py {PROMPT}
    cwd: /bot
    judge_target: judge
  - {name: judge, provider: scripted, model: judge}
"""
BOT = "import sys\nprint('You said', sys.argv[1])\n"
JUDGE = """\
rules:
  - when: {system: checks}
    reply: >-
      {"checks": [{"id": "rubric-1", "satisfied": false, "evidence_step": 2, "quote": "You said"},
      {"id": "rubric-2", "satisfied": true}, {"id": "rubric-3", "satisfied": true},
      {"id": "rubric-4", "satisfied": true}, {"id": "rubric-5", "satisfied": true},
      {"id": "rubric-6", "satisfied": true}], "overall_reasoning": "Nearly."}
"""
CASE = """\
evalcases:
  - id: one
    expected_outcome: Good
    input: Hello
"""
TESTS = CASE.replace("evalcases", "tests")
EVALUATORS = CASE + "    execution:\n      evaluators:\n"


def desk(tmp_path: Path, files: Mapping[str, str]) -> Repo:
    """A repository with a bot that repeats, a scripted judge, and these files."""
    repo = Repo(tmp_path / "desk")
    repo.write(".agentv/targets.yaml", TARGETS)
    repo.write("bot/bot.py", BOT)
    repo.write(".gateval/scripted/judge.yaml", JUDGE)
    for name, text in files.items():
        repo.write(name, text)
    repo.commit("A desk")
    return repo


def told(repo: Repo) -> list[str]:
    """What `validate` says is wrong, line by line."""
    done = gateval(repo, "validate")
    assert done.returncode == 2, done.stdout + done.stderr
    return done.stdout.splitlines()[:-1]


def ran(repo: Repo, name: str) -> dict[str, Any]:
    """The first trial of an Eval, as the results have it."""
    out = repo.path / "out"
    done = gateval(repo, "run", name, "--results", str(out))
    assert (out / "results.v1.json").exists(), done.stdout + done.stderr
    trial = json.loads((out / "results.v1.json").read_text())["trials"][0]
    return {**trial, "code": done.returncode, "printed": done.stdout}


@pytest.mark.parametrize(
    "suite",
    [
        CASE + "    rubrics: [One, Two, Three, Four, Five, Six]\n",
        TESTS + "    assertions: [One, Two, Three, Four, Five, Six]\n",
    ],
)
def test_a_check_that_is_a_plain_text_is_required(suite: str, tmp_path: Path) -> None:
    trial = ran(desk(tmp_path, {"s.eval.yaml": suite}), "s")
    assert (trial["code"], trial["outcome"]) == (1, "fail"), trial["printed"]
    assert "required: rubric-1" in trial["printed"]


COMPOSITE = """\
        - {name: tone, type: contains, value: You}
        - name: both
          type: composite
          evaluators: [tone, tne]
          aggregator: {type: weighted_average}
"""


def test_a_member_of_a_composite_that_is_only_named(tmp_path: Path) -> None:
    found = told(desk(tmp_path, {"s.eval.yaml": EVALUATORS + COMPOSITE}))
    assert len(found) == 2
    for line, name, column in zip(found, ("tone", "tne"), (24, 30), strict=True):
        assert line.startswith(f"s.eval.yaml:10:{column}: ")
        assert f'"{name}"' in line
        assert "Evaluators here are called tone and both" in line


def test_a_weight_for_no_member_lists_the_members(tmp_path: Path) -> None:
    weighed = COMPOSITE.replace(
        "[tone, tne]", "[{name: kind, type: contains, value: You}]"
    ).replace("weighted_average", "weighted_average, weights: {knd: 2}")
    (found,) = told(desk(tmp_path, {"s.eval.yaml": EVALUATORS + weighed}))
    assert 'has the name "knd"' in found
    assert "kind" in found


@pytest.mark.parametrize(
    "script",
    [
        "[python3, judges/none.py]",
        "./judges/none.py",
        "python3 judges/none.py --strict",
        "judges/none.py",
    ],
)
@pytest.mark.parametrize("type_", ["code_judge", "composite"])
def test_a_script_that_is_missing_is_found_by_validate(
    type_: str, script: str, tmp_path: Path
) -> None:
    written = f"        - {{name: t, type: code_judge, script: {json.dumps(script) if script[0] != '[' else script}}}\n"
    if type_ == "composite":
        path = json.dumps(script) if script[0] != "[" else script
        written = (
            "        - name: t\n          type: composite\n"
            "          evaluators: [{name: kind, type: contains, value: You}]\n"
            f"          aggregator: {{type: code_judge, path: {path}}}\n"
        )
    (found,) = told(desk(tmp_path, {"evals/s.yaml": EVALUATORS + written}))
    assert found.startswith("evals/s.yaml:7:")
    assert "judges/none.py is no file of this revision" in found


def test_a_line_for_the_shell_may_name_what_there_is(tmp_path: Path) -> None:
    written = "".join(
        f"        - {{name: t{number}, type: code_judge, script: {json.dumps(line)}}}\n"
        for number, line in enumerate(
            (
                "python3 checks/ok.py",
                "./checks/ok.py --out $TMPDIR/x",
                "cd checks && python3 ok.py",
                "python3 -c 'print(1/2)'",
                "echo a/b",
                "jq .a/b",
            )
        )
    )
    repo = desk(tmp_path, {"s.eval.yaml": EVALUATORS + written, "checks/ok.py": "print()\n"})
    done = gateval(repo, "validate")
    assert done.returncode == 0, done.stdout


RANGES = """\
    rubrics:
      - Polite
      - id: right
        expected_outcome: Right
        score_ranges:
          - {score_range: [0, 4], expected_outcome: bad}
          - {score_range: [6, 10], expected_outcome: good}
"""


@pytest.mark.parametrize(
    ("suite", "place", "words"),
    [
        (CASE + RANGES, "s.eval.yaml:10:11: evalcases[0].rubrics[1].score_ranges:", "5 points"),
        (
            CASE + RANGES.replace("[6, 10]", "[five, 10]"),
            "s.eval.yaml:11:27: evalcases[0].rubrics[1].score_ranges[1].score_range",
            "whole number",
        ),
        (
            CASE + "    rubrics:\n      - {id: r, expected_outcome: x, score_ranges: {0: a, 12: b}}\n",
            "s.eval.yaml:6:52: evalcases[0].rubrics[0].score_ranges:",
            "`12` is no number of points",
        ),
        (
            EVALUATORS + "        - name: r\n          type: rubric\n" + RANGES.replace("    ", "          ", 1)
            .replace("\n      ", "\n            "),
            "s.eval.yaml:14:",
            "5 points",
        ),
        (
            EVALUATORS + COMPOSITE.replace("[tone, tne]", "[{name: k, type: contains, value: x}]")
            .replace("{type: weighted_average}", "{type: harmonic_mean}"),
            "s.eval.yaml:11:30: evalcases[0].execution.evaluators[1].aggregator.type:",
            'Unknown aggregator "harmonic_mean"',
        ),
        (
            CASE + "    rubrics:\n      - Polite\n      - {id: r, expected_outcome: x, weight: much}\n",
            "s.eval.yaml:7:46: evalcases[0].rubrics[1].weight:",
            "number",
        ),
        (
            CASE + "    rubrics:\n      - Polite\n      - {id: r, expected_outcome: x, required_min_score: 11}\n",
            "s.eval.yaml:7:58: evalcases[0].rubrics[1].required_min_score:",
            "10",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_where_it_stands(
    suite: str, place: str, words: str, tmp_path: Path
) -> None:
    (found,) = told(desk(tmp_path, {"s.eval.yaml": suite}))
    assert found.startswith(place), found
    assert words in found


REPORTS = """\
import json
print(json.dumps({reported}))
"""


@pytest.mark.parametrize(
    ("reported", "evaluator", "outcome", "words"),
    [
        ({"text": "Hi", "cost_usd": 0.5}, "{type: cost, budget: 0.1}", "fail", "$0.50"),
        (
            {"text": "Hi", "cost_usd": 0.05},
            "{type: cost, budget: 0.1}",
            "pass",
            "candidate reports",
        ),
        ({"text": "Hi"}, "{type: cost, budget: 0.1}", "error", "unknown"),
        (
            {"text": "Hi", "cost_usd": 0.5},
            "{type: execution_metrics, max_cost_usd: 0.1}",
            "fail",
            "0.5 dollars",
        ),
        ({"text": "Hi", "duration_ms": 99_000}, "{type: latency, threshold: 60000}", "fail", "99"),
        (
            {"text": "Hi", "duration_ms": 99_000},
            "{type: execution_metrics, max_duration_ms: 60000}",
            "fail",
            "99 seconds",
        ),
        (
            {"text": "Hi", "llm_call_count": 7},
            "{type: execution_metrics, max_llm_calls: 3}",
            "fail",
            "7 model calls",
        ),
        (
            {"output_messages": [{"role": "assistant", "content": "a"}] * 4},
            "{type: execution_metrics, max_llm_calls: 3}",
            "fail",
            "4 model calls",
        ),
        (
            {"output_messages": [{"role": "assistant", "content": "a"}] * 4},
            "{type: execution_metrics, max_llm_calls: 4}",
            "pass",
            "4 model calls",
        ),
    ],
)
def test_what_a_program_reports_counts_as_its_claim(
    reported: dict[str, Any], evaluator: str, outcome: str, words: str, tmp_path: Path
) -> None:
    written = f"        - {evaluator.replace('{', '{name: e, ', 1)}\n"
    files = {
        "s.eval.yaml": EVALUATORS + written,
        "bot/bot.py": REPORTS.replace("{reported}", repr(reported)),
    }
    trial = ran(desk(tmp_path, files), "s")
    (found,) = trial["assessments"]
    assert (trial["outcome"], words in found["reason"]) == (outcome, True), found
    assert found.get("claimed", False) is (outcome != "error"), found
    if outcome != "error":
        assert "is claimed by the candidate itself" in trial["printed"]


def test_a_shorter_time_than_the_gate_saw_is_no_excuse(tmp_path: Path) -> None:
    slow = "import time\ntime.sleep(0.5)\n" + REPORTS.replace(
        "{reported}", repr({"text": "Hi", "duration_ms": 1})
    )
    suite = EVALUATORS + "        - {name: e, type: latency, threshold: 300}\n"
    trial = ran(desk(tmp_path, {"s.eval.yaml": suite, "bot/bot.py": slow}), "s")
    assert trial["outcome"] == "fail"
    assert not trial["assessments"][0].get("claimed")


@pytest.mark.parametrize(
    "reported",
    [
        {"text": "Hi", "cost_usd": "much"},
        {"text": "Hi", "cost_usd": -1},
        {"text": "Hi", "duration_ms": [1]},
        {"text": "Hi", "llm_call_count": 1.5},
        {"text": "Hi", "token_usage": [1]},
        {"output_messages": "Hi"},
        {"output_messages": {"role": "assistant", "content": "Hi"}},
    ],
)
def test_a_report_that_cannot_be_read_is_no_answer(
    reported: dict[str, Any], tmp_path: Path
) -> None:
    suite = EVALUATORS + "        - {name: e, type: contains, value: Hi}\n"
    bot = REPORTS.replace("{reported}", repr(reported))
    trial = ran(desk(tmp_path, {"s.eval.yaml": suite, "bot/bot.py": bot}), "s")
    assert trial["code"] == 1
    assert "The agent's answer cannot be used" in trial["reason"]


TALK = """\
evalcases:
  - id: one
    expected_outcome: Good
    input:
      - {role: system, content: Be kind}
      - {role: user, content: First}
      - {role: assistant, content: Well}
      - {role: user, content: Second}
    execution:
      evaluators: [{name: t, type: code_judge, script: [python3, q.py]}]
"""
ASKS = """\
import json, sys
case = json.load(sys.stdin)
print(json.dumps({"score": float(case["question"] == "First"), "hits": [], "misses": [case["question"]]}))
"""


def test_the_question_is_what_the_user_says_first(tmp_path: Path) -> None:
    trial = ran(desk(tmp_path, {"s.eval.yaml": TALK, "q.py": ASKS}), "s")
    assert trial["outcome"] == "pass", trial["assessments"]


LINE = '{"id": "a", "expected_outcome": "Good", "input": "Hello"}\n'
NEWER = '{"id": "a", "criteria": "Good", "input": "Hello", "assertions": [{"type": "contains", "value": "You"}]}\n'


@pytest.mark.parametrize("text", [LINE, "\n" + LINE, "\ufeff" + LINE, NEWER])
@pytest.mark.parametrize("name", ["evals/cases.jsonl", "cases.jsonl"])
def test_lines_without_a_companion_that_hold_cases_are_read(
    name: str, text: str, tmp_path: Path
) -> None:
    done = gateval(desk(tmp_path, {name: text}), "validate")
    assert done.stdout == "1 Agent, 1 Eval, 1 fixture, 0 calibrations: valid.\n"


def test_a_change_of_lines_without_a_companion_is_planned(tmp_path: Path) -> None:
    repo = desk(tmp_path, {"evals/cases.jsonl": NEWER})
    repo.write("evals/cases.jsonl", NEWER + NEWER.replace('"a"', '"b"'))
    repo.commit("Another case")
    done = gateval(repo, "plan", "--base", "HEAD~1", "--json")
    (planned,) = [one for one in json.loads(done.stdout)["evals"] if one["bar"] is None]
    assert [one["name"] for one in planned["fixtures"]] == ["evals.cases-a", "evals.cases-b"]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (LINE[:-2] + "\n" + LINE.replace('"a"', '"b"'), 1, "This line is not JSON"),
        (LINE + "[1]\n", 2, "Expected a case"),
        (LINE + '"x"\n', 2, "Expected a case"),
        (LINE + "{}\n", 2, '"id" is missing'),
        (LINE + LINE, 2, "stands at"),
    ],
)
def test_a_line_that_is_none_of_a_case_is_an_error(
    text: str, line: int, said: str, tmp_path: Path
) -> None:
    found = told(desk(tmp_path, {"evals/cases.jsonl": text}))
    assert found[0].startswith(f"evals/cases.jsonl:{line}:")
    assert said in found[0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("evals/a.eval.yaml", "- id: a\n  input: Hello\n"),
        ("evals/a.eval.yml", "hello\n"),
        ("evals/a.eval.yaml", ""),
        ("evals/a.eval.yaml", "# nothing\n"),
        ("evals/eval.yaml", "- {id: a, expected_outcome: Good, input: Hello}\n"),
    ],
)
def test_a_suite_that_is_no_mapping_is_an_error(name: str, text: str, tmp_path: Path) -> None:
    (found,) = told(desk(tmp_path, {name: text, "s.eval.yaml": CASE}))
    assert found.startswith(f"{name}:1:1: ")
    assert "no mapping" in found


PASSED_OVER = {
    "data/cases.yaml": "- {id: a, expected_outcome: Good, input: Hello}\n",
    "data/golden.jsonl": '{"id": "a", "input": "Hello", "expected_output": "Hi"}\n',
    "skills/a/evals.json": '{"skill_name": "a", "evals": [{"id": 1, "prompt": "x"}]}',
}


@pytest.mark.parametrize("path", PASSED_OVER)
def test_what_looks_like_a_suite_and_was_not_read_is_listed(path: str, tmp_path: Path) -> None:
    files = {"s.eval.yaml": TESTS.rstrip() + "\n    assertions: [{type: contains, value: You}]\n"}
    repo = desk(tmp_path, {**files, path: PASSED_OVER[path]})
    done = gateval(repo, "validate")
    assert done.returncode == 0, done.stdout
    assert f"warning: {path}" in done.stdout
    assert "was not read" in done.stdout
    repo.write("bot/bot.py", BOT + "\n")
    repo.commit("A change")
    done = gateval(repo, "check", "--base", "HEAD~1", "--results", "out")
    assert done.returncode == 0, done.stdout + done.stderr
    comment = (repo.path / "out" / "comment.md").read_text()
    assert path in comment
    assert "was not read" in comment


def test_what_others_hold_in_such_files_is_left_alone(tmp_path: Path) -> None:
    repo = desk(
        tmp_path,
        {
            "s.eval.yaml": "tests: ./cases.jsonl\n",
            "cases.jsonl": LINE,
            "data/train.jsonl": '{"text": "a", "label": 1}\n',
            "data/broken.jsonl": "{\n",
            "data/list.yaml": "- {id: a, input: b}\n",
            "config/eval.yaml": "- lr: 1\n",
            "eval.yaml": "model: x\nbatch: 3\n",
        },
    )
    done = gateval(repo, "validate")
    assert done.stdout == "1 Agent, 1 Eval, 1 fixture, 0 calibrations: valid.\n"
