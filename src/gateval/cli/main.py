"""The command group, and the translation of click's own errors into our exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from gateval import __version__
from gateval.app.guard import guarded
from gateval.cli.action import action
from gateval.cli.audit import audit
from gateval.cli.check import check
from gateval.cli.doctor import doctor
from gateval.cli.init import init
from gateval.cli.plan import plan
from gateval.cli.report import report
from gateval.cli.run import run_command
from gateval.cli.schema import schema
from gateval.cli.validate import validate
from gateval.errors import EXIT_NOT_EVALUATED, EXIT_PASS, EXIT_USAGE


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 pass, 1 gate failed, 2 usage or invalid manifest, 3 could not evaluate, "
    "130 interrupted.",
)
@click.version_option(__version__, prog_name="gateval")
def gateval() -> None:
    """A CI gate for AI agents that live in git."""


for command in (
    action,
    check,
    plan,
    run_command,
    report,
    validate,
    init,
    doctor,
    audit,
    schema,
):
    gateval.add_command(command)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return the exit code."""
    return guarded(lambda: _run(arguments))


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
