"""`gateval closure`: the files that an Agent's candidates get, and why each belongs."""

from __future__ import annotations

import click

from gateval.cli import options


@click.command(short_help="List the files of an Agent, and why each belongs.")
@click.argument("agent", metavar="AGENT", shell_complete=options.names_of("agents"))
@options.head
@click.option("--json", "as_json", is_flag=True, help="Print it as closure.v1 JSON.")
def closure(agent: str, head: str | None, *, as_json: bool) -> int:
    """List the files that candidates of AGENT get, with sizes and why each belongs to it.

    Nothing else of the repository is there when they run, and nothing else that changes is a change
    of the Agent. Add to them with `include`, or replace them with `watch`.
    """
    from gateval.app.closure import show_closure

    return show_closure(agent, head=head, as_json=as_json)
