"""The jobs that measure a run together, wherever they run: each reads the parts that earlier ones
left, and leaves its own. None of them decides.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from gateval.adapters.git.repository import GitRepository
from gateval.adapters.results_folder import ResultsFolder
from gateval.app.run.context import refuse_missing_keys, refuse_shown_values, refuse_unpriced
from gateval.app.run.recording import NO_TAPING, Taping
from gateval.app.run.shards import (
    NOT_KILLED,
    KilledTry,
    Piece,
    calibrating,
    first_border,
    last_piece,
    next_border,
    part_of_piece,
    refuse_lost_try,
    shard_piece,
    short_piece,
)
from gateval.app.run.views import PART_FILE
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.sealing import kept_apart
from gateval.domain.results.results import ResultsPart, RunInfo, results_of
from gateval.domain.results.rounds import Joined, join, spent_in_all
from gateval.domain.results.shards import Border, Shard, ShardName, busy_seconds
from gateval.domain.text import show_usd
from gateval.domain.trials.trial import Trial
from gateval.engine.stage import whole_run
from gateval.errors import EXIT_INTERRUPTED, EXIT_NOT_EVALUATED, EXIT_PASS
from gateval.settings import Settings

if TYPE_CHECKING:
    from gateval.app.run.sealing import MeasuredRun


class StageEnd(NamedTuple):
    """How a job ended: its exit status, 0 where all was measured that it had to measure, red or
    green, what it says, and where others are to follow, in how many `shards`; 0 for none.
    """

    code: int
    text: str
    shards: int | None = None

    @property
    def matrix(self) -> str:
        """The names of the shards that are to follow, as JSON."""
        many = self.shards or 0
        return json.dumps([f"{number}-of-{many}" for number in range(1, many + 1)])


@dataclass(frozen=True)
class Machine:
    """One job of a run: what it measures with, and the folder that it leaves its part in.

    `attempt` counts its tries. `asked` is how many shards a round may have: 0 as many as are worth
    it, None where no round may follow. At most `at_once` trials run side by side. A shard goes on
    from the try that was `killed` in its folder.
    """

    plan: Plan
    repository: GitRepository
    settings: Settings
    folder: ResultsFolder
    minutes: float
    attempt: int = 1
    asked: int | None = None
    at_once: int | None = None
    taping: Taping = NO_TAPING
    killed: KilledTry = NOT_KILLED

    def plan_shards(self, kept: Mapping[str, float], *, none: bool = False) -> StageEnd:
        """Say how many shards the first round has, by what `kept` runs took, and measure the judges
        for all of them; `none` says that nothing is measured now.
        """
        border = self._within(
            lambda asked: first_border(self.plan, kept, asked, self.attempt), self._most()
        )
        border = border.replace(shards=0) if none or self.plan.nothing else border
        piece = calibrating(self.plan)
        if not border.shards:  # the job that ends the run measures all of it
            piece = piece._replace(stage=None)
        self._leave(self._measured(piece), piece, border)
        return StageEnd(EXIT_PASS, f"{self._told(border)}\n", border.shards)

    def measure_shard(
        self,
        parts: list[ResultsPart],
        name: ShardName,
        in_round: int,
        before: Joined | None = None,
    ) -> StageEnd:
        """Measure what is not measured yet of one share of a round; `before` is what was measured
        before that round, where that was joined already.
        """
        before = before or join(self.plan, parts, before=in_round)
        tried = (self.attempt, self.at_once, self.killed)
        piece, shard = shard_piece(self.plan, parts, name, in_round, *tried, before)
        measured = self._measured(piece)
        self._leave(measured, piece, shard)
        made, kept = len(measured.results.trials), len(self._public(piece.resumed.kept.measured))
        told = f"Shard {shard.name} of round {shard.round}: {made:,} runs measured"
        told += f", {kept:,} of them at an earlier try.\n" if kept else ".\n"
        if measured.interrupted:
            return StageEnd(EXIT_INTERRUPTED, f"{told}gateval: interrupted.\n")
        if piece.asked_of(measured.whole.trials):
            cut = f"It was cut short. {measured.results.info.cut}\n"
            return StageEnd(EXIT_NOT_EVALUATED, told + cut)
        return StageEnd(EXIT_PASS, told)

    def measure_next(self, parts: list[ResultsPart]) -> StageEnd:
        """Join what was measured, measure what takes under ten minutes, and say what is next."""
        joined = join(self.plan, parts)
        borders = [one.border for one in parts if one.border and not one.border.whole]
        tried = [one.attempt for one in borders if one.round == joined.round]
        refuse_lost_try(self.plan, joined, self.attempt, tried)
        piece = short_piece(self.plan, joined, self.at_once)
        measured = self._measured(piece)
        after = joined
        if piece.stage is not None:
            trials = measured.whole.trials
            after = joined._replace(trials=trials, left=piece.asked_of(trials))
        border = self._within(
            lambda asked: next_border(self.plan, after, asked, self.attempt), self._most()
        )
        if self.asked is None or measured.interrupted or measured.results.info.ended:
            border = border.replace(shards=0)
        self._leave(measured, piece, border)
        made = sum(one.key not in piece.elsewhere for one in measured.results.trials)
        told = f"{joined.unfinished}\n" if joined.unfinished else ""
        told += f"{made:,} runs measured here.\n" if made else ""
        code = EXIT_INTERRUPTED if measured.interrupted else EXIT_PASS
        return StageEnd(code, f"{told}{self._told(border)}\n", border.shards)

    def measure_rest(self, parts: list[ResultsPart]) -> tuple[StageEnd, MeasuredRun]:
        """Join what was measured and measure all that is left. Return the whole run, too, for whom
        decides: it says what it lacks.
        """
        joined = join(self.plan, parts)
        tried = [one.border.attempt for one in parts if one.border and one.border.whole]
        refuse_lost_try(self.plan, joined, self.attempt, tried)
        piece = last_piece(self.plan, joined, self.at_once)
        measured = self._measured(piece)
        border = Border(round=joined.round, attempt=self.attempt, whole=True)
        before_usd = spent_in_all(joined, parts, self.attempt)
        self._leave(measured, piece, border, joined.unfinished, before_usd)
        usd = measured.whole.info.usd
        all_usd = None if before_usd is None or usd is None else before_usd + usd
        made, before = len(measured.results.trials), len(self._public(joined.trials))
        told = f"{made:,} runs measured, {made - before:,} of them here.\n"
        cut = joined.unfinished or measured.results.info.cut
        end = StageEnd(EXIT_NOT_EVALUATED if cut else EXIT_PASS, f"{told}{cut}\n")
        if measured.interrupted:
            end = StageEnd(EXIT_INTERRUPTED, f"{told}gateval: interrupted.\n")
        info = measured.whole.info.replace(
            seconds=busy_seconds(self.plan, measured.whole.trials),
            ended=" ".join(filter(None, (joined.unfinished, measured.whole.info.ended))),
            usd=all_usd,
        )
        offers = piece.with_offers(measured.whole.offers)
        return end, measured._replace(whole=measured.whole.replace(info=info, offers=offers))

    def _measured(self, piece: Piece) -> MeasuredRun:
        """Run the piece, if anything of it is left; its results are those of the whole plan."""
        from gateval.app.run.measure import measure
        from gateval.app.run.sealing import MeasuredRun, seal_results

        refuse_shown_values(self.plan, self.settings)
        if piece.stage is None:
            shown = self.settings.redactor(self.plan.policy.candidate_env).value(self.plan)
            info = RunInfo(run=self.folder.run, usd=0.0 if self.plan.allowance else None)
            known = piece.plan.agreements
            trials = (one for one in piece.resumed.kept.measured if one.key not in piece.elsewhere)
            whole = results_of(shown, trials, info, known)
            environ = self.settings.environ
            public = seal_results(whole, self.folder, environ, rates=False, tells=False)
            return MeasuredRun(public, whole, self.folder)
        refuse_missing_keys(piece.plan, self.settings)
        refuse_unpriced(piece.plan)
        return measure(
            self.plan,
            self.repository,
            self.settings,
            self.folder,
            part=piece.plan,
            tells=False,
            at_once=piece.at_once,
            minutes=self.minutes,
            resumed=piece.resumed,
            taping=self.taping,
            stage=piece.stage,
        )

    def _leave(
        self,
        measured: MeasuredRun,
        piece: Piece,
        place: Shard | Border,
        unfinished: str = "",
        all_usd: float | None = None,
    ) -> None:
        facts: dict[str, Any] = {"replayed": self.taping.replay is not None, "all_usd": all_usd}
        environ = self.settings.environ
        pieces = part_of_piece(measured, piece, environ, place, unfinished, **facts)
        self.folder.write(PART_FILE, pieces)

    def _most(self) -> int | None:
        """How many shards were asked for, but for those that could have no trial at once."""
        asked = self.asked or None
        return min(asked, self.at_once) if asked and self.at_once else asked

    def _within(self, made: Callable[[int | None], Border], asked: int | None) -> Border:
        """Return a border with no more shards than trials may run side by side."""
        border = made(asked)
        over = self.at_once and border.shards > self.at_once
        return made(self.at_once) if over else border

    def _told(self, border: Border) -> str:
        """Say in how many shards the next round is measured, and what they share."""
        if not border.shards:
            return f"No round of shards follows round {border.round}."
        limits, rates = whole_run(self.plan)[1:3]
        shared = [show_usd(limits.usd)] if limits.usd is not None else []
        for name, one in rates.items():
            shared += [f"{one.rpm:,} calls a minute of {name}"] if one.rpm else []
            shared += [f"{one.tpm:,} tokens a minute of {name}"] if one.tpm else []
        shared += [f"{self.at_once:,} trials side by side"] if self.at_once else []
        told = f"Round {border.round + 1} is measured in {border.shards:,} shards"
        return f"{told}, which share {', '.join(shared)}." if shared else f"{told}."

    def _public(self, trials: Iterable[Trial]) -> list[Trial]:
        """Return the trials that may be counted aloud: none of sealed Evals."""
        apart = kept_apart(self.plan)
        return [one for one in trials if one.key.eval not in apart]
