"""Functions that ask a repository many questions in a row."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from gateval.ports.repository import Repository

P = ParamSpec("P")
R = TypeVar("R")


def reading(
    function: Callable[Concatenate[Repository, P], R],
) -> Callable[Concatenate[Repository, P], R]:
    """Have the repository given first keep at work what reads it, until the function returns."""

    @wraps(function)
    def asking(repository: Repository, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with repository.reading():
            return function(repository, *args, **kwargs)

    return asking
