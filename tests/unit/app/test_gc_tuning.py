"""Python's housekeeping is changed for a run, and put back whatever happens in it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import pytest

from gateval.app.run.evaluate import NEW_OBJECTS, small_collections


@pytest.fixture(autouse=True)
def frozen_again() -> Iterator[None]:
    """Freeze what `tests/conftest.py` froze: the end of each run of the gate thaws it."""
    yield
    gc.freeze()


def settings() -> tuple[float, tuple[int, int, int]]:
    """What `small_collections` changes."""
    return sys.getswitchinterval(), gc.get_threshold()


def test_garbage_is_looked_for_often_and_only_among_what_is_new() -> None:
    before = settings()
    with small_collections():
        assert gc.get_threshold()[0] == NEW_OBJECTS
        assert gc.get_freeze_count() > NEW_OBJECTS
        assert gc.isenabled()
    assert settings() == before
    assert gc.get_freeze_count() == 0


def test_everything_is_put_back_after_an_error() -> None:
    before = settings()
    with pytest.raises(KeyError), small_collections():
        raise KeyError
    assert settings() == before


class Ring:
    """Holds itself: garbage that only the collector finds."""

    def __init__(self) -> None:
        self.mine = self


def test_most_of_what_is_new_is_set_aside_and_not_looked_through() -> None:
    kept: list[list[int]] = []
    callbacks = [*gc.callbacks]
    with small_collections():
        before = gc.get_freeze_count()
        kept += ([number] for number in range(10 * NEW_OBJECTS))
        assert gc.get_freeze_count() > before + 5 * NEW_OBJECTS
    assert gc.callbacks == callbacks


def test_much_garbage_has_all_of_it_looked_through() -> None:
    with small_collections():
        for _ in range(40 * NEW_OBJECTS):
            Ring()
        after = gc.get_freeze_count()
        for _ in range(20 * NEW_OBJECTS):
            Ring()
        assert gc.get_freeze_count() == after
        alive = sum(isinstance(one, Ring) for one in gc.get_objects())
        assert alive <= NEW_OBJECTS
