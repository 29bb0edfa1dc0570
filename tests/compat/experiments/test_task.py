"""The task under test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compat.rows import states
from tests.helpers.command import gateval
from tests.helpers.experiments import lab, manifest, means, ran, refused, sets
from tests.helpers.shop import build_shop

ROWS = "data: [{input: hello, expected: HELLO}, {input: world, expected: WORLD}]\n"
SPEC = f"task: {{python: task.py:shout}}\n{ROWS}scorers: [exactMatch]\n"


@pytest.mark.parametrize(
    "task",
    [
        "async def shout(text):\n    return text.upper()\n",
        (
            "import os\nprint('loading')\ndef shout(text):\n    os.system('echo beside')\n"
            "    print('at it')\n    return text.upper()\n"
        ),
        "from helper import loud\ndef shout(text):\n    return loud(text)\n",
    ],
    ids=["async", "prints", "imports"],
)
@states("The task is a function that takes the input and returns the output, also `async`",
        differs="a Python function (`task: {python: FILE:NAME}`), which runs as every candidate "
        "does: behind walls, without keys")  # fmt: skip
def test_a_function(tmp_path: Path, task: str) -> None:
    helper = "def loud(text):\n    return text.upper()\n"
    results, _ = ran(lab(tmp_path / "repo", SPEC, **{"task.py": task, "helper.py": helper}))
    assert means(results) == {"exactMatch": 1.0}


@states("The task is an agent: a call of an LLM, or one with many tools")
@states("Tool usage: the agent called the right tool with the right arguments; `expected` is the "
        "call")  # fmt: skip
def test_an_agent(tmp_path: Path) -> None:
    shop = build_shop(tmp_path / "shop")
    spec = """\
    targetAgent: support
    data:
      - {input: Hello, expected: help}
      - {input: I want a refund, expected: {tool: clarify_reason}}
    scorers:
      - {type: toolUsage, others: counted}
    """.replace("expected: help", "expected: []")
    shop.write("lab/experiment.yaml", manifest(spec, "desk"))
    shop.commit("An experiment")
    done = gateval(shop, "run", "desk")
    assert done.returncode == 0, done.stderr
    assert "→ toolUsage: 100.00%" in done.stdout


@states("A task that throws ends the whole evaluation",
        differs="the row has no answer, and scores 0 by every scorer; the others go on")  # fmt: skip
def test_a_row_without_an_answer_scores_0(tmp_path: Path) -> None:
    task = "def shout(text):\n    return {'hello': 'HELLO'}[text]\n"
    results, shown = ran(lab(tmp_path / "repo", SPEC, **{"task.py": task}))
    (average,) = sets(results)
    assert (average.mean, average.rows, average.measured) == (0.5, 2, 2)
    assert "KeyError: 'world'" in shown
    assert "$ python3 -c '…' task.py shout" in shown  # and not our program
    assert "asyncio" not in shown


def test_a_task_that_never_answers_is_no_pass(tmp_path: Path) -> None:
    repo = lab(
        tmp_path / "repo", SPEC, **{"task.py": "def shout(text):\n    raise SystemExit(3)\n"}
    )
    done = gateval(repo, "run", "uppercase-agent")
    assert done.returncode in {1, 3}, done.stdout
    assert "→ exactMatch: – (⚪), measured in 0 of" in done.stdout


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (SPEC.replace("task.py:shout", "task.py"), "lab/experiment.yaml:5"),
        (SPEC.replace("task.py:", "tusk.py:"), "There is no file lab/tusk.py in this revision."),
        (f"{SPEC}targetAgent: x\n", "Write `targetAgent` or `task`, one of them"),
        (SPEC.replace("task: {python: task.py:shout}\n", ""), "Write `targetAgent` or `task`"),
        (SPEC.replace("task: {python: task.py:shout}", "targetAgent: nobody"), 'no Agent "nobody"'),
    ],
)
def test_what_is_no_task_is_refused(tmp_path: Path, spec: str, said: str) -> None:
    assert said in " ".join(refused(tmp_path / "repo", spec).split())
