"""Opens what the trials of a run need: gateway, walls, candidates, checks, playgrounds, judge."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Callable, Container, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gateval.adapters.git.repository import GitRepository
from gateval.adapters.list_prices import ListPrices
from gateval.adapters.machine import SystemClock
from gateval.adapters.results_folder import ResultsFolder
from gateval.app.run.isolation import isolation, kept_layers, layers_folders, scratch_folder
from gateval.app.run.outages import outages_told
from gateval.app.run.recording import NO_TAPING, Taping, calibration_callers, callers, make_tape
from gateval.candidates.base import RuntimeContext
from gateval.candidates.checks import Checks
from gateval.candidates.environment import candidate_environment
from gateval.candidates.isolation.isolation_level import (
    IsolationLevel,
    ports_allowed,
    ports_to_listen_on,
)
from gateval.candidates.playgrounds import Playgrounds
from gateval.candidates.program import Groups, Starter
from gateval.candidates.team import Candidates
from gateval.domain.base import Value
from gateval.domain.calibration import CalibrationReplay
from gateval.domain.manifests.catalogue import embedding_models
from gateval.domain.manifests.evaluation import SCRIPTED_PROVIDER
from gateval.domain.manifests.gate_config import LoopbackPolicy, Policy
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.offers import OfferCollector
from gateval.domain.results.resume import NO_TRIALS, KeptTrials, addresses
from gateval.domain.text import listing
from gateval.domain.trials.model_call import NO_BATCHES, BatchBook, Caller
from gateval.domain.trials.trial import Side, Trial, TrialKey
from gateval.engine.run import RunContext
from gateval.engine.stage import Stage, whole_run
from gateval.errors import MissingKey, UsageError
from gateval.events import Listener, RunWarned
from gateval.gateway.door import Gateway, embed
from gateval.gateway.ledger import Pricing, Taken
from gateval.gateway.loopback_client import LoopbackClient
from gateval.gateway.peers import Allowed, no_candidate, nobody_tells
from gateval.gateway.upstream.endpoints import Upstream, has_no_address, missing_keys
from gateval.gateway.upstream.retry import RetryPolicy
from gateval.pipeline.exports import ClosureExports
from gateval.ports.model_calls import Callers
from gateval.ports.storage import TrialLog
from gateval.safe.redaction import Redactor, provider_keys, secret_values

if TYPE_CHECKING:
    from gateval.gateway.local.server import GatewayServer
    from gateval.gateway.upstream.recorded import Tape
    from gateval.judging.agreements import Agreements
    from gateval.judging.judge import Judge
from gateval.settings import Settings


def refuse_missing_keys(plan: Plan, settings: Settings) -> None:
    """Raise `MissingKey`, naming every model of the plan that cannot be asked.

    A provider without an address that head alone names is no matter of the environment, where base
    has others: head's Agent does not start, for the change is what breaks it.
    """
    new = {model for planned in plan.evals for model in _new_models(plan, planned)}
    nowhere = {model for model in new if has_no_address(model, settings.upstreams)}
    missing = missing_keys(sorted(_all_models(plan) - nowhere), settings.upstreams)
    if missing:
        raise MissingKey(
            " ".join(missing),
            hint="Keys and addresses belong in the environment of gateval, which candidates never "
            "see.",
        )


def refuse_unpriced(plan: Plan) -> None:
    """Refuse the models of a plan, as `refuse_unpriced_models` does."""
    refuse_unpriced_models(_all_models(plan), plan.policy)


def _all_models(plan: Plan) -> set[str]:
    return {model for planned in plan.evals for model in _models(plan, planned)}


def refuse_unpriced_models(models: Iterable[str], policy: Policy) -> None:
    """Raise `UsageError` where the policy limits dollars and nobody knows what a model costs."""
    if not policy.budget.limits_usd:
        return
    pricing = Pricing(ListPrices(), policy.prices)
    unknown = sorted(model for model in set(models) if not pricing.knows(model))
    if unknown:
        raise UsageError(
            "The policy limits what a run may cost (policy.budget.usd), and that cannot be kept: "
            f"Nobody knows a price of {listing(unknown)}.",
            hint=f"Write {'it' if len(unknown) == 1 else 'each'} under policy.prices of the gate "
            f"config, in US dollars for a million tokens (`{unknown[0]}: {{input: 0.5, output: "
            "1.5}`), or limit tokens instead (policy.gateway.tokensPerRun).",
        )


def refuse_shown_values(plan: Plan, settings: Settings) -> None:
    """Raise `UsageError` where the plan holds what `policy.candidateEnv` passes on, and other jobs
    put the results together: those have no such value, and so not the digest of what had it.
    """
    environ = settings.environ
    redactors = {
        name: Redactor(secret_values(environ, (name,))) for name in plan.policy.candidate_env
    }
    every = Redactor(secret_values(environ, redactors))
    for kind, name, held in _parts(plan) if redactors else ():
        if every.value(held) is held:
            continue
        shown = [one for one, redactor in redactors.items() if redactor.value(held) is not held]
        raise UsageError(
            f"{kind} {every.text(name)} holds the value of {listing(shown)}, which "
            "policy.candidateEnv passes on as a secret: what this job leaves for others could not "
            "be told from another run.",
            hint="Take the value out of the files, or the name out of policy.candidateEnv and, if "
            "it is no secret, into `env` of the Agent's runtime.",
        )


def _parts(plan: Plan) -> Iterator[tuple[str, str, Value]]:
    """Yield what the digests of a plan are made of, a fixture at a time, and what it is called."""
    for agent in plan.agents:
        yield "Agent", agent.name, agent
    for planned in plan.evals:
        for held in (planned.replace(fixtures=()), *planned.fixtures):
            yield "Eval", planned.shown_name, held
    for model in (model for side in plan.scripts for model in side.models):
        yield "The scripted model", model.name, model


def part_with_keys(plan: Plan, settings: Settings) -> Plan | None:
    """Return the plan without the Evals that need a key which is not here; None if none is left."""
    kept = tuple(
        planned
        for planned in plan.evals
        if not missing_keys(_models(plan, planned), settings.upstreams)
    )
    if not kept:
        return None
    names = {planned.agent for planned in kept}
    agents = tuple(agent for agent in plan.agents if agent.name in names)
    return plan.replace(evals=kept, agents=agents)


def _new_models(plan: Plan, planned: PlannedEval) -> set[str]:
    """The models that head's Agent names and base's does not, and nothing else of the Eval asks."""
    sides = {
        side: {*agent.models, *agent.uses}
        for side in Side
        if (agent := plan.agent(planned.agent, side)) is not None
    }
    if set(sides) != set(Side):
        return set()
    measuring = {*planned.judge.asked, *embedding_models(planned.fixtures)}
    return sides[Side.HEAD] - sides[Side.BASE] - measuring


def _models(plan: Plan, planned: PlannedEval) -> set[str]:
    """The models of an Eval: its Agent's on both sides, its judge's, and measuring ones."""
    models = {
        model
        for agent in plan.agents
        if agent.name == planned.agent
        for model in (*agent.models, *agent.uses)
    }
    if planned.is_judged:
        models.update(planned.judge.asked)
    return models | embedding_models(planned.fixtures).keys()


UNTOLD = (
    "A model provider answers on this machine, and nothing here can tell that it is no agent under "
    "test that does. Away from a terminal, as in CI, such a provider is not asked, unless the "
    "target branch says `policy: {loopbackUpstreams: trusted}`."
)


@dataclass(frozen=True)
class EvaluationRun:
    """The values that the parts of one run share. No process is started without `isolation_level`.

    `kept` is what was measured before; it counts among what the policy lets this one take. `stage`
    is the piece of a run that is made here, None for all of it; `asked` are the batches in which
    judges were asked before. `note_spent` is told what its own calls may have taken.
    `replays` takes in the calibrations that the run replays, without secrets, `over_budget` why no
    model was asked any more, `usd` what its own calls took, `silent` the models that answered no
    call at the end, with seconds.
    """

    plan: Plan
    repository: GitRepository
    settings: Settings
    folder: ResultsFolder
    log: TrialLog
    listen: Listener
    offers: OfferCollector
    isolation_level: IsolationLevel | None
    at_once: int | None
    minutes: float
    kept: KeptTrials = NO_TRIALS
    taping: Taping = NO_TAPING
    stage: Stage | None = None
    asked: BatchBook = NO_BATCHES
    note_spent: Callable[[float], None] = lambda _: None
    replays: list[CalibrationReplay] = field(default_factory=list)
    over_budget: list[str] = field(default_factory=list)
    usd: list[float] = field(default_factory=list)
    silent: dict[str, float] = field(default_factory=dict)


@contextlib.asynccontextmanager
async def run_context(run: EvaluationRun) -> AsyncIterator[RunContext]:
    """Open all of it, and put it away at the end."""
    plan, settings = run.plan, run.settings
    secrets = settings.secrets_beside(plan.policy.candidate_env)
    redactor = Redactor(secrets)
    async with contextlib.AsyncExitStack() as stack:
        scratch = stack.enter_context(scratch_folder(run.isolation_level))
        level, warn = run.isolation_level, lambda told: run.listen(RunWarned(told))
        layers = kept_layers(plan, run.repository, settings, level, scratch, warn)
        kept = stack.enter_context(layers)
        local_http = await stack.enter_async_context(LoopbackClient())
        tape = make_tape(run.taping, secrets, run.folder.path, scratch)
        gateway = await stack.enter_async_context(_gateway(run, tape))
        starter, door = await _isolated(run, gateway, scratch, stack)
        exports = ClosureExports(run.repository, plan, scratch)
        context = RuntimeContext(
            run=run.folder.run,
            calls=gateway,
            door=door,
            exports=exports,
            environ=candidate_environment(settings.environ, plan.policy.candidate_env),
            clock=SystemClock(),
            local_http=local_http,
            scratch=scratch,
            starter=starter,
            on_event=run.listen,
            kept=kept,
            own_users=bool(run.isolation_level and run.isolation_level.users),
            nowhere=partial(_nowhere, settings.upstreams),
        )
        candidates = await stack.enter_async_context(Candidates(context))
        judge, draw = await stack.enter_async_context(_judging(run, gateway))
        redirected = {one.side for one in plan.agents if one.runtime.redirect}
        yield RunContext(
            candidates=candidates,
            judge=judge,
            agreements=_agreements(run, judge, redactor, draw),
            embed=partial(embed, gateway, side=Side.HEAD),
            checks=await stack.enter_async_context(Checks(context, plan, exports)),
            playgrounds=await stack.enter_async_context(Playgrounds(context, plan, exports)),
            log=run.log,
            tell=run.listen,
            redact=partial(_redacted, redactor, door.brought if door else {}, redirected),
            at_once=run.at_once,
            over=lambda: gateway.ledger.ended,
            gave_up=gateway.gave_up,
            offers=run.offers,
            kept=run.kept,
            callers=_batched_callers(plan) if draw else callers(run.taping, plan, gateway),
            stage=run.stage,
            batched=bool(draw),
        )
        if tape is not None and tape.fault:
            run.listen(RunWarned(message=tape.fault))
        if gateway.ledger.ended:
            run.over_budget.append(gateway.ledger.told)
        run.silent.update(gateway.silent)


@contextlib.asynccontextmanager
async def _judging(run: EvaluationRun, gateway: Gateway) -> AsyncIterator[tuple[Judge | None, str]]:
    """Give the judge, None where none is asked, and where it is asked in batches what canaries are
    drawn by, else nothing.
    """
    if not any(one.is_judged for one in run.plan.evals):
        yield None, ""
        return
    from gateval.judging.judge import Judge

    if not run.plan.batched or run.stage is not None or run.taping.is_set:
        yield Judge(gateway), ""
        return
    from gateval.adapters.run_notes import RunBatches
    from gateval.app.batched import asked_by
    from gateval.judging.calibrating import judge_behind

    notes = RunBatches(run.folder.path, run.asked)
    async with asked_by(gateway, run.settings, notes, goes_on=True) as calls:
        yield judge_behind(calls, batch=True), notes.read().draw


def _batched_callers(plan: Plan) -> Callable[[TrialKey], Callers]:
    """Return what tells the questions of a trial from those of others that say the same."""
    address = addresses(plan)
    return lambda key: Callers(judge=Caller(address=address(key)[1], place=(), asks="judge"))


def _agreements(
    run: EvaluationRun, judge: Judge | None, redactor: Redactor, draw: str
) -> Agreements | None:
    if judge is None:
        return None
    from gateval.judging.agreements import Agreements

    return Agreements(
        run.plan,
        judge,
        keep=lambda replay: run.replays.append(redactor.value(replay)),
        callers=calibration_callers(run.taping, run.plan),
        draw=draw,
    )


def _nowhere(upstreams: Mapping[str, Upstream], model: str) -> str:
    return missing_keys([model], upstreams)[0] if has_no_address(model, upstreams) else ""


def _redacted(
    redactor: Redactor,
    brought: Mapping[Side, AbstractSet[str]],
    redirected: Container[Side],
    trial: Trial,
) -> Trial:
    """Take secrets out of a trial; its key, by which it is found, stays.

    `brought` are the keys that programs of a side sent. On sides that are `redirected` programs
    have keys of their own, and may print one that they never sent: such are known by their form.
    """
    clean, side = _without(redactor, trial), trial.key.side
    if side in redirected:
        offered = clean.trace.offered if clean.trace else None
        said = f"{clean.model_dump_json()}{offered.model_dump_json() if offered else ''}"
        clean = _without(Redactor({*brought.get(side, ()), *provider_keys(said)}), clean)
    return clean if clean.key is trial.key else clean.replace(key=trial.key)


def _without(redactor: Redactor, trial: Trial) -> Trial:
    """Take secrets out of a trial, and of what models are offered, which its JSON leaves out."""
    clean = redactor.value(trial)
    if clean.trace is None or clean.trace.offered is None:
        return clean
    offered = redactor.value(clean.trace.offered)
    return clean.replace(trace=clean.trace.replace(offered=offered))


@contextlib.asynccontextmanager
async def _gateway(run: EvaluationRun, tape: Tape | None) -> AsyncIterator[Gateway]:
    """Open the gateway, which knows prices where a real model may be asked."""
    plan, settings = run.plan, run.settings
    stage, prices = run.stage or whole_run(plan), ListPrices()
    scripted = f"{SCRIPTED_PROVIDER}/"
    real = any(not model.startswith(scripted) for model in _all_models(plan))
    if real or plan.policy.budget.limits_usd:
        await asyncio.to_thread(prices.load)
    gateway = Gateway(
        settings.upstreams,
        {one.side: {script.name: script for script in one.models} for one in plan.scripts},
        prices=prices,
        own_prices=plan.policy.prices,
        limits=stage.limits,
        rates=stage.rates,
        policy=RetryPolicy.under(plan.policy, settings.outage_seconds),
        ca_file=settings.ca_file,
        allowed=_who_may_answer(run),
        rehearsal=settings.rehearsal,
        tape=tape,
    )
    kept = (*run.kept.measured, *run.kept.to_judge)
    ledger = gateway.ledger
    ledger.calls, ledger.spent = taken_by(kept)
    before = ledger.spent.usd
    ledger.note = lambda usd: run.note_spent(usd - before)
    try:
        async with gateway, outages_told(gateway, run.listen):
            yield gateway
    finally:
        run.usd.append(max(0.0, ledger.spent.plus(ledger.held).usd - before))


def taken_by(trials: Iterable[Trial]) -> tuple[int, Taken]:
    """Return how many model calls trials made, as far as is known, and what they took."""
    calls, tokens, usd = 0, 0, 0.0
    for trial in trials:
        for usage in (trial.spent, trial.judge_usage):
            tokens += usage.total or 0
            usd += usage.usd or 0.0
        calls += trial.trace.model_calls if trial.trace else 0
    return calls, Taken(tokens, usd)


def _who_may_answer(run: EvaluationRun) -> Allowed | None:
    """Return who may answer for a provider on this machine; None where no process is started, or
    nobody is asked.
    """
    if run.isolation_level is None or run.taping.offline:
        return None
    trusted = run.plan.policy.loopback_upstreams is LoopbackPolicy.TRUSTED
    is_read = sys.stderr.isatty() and not run.settings.in_ci
    warned: list[str] = []

    def untold() -> bool:
        if is_read and not trusted and not warned:
            warned.append(UNTOLD)
            run.listen(RunWarned(message=UNTOLD))
        return trusted or is_read

    if not run.isolation_level.supervised:  # no table tells of whom a socket is
        return nobody_tells(untold)
    return no_candidate(run.isolation_level.users, untold, trusted=trusted)


async def _isolated(
    run: EvaluationRun, gateway: Gateway, scratch: Path, stack: contextlib.AsyncExitStack
) -> tuple[Starter, GatewayServer | None]:
    """Open what starts candidates and their door to models; no walls where none is a process."""
    if not run.isolation_level:
        return Groups(), None
    from gateval.gateway.local.server import GatewayServer  # its imports take 50 ms
    from gateval.gateway.local.trial_calls import CallLimits

    policy, settings = run.plan.policy, run.settings
    opened = GatewayServer(gateway, CallLimits.under(policy.gateway))
    server = await stack.enter_async_context(opened)
    own = [run.repository.root, run.repository.git_folder, run.folder.path]
    own += layers_folders(run.repository, settings)
    ports = ports_allowed(policy.egress, server.port)
    here = gateway.ports_here
    binds = ports_to_listen_on(policy.bind_ports, run.isolation_level, upstreams=here)
    behind = isolation(run.isolation_level, settings, scratch, own, ports=ports, binds=binds)
    return stack.enter_context(behind), server
