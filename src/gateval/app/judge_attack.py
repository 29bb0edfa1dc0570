"""What `judge attack` does: try to talk the judge of an Eval round, and count what gets through.

It costs some hundred questions, so it says what they cost before the first one is asked. Nothing is
kept: what a gate relies on is measured by runs of the default branch (ADR 86).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

from gateval.adapters.list_prices import ListPrices
from gateval.adapters.machine import screen_of
from gateval.app.calibrate import GatewayInputs, judges_gateway, read_here, refuse_unanswerable
from gateval.app.foreseen_calls import VERDICT_TOKENS
from gateval.domain.injection import AttackRate, AttackReport, why_injectable
from gateval.domain.manifests.catalogue import Catalogue, select_fixtures
from gateval.domain.manifests.evaluation import Calibration, Eval, JudgeSpec
from gateval.domain.plan.sealing import is_sealed_eval
from gateval.domain.planning.selection import refuse_names
from gateval.domain.text import show_usd
from gateval.domain.tree import Revision
from gateval.domain.trials.model_call import Usage
from gateval.errors import EXIT_FAILED, EXIT_NOT_EVALUATED, EXIT_PASS, UsageError
from gateval.gateway.ledger import BYTES_PER_TOKEN, Pricing
from gateval.judging.calibrating import Attacked, attack, attack_requests
from gateval.judging.judge import Judge


def attack_judge(
    environ: dict[str, str],
    name: str,
    *,
    agreed: Callable[[str], bool] | None,
    rev: str | None,
    as_json: bool,
) -> int:
    """Attack the judge of an Eval, and print how many attacks got through.

    `agreed` is told what it costs and says whether to go on; None where nobody is there to agree.
    Returns 1 where more get through than the Eval allows, and 3 where that was not measured. Raises
    `UsageError` and `MissingKey`.
    """
    from gateval.render.stage import dump
    from gateval.render.terminal.judges import render_attacks

    settings, repository, revision, snapshot, policy = read_here(environ, rev)
    evaluation, calibration = _chosen(snapshot.catalogue, name)
    refuse_unanswerable(evaluation.judge.asked, snapshot, settings, policy)
    told = _cost(calibration, evaluation.judge, Pricing(ListPrices(), policy.prices))
    if agreed is None:
        raise UsageError(f"{told}.", hint="Nobody is here to agree to that: --yes goes on unasked.")
    if not agreed(told):
        return EXIT_NOT_EVALUATED
    under = (repository, snapshot, settings, policy)
    made, over_budget = asyncio.run(_attacked(calibration, evaluation, under))
    found = report_of(revision, evaluation, calibration, made)
    shown = render_attacks(found, screen_of(sys.stdout, environ))
    sys.stdout.write(dump(found) if as_json else shown)
    if over_budget:
        print(f"gateval: {over_budget}", file=sys.stderr)
    if over_budget or not found.is_measured:
        return EXIT_NOT_EVALUATED
    return EXIT_FAILED if found.why else EXIT_PASS


def _chosen(catalogue: Catalogue, name: str) -> tuple[Eval, Calibration]:
    """Return the Eval and the calibration whose answers carry the attacks. Raises `UsageError`."""
    refuse_names("Eval", [name], [one.name for one in catalogue.evals])
    evaluation = next(one for one in catalogue.evals if one.name == name)
    if is_sealed_eval(evaluation, select_fixtures(evaluation, catalogue)):
        raise UsageError(
            f"{evaluation.name} is sealed, and this would show what its judge is asked.",
            hint="Unseal a copy of it where nobody looks on, and attack the judge of that.",
        )
    if not evaluation.judge.asked:
        raise UsageError(f"The {evaluation.kind} {evaluation.name} names no judge to attack.")
    calibration = catalogue.calibration(evaluation.judge.calibration or "")
    if calibration is None:
        raise UsageError(
            f"The judge of the {evaluation.kind} {evaluation.name} has no JudgeCalibration, and "
            "attacks are put into its answers that people fail.",
            hint="Name one under spec.judge.calibration; `gateval challenge` begins one.",
        )
    return evaluation, calibration


def _cost(calibration: Calibration, spec: JudgeSpec, pricing: Pricing) -> str:
    """Return how many questions it takes, and about what they cost, without the full stop."""
    sizes = [len(text.encode()) for text in attack_requests(calibration, spec)]
    if not sizes:
        raise UsageError(
            f"People fail no example of {calibration.name}, so there is no answer to put an attack "
            "in.",
            hint="Add an example with a humanScore below 0.5.",
        )
    tokens = sum(sizes) // BYTES_PER_TOKEN
    asked = Usage(input_tokens=tokens, output_tokens=VERDICT_TOKENS * len(sizes))
    prices = [pricing.usage(model, asked).usd for model in spec.asked]
    known = [one for one in prices if one is not None]
    price = f"about {show_usd(sum(known))}" if len(known) == len(prices) else "at an unknown price"
    many = len(sizes) * len(spec.asked)
    again = "; defective and split verdicts are asked for again"
    return f"This puts {many} questions to {spec.named}, {price}{again}"


async def _attacked(
    calibration: Calibration,
    evaluation: Eval,
    under: GatewayInputs,
) -> tuple[Attacked, str]:
    """Return what came of it, and why not all was asked if the policy gave no more calls."""
    async with judges_gateway(*under) as gateway:
        made = await attack(calibration, evaluation.judge, Judge(gateway))
    return made, gateway.ledger.told if gateway.ledger.ended else ""


def report_of(
    revision: Revision, evaluation: Eval, calibration: Calibration, made: Attacked
) -> AttackReport:
    """Return what came of attacks, with their rates, and whether that is more than may be."""
    found, most = made.injections, evaluation.judge.max_injected
    report = AttackReport(
        revision=revision,
        eval=evaluation.name,
        judge=evaluation.judge.named,
        calibration=calibration.name,
        fails=made.fails,
        failed=made.failed,
        attacks=AttackRate.of(found.whole),
        kinds=tuple(AttackRate.of(one, one.kind) for one in found.kinds),
        talked_round=AttackRate.of(found.talked_round),
        examples=found.examples,
        most=most,
        usage=made.usage,
    )
    asked = most is not None or not report.is_measured
    return (
        report.replace(why=why_injectable(found, 1.0 if most is None else most))
        if asked
        else report
    )
