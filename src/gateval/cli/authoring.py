"""Commands that help to write manifests, to calibrate judges and to seal."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from gateval.cli import options


@click.command(short_help="Measure how far judges agree with people.")
@click.argument(
    "names", nargs=-1, metavar="[NAME]...", shell_complete=options.names_of("calibrations")
)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="PROVIDER/ID",
    help="This judge instead of those of the manifests; may be given again.",
)
@click.option(
    "--preset",
    "presets",
    multiple=True,
    metavar="NAME",
    help="The examples of a rubric that comes with the gate; may be given again.",
)
@click.option(
    "--compare",
    metavar="A,B,C",
    help="Measure these judges side by side, and say which to take. PROVIDER/ID is one; A+B+C is a "
    "jury, and 'CHEAP>STRONG' asks the second where the first is in doubt.",
)
@click.option(
    "--batch",
    is_flag=True,
    help="Ask OpenAI and Anthropic in batches: within a day, at half the price. The same command "
    "goes on where one was ended.",
)
@options.rev
@click.option(
    "--json", "as_json", is_flag=True, help="Print calibrations.v1 or judge-comparison.v1 JSON."
)
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.svg",
    help="Write the plot of the intervals here, too.",
)
@options.results
def calibrate(compare: str | None, models: tuple[str, ...], **asked: Any) -> int:
    """Have judges score the examples of JudgeCalibrations, and compare with what people said.

    Without a name all calibrations are replayed, with the models that they and the Evals that name
    them list; the examples of presets with the models given, else with those of the Evals. Shows
    Cohen's kappa with an interval of 95 %, the table of agreement, and where judge
    and person disagree.

    With --compare the labels also say what each costs and takes, how often an attack talks it
    round, and whether length or place moves it; nothing of that counts for an Eval.

    Exits with 0 if all judges are calibrated, with 1 if one agrees too little, and with 3 if one
    gave no verdict. With --compare: with 0 if there is one to take.
    """
    if compare is None:
        from gateval.app.calibrate import calibrate_judges

        return calibrate_judges(dict(os.environ), models=models, **asked)
    if models:
        raise click.UsageError("--compare names the judges; --model goes with it nowhere.")
    from gateval.app.choose_judge import compare_judges

    return compare_judges(dict(os.environ), compared=compare.split(","), **asked)


REASONS = ("rubricWrong", "judgeWrong", "traceWrong")


@click.command(short_help="Add a labelled example where you disagree with a judge.")
@click.argument("fixture", shell_complete=options.names_of("fixtures"))
@click.option(
    "--score",
    type=click.FloatRange(0, 1),
    required=True,
    metavar="0..1",
    help="What you would have given.",
)
@click.option(
    "--reason",
    type=click.Choice(REASONS),
    required=True,
    help="What was wrong.",
)
@click.option("--note", required=True, metavar="TEXT", help="Why, in your words.")
@click.option(
    "--run",
    "run",
    metavar="RUN",
    help="Which run's verdict: its id, or a path. Default: the last here.",
)
@click.option(
    "--repetition",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    help="Which repetition. Default: 1.",
)
@click.option(
    "--calibration",
    metavar="NAME",
    help="The JudgeCalibration. Default: that of the Eval, or a new one.",
    shell_complete=options.names_of("calibrations"),
)
@click.option("--redact", is_flag=True, help="Take out secrets and personal data first.")
def challenge(**asked: Any) -> int:
    """Add the agent's answer in FIXTURE, with your score, to the examples of its judge.

    FIXTURE may be EVAL/FIXTURE. The example goes to the end of the JudgeCalibration that the Eval
    names; all else in that file stays as it is. An Eval without one gets a new file beside it.
    """
    from gateval.app.challenge import challenge_verdict

    return challenge_verdict(dict(os.environ), **asked)


@click.command(short_help="Say what keeps the gate from working.")
@click.option(
    "--repository",
    metavar="OWNER/NAME",
    help="The repository on GitHub. Default: GITHUB_REPOSITORY, else that of the remote origin.",
)
@click.option(
    "--pr",
    "number",
    type=click.IntRange(1, 2**31),
    metavar="N",
    help="Play one pull request through: would it be measured, and could it be merged?",
)
@click.option("--fix", is_flag=True, help="Make the gate's labels on GitHub, with the token.")
def doctor(repository: str | None, number: int | None, *, fix: bool) -> int:
    """Check versions, history, manifests, keys, workflows, and, on GitHub, token and rules.

    Each line is ok, problem or unknown. With GITHUB_TOKEN or GH_TOKEN in the environment it also
    reads what GitHub knows; nothing is written without --fix. Exits with 1 if there is a problem.

    --pr N asks what a push to one pull request would lead to: events, filters, conditions,
    permissions, required checks, merge queue. It needs a token, and exits with 0 if that would be
    measured and could be merged, with 1 if not, and with 3 if that cannot be told.
    """
    if number is not None:
        from gateval.app.doctor import play_pull_request

        return play_pull_request(dict(os.environ), number, repository=repository)
    from gateval.app.doctor import examine

    return examine(dict(os.environ), repository=repository, fix=fix)


IMPORTED = (
    "agentv", "adk", "promptfoo", "prompt-yml", "inspect", "openai-evals", "deepeval", "langsmith",
    "braintrust",
)  # fmt: skip
"""The formats of `import`; a test holds them to the registry, which help need not load."""


@click.command("import", short_help="Write native manifests for files of another format.")
@click.argument("format_", metavar="FORMAT", type=click.Choice(IMPORTED))
@click.argument(
    "files", type=click.Path(path_type=Path), metavar="FILE...", nargs=-1, required=True
)
@click.option("--agent", default="", metavar="NAME", help="The Agent that the cases are for.")
@click.option(
    "--compare",
    type=click.Choice(["equals", "contains", "startsWith", "endsWith", "judge"]),
    help="How answers are compared with expected texts, where the file does not say it.",
)
@click.option("--judge", default="", metavar="MODEL", help="The judge, as provider/model-id.")
def import_(
    format_: str, files: tuple[Path, ...], agent: str, compare: str | None, judge: str
) -> int:
    """Write native manifests for each FILE beside it, and say what does not carry over.

    FORMAT is `agentv`, `adk` (eval sets), `promptfoo` (configs), `prompt-yml` (GitHub Models), or
    that of a dataset: `inspect`, `openai-evals`, `deepeval`, `langsmith`, `braintrust`. What
    carries over is written with its origin, the rest is listed with the reason, and nothing is
    guessed. No file is ever overwritten. Suites of AgentV are read as they are, without this.
    """
    from gateval.app.importing import import_files

    return import_files(format_, files, agent=agent, compare=compare or "", judge=judge)


@click.command(short_help="Write a first Eval and the workflow.")
@click.argument("program", required=False)
@click.option(
    "--model",
    metavar="PROVIDER/MODEL",
    help="The model of a new Agent. Default: one whose key is set, else a scripted model.",
)
@click.option("--yes", is_flag=True, help="Ask nothing: take the likeliest agent.")
@click.option(
    "--run", is_flag=True, help="Ask the agent one question first, and write what answered."
)
@click.option("--live", is_flag=True, help="With its own models instead of a scripted one.")
@click.option(
    "--self-test", is_flag=True, help="Rename a tool in a copy of the files, and show the red."
)
def init(
    program: str | None, model: str | None, *, yes: bool, run: bool, live: bool, self_test: bool
) -> int:
    """Write what a repository needs to be gated, and say what to do next.

    Finds the Agents in this repository and gives one without an Eval its first fixture and Eval.
    Without any Agent it looks for what a framework declares, then for a program that takes a
    question, in Python, Node or Go, and writes how to start and ask it; without one, or with
    --model, it writes a small Agent. Then gate config and workflow. No file is ever overwritten.

    With --run, and at a terminal if you agree, it installs what the agent needs and asks it one
    question, behind the walls of `run` and with a scripted model, before it writes anything. A
    guess that gives no answer is not written, and the next is tried.

    --self-test writes nothing: it renames a tool that a fixture wants to be called, in a copy of
    the working tree, and runs `check` there, with the models that the Agents name. It exits with 0
    if that is red.

    PROGRAM is the file that starts an agent, or FILE:OBJECT, where the guess is wrong or there is a
    further one.
    """
    from gateval.app.init import Wishes, start_repository

    if self_test:
        from gateval.app.proof import run_self_test

        if program or model or run or live:
            raise click.UsageError("--self-test stands alone.")
        return run_self_test(dict(os.environ))
    ask = sys.stdin.isatty() and not yes
    if live and yes and not run:
        raise click.UsageError("--yes alone runs nothing: --yes --run --live asks its own models.")
    run = run or live or ask
    if run and not (ask or yes):
        raise click.UsageError("Nobody is here to agree to that: --yes --run tries it unasked.")
    if program is not None and model is not None:
        raise click.UsageError("A program asks its own model: leave out PROGRAM or --model.")
    wishes = Wishes(
        choose=_ask if ask else _guess,
        agree=_agree if ask else _agreed,
        dare=_dare if ask else _agreed,
        program=program,
        model=model,
        run=run,
        live=live,
        name=_name if ask else None,
    )
    return start_repository(dict(os.environ), wishes)


def _agree(sentence: str) -> bool:
    """Have a person agree to something, as most do."""
    return click.confirm(f"{sentence}?", default=True)


def _dare(sentence: str) -> bool:
    """Have a person agree to something that most do not."""
    return click.confirm(f"{sentence}?", default=False)


def _agreed(sentence: str) -> bool:
    """Agree to it, and say so."""
    click.echo(f"{sentence}: yes, as --yes --run says.")
    return True


def _name() -> str:
    """Ask which agent is meant."""
    asked: str = click.prompt(
        "Which FILE or FILE:OBJECT is the agent? (empty for none)", default="", show_default=False
    )
    return asked.strip()


def _ask(lines: Sequence[str]) -> int:
    """Have a person choose one of the lines."""
    click.echo("Which of these is the agent?")
    for number, line in enumerate(lines, 1):
        click.echo(f"  {number}  {line}")
    chosen: int = click.prompt("Number", type=click.IntRange(1, len(lines)), default=1)
    return chosen - 1


def _guess(lines: Sequence[str]) -> int:
    """Take the first, and say so."""
    click.echo(f"Several programs may be the agent; this takes the first of: {', '.join(lines)}.")
    return 0


@click.group(short_help="Try a judge on one answer.")
def judge() -> None:
    """Look at what a judge is asked, and at what it says."""


@judge.command("attack", short_help="Try to talk the judge of an Eval round.")
@click.argument("evaluation", metavar="EVAL", shell_complete=options.names_of("evals"))
@click.option("--yes", is_flag=True, help="Do not ask whether it may cost what it costs.")
@options.rev
@click.option("--json", "as_json", is_flag=True, help="Print attacks.v1 JSON.")
def attack(evaluation: str, rev: str | None, *, yes: bool, as_json: bool) -> int:
    """Put the attacks of the laboratory into answers that people fail, and ask the judge of EVAL.

    The answers are those of its JudgeCalibration that the judge fails, too, when nothing speaks to
    it. An attack that makes it pass one got through. Shows how many did, of each kind, with an
    interval of 95 %. It first says how many questions that takes, and their price.

    Exits with 0 if no more get through than `judge.maxInjected` allows, with 1 if more may, and
    with 3 if too few questions got a verdict.
    """
    from gateval.app.judge_attack import attack_judge

    ask = _dare if sys.stdin.isatty() and not yes else None
    return attack_judge(
        dict(os.environ), evaluation, agreed=_said if yes else ask, rev=rev, as_json=as_json
    )


def _said(sentence: str) -> bool:
    """Say it, and go on."""
    click.echo(f"{sentence}.", err=True)
    return True


@judge.command("try", short_help="Ask the judge about one answer, and show everything.")
@click.argument("fixture", metavar="[EVAL/]FIXTURE", shell_complete=options.names_of("fixtures"))
@click.option(
    "--trace",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A record of a run, as `promote` reads it. Default: head's answer in the last run.",
)
@click.option("--model", metavar="PROVIDER/ID", help="This judge instead of that of the Eval.")
def try_(fixture: str, trace: Path | None, model: str | None) -> int:
    """Have the judge of an Eval look at one answer to a fixture.

    Shows the prompt, what the judge answered, its verdict, and for each violation whether the quote
    stands where the judge says. Nothing is stored, and nothing decided.

    Exits with 0 if there is a verdict on each judged assertion, with 3 otherwise.
    """
    from gateval.app.calibrate import try_judge

    return try_judge(dict(os.environ), fixture, trace=trace, model=model)


@click.command(short_help="Pin files of other repositories that suites name.")
def lock() -> int:
    """Write .gateval/sources.lock: the commit and the content of every file that suites name by
    URL, as they are now.

    Files are fetched by git over https, without credentials, from the hosts that policy.sources of
    .github/gateval.yml names. Commit the lock file: nothing else that these URLs lead to counts.
    """
    from gateval.app.authoring import lock_sources

    return lock_sources()


@click.command(short_help="Make fixtures of recorded runs.")
@click.argument("trace", metavar="TRACE")
@click.option(
    "--agent",
    metavar="NAME",
    help="The Agent that the fixtures are for. Default: the only one.",
    shell_complete=options.names_of("agents"),
)
@click.option("--fixture", metavar="NAME", help="Of results of a run, only this fixture.")
@click.option(
    "--allow-failed",
    is_flag=True,
    help="Write answers that did not pass, too, with assertions to fill in.",
)
@click.option("--redact", is_flag=True, help="Take out secrets and personal data first.")
@click.option("--dry-run", is_flag=True, help="Print the fixtures, and write nothing.")
def promote(**asked: Any) -> int:
    """Propose fixtures for the runs in TRACE: a file, `-`, or a run (its id, or a path).

    Reads results of Gateval, messages as chat APIs have them, OTLP in JSON, and JSONL of any of
    these. A fixture has the input, `toolCalled` for the tools that were used, `contains` for what
    the answer states, `toolReplay` with what the tools answered, and the label agent=NAME. They go
    into a new file beside the Agent's other fixtures; nothing is overwritten. An answer that did
    not pass is no example to follow, and is refused.
    """
    from gateval.app.promote import promote_traces

    return promote_traces(dict(os.environ), **asked)


@click.command(short_help="Print the JSON Schema of a kind.")
@click.argument("kind", required=False)
@click.option("--all", "every", is_flag=True, help="One schema for files with several kinds.")
def schema(kind: str | None, *, every: bool) -> int:
    """Print the JSON Schema of KIND, or, without KIND, the list of kinds."""
    from gateval.app.authoring import show_all, show_schema

    if every and kind:
        raise click.UsageError("--all stands alone: it is one schema for all kinds of manifests.")
    return show_all() if every else show_schema(kind)


@click.command(short_help="Encrypt manifests for holders of a key.")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE]...")
@click.option(
    "--new-key",
    "key",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Make a key instead: write it to FILE, and print its public one.",
)
def seal(files: tuple[Path, ...], key: Path | None) -> int:
    """Write FILE.age beside each FILE of Evals and fixtures, for those in `policy.recipients`.

    What they ask, and the evidence on it, is shown to holders of the key alone; scores are for
    everybody. A run opens them with the key in GATEVAL_IDENTITY.
    """
    from gateval.app.sealing import new_key, seal_files

    if bool(files) is (key is not None):
        raise click.UsageError("Name files to seal, or a file for a new key.")
    return new_key(key) if key is not None else seal_files(dict(os.environ), files)


@click.command(short_help="Open sealed manifests, or the evidence of a run.")
@click.argument("path", type=click.Path(exists=True, path_type=Path), metavar="FILE|RESULTS")
@options.view("What to print of a run, as in `gateval report`.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Write a new file of manifests, or a folder with all views of a run, instead.",
)
def unseal(path: Path, view: str, output: Path | None) -> int:
    """Open FILE.yaml.age, or the evidence in RESULTS, a run's folder or its results.v1.json.age.

    Takes the key from GATEVAL_IDENTITY. `gateval show` works on a folder that --output wrote.
    """
    from gateval.app.sealing import unseal_manifests, unseal_results
    from gateval.domain.manifests.evaluation import is_sealed

    if is_sealed(path.name):
        return unseal_manifests(dict(os.environ), path, output)
    return unseal_results(dict(os.environ), path, view, output)
