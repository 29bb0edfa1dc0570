"""What is said to the runner says nothing else."""

from __future__ import annotations

import pytest

from gateval.safe.workflow_commands import (
    error_command,
    file_entry,
    mask_commands,
    notice_command,
    resume_commands,
    stop_commands,
    warning_command,
)
from tests.helpers.hostile import ATTACK
from tests.helpers.runner_log import commands

TOKEN = "gateval-0123456789abcdef"


def test_commands_carry_one_line() -> None:
    assert warning_command("100% sure\n::error::x") == (
        "::warning title=Gateval::100%25 sure ::error::x"
    )
    for command in (notice_command(ATTACK), warning_command(ATTACK), error_command(ATTACK)):
        assert len(command.splitlines()) == 1
        assert len(commands(command)) == 1


def test_between_stop_and_resume_nothing_counts() -> None:
    log = "\n".join(
        (stop_commands(TOKEN), "::error::x", "##[group]y", resume_commands(TOKEN), "::debug::z")
    )

    assert [one.name for one in commands(log)] == ["stop-commands", "debug"]


def test_masks_cover_every_form() -> None:
    said = mask_commands(["sk-1234/5678%90\nsecond line here"])

    assert "::add-mask::sk-1234/5678%2590%0Asecond line here" in said
    assert "::add-mask::sk-1234/5678%2590" in said
    assert "::add-mask::second line here" in said
    assert all(len(one.splitlines()) == 1 for one in said)
    assert {one.name for one in commands("\n".join(said))} == {"add-mask"}


def test_an_entry_holds_any_value() -> None:
    assert file_entry("why", "a\r\nb", TOKEN) == f"why<<{TOKEN}\na\nb\n{TOKEN}\n"


@pytest.mark.parametrize(
    ("name", "value", "token"),
    [("a=b", "x", TOKEN), ("a\nb", "x", TOKEN), ("a", f"x{TOKEN}", TOKEN), ("a", "x", "EOF")],
)
def test_what_would_break_an_entry_is_refused(name: str, value: str, token: str) -> None:
    with pytest.raises(ValueError, match="token"):
        file_entry(name, value, token)
