"""Inputs of the action, right and wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gateval.domain.forge.check_run import CommentMode
from gateval.errors import UsageError
from gateval.formats.github.action_inputs import (
    NAMES,
    ActionInputs,
    ActionStep,
    read_inputs,
)

ROOT = Path(__file__).parent.parent.parent.parent


def test_nothing_given() -> None:
    assert read_inputs({}) == ActionInputs()
    assert read_inputs({f"INPUT_{name.upper()}": "" for name in NAMES}) == ActionInputs()


def test_everything_given() -> None:
    given = {
        "INPUT_TOKEN": "ghs_x",
        "INPUT_EXTENDS-TOKEN": "ghs_y",
        "INPUT_CONFIG": "./gates/./eval.yml",
        "INPUT_PULL-REQUEST": " 12 ",
        "INPUT_HEAD-SHA": "a" * 40,
        "INPUT_AGENTS": "billing, support\nbilling",
        "INPUT_EVALS": "a,b",
        "INPUT_COMMENT": "on-failure",
        "INPUT_MAX-PARALLEL": "3",
        "INPUT_MAX-MINUTES": "20",
        "INPUT_RESULTS": "out",
        "INPUT_STEP": "run",
        "INPUT_ARGS": "action",
    }
    assert read_inputs(given) == ActionInputs(
        token="ghs_x",
        extends_token="ghs_y",
        config="gates/eval.yml",
        pull_request=12,
        head_sha="a" * 40,
        agents=("billing", "support"),
        evals=("a", "b"),
        comment=CommentMode.ON_FAILURE,
        max_parallel=3,
        max_minutes=20,
        results="out",
        step=ActionStep.RUN,
    )


def test_the_token_does_not_print() -> None:
    both = {"INPUT_TOKEN": "ghs_secret", "INPUT_EXTENDS-TOKEN": "ghs_secret"}
    assert "ghs_secret" not in repr(read_inputs(both))


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("INPUT_HEAD-SHA", "1234567", "no whole id"),
        ("INPUT_HEAD-SHA", "A" * 40, "no whole id"),
        ("INPUT_COMENT", "off", 'no input "coment". Did you mean "comment"?'),
        ("INPUT_PULL_REQUEST", "7", 'no input "pull_request". Did you mean "pull-request"?'),
        ("INPUT_COMMENT", "never", 'comment is "never"'),
        ("INPUT_COMMENT", "Always", 'comment is "Always". Did you mean "always"?'),
        ("INPUT_STEP", "al", 'step is "al". Did you mean "all"?'),
        ("INPUT_PULL-REQUEST", "0", 'pull-request is "0"'),
        ("INPUT_PULL-REQUEST", "-1", 'pull-request is "-1"'),
        ("INPUT_PULL-REQUEST", "#7", 'pull-request is "#7"'),
        ("INPUT_PULL-REQUEST", "٧", "pull-request is"),
        ("INPUT_PULL-REQUEST", "9" * 400, "pull-request is"),
        ("INPUT_MAX-PARALLEL", "1e3", 'max-parallel is "1e3"'),
        ("INPUT_MAX-PARALLEL", "1001", 'max-parallel is "1001"'),
        ("INPUT_MAX-MINUTES", "0", 'max-minutes is "0"'),
        ("INPUT_MAX-MINUTES", "7201", 'max-minutes is "7201"'),
        ("INPUT_AGENTS", "support,../x", 'agents holds "../x"'),
        ("INPUT_EVALS", "::error::x", 'evals holds "::error::x"'),
        ("INPUT_CONFIG", "../outside.yml", 'config is "../outside.yml"'),
        ("INPUT_CONFIG", "/", 'config is "/"'),
    ],
)
def test_refusals(variable: str, value: str, sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_inputs({variable: value})
    assert sentence in refused.value.message
    assert refused.value.hint


def test_action_yml_has_these_inputs_and_no_others() -> None:
    text = (ROOT / "action.yml").read_text()
    inputs = text.partition("\ninputs:\n")[2].partition("\noutputs:\n")[0]
    assert set(re.findall(r"^  ([a-z-]+):$", inputs, re.MULTILINE)) == set(NAMES)
