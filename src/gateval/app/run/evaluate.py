"""Runs a plan in the real world: candidates, gateway, judge, files, signals."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from secrets import token_bytes

from gateval import __version__
from gateval.adapters.clock import SystemClock
from gateval.adapters.git import GitRepository
from gateval.adapters.list_prices import ListPrices
from gateval.adapters.results_folder import ResultsFolder
from gateval.adapters.trial_log import TrialLogFile, read_trials
from gateval.app.names import TRIALS_FILE
from gateval.app.run.interrupts import ENDING, end_in_order, handlers_kept, interrupted
from gateval.app.run.isolate import isolation, scratch_folder, walls_for
from gateval.app.run.kept_layers import kept_layers, layers_folder
from gateval.app.run.keys import asks_real_models, refuse_missing_keys
from gateval.app.run.sealing import SealingLog, sealed_off
from gateval.app.run.under_way import UnderWay
from gateval.candidates.base import RuntimeContext
from gateval.candidates.checks import Checks
from gateval.candidates.doors.models import ModelDoor
from gateval.candidates.environment.allowlist import candidate_environment
from gateval.candidates.isolation.egress import egress_text, ports_allowed
from gateval.candidates.isolation.walls import Walls
from gateval.candidates.playground.playgrounds import Playgrounds
from gateval.candidates.preparing.check_layers import CheckLayers
from gateval.candidates.process.group import Groups
from gateval.candidates.process.started import Starter
from gateval.candidates.team import Candidates
from gateval.domain.calibration.replay import CalibrationReplay
from gateval.domain.plan.plan import Plan
from gateval.domain.results.results import Results, RunInfo, results_of
from gateval.domain.results.sealing import shutter
from gateval.domain.trials.trial import Side, Trial
from gateval.engine.agreements import Agreements
from gateval.engine.run import RunContext, run_trials
from gateval.events import CandidateWarned, Event, Listener, RunWarned
from gateval.gateway.door import Gateway
from gateval.gateway.loopback_client import LoopbackClient
from gateval.gateway.measuring import embed
from gateval.gateway.upstream.retry import RetryPolicy
from gateval.judging.judge import Judge
from gateval.judging.neutral import shorten
from gateval.pipeline.exports import ClosureExports
from gateval.ports.trial_log import TrialLog
from gateval.safe.redaction import Redactor
from gateval.settings import Settings

WARNINGS_LIMIT = 20
"""Warnings kept of a run, and characters of each."""

WARNING_LIMIT = 1_000


@dataclass(frozen=True)
class Evaluation:
    """The results of a run. `interrupted` says that a signal ended it early.

    Secrets are out of what the trials hold, but not yet out of the plan and the names in it.
    """

    results: Results
    interrupted: bool


def evaluate(
    plan: Plan,
    repository: GitRepository,
    settings: Settings,
    folder: ResultsFolder,
    listen: Listener,
    *,
    at_once: int | None = None,
    minutes: float,
    key: bytes | None = None,
) -> Evaluation:
    """Run a plan to its end, for so many minutes, or to the first SIGINT, SIGTERM or SIGHUP.

    At most `at_once` trials run side by side; without it, as many as the Evals say.
    What is sealed is in the results, and nowhere else; `key` is that of `shut_results`, where it is
    to be the same. Raises `MissingKey` before anything runs when a model of the plan has no key.
    """
    refuse_missing_keys(plan, settings)
    clock = SystemClock()
    started, begin = clock.utc_now(), clock.monotonic()
    walls = _walls(plan, settings, listen)
    shut = shutter(plan, key or token_bytes(32))
    listen = sealed_off(listen, shut, plan)
    warnings: dict[str, None] = {}
    replays: list[CalibrationReplay] = []
    under_way = UnderWay()
    with TrialLogFile(folder.path / TRIALS_FILE) as file:
        log = SealingLog(file, shut)
        noting = under_way.heard_by(_noting(warnings, listen))
        run = _Run(
            plan, repository, settings, folder, log, noting, walls, at_once, minutes, replays
        )
        trials, interrupted = _trials_of(run)
    late = trials is None and not interrupted
    info = RunInfo(
        run=folder.run,
        started_at=started,
        seconds=round(clock.monotonic() - begin, 3),
        gateval=__version__,
        isolation=_isolation(plan, walls),
        interrupted=interrupted,
        started=under_way.keys,
        ended=f"The time of the run was over ({minutes:g} minutes)." if late else "",
        warnings=tuple(warnings)[:WARNINGS_LIMIT],
    )
    done = log.whole(read_trials(folder.path / TRIALS_FILE)) if trials is None else trials
    return Evaluation(results_of(plan, done, info, [*plan.agreements, *replays]), interrupted)


def _walls(plan: Plan, settings: Settings, listen: Listener) -> Walls | None:
    """Return the walls for a plan's candidates, None without any; tell of secrets they see."""
    walls = walls_for(plan, settings, listen)
    if walls and (shown := settings.shown_secrets(plan.policy.candidate_env)):
        listen(RunWarned(message=shown))
    return walls


def _trials_of(run: _Run) -> tuple[tuple[Trial, ...] | None, bool]:
    """Return all trials, None if the run ended before them, and whether a signal ended it."""
    with handlers_kept():
        try:
            return asyncio.run(_until_signalled(run)), False
        except asyncio.CancelledError:
            pass
    end_in_order()
    return None, True


def _isolation(plan: Plan, walls: Walls | None) -> str:
    """Say what stood around candidates; nothing where no process ran."""
    return f"{walls.text}{egress_text(plan.policy.egress)}" if walls else ""


def _noting(warnings: dict[str, None], listen: Listener) -> Listener:
    """Return a listener that notes what belongs to the results, each once."""

    def noted(event: Event) -> None:
        if isinstance(event, CandidateWarned) and event.lasting:
            said = shorten(event.message, WARNING_LIMIT)
            warnings[f"{event.agent} ({event.side}): {said}"] = None
        listen(event)

    return noted


@dataclass(frozen=True)
class _Run:
    """The values that the parts of one run share. `walls` is None when no process is started.

    `replays` takes in the calibrations that the run replays, without secrets.
    """

    plan: Plan
    repository: GitRepository
    settings: Settings
    folder: ResultsFolder
    log: TrialLog
    listen: Listener
    walls: Walls | None
    at_once: int | None
    minutes: float
    replays: list[CalibrationReplay]


async def _until_signalled(run: _Run) -> tuple[Trial, ...] | None:
    """Run the plan; the first signal that asks to end cancels it, so everything is torn down.

    None when the time of the run was over before; the trials that were finished are in the log.

    A signal that our parent process has us ignore (`nohup`, a job in the background) stays ignored.
    """
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    if task is not None:
        for number in ENDING:
            if signal.getsignal(number) is signal.SIG_IGN:
                continue
            loop.add_signal_handler(number, task.cancel)
        if interrupted():
            task.cancel()
    async with _run_context(run) as context:
        try:
            async with asyncio.timeout(run.minutes * 60) as limit:
                return await run_trials(run.plan, context) if run.plan.evals else ()
        except TimeoutError:
            if not limit.expired():
                raise
            return None


def _redacting(run: _Run) -> Callable[[Trial], Trial]:
    """Return what takes secrets out of a trial; its key, by which it is found, stays."""
    redactor = Redactor(run.settings.secrets_beside(run.plan.policy.candidate_env))

    def redacted(trial: Trial) -> Trial:
        clean = redactor.value(trial)
        return clean if clean.key is trial.key else clean.model_copy(update={"key": trial.key})

    return redacted


def _keeping(run: _Run) -> Callable[[CalibrationReplay], None]:
    redactor = Redactor(run.settings.secrets_beside(run.plan.policy.candidate_env))
    return lambda replay: run.replays.append(redactor.value(replay))


def _warning(listen: Listener) -> Callable[[str], None]:
    return lambda sentence: listen(RunWarned(message=sentence))


async def _gateway(run: _Run) -> Gateway:
    """Make the gateway, which knows prices where a real model may be asked."""
    plan, settings = run.plan, run.settings
    prices = ListPrices()
    if asks_real_models(plan):
        await asyncio.to_thread(prices.load)
    return Gateway(
        settings.upstreams,
        {one.side: {script.name: script for script in one.models} for one in plan.scripts},
        prices=prices,
        policy=RetryPolicy(outage_seconds=settings.outage_seconds),
        ca_file=settings.ca_file,
    )


async def _behind_walls(
    run: _Run, gateway: Gateway, scratch: Path, stack: contextlib.AsyncExitStack
) -> tuple[Starter, ModelDoor | None]:
    """Open what starts candidates and their door to models; no walls where none is a process."""
    if not run.walls:
        return Groups(), None
    from gateval.gateway.local.limits import CallLimits
    from gateval.gateway.local.server import GatewayServer  # its imports take 50 ms

    policy, settings = run.plan.policy, run.settings
    opened = GatewayServer(gateway, CallLimits.under(policy.gateway))
    server = await stack.enter_async_context(opened)
    own = [run.repository.root, run.repository.git_folder, run.folder.path]
    layers = layers_folder(run.repository, settings)
    own += [layers] if layers else []
    ports = ports_allowed(policy.egress, server.port)
    behind = isolation(run.walls, settings, scratch, own, ports=ports)
    return stack.enter_context(behind), server


@contextlib.asynccontextmanager
async def _run_context(run: _Run) -> AsyncIterator[RunContext]:
    plan, settings = run.plan, run.settings
    async with contextlib.AsyncExitStack() as stack:
        scratch = stack.enter_context(scratch_folder(run.walls))
        kept = stack.enter_context(
            kept_layers(plan, run.repository, settings, run.walls, scratch, _warning(run.listen))
        )
        local_http = await stack.enter_async_context(LoopbackClient())
        gateway = await stack.enter_async_context(await _gateway(run))
        starter, door = await _behind_walls(run, gateway, scratch, stack)
        exports = ClosureExports(run.repository, plan, scratch)
        environ = candidate_environment(settings.environ, plan.policy.candidate_env)
        context = RuntimeContext(
            run=run.folder.run,
            calls=gateway,
            door=door,
            exports=exports,
            environ=environ,
            clock=SystemClock(),
            local_http=local_http,
            scratch=scratch,
            starter=starter,
            on_event=run.listen,
            kept=kept,
        )
        candidates = await stack.enter_async_context(Candidates(context))
        layers = CheckLayers(context, exports, candidate_environment(environ))
        checks = Checks(
            run.folder.run, plan, exports, environ, context.clock, scratch, starter, layers
        )
        judge = Judge(gateway)
        yield RunContext(
            candidates=candidates,
            judge=judge,
            agreements=Agreements(plan, judge, keep=_keeping(run)),
            embed=partial(embed, gateway, side=Side.HEAD),
            checks=await stack.enter_async_context(checks),
            playgrounds=await stack.enter_async_context(Playgrounds(context, plan, exports)),
            log=run.log,
            tell=run.listen,
            redact=_redacting(run),
            at_once=run.at_once,
        )
