"""The commands: each is in the file that the table names, and none is missing there."""

from __future__ import annotations

from importlib import import_module

import click

from gateval.cli.main import COMMANDS, ROOMS, load


def test_every_command_stands_in_the_table_and_in_its_file() -> None:
    found = {
        str(one.name): room
        for room in ROOMS
        for one in vars(import_module(f"gateval.cli.{room}")).values()
        if isinstance(one, click.Command)
    }
    below = {
        name
        for room in ROOMS
        for one in vars(import_module(f"gateval.cli.{room}")).values()
        if isinstance(one, click.Group)
        for name in one.commands
    }
    assert {
        name: room for name, room in found.items() if name not in below - {*COMMANDS}
    } == COMMANDS
    assert [load(name).name for name in COMMANDS] == list(COMMANDS)
