"""What a run notes beside its trials, where the disk is full or somebody else was there."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from gateval.adapters.run_notes import (
    BATCHES_FILE,
    BEGUN_FILE,
    OFFERS_FILE,
    RunNotes,
    known_spent,
    read_batches,
    read_begun,
    read_offers,
    read_spent,
)
from gateval.adapters.store import STORE_FOLDER
from gateval.errors import EvaluationError, UsageError


def test_what_is_spent_on_a_full_disk_is_unknown_and_not_less(tmp_path: Path) -> None:
    (tmp_path / STORE_FOLDER).mkdir()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.raises(ZeroDivisionError), RunNotes(tmp_path, counted=True) as notes:
        assert known_spent(tmp_path) == 0
        notes.spent(1)
        assert known_spent(tmp_path) == 1
        resource.setrlimit(resource.RLIMIT_FSIZE, (20, hard))
        try:
            notes.spent(2)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        1 / 0  # noqa: B018 - some error that ends the run
    assert known_spent(tmp_path) is None
    with pytest.raises(UsageError, match="it is not known what was spent"):
        read_spent(tmp_path)


def test_a_run_that_cannot_note_what_it_spends_does_not_begin(tmp_path: Path) -> None:
    (tmp_path / "spent.txt").mkdir()
    with pytest.raises(UsageError, match="it is not known what was spent"):
        RunNotes(tmp_path, counted=True)
    other = tmp_path / "other"
    other.mkdir()
    notes = RunNotes(other, counted=True)
    (other / "spent.txt").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EvaluationError, match="would not be counted"), notes:
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_links_and_pipes_are_no_notes(tmp_path: Path) -> None:
    for name in (BEGUN_FILE, OFFERS_FILE, BATCHES_FILE):
        os.mkfifo(tmp_path / name)
    assert (read_begun(tmp_path), read_offers(tmp_path)) == (frozenset(), ())
    (tmp_path / BATCHES_FILE).unlink()
    (tmp_path / BATCHES_FILE).symlink_to("/dev/zero")
    with pytest.raises(UsageError, match="it is not known what was sent"):
        read_batches(tmp_path)
