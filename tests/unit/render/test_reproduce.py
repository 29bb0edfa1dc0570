"""The command that does the same again."""

from __future__ import annotations

import shlex

import pytest

from gateval.domain.plan.plan import Plan
from gateval.domain.tree import Revision
from gateval.render.report.reproduce import reproduce_command
from tests.helpers.reports import BASE, HEAD, make_results

WORKTREE = HEAD.model_copy(update={"commit": None, "worktree": True})
PLAN = make_results("a-eval f head:pass\nb-eval g head:pass").plan


@pytest.mark.parametrize(
    ("changes", "command"),
    [
        ({}, "gateval check --base a1b2c3d00000 --head d4e5f6a00000"),
        ({"head": WORKTREE}, "gateval check --base a1b2c3d00000 --head WORKTREE"),
        ({"base": None}, "gateval run a-eval b-eval --rev d4e5f6a00000"),
        ({"base": None, "head": WORKTREE}, "gateval run a-eval b-eval"),
        (
            {"base": None, "head": WORKTREE, "only": ("f", "g")},
            "gateval run a-eval b-eval --fixture f --fixture g",
        ),
        ({"base": None, "evals": (), "nothing": "None."}, "gateval plan"),
    ],
)
def test_command(changes: dict[str, object], command: str) -> None:
    assert reproduce_command(PLAN.model_copy(update=changes)) == command


def test_a_hostile_revision_is_one_word_for_the_shell() -> None:
    head = Revision(name="HEAD", commit="$(rm -rf /); `x` 'y'", tree="1" * 40)
    command = reproduce_command(Plan(head=head, base=BASE, nothing="None."))

    assert shlex.split(command)[-1] == head.commit
