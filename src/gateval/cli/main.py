"""The command group, and the translation of click's own errors into our exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from keyword import iskeyword
from typing import Final

import click

from gateval import __version__
from gateval.app.guard import guarded
from gateval.errors import CA_VARIABLE, EXIT_NOT_EVALUATED, EXIT_PASS, EXIT_USAGE

ROOMS: Final = {
    "gate": ("action", "check", "plan", "run", "aa", "closure", "validate", "report", "show"),
    "records": ("audit", "get", "history", "compare", "flaky", "due", "view"),
    "authoring": (
        "init",
        "schema",
        "doctor",
        "calibrate",
        "challenge",
        "judge",
        "promote",
        "import",
        "lock",
        "seal",
        "unseal",
    ),
}
"""The files here, and the commands in each: functions of that name; `import_` is `import`."""

COMMANDS: Final = {name: room for room, names in ROOMS.items() for name in names}
"""Every command, and its file."""


class CommandGroup(click.Group):
    """Imports the file of a command when it is asked for, so that no command loads all others."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click calls it
        """Return the names, as the help lists them."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - it too
        """Return a command, or None when there is none of this name."""
        return load(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the words name. Raises `UsageError` with the nearest one."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from gateval.domain.paths import nearest  # takes 50 ms with what it needs

            hint = nearest(args[0], COMMANDS) or f" There are {', '.join(sorted(COMMANDS))}."
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)


def load(name: str) -> click.Command:
    """Return one of `COMMANDS`."""
    own = f"{name}_" if iskeyword(name) else name
    command: click.Command = getattr(import_module(f"gateval.cli.{COMMANDS[name]}"), own)
    return command


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 pass, 1 gate failed, 2 usage or invalid manifest, 3 could not evaluate, "
    "130 interrupted.",
)
@click.version_option(__version__, prog_name="gateval")
def gateval() -> None:
    """A CI gate for AI agents that live in git."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return the exit code."""
    return guarded(lambda: _trusting(arguments))


def _trusting(arguments: Sequence[str]) -> int:
    if not os.environ.get(CA_VARIABLE):
        return _run(arguments)
    from gateval.adapters.machine import own_authorities

    with own_authorities(os.environ):
        return _run(arguments)


def _run(arguments: Sequence[str]) -> int:
    try:
        code = gateval.main(args=list(arguments), prog_name="gateval", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        return EXIT_USAGE
    except click.ClickException as error:
        error.show(sys.stderr)
        return EXIT_USAGE
    except SystemExit as end:  # how click takes it that nobody reads on; its 1 is no decision
        return EXIT_NOT_EVALUATED if end.code else EXIT_PASS
    except click.Abort:  # how click calls Ctrl-C
        raise KeyboardInterrupt from None
    return code if isinstance(code, int) else 0
