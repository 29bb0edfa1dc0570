"""The page of the command line, made from the commands themselves."""

from __future__ import annotations

import click

from gateval.cli.main import COMMANDS, gateval, load

WIDTH = 96


def page() -> str:
    """Return `docs/reference/cli.md`."""
    parts = ["# Command line\n", _help(gateval, "gateval")]
    for name in COMMANDS:
        command = load(name)
        parts += [f"## gateval {name}\n", _help(command, f"gateval {name}")]
        if isinstance(command, click.Group):
            for inner, part in command.commands.items():
                parts += [
                    f"### gateval {name} {inner}\n",
                    _help(part, f"gateval {name} {inner}"),
                ]
    return "\n".join(parts)


def _help(command: click.Command, name: str) -> str:
    settings = {**gateval.context_settings, "max_content_width": WIDTH}
    context = click.Context(command, info_name=name, terminal_width=WIDTH, **settings)
    return f"```text\n{command.get_help(context).rstrip()}\n```\n"
