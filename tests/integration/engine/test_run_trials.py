"""Trials side by side: bounded, interleaved, stored at once, in an order that does not matter."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest

from gateval.adapters.machine import SystemClock
from gateval.adapters.store import StoreReader, TrialStore
from gateval.candidates.base import RuntimeContext
from gateval.candidates.program import Groups
from gateval.candidates.team import Candidates
from gateval.domain.decision.decision import make_report
from gateval.domain.manifests.agent import LayerSpec
from gateval.domain.manifests.evaluation import ExecutionSpec
from gateval.domain.plan.absent import Surroundings
from gateval.domain.plan.plan import AgentDefinition, LayerInputs, Plan
from gateval.domain.results.results import RunInfo, results_of
from gateval.domain.trials.model_call import ModelReply, ModelRequest
from gateval.domain.trials.trial import Cause, Outcome, Side, Trial
from gateval.engine.run import TRIES, RunContext, run_trials
from gateval.events import Event, TrialFinished, TrialsAdded, TrialStarted
from gateval.gateway.loopback_client import LoopbackClient
from gateval.gateway.places import HELD, aside
from gateval.judging.judge import Judge
from gateval.ports.model_calls import ModelCallError, ModelCallFault, ModelCalls
from gateval.ports.storage import TrialLog
from tests.helpers.first_trials import first_trials
from tests.helpers.shop import AGENT, EVAL, FIXTURES, PROMPT, build_shop, plan_of


class SlowModel:
    """Answers every call after a moment and remembers how many it had at once."""

    def __init__(self, answer: Callable[[ModelRequest, Side], ModelReply]) -> None:
        self._answer = answer
        self.now = 0
        self.most = 0

    async def call(self, model: str, request: ModelRequest, *, side: Side) -> ModelReply:
        """Fulfil `ModelCalls.call`."""
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(0.01)
            return self._answer(request, side)
        finally:
            self.now -= 1


class NoExports:
    """A declarative Agent needs no files."""

    async def folder(self, agent: AgentDefinition, links: Mapping[str, Path]) -> Path:
        """Fulfil `Exports.folder`."""
        raise AssertionError(f"asked for the files of {agent.name}")

    def inputs(self, agent: AgentDefinition, spec: LayerSpec) -> LayerInputs:
        """Fulfil `Exports.inputs`."""
        raise AssertionError(f"asked for the files of {agent.name}")

    async def write_inputs(self, agent: AgentDefinition, inputs: LayerInputs, folder: Path) -> None:
        """Fulfil `Exports.write_inputs`."""
        raise AssertionError(f"asked for the files of {agent.name}")

    async def contents(self, oids: Iterable[str]) -> Mapping[str, bytes]:
        """Fulfil `Exports.contents`."""
        raise AssertionError(f"asked for {[*oids]}")

    def around(self, agent: AgentDefinition) -> Surroundings:
        """Fulfil `Exports.around`."""
        raise AssertionError(f"asked for the files of {agent.name}")


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """Two fixtures, six repetitions, both sides: 24 trials, three at once."""
    shop = build_shop(tmp_path / "shop")
    shop.write("evals/support-eval.yaml", EVAL + "  execution: {parallel: 3, repsPerFixture: 6}\n")
    shop.write("agents/prompts/support.md", PROMPT + "Changed.\n")
    shop.write("agents/support.yaml", AGENT)
    shop.commit()
    return plan_of(shop)


def run(
    plan: Plan,
    model: ModelCalls,
    log: TrialLog,
    scratch: Path,
    *,
    at_once: int | None = None,
    gave_up: Callable[[str], str] = lambda _: "",
) -> tuple[tuple[Trial, ...], list[Event]]:
    """Run a plan and return its trials and what was told on the way."""
    events: list[Event] = []
    runtime = RuntimeContext(
        run="test",
        calls=model,
        door=None,
        exports=NoExports(),
        environ={},
        clock=SystemClock(),
        local_http=LoopbackClient(),
        scratch=scratch,
        starter=Groups(),
        on_event=events.append,
    )

    async def go() -> tuple[Trial, ...]:
        async with Candidates(runtime) as candidates:
            context = RunContext(
                candidates, Judge(model), log, events.append, at_once=at_once, gave_up=gave_up
            )
            return await run_trials(plan, context)

    return asyncio.run(go()), events


def greet(_request: ModelRequest, _side: Side) -> ModelReply:
    return ModelReply(text="Hello")


def test_no_more_than_parallel_trials_at_once(plan: Plan, tmp_path: Path) -> None:
    model = SlowModel(greet)
    with TrialStore(tmp_path / "log") as log:
        trials, _ = run(plan, model, log, tmp_path)
    assert len(trials) == len(first_trials(plan)) == 24
    assert model.most == 3


def test_no_more_trials_at_once_than_the_whole_run_may_have(plan: Plan, tmp_path: Path) -> None:
    model = SlowModel(greet)
    with TrialStore(tmp_path / "log") as log:
        trials, _ = run(plan, model, log, tmp_path, at_once=2)
    assert len(trials) == 24
    assert model.most == 2


def test_what_needs_a_model_that_was_given_up_is_not_tried(plan: Plan, tmp_path: Path) -> None:
    told = "scripted answered no call of it for 180 s."

    def gave_up(name: str) -> str:
        return told if name.startswith("scripted/") and asked >= 5 else ""

    asked = 0

    def answer(request: ModelRequest, side: Side) -> ModelReply:
        nonlocal asked
        asked += 1
        return greet(request, side)

    model = SlowModel(answer)
    with TrialStore(tmp_path / "log") as log:
        trials, _ = run(plan, model, log, tmp_path, gave_up=gave_up)
    untried = [one for one in trials if one.outcome is Outcome.ERROR]
    assert len(trials) == 24, "each is reported"
    assert {(one.cause, one.reason) for one in untried} == {(Cause.PROVIDER, f"Not tried: {told}")}
    assert asked == 24 - len(untried) <= 7, "three were under way"


class BusyModel:
    """Has the first call wait, as one that is to be made again, until three others were made."""

    def __init__(self) -> None:
        self._calls = 0
        self._enough = asyncio.Event()

    async def call(self, model: str, request: ModelRequest, *, side: Side) -> ModelReply:
        """Fulfil `ModelCalls.call` as the gateway does."""
        holder = HELD.get()
        assert holder is not None
        await holder.begin()
        try:
            self._calls += 1
            if self._calls == 1:
                await aside(asyncio.wait_for(self._enough.wait(), 60))
            elif self._calls == 4:
                self._enough.set()
            return ModelReply(text="Hello")
        finally:
            holder.end()


def test_a_trial_whose_call_waits_gives_its_only_place_away(plan: Plan, tmp_path: Path) -> None:
    with TrialStore(tmp_path / "log") as log:
        trials, _ = run(plan, BusyModel(), log, tmp_path, at_once=1)
    assert len({one.key for one in trials}) == 24
    assert Outcome.ERROR not in {one.outcome for one in trials}


def test_base_and_head_are_started_side_by_side(plan: Plan, tmp_path: Path) -> None:
    with TrialStore(tmp_path / "log") as log:
        _, events = run(plan, SlowModel(greet), log, tmp_path)
    started = [event.key for event in events if isinstance(event, TrialStarted)]
    assert started == list(first_trials(plan))
    assert [key.side for key in started[:4]] == [Side.BASE, Side.HEAD, Side.BASE, Side.HEAD]


def test_each_trial_is_on_disk_before_anyone_hears_of_it(plan: Plan, tmp_path: Path) -> None:
    path = tmp_path / "log"
    stored: list[bool] = []

    class Listening(TrialStore):
        def append(self, trial: Trial) -> Trial:
            kept = super().append(trial)
            stored.append([*StoreReader(path).trials()][-1] == trial == kept)
            return kept

    with Listening(path) as log:
        trials, events = run(plan, SlowModel(greet), log, tmp_path)
    assert stored == [True] * 24
    assert len([event for event in events if isinstance(event, TrialFinished)]) == 24
    assert {trial.key for trial in StoreReader(path).trials()} == {trial.key for trial in trials}


def test_the_report_does_not_depend_on_the_order(plan: Plan, tmp_path: Path) -> None:
    with TrialStore(tmp_path / "log") as log:
        trials, _ = run(plan, SlowModel(greet), log, tmp_path)
    forwards = make_report(results_of(plan, trials, RunInfo()))
    backwards = make_report(results_of(plan, tuple(reversed(trials)), RunInfo()))
    assert forwards == backwards


def test_an_outage_is_an_error_of_the_provider_on_its_trials_alone(
    plan: Plan, tmp_path: Path
) -> None:
    def fail_on_head(request: ModelRequest, side: Side) -> ModelReply:
        if side is Side.HEAD:
            raise ModelCallError(ModelCallFault.OUTAGE, "openai is down")
        return greet(request, side)

    with TrialStore(tmp_path / "log") as log:
        trials, _ = run(plan, SlowModel(fail_on_head), log, tmp_path)
    for trial in trials:
        expected = Outcome.ERROR if trial.key.side is Side.HEAD else {Outcome.PASS, Outcome.FAIL}
        assert trial.outcome in expected
        if trial.outcome is Outcome.ERROR:
            assert (trial.cause, trial.reason) == (Cause.PROVIDER, "openai is down")
    decision = make_report(results_of(plan, trials, RunInfo())).decision
    assert (decision.verdict, decision.exit_code) == ("inconclusive", 3)


@pytest.mark.parametrize(("failures", "measured"), [(0, True), (3, True), (4, False)])
def test_a_lost_trial_is_made_again_three_times(
    plan: Plan, tmp_path: Path, failures: int, measured: bool
) -> None:
    """Each trial calls the model once; a try more is one more call."""
    asked: Counter[tuple[str, Side]] = Counter()
    one = one_at_a_time(plan)

    def fail_at_first(request: ModelRequest, side: Side) -> ModelReply:
        said = (request.messages[-1].text, side)
        asked[said] += 1
        if asked[said] <= failures:
            raise ModelCallError(ModelCallFault.OUTAGE, "openai is down")
        return greet(request, side)

    with TrialStore(tmp_path / "log") as log:
        trials, _ = run(one, SlowModel(fail_at_first), log, tmp_path)
    assert len(trials) == 4
    assert [trial.passed is not None for trial in trials] == [measured] * 4
    assert set(asked.values()) == {min(failures, TRIES - 1) + 1}
    assert len([*StoreReader(tmp_path / "log").trials()]) == 4


def test_what_the_candidate_itself_breaks_is_made_once(plan: Plan, tmp_path: Path) -> None:
    asked: list[Side] = []

    def refuse(_request: ModelRequest, side: Side) -> ModelReply:
        asked.append(side)
        raise ModelCallError(ModelCallFault.REJECTED, "openai refused the request")

    with TrialStore(tmp_path / "log") as log:
        trials, _ = run(one_at_a_time(plan), SlowModel(refuse), log, tmp_path)
    assert {(trial.passed, trial.answered) for trial in trials} == {(False, False)}
    assert len(asked) == len(trials)


def test_a_trial_that_would_be_lost_again_is_made_once(plan: Plan, tmp_path: Path) -> None:
    asked: list[Side] = []

    def cannot_pay(_request: ModelRequest, side: Side) -> ModelReply:
        asked.append(side)
        raise ModelCallError(ModelCallFault.DENIED, "openai has no quota left", status=429)

    with TrialStore(tmp_path / "log") as log:
        trials, _ = run(one_at_a_time(plan), SlowModel(cannot_pay), log, tmp_path)
    assert {(trial.passed, trial.cause) for trial in trials} == {(None, Cause.PROVIDER)}
    assert len(asked) == len(trials)


@pytest.mark.parametrize(
    ("fault", "tries"), [(ModelCallFault.DENIED, 1), (ModelCallFault.OUTAGE, TRIES)]
)
def test_no_agent_is_asked_again_for_a_judge_that_cannot_be_asked(
    tmp_path: Path, fault: ModelCallFault, tries: int
) -> None:
    shop = build_shop(tmp_path / "shop")
    shop.write("agents/prompts/support.md", PROMPT + "Changed.\n")
    shop.write("evals/support-eval.yaml", EVAL + "  judge: {model: openai/judge}\n")
    greets = FIXTURES + "    - {type: judge, rubric: It is friendly.}\n"
    shop.write("evals/fixtures.yaml", greets)
    shop.commit()
    asked: list[Side] = []
    heard: list[Side] = []

    class Models:
        async def call(self, model: str, request: ModelRequest, *, side: Side) -> ModelReply:
            """Fulfil `ModelCalls.call`."""
            if model == "openai/judge":
                heard.append(side)
                raise ModelCallError(fault, "the judge cannot be asked")
            asked.append(side)
            return greet(request, side)

    with TrialStore(tmp_path / "log") as log:
        trials, _ = run(one_at_a_time(plan_of(shop)), Models(), log, tmp_path)
    lost = [trial for trial in trials if trial.passed is None]
    assert {trial.cause for trial in lost} == {Cause.JUDGE}
    assert len(asked) == len(trials)
    assert len(heard) == tries * len(lost)


@pytest.mark.parametrize(("exact", "expected"), [(True, [2]), (False, [4, 6])])
def test_trials_are_added_where_something_looks_worse(
    plan: Plan, tmp_path: Path, exact: bool, expected: list[int]
) -> None:
    def worse(_request: ModelRequest, side: Side) -> ModelReply:
        return ModelReply(text="Hello" if side is Side.BASE else "No.")

    small = one_at_a_time(plan)
    evals = tuple(one.model_copy(update={"deterministic": exact}) for one in small.evals)
    small = small.model_copy(update={"evals": evals})
    with TrialStore(tmp_path / "log") as log:
        trials, events = run(small, SlowModel(worse), log, tmp_path)
    assert [len(event.keys) for event in events if isinstance(event, TrialsAdded)] == expected
    assert len(trials) == 4 + sum(expected)
    (reason,) = make_report(results_of(small, trials, RunInfo())).decision.reasons[:1]
    assert (reason.code, reason.fixture) == ("regression", "greets")


def one_at_a_time(plan: Plan) -> Plan:
    """One repetition of each fixture."""
    evals = tuple(
        one.model_copy(update={"execution": ExecutionSpec(parallel=1)}) for one in plan.evals
    )
    return plan.model_copy(update={"evals": evals})


def test_a_log_that_cannot_be_written_ends_the_run(plan: Plan, tmp_path: Path) -> None:
    class FullDisk:
        def append(self, trial: Trial) -> Trial:
            """Fulfil `TrialLog.append`."""
            raise OSError(28, f"No space left on device for {trial.key}")

    with pytest.raises(ExceptionGroup) as caught:
        run(plan, SlowModel(greet), FullDisk(), tmp_path)
    assert "No space left" in str(caught.value.exceptions[0])
