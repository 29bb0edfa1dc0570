"""Commands that look back."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import click

from gateval.cli import options

remote = click.option(
    "--remote", metavar="NAME|URL", help="Read the log as this remote has it now."
)
ref = click.option("--ref", metavar="REF", help="Read this ref of the clone instead.")


class _Moment(click.DateTime):
    """A day, or a second of it, in UTC."""

    def __init__(self) -> None:
        super().__init__(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ"])

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """Return the moment, or fail with a sentence that shows how it is written."""
        try:
            moment: datetime = super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(
                f'"{value}" is no date. Write 2026-11-20, or 2026-11-20T09:30:00Z for a second.',
                param,
                ctx,
            )
        return moment


@click.group(short_help="Show and verify the audit log.")
def audit() -> None:
    """Show and verify the log of bypasses and other exceptions, the branch gateval-audit.

    Without --remote and --ref the clone's copy is read, and if there is none, the branch at origin.
    """


@audit.command("log", short_help="Show the entries.")
@click.option("--json", "as_json", is_flag=True, help="Print audit.v1 JSON, one entry per line.")
@click.option(
    "--since",
    type=_Moment(),
    metavar="DATE",
    help="Only entries from this day or second (UTC) on: 2026-11-20, or 2026-11-20T09:30:00Z.",
)
@remote
@ref
def log_command(
    since: datetime | None, remote: str | None, ref: str | None, *, as_json: bool
) -> int:
    """Show the entries, oldest first, one line each.

    Exits with 1 when the chain of hashes is broken, and with 3 when the log cannot be read.
    """
    from gateval.app.audit import show_log

    _refuse_both(remote, ref)
    start = since.strftime("%Y-%m-%dT%H:%M:%SZ") if since else ""
    return show_log(dict(os.environ), remote, ref, since=start, as_json=as_json)


@audit.command("verify", short_help="Check that nobody changed the log.")
@click.option("--anchor", metavar="HASH", help="A hash that was published; it must be in the log.")
@remote
@ref
def verify_command(anchor: str | None, remote: str | None, ref: str | None) -> int:
    """Check the chain of hashes, and with --anchor that the log still holds that entry.

    Exits with 0 when it is whole, with 1 when the chain is broken or the anchor missing, and with 3
    when the log cannot be read.
    """
    from gateval.app.audit import verify_log

    _refuse_both(remote, ref)
    return verify_log(dict(os.environ), remote, ref, anchor=anchor)


def _refuse_both(remote: str | None, ref: str | None) -> None:
    if remote is not None and ref is not None:
        raise click.UsageError("--remote and --ref exclude each other.")


@click.command(short_help="Compare revisions or runs that were measured. Runs nothing.")
@click.argument("runs", metavar="[A] [B] [...]", nargs=-1)
@click.option(
    "--table",
    "as_table",
    is_flag=True,
    help="Agents and benchmarks as a table, of these runs; of the newest ones, if none is named.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--markdown", is_flag=True, help="Print the table as markdown.")
@click.option("--plot", metavar="FILE", help="Draw the table as bars, an SVG file.")
@options.fetch
def compare(
    runs: tuple[str, ...],
    plot: str | None,
    *,
    as_table: bool,
    as_json: bool,
    markdown: bool,
    fetch: bool,
) -> int:
    """Hold what was measured on B against A, fixture by fixture. Runs nothing.

    A and B are revisions, or runs (the id of one, or a path). Of a revision one run counts, as head
    or as base: the newest that is complete, with no finding that stands from an earlier run if
    there is such, and it says which. Of benchmarks and experiments it shows scores by task, axis
    and criterion. With --table, --markdown or --plot, and with more than two runs, it is a table of
    Agents and benchmarks.
    """
    from gateval.app.compare import show_comparison, show_table

    environ = dict(os.environ)
    if as_table or markdown or plot or len(runs) > 2:
        form = "json" if as_json else "markdown" if markdown else "text"
        return show_table(environ, runs, form=form, plot=plot, fetch=fetch)
    if len(runs) != 2:
        raise click.UsageError("Name two runs or revisions, or ask for a --table.")
    return show_comparison(environ, *runs, as_json=as_json, fetch=fetch)


@click.command(short_help="List the Evals that their schedules want run now.")
@click.option("--json", "as_json", is_flag=True, help="Print all Evals with a schedule as JSON.")
@options.fetch
def due(*, as_json: bool, fetch: bool) -> int:
    """List the Evals whose time has come since they ran last on the default branch.

    One name a line. An Eval that missed several times is due once; one that never ran is due.
    """
    from gateval.app.status import show_due

    return show_due(dict(os.environ), as_json=as_json, fetch=fetch)


@click.command(short_help="List the fixtures that pass now and then, and who wavers.")
@click.argument("name", required=False, metavar="[EVAL]", shell_complete=options.names_of("evals"))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@options.fetch
def flaky(name: str | None, *, as_json: bool, fetch: bool) -> int:
    """List the fixtures whose trials did not all end alike, with their pass rates.

    The judge wavers where it said otherwise about the same output; else the agent does. What a
    steadier fixture would save is computed from the rule of the gate.
    """
    from gateval.app.compare import show_flaky

    return show_flaky(dict(os.environ), name, as_json=as_json, fetch=fetch)


KINDS = {
    "evals": ("eval", "ev"),
    "benchmarks": ("benchmark", "bm"),
    "experiments": ("experiment", "ex"),
    "agents": ("agent",),
    "fixtures": ("fixture", "eval-fixtures", "eval-fixture", "efx"),
    "calibrations": ("calibration", "judge-calibrations", "judge-calibration", "jcal"),
}
"""What can be asked for, and its other names."""

_NAMES = {name: kind for kind, others in KINDS.items() for name in (kind, *others)}


@click.command(short_help="Show how Evals, Agents, fixtures and calibrations stand.")
@click.argument("kind", type=click.Choice(list(_NAMES)), metavar="KIND")
@click.argument("name", required=False)
@click.option(
    "-o",
    "form",
    type=click.Choice(["table", "wide", "json", "yaml"]),
    default="table",
    show_default=True,
    help="How to show it.",
)
@options.fetch
def get(kind: str, name: str | None, form: str, *, fetch: bool) -> int:
    """Show how things stand, by the newest run that is known: in CI, or in this clone.

    KIND is evals, benchmarks, experiments, agents, fixtures or calibrations; with NAME, that one
    with all details. Agents are also those in files of other tools, with what starts them or why
    nothing does. An Eval is Pending before its first run, Running, Passed, Failed, or Stale
    when its Agent has changed since; a run of a benchmark is active, completed, cancelled, failed
    or timed_out.
    """
    from gateval.app.status import show

    return show(dict(os.environ), _NAMES[kind], name, form=form, fetch=fetch)


@click.command(short_help="Show how the scores of Evals went from run to run.")
@click.argument("name", required=False, metavar="[EVAL]", shell_complete=options.names_of("evals"))
@click.option(
    "--plot",
    metavar="FILE.svg|terminal",
    help="Draw the scores: into a file, or as characters here.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, 1000),
    default=50,
    show_default=True,
    metavar="N",
    help="The last so many runs of each Eval.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, the oldest run first.")
@options.fetch
def history(name: str | None, plot: str | None, limit: int, *, as_json: bool, fetch: bool) -> int:
    """Show the runs of an Eval with score, interval and what regressed; or a line for each Eval.

    Of an Experiment, it shows the average of each scorer over its sets, too, and `--plot` draws
    these.

    Runs of pull requests are left out: they measure what somebody proposes.
    """
    from gateval.app.compare import show_history

    return show_history(
        dict(os.environ), name, plot=plot, limit=limit, as_json=as_json, fetch=fetch
    )


@click.command(short_help="Look at runs in a browser, or write them as a static site.")
@click.argument("run", required=False, metavar="[RUN]")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=0,
    metavar="N",
    help="The port of 127.0.0.1 to listen on. Default: a free one.",
)
@click.option(
    "--export",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write a static site of all runs instead: history, heat map, scores and badges.",
)
@click.option("--traces", is_flag=True, help="With --export, add the report of each run here.")
@options.fetch
def view(run: str | None, port: int, folder: Path | None, *, traces: bool, fetch: bool) -> int:
    """Serve the reports of the runs here, the history of Evals, a heat map of fixtures by runs, and
    two runs or revisions side by side, for a browser of this machine.

    Prints the address to open; behind its # is a token that nobody else knows. In the report of a
    run the keys 0 and 1 label an answer, as `gateval challenge` does. RUN opens its report first.
    It is refused in CI, and beside a run of the same user that measures.

    With --export it writes files for a web server, such as GitHub Pages: scores alone, unless
    --traces says otherwise.
    """
    if folder is not None:
        if run is not None or port:
            raise click.UsageError("--export writes all runs; it takes no RUN and no --port.")
        from gateval.app.export import export_site

        return export_site(dict(os.environ), folder, traces=traces, fetch=fetch)
    if traces:
        raise click.UsageError("--traces goes with --export; a served report has its traces.")
    from gateval.app.view import serve_view

    return serve_view(dict(os.environ), run, port=port, fetch=fetch)
