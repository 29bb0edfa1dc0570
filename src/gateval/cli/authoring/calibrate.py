"""`gateval calibrate`: how far judges agree with people."""

from __future__ import annotations

import os
from pathlib import Path

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
@options.rev
@click.option("--json", "as_json", is_flag=True, help="Print calibrations.v1 JSON.")
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.svg",
    help="Write the plot of the intervals here, too.",
)
@options.results
def calibrate(
    names: tuple[str, ...],
    models: tuple[str, ...],
    presets: tuple[str, ...],
    rev: str | None,
    plot: Path | None,
    results: Path | None,
    *,
    as_json: bool,
) -> int:
    """Have judges score the examples of JudgeCalibrations, and compare with what people said.

    Without a name all calibrations are replayed, with the models that they and the Evals that name
    them list; the examples of presets with the models given, else with those of the Evals. Shows
    Cohen's kappa with an interval of 95 %, the table of agreement, and where judge
    and person disagree.

    Exits with 0 if all judges are calibrated, with 1 if one agrees too little, and with 3 if one
    gave no verdict.
    """
    from gateval.app.judges.calibrate import calibrate_judges

    return calibrate_judges(
        dict(os.environ),
        names,
        models,
        presets=presets,
        rev=rev,
        plot=plot,
        results=results,
        as_json=as_json,
    )
