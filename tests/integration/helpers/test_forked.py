"""Forked runs of the gate find ready what a run makes late; without that the suite takes twice as long."""

from __future__ import annotations

import sys
from pathlib import Path

from gateval.domain.plan.plan import Plan
from tests.helpers import forked


def _look(found: Path) -> None:
    ready = ("github" in sys.modules, bool(Plan.__pydantic_complete__))
    found.write_text(repr(ready))


def test_a_fork_has_imported_the_gate_and_built_its_validators(tmp_path: Path) -> None:
    forked.start_server()
    look = forked.FORKS.Process(target=_look, args=(tmp_path / "found",))
    look.start()
    look.join(60)
    assert (tmp_path / "found").read_text() == "(True, True)"
