"""Commands that judge a change, or show what judging gave."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from gateval.cli import options


@click.command(short_help="Run an unchanged agent against itself; count false alarms.")
@click.argument("evals", nargs=-1, required=True, metavar="EVAL...")
@click.option(
    "--runs",
    type=click.IntRange(1, 1000),
    default=10,
    show_default=True,
    help="How often the gate is run.",
)
@options.rev
@options.results
def aa(evals: tuple[str, ...], runs: int, rev: str | None, results: Path | None) -> int:
    """Hold one revision against itself, as an A/A test does.

    Reports how often the gate would have blocked though nothing changed, how many trials it took,
    and how often it would find a drop of a given size, as a table and a plot. Each run makes all
    its model calls.
    """
    from gateval.app.check import check_itself

    return check_itself(dict(os.environ), evals, runs=runs, rev=rev, results=results)


@click.command(short_help="The GitHub Action: what a workflow's step starts.")
@click.argument("part", required=False, type=click.Choice(["post"]))
def action(part: str | None) -> int:
    """Run the gate as the environment of a GitHub Actions runner says (INPUT_*, GITHUB_*).

    With `post`, complete the check run that a crash left in progress; the runner starts that by
    itself when the job ends.
    """
    from gateval.app.action.gate import close_action, run_action

    return close_action(os.environ) if part else run_action(os.environ)


@click.command(short_help="Measure a change against its base, and decide.")
@options.base
@options.head
@options.named("--agent", "agents", "Only this Agent; may be given again.")
@options.named("--eval", "evals", "Only this Eval; may be given again.")
@options.named("--fixture", "fixtures", "Only this fixture; may be given again.")
@click.option(
    "--failed", is_flag=True, help="Only what did not pass in the last run that measured anything."
)
@click.option(
    "--fresh",
    is_flag=True,
    help="Measure anew what an earlier check found regressed; the decision says so.",
)
@options.results
@options.views
@options.max_minutes
@options.resume
@options.resume_from
@options.cache
@options.record
@options.replay
@options.offline
@click.option(
    "--accept-bar-change",
    is_flag=True,
    help="Decide as if somebody who may had accepted that the change asks less than its target.",
)
def check(views: str, *, resume: bool, resume_from: str | None, **asked: Any) -> int:
    """Evaluate the Agents that a change touches, compare with the base, and decide.

    Prints the summary on stdout and progress on stderr; writes results, comment, JUnit and a
    report to open in a browser into the results folder. Exits with 0 only if the gate passes.

    What it found regressed stands for later checks of the same Agents, fixture, Eval and judge, and
    is not measured again: --fresh does that.

    With --agent, --eval, --fixture or --failed it measures a part of that. A part never passes
    while anything is left out: where nothing speaks against the change, it is incomplete, exit 3.
    """
    from gateval.app.check import check_change
    from gateval.settings import VIEWS_VARIABLE

    go_on = options.run_to_resume(resume_from, resume=resume)
    return check_change({**os.environ, VIEWS_VARIABLE: views}, resume=go_on, **asked)


@click.command(short_help="List the files of an Agent, and why each belongs.")
@click.argument("agent", metavar="AGENT", shell_complete=options.names_of("agents"))
@options.head
@click.option("--json", "as_json", is_flag=True, help="Print it as closure.v1 JSON.")
def closure(agent: str, head: str | None, *, as_json: bool) -> int:
    """List the files that candidates of AGENT get, with sizes and why each belongs to it.

    Nothing else of the repository is there when they run, and nothing else that changes is a change
    of the Agent. Add to them with `include`, or replace them with `watch`.
    """
    from gateval.app.planning import show_closure

    return show_closure(agent, head=head, as_json=as_json)


@click.command(short_help="Show what changed and what would run. Runs nothing.")
@options.base
@options.head
@click.option("--json", "as_json", is_flag=True, help="Print the plan as plan.v1 JSON.")
def plan(base: str | None, head: str | None, *, as_json: bool) -> int:
    """Show which Agents changed, which Evals that selects, and how much would run. Runs nothing."""
    from gateval.app.planning import show_plan

    return show_plan(dict(os.environ), base=base, head=head, as_json=as_json)


@click.command(short_help="Show the results of a run again, and decide anew.")
@click.argument("run", metavar="RUN")
@options.view(
    "markdown is the comment, html the report, json the decision, results everything with all "
    "traces."
)
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write all views into this folder instead of printing one.",
)
def report(run: str, view: str, output: Path | None) -> int:
    """Compare and decide anew from the results of RUN: its id, or a path of it.

    Gives what `check` gave, byte for byte, and its exit code; a summary in a terminal fits the
    terminal. The folder of a run that crashed is reported from the trials that were finished; it
    cannot pass while one that was planned is missing.
    """
    from gateval.app.stored import report_results

    return report_results(dict(os.environ), run, view=view, output=output)


@click.command(short_help="Run Evals on one revision, or a stored plan.")
@click.argument("evals", nargs=-1, metavar="[EVAL]...", shell_complete=options.names_of("evals"))
@options.named("--fixture", "fixtures", "Only this fixture.")
@options.rev
@click.option("--plan", "plan_file", metavar="FILE|-", help="Run this plan.v1 JSON instead.")
@options.results
@options.views
@options.max_minutes
@options.resume
@options.resume_from
@options.cache
@options.record
@options.replay
@options.offline
@click.option(
    "--batch",
    is_flag=True,
    help="Ask judges of OpenAI and Anthropic in batches: within a day, at half the price. With "
    "--resume, the same command takes what has come since.",
)
@click.option(
    "--step",
    type=click.Choice(["plan", "run", "next", "finish"]),
    metavar="plan|run|next|finish",
    help="With --plan, the part of a run over several machines that this one does.",
)
@click.option("--shards", default="", metavar="N|auto", help="How many shards a round may have.")
@click.option("--shard", default="", metavar="I/N", help="Which of them this is.")
@click.option(
    "--round", "in_round", type=click.IntRange(1, 20), metavar="N", help="Of which round. [1]"
)
@click.option(
    "--parts",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where the results of the jobs before are, and of earlier tries of this one.",
)
def run(
    evals: tuple[str, ...],
    fixtures: tuple[str, ...],
    rev: str | None,
    plan_file: str | None,
    results: Path | None,
    views: str,
    minutes: float,
    resume_from: str | None,
    *,
    cache: bool,
    resume: bool,
    batch: bool,
    step: str | None,
    shards: str,
    shard: str,
    in_round: int | None,
    parts: Path | None,
    **taped: Any,
) -> int:
    """Run Evals on one revision without a baseline, or a plan written by `gateval plan --json`.

    Without a name it offers the Evals that are there; with --replay, it runs that run's plan.

    With --shard, it measures its share of a plan; --step finish joins all shares and decides.
    """
    from gateval.app.check import run_evals, run_plan_file
    from gateval.settings import VIEWS_VARIABLE

    environ = {**os.environ, VIEWS_VARIABLE: views}
    if step or shards or shard or in_round or parts:
        from gateval.app.spread import asked_for, run_stage

        if evals or fixtures or rev or resume or resume_from or batch:
            raise click.UsageError("A shard measures what --plan says, and nothing else.")
        job = asked_for(step=step, shards=shards, shard=shard, in_round=in_round, parts=parts)
        taped |= {"parts": parts, "results": results, "minutes": minutes}
        return run_stage(environ, plan_file, job, **taped)
    go_on = options.run_to_resume(resume_from, resume=resume)
    if plan_file is not None and (evals or fixtures or rev):
        raise click.UsageError("--plan stands alone: the plan says what runs.")
    how: dict[str, Any] = {"results": results, "minutes": minutes, "resume": go_on, "cache": cache}
    how |= taped
    if batch and (plan_file is not None or taped["replay"] or taped["record"]):
        raise click.UsageError("--batch takes Evals by name, and neither records nor replays.")
    if plan_file is not None or (taped["replay"] and not (evals or fixtures or rev)):
        return run_plan_file(environ, plan_file, **how)
    if not evals:
        evals = _offer(rev)
    return run_evals(environ, evals, fixtures=fixtures, rev=rev, batch=batch, **how)


def _offer(rev: str | None) -> tuple[str, ...]:
    """Have a person choose one of the Evals; where there is nobody to ask, list them and fail."""
    from gateval.app.planning import evals_here

    offered = evals_here(rev)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        named = "".join(f"\n  gateval run {name}" for name, _ in offered)
        raise click.UsageError(f"Name at least one Eval, or give a plan with --plan FILE:{named}")
    click.echo("Which Eval?")
    for number, (name, about) in enumerate(offered, 1):
        click.echo(f"  {number}  {name}  ({about})")
    last = len(offered)
    chosen: int = click.prompt(
        "Number", type=click.IntRange(1, last), default=None if last > 1 else 1
    )
    return (offered[chosen - 1][0],)


@click.command(short_help="Show what an agent did in a stored run, step by step.")
@click.argument("words", nargs=-1, metavar="[RUN] [FIXTURE]")
@click.option(
    "--repetition",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Show this repetition. Default: head's worst.",
)
@click.option("--full", is_flag=True, help="Show all that was said, however long.")
def show(words: tuple[str, ...], repetition: int | None, *, full: bool) -> int:
    """Show the steps of one fixture, head beside base; without FIXTURE, list the fixtures.

    RUN is the id of a run, or a path of it; the default is the last. FIXTURE may be
    written EVAL/FIXTURE. Steps that a failed assertion rests on are marked with `>`, and quotes of
    a judge are looked for in the step again.
    """
    from gateval.app.show import show_run

    if len(words) > 2:
        raise click.UsageError("Name a run and a fixture, or one of them, or nothing.")
    return show_run(dict(os.environ), words, repetition=repetition, full=full)


@click.command(short_help="Check all manifests.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...")
def validate(paths: tuple[Path, ...]) -> int:
    """Check all manifests, or show only what concerns these files and folders.

    Reads the working tree as a commit would hold it: ignored files do not count.
    """
    from gateval.app.planning import validate_manifests

    return validate_manifests(paths)
