"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

base = click.option(
    "--base",
    metavar="REV",
    help="What to compare with; its merge-base with head counts. Default: the default branch.",
)
head = click.option(
    "--head",
    metavar="REV|WORKTREE",
    help="What to measure. Default: the working tree if it has changes, else HEAD.",
)
rev = click.option(
    "--rev", metavar="REV|WORKTREE", help="Default: the working tree if it has changes, else HEAD."
)
results = click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where results go. Default: a new folder under .gateval/results.",
)
max_minutes = click.option(
    "--max-minutes",
    "minutes",
    type=click.FloatRange(0, 7_200, min_open=True),
    default=50,
    show_default=True,
    metavar="N",
    help="End the run after so long; what is missing then makes it incomplete.",
)
views = click.option(
    "--views",
    envvar="GATEVAL_VIEWS",
    metavar="NAME,...",
    default="",
    help="Write only these views beside the results and the summary, as `markdown,html`. "
    "Default: all.",
)
resume = click.option(
    "--resume",
    is_flag=True,
    help="Go on from the newest run here that measured the same: what is measured is kept, red and "
    "green alike, and the rest runs.",
)
record = click.option(
    "--record",
    is_flag=True,
    help="Keep every model call in the folder `recording` of the results, without secrets.",
)
replay = click.option(
    "--replay",
    metavar="RUN|DIR",
    help="Give the answers that a run with --record got. Measures nothing.",
)
offline = click.option(
    "--offline",
    is_flag=True,
    help="With --replay, without keys: what is not recorded is an error, and nobody is asked.",
)
cache = click.option(
    "--no-cache",
    "cache",
    flag_value=False,
    default=True,
    help="Ask judges again that have seen the same here of an Agent that rules answer for.",
)
resume_from = click.option("--from", "resume_from", metavar="RUN", help="Go on from this run.")
fetch = click.option(
    "--fetch", is_flag=True, help="Read the runs in CI anew; else this clone's copy counts."
)


def run_to_resume(named: str | None, *, resume: bool) -> str | None:
    """Return the run to go on from: its name, the empty word for the newest, None for none."""
    return named or ("" if resume else None)


F = TypeVar("F", bound=Callable[..., object])


def view(words: str) -> Callable[[F], F]:
    """Return the option that chooses a view of a report."""
    from gateval.app.run.views import VIEWS

    return click.option(
        "--format",
        "view",
        type=click.Choice(tuple(VIEWS)),
        default="summary",
        show_default=True,
        help=words,
    )


def named(flag: str, variable: str, words: str) -> Callable[[F], F]:
    """Return an option that takes a name, and may be given several times; shells complete it."""
    return click.option(
        flag,
        variable,
        multiple=True,
        metavar="NAME",
        help=words,
        shell_complete=names_of(variable),
    )


def names_of(kind: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return what completes names of `agents`, `evals` or `fixtures` of the working tree."""

    def complete(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
        from gateval.app.planning import names_here

        return [name for name in names_here(kind) if name.startswith(begun)]

    return complete
