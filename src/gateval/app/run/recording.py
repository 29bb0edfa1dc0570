"""What a run records of its model calls, what it replays, and who makes which of them.

A replay shows again how a run went; it measures nothing. So nobody goes on from it, and nothing of
it is remembered for later runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from gateval.adapters.machine import show_here
from gateval.domain.manifests.gate_config import RecordingPolicy
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.plan.sealing import kept_apart
from gateval.domain.results.resume import addresses
from gateval.domain.trials.model_call import Caller
from gateval.domain.trials.trial import Side, TrialKey
from gateval.errors import UsageError
from gateval.gateway.door import Gateway, embed
from gateval.gateway.upstream.endpoints import PROVIDERS, Upstream
from gateval.ports.model_calls import NO_CALLERS, Callers
from gateval.settings import Settings

if TYPE_CHECKING:
    from gateval.gateway.upstream.recorded import Tape

FOLDER = "recording"
"""The folder of a run's recording, in that of its results."""


@dataclass(frozen=True)
class Taping:
    """Whether a run records its model calls, and which folder it replays; `offline` says that what
    is not there is an error, and never asked for.
    """

    record: bool = False
    replay: Path | None = None
    offline: bool = False

    @property
    def is_set(self) -> bool:
        """Whether there is anything to do."""
        return self.record or self.replay is not None

    def told(self, results: Path) -> str:
        """Say how the run in this folder can be seen again; empty where it was not recorded."""
        if not self.record:
            return ""
        if not (results / FOLDER).is_dir():
            return "There is no recording: no model of a provider was called."
        command = f"gateval run --replay {show_here(results)} --offline"
        return f"Its model calls are recorded; without keys, replay them with: {command}"

    @property
    def warning(self) -> str:
        """Say that the run measured nothing; empty where it did."""
        if self.replay is None:
            return ""
        rest = "" if self.offline else " What was not recorded was asked for."
        return f"Answers were replayed from {show_here(self.replay)}, so this proves nothing.{rest}"


NO_TAPING = Taping()


def refuse_unasked_recording(plan: Plan, settings: Settings, asked: Taping) -> None:
    """Raise `UsageError` where a recording would leave the machine and no policy says so."""
    if asked.record and settings.in_ci and plan.policy.recordings is not RecordingPolicy.UPLOAD:
        raise UsageError(
            "Results of a job are uploaded, and with --record what agents and models said is in "
            "them word by word.",
            hint="`policy: {recordings: upload}` in the target branch's gate config allows it.",
        )


def offline_settings(settings: Settings) -> Settings:
    """Return settings by which every provider has a key and an address: none is used."""
    upstreams = dict(settings.upstreams)
    for name, provider in PROVIDERS.items():
        known = upstreams.get(name) or Upstream(
            provider=name,
            wires=provider.wires,
            base_url=f"https://offline.invalid{provider.below}",
        )
        upstreams[name] = known if known.key else known.replace(key=SecretStr("offline"))
    return replace(settings, upstreams=upstreams)


def make_tape(asked: Taping, secrets: tuple[str, ...], results: Path, scratch: Path) -> Tape | None:
    """Return the tape of a run; None where nothing is recorded or replayed."""
    if not asked.is_set:
        return None
    from gateval.gateway.upstream.recorded import Tape

    return Tape(
        secrets,
        record=results / FOLDER if asked.record else None,
        replay=asked.replay,
        offline=asked.offline,
        folders=[str(scratch)],
    )


def callers(asked: Taping, plan: Plan, gateway: Gateway) -> Callable[[TrialKey], Callers]:
    """Return what names the callers of a trial. Those of sealed Evals have no name, so that nothing
    of them is recorded.
    """
    if not asked.is_set:
        return lambda _: NO_CALLERS
    address, apart = addresses(plan), kept_apart(plan)

    @lru_cache(maxsize=_UNDER_WAY)
    def of(key: TrialKey) -> Callers:
        if key.eval in apart:
            return NO_CALLERS
        answer, judgement = address(key)
        place = (key.eval, key.fixture, f"{key.side}-{key.repetition}")
        measuring = Caller(address=judgement, place=place, asks="embedding")
        return Callers(
            agent=Caller(address=answer, place=place, asks="agent"),
            judge=Caller(address=judgement, place=place, asks="judge"),
            embed=partial(embed, gateway, side=Side.HEAD, caller=measuring),
        )

    return of


_UNDER_WAY = 1_024
"""Trials whose callers are remembered: each is asked for twice, while the trial is under way."""


def calibration_callers(asked: Taping, plan: Plan) -> Callable[[PlannedEval, str], Caller | None]:
    """Return what names the caller that replays the calibration of an Eval, by its binding."""
    apart = kept_apart(plan)

    def of(planned: PlannedEval, binding: str) -> Caller | None:
        if not asked.is_set or planned.name in apart or planned.calibration is None:
            return None
        place = ("calibrations", f"{planned.calibration.name}-{binding[:12]}")
        return Caller(address=binding, place=place, asks="judge")

    return of
