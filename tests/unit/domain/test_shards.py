"""A run divided among shards: the same trials, each once, whoever is lost, cut short or tried
again; and what was altered on the way is refused."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateval.domain.plan.plan import Plan
from gateval.domain.results.progress import next_trials
from gateval.domain.results.results import Results, ResultsPart, RunInfo, digest_of, results_of
from gateval.domain.results.rounds import join, one_part, spent_in_all, tried_before
from gateval.domain.results.shards import (
    Border,
    Shard,
    divide,
    seconds_of,
    shard_name,
    shards_for,
)
from gateval.domain.trials.trial import Outcome, Trial, TrialKey
from gateval.errors import StageFileError
from tests.helpers.reports import edit_plan, make_results, make_trial
from tests.helpers.tiers import examples

ROWS = "\n".join(f"a-eval f{n} base:pass head:pass" for n in range(9))


def plan_of(
    rows: str = ROWS, *, parallel: int = 8, sealed: Collection[str] = (), **options: Any
) -> Plan:
    """A plan of these rows, whose Evals let so many trials run side by side."""
    results = make_results(rows, **{"threshold": None, "deterministic": False, **options})
    evals = tuple(
        one.replace(execution=one.execution.replace(parallel=parallel), sealed=one.name in sealed)
        for one in results.plan.evals
    )
    return edit_plan(results, evals=evals).plan


def keys_of(plan: Plan) -> tuple[TrialKey, ...]:
    return next_trials(plan, ())


def same(_key: TrialKey) -> float:
    return 60.0


class Machines:
    """Jobs of one run: what they leave is in `parts`. A trial ends by its key and the try alone."""

    def __init__(self, plan: Plan, seed: int, shards: int) -> None:
        self.plan, self.seed, self.shards = plan, seed, shards
        self.parts: list[ResultsPart] = []

    def trial(self, key: TrialKey, attempt: int = 1) -> Trial:
        words = ("pass", "pass", "pass", "fail", "fail", "provider", "candidate")
        return make_trial(key, Random(f"{key} {self.seed} {attempt}").choice(words))

    def left(self, **more: Any) -> None:
        part = ResultsPart(plan=digest_of(self.plan), **more)
        self.parts.append(part)

    def border(self, attempt: int = 1) -> int:
        """Join what is there, and say how many shards are next."""
        joined = join(self.plan, self.parts)
        many = 0 if joined.unfinished else joined.shards_next(self.plan, self.shards)
        self.left(border=Border(round=joined.round, shards=many, attempt=attempt))
        return many

    def measure(self, at: int, number: int, of: int, attempt: int = 1, most: int = 10**6) -> None:
        """Have one shard measure its share, or the first `most` trials of it."""
        before = join(self.plan, self.parts, before=at)
        share = before.shares(self.plan, of)[number - 1]
        shard = Shard(round=at, number=number, of=of, attempt=attempt, asked=share.asked(self.plan))
        known = {one.key: one for one in tried_before(self.plan, self.parts, shard, share)}
        made = [known.get(key) or self.trial(key, attempt) for key in share.keys[:most]]
        self.left(shard=shard, trials=tuple(made))

    def run(self, lose: Callable[[int, int], str] = lambda *_: "") -> Results:
        """Walk all rounds. Of a shard that is `lost` or `cut` at first, the job is run again."""
        at = 1
        while of := self.border():
            for number in range(1, of + 1):
                if lose(at, number) != "lost":
                    self.measure(at, number, of, most=1 if lose(at, number) == "cut" else 10**6)
            for number in range(1, of + 1):
                if lose(at, number):
                    self.measure(at, number, of, attempt=2)
            at += 1
        joined = join(self.plan, self.parts)
        assert (joined.left, joined.unfinished) == ((), "")
        return results_of(self.plan, joined.trials, RunInfo())


def alone(plan: Plan, seed: int) -> Results:
    """The results of one machine."""
    machine, finished = Machines(plan, seed, 1), list[Trial]()
    while keys := next_trials(plan, finished):
        finished += [machine.trial(key) for key in keys]
    return results_of(plan, finished, RunInfo())


@pytest.mark.parametrize("shards", [1, 2, 7])
@settings(max_examples=examples(30), deadline=None)
@given(seed=st.integers(0, 2**20))
def test_any_number_of_shards_gives_the_same_results(shards: int, seed: int) -> None:
    plan = plan_of(threshold=Random(seed).choice((None, 0.8)))
    assert Machines(plan, seed, shards).run() == alone(plan, seed)


@settings(max_examples=examples(30), deadline=None)
@given(seed=st.integers(0, 2**20))
def test_lost_and_cut_shards_that_are_tried_again_count_each_trial_once(seed: int) -> None:
    luck, told = Random(seed), dict[tuple[int, int], str]()
    machines = Machines(plan_of(), seed, 3)

    def lose(at: int, number: int) -> str:
        return told.setdefault((at, number), luck.choice(("", "", "lost", "cut")))

    results = machines.run(lose)
    first = dict[TrialKey, Trial]()
    for part in machines.parts:
        for trial in part.trials:
            first.setdefault(trial.key, trial)
            if first[trial.key].passed is None and trial.passed is not None:
                first[trial.key] = trial
    assert {one.key: one for one in results.trials} == first


def test_what_a_shard_measured_is_not_drawn_again() -> None:
    machines = Machines(plan_of(), 4, 1)
    machines.border()
    machines.measure(1, 1, 1)
    before = join(machines.plan, machines.parts).trials
    assert any(one.passed is False for one in before)
    machines.measure(1, 1, 1, attempt=2)
    (first, *_) = machines.parts[1:]
    shard = first.shard and first.shard.replace(attempt=3)
    greens = tuple(make_trial(one.key, "pass") for one in first.trials)
    machines.parts.append(first.replace(shard=shard, trials=greens))
    after = {one.key: one for one in join(machines.plan, machines.parts).trials}
    assert [after[one.key] for one in before if one.passed is not None] == [
        one for one in before if one.passed is not None
    ]


def test_a_lost_and_a_cut_shard_are_named_and_nobody_goes_on() -> None:
    machines = Machines(plan_of(), 1, 3)
    assert machines.border() == 3
    machines.measure(1, 1, 3)
    machines.measure(1, 3, 3, most=1)
    joined = join(machines.plan, machines.parts)
    assert joined.unfinished == (
        "Nothing came back from shard 2 of 3 in round 1; run that job again. "
        "Shard 3 of 3 in round 1 was cut short; run that job again."
    )
    assert machines.border() == 0
    whole = one_part(machines.plan, machines.parts)
    assert whole.ended == joined.unfinished
    machines.parts.pop()
    machines.measure(1, 2, 3, attempt=2)
    machines.measure(1, 3, 3, attempt=2)
    assert join(machines.plan, machines.parts).unfinished == ""


def test_all_shards_of_a_round_may_be_lost() -> None:
    machines = Machines(plan_of(), 1, 2)
    machines.border()
    assert "shard 1, 2 of 2 in round 1" in join(machines.plan, machines.parts).unfinished
    assert one_part(machines.plan, machines.parts).trials == ()


def test_a_round_of_which_nothing_is_known_is_named() -> None:
    plan = plan_of()
    with pytest.raises(ValueError, match="empty"):
        join(plan, []).shares(plan, 0)
    assert join(plan, [], before=2).unfinished == (
        "Nothing came back from round 1; run its jobs again."
    )


def test_what_the_budget_kept_a_shard_from_is_left_for_the_next_round() -> None:
    machines = Machines(plan_of(), 1, 2)
    machines.border()
    machines.measure(1, 1, 2)
    machines.measure(1, 2, 2, most=1)
    machines.parts[-1] = machines.parts[-1].replace(over_budget="Its money is spent.")
    joined = join(machines.plan, machines.parts)
    assert joined.unfinished == ""
    share = join(machines.plan, machines.parts, before=1).shares(machines.plan, 2)[1]
    assert joined.left == share.keys[1:]


def test_the_job_that_ended_the_run_says_it_all() -> None:
    machines = Machines(plan_of(), 3, 2)
    machines.run()
    trials = alone(machines.plan, 3).trials
    machines.left(border=Border(round=9, attempt=1, whole=True), trials=trials)
    assert one_part(machines.plan, machines.parts).trials == trials
    machines.left(border=Border(round=9, attempt=2, whole=True), trials=trials[:1])
    assert one_part(machines.plan, machines.parts).trials == trials[:1]


def _twice(parts: list[ResultsPart]) -> list[ResultsPart]:
    return [*parts, parts[-1]]


def _of_others(parts: list[ResultsPart]) -> list[ResultsPart]:
    *before, one, other = parts
    return [*before, one.replace(trials=other.trials), other]


def _asked_otherwise(parts: list[ResultsPart]) -> list[ResultsPart]:
    *before, last = parts
    shard = last.shard and last.shard.replace(asked="0" * 64)
    return [*before, last.replace(shard=shard)]


def _another_head(parts: list[ResultsPart]) -> list[ResultsPart]:
    *before, last = parts
    head = last.plan.head.replace(commit="5" * 40, tree="5" * 40)
    return [*before, last.replace(plan=last.plan.replace(head=head))]


def _another_eval(parts: list[ResultsPart]) -> list[ResultsPart]:
    *before, last = parts
    return [*before, last.replace(plan=last.plan.replace(evals=("0" * 64,)))]


def _other_code(parts: list[ResultsPart]) -> list[ResultsPart]:
    *before, last = parts
    return [*before, last.replace(plan=last.plan.replace(engine="0" * 64))]


def _green(parts: list[ResultsPart]) -> list[ResultsPart]:
    """What a shard measured, all passed: its assertions still say what failed."""
    *before, last = parts
    forged = tuple(
        one.replace(outcome=Outcome.PASS, assessments=()) if n == 0 else one
        for n, one in enumerate(last.trials)
    )
    return [*before, last.replace(trials=forged)]


@pytest.mark.parametrize(
    ("alter", "sentence"),
    [
        (_twice, "Two of the results are shard 2-of-2 of round 1"),
        (_of_others, "shard 1-of-2 of round 1 hold other runs"),
        (_asked_otherwise, "shard 2-of-2 of round 1 hold other runs"),
        (_another_head, "another head"),
        (_another_eval, "an Eval that is not so"),
        (_other_code, "another version of Gateval"),
        (_green, "not those of this plan"),
    ],
)
def test_a_foreign_or_altered_part_is_refused(
    alter: Callable[[list[ResultsPart]], list[ResultsPart]], sentence: str
) -> None:
    machines = Machines(plan_of().replace(engine="1" * 64), 1, 2)
    machines.border()
    machines.measure(1, 1, 2)
    machines.measure(1, 2, 2)
    join(machines.plan, machines.parts)
    with pytest.raises(StageFileError, match=sentence):
        join(machines.plan, alter(machines.parts))


def test_what_was_left_of_another_plan_before_all_was_run_again_is_passed_over() -> None:
    machines = Machines(plan_of(), 1, 2)
    machines.border()
    machines.measure(1, 1, 2)
    machines.parts = [_another_head([one])[0] for one in machines.parts]
    machines.left(border=Border(round=0, shards=2, attempt=2))
    machines.measure(1, 1, 2, attempt=2)
    machines.measure(1, 2, 2, attempt=2)
    assert join(machines.plan, machines.parts).unfinished == ""


def shares_by_fixture(plan: Plan, shards: int, seconds: Any = same) -> list[list[str]]:
    """Which fixtures each shard has, each once."""
    found = divide(plan, keys_of(plan), shards, seconds)
    return [list(dict.fromkeys(f"{one.eval}/{one.fixture}" for one in s.keys)) for s in found]


def test_a_fixture_stays_together_and_the_longest_come_first() -> None:
    rows = "\n".join(f"a-eval f{n} base:pass,pass head:pass,pass" for n in range(4))
    takes = {"f0": 1.0, "f1": 2.0, "f2": 9.0, "f3": 5.0}
    found = shares_by_fixture(plan_of(rows), 2, lambda key: takes[key.fixture])
    assert found == [["a-eval/f2"], ["a-eval/f0", "a-eval/f1", "a-eval/f3"]]


def test_no_more_shards_take_part_than_trials_may_run_side_by_side() -> None:
    plan = plan_of(f"{ROWS}\nb-eval g base:pass head:pass", parallel=2)
    found = divide(plan, keys_of(plan), 5, same)
    assert [dict(one.parallel) for one in found] == [
        {"a-eval": 1}, {"a-eval": 1}, {"b-eval": 2}, {}, {},
    ]  # fmt: skip
    assert shards_for(plan, keys_of(plan), same, asked=5) == 3
    assert divide(plan, keys_of(plan), 3, same) == found[:3]


@pytest.mark.parametrize("sealed", [True, False])
def test_a_sealed_eval_and_one_whose_judge_is_not_measured_stay_in_one_shard(sealed: bool) -> None:
    plan = plan_of(sealed=["a-eval"] if sealed else [])
    found = divide(plan, keys_of(plan), 3, same, () if sealed else ["a-eval"])
    assert [len(one.keys) for one in found] == [18, 0, 0]
    if sealed:
        assert found[0].asked(plan) == found[1].asked(plan)  # nothing of it is told


@settings(max_examples=examples(60), deadline=None)
@given(
    shards=st.integers(1, 12),
    parallel=st.integers(1, 12),
    took=st.lists(st.floats(0, 1000), min_size=9, max_size=9),
)
def test_every_trial_is_in_one_share_and_limits_are_shared_out(
    shards: int, parallel: int, took: list[float]
) -> None:
    plan = plan_of(f"{ROWS}\nb-eval g base:pass head:pass", parallel=parallel)
    keys = keys_of(plan)
    found = divide(plan, keys, shards, lambda key: took[int(f"0{key.fixture[1:]}")])
    assert sorted(str(key) for one in found for key in one.keys) == sorted(map(str, keys))
    for name in ("a-eval", "b-eval"):
        given_out = [one.parallel[name] for one in found if name in one.parallel]
        assert sum(given_out) == parallel
        assert min(given_out) >= 1
    filled = [bool(one.keys) for one in found]
    assert filled == sorted(filled, reverse=True)


def long_ago(trials: Iterable[Trial], seconds: float) -> list[Trial]:
    return [one.replace(seconds=seconds) for one in trials]


@pytest.mark.parametrize(
    ("minutes", "asked", "shards"),
    [(0, None, 0), (9.9, None, 0), (10, None, 1), (25, None, 3), (10**6, None, 8), (0, 2, 2)],
)
def test_how_many_shards_a_round_has(minutes: float, asked: int | None, shards: int) -> None:
    plan = plan_of()
    each = minutes * 60 / len(keys_of(plan))
    assert shards_for(plan, keys_of(plan), lambda _: each, asked=asked) == shards
    assert shards_for(plan, (), lambda _: each, asked=asked) == 0


def test_how_long_a_trial_takes() -> None:
    plan = plan_of("a-eval f base:pass head:pass\na-eval g base:pass head:pass", parallel=4)
    f, *_, g = keys_of(plan)
    trials = long_ago([make_trial(f, "pass")], 8)
    assert [seconds_of(plan, trials, {})(key) for key in (f, g)] == [2, 2]
    assert [seconds_of(plan, trials, {"a-eval": 7})(key) for key in (f, g)] == [7, 7]
    assert seconds_of(plan, (), {})(f) == 0
    sealed = plan_of("a-eval f base:pass head:pass", sealed=["a-eval"])
    assert seconds_of(sealed, trials, {})(f) == 0


@pytest.mark.parametrize(
    ("text", "name"),
    [("1/1", (1, 1)), ("2-of-7", (2, 7)), ("256/256", (256, 256))]
    + [(wrong, None) for wrong in ("0/1", "2/1", "1/257", "1", "1/2/3", " 1/2", "1/2\n", "１/2")],
)
def test_names_of_shards(text: str, name: tuple[int, int] | None) -> None:
    assert shard_name(text) == name


class Paid(Machines):
    """Jobs whose calls took a dollar each; every trial passes but one that is `lost` at first."""

    lost: TrialKey | None = None

    def trial(self, key: TrialKey, attempt: int = 1) -> Trial:
        return make_trial(key, "provider" if (key, attempt) == (self.lost, 1) else "pass")

    def left(self, **more: Any) -> None:
        super().left(usd=1.0, **more)


def in_two_tries(plan: Plan, lost: TrialKey | None = None) -> Paid:
    """A run whose second shard was cut short, until what failed was run again."""
    paid = Paid(plan, 0, 3)
    paid.lost = lost
    assert paid.border() == 3
    for number in (1, 2, 3):
        paid.measure(1, number, 3, most=1 if number == 2 else 10**6)
    paid.border()
    paid.left(border=Border(round=1, whole=True))
    paid.measure(1, 2, 3, attempt=2)
    paid.border(attempt=2)
    return paid


def test_what_a_run_took_is_known_where_some_of_its_jobs_were_run_again() -> None:
    plan = plan_of()
    paid = in_two_tries(plan)
    joined = join(plan, paid.parts)
    assert spent_in_all(joined, paid.parts, 2) == len(paid.parts) == 8
    for at, part in enumerate(paid.parts):
        left = [*paid.parts[:at], *paid.parts[at + 1 :]]
        assert spent_in_all(join(plan, left), left, 2) is None, part
    unknown = [one.replace(usd=None) if one.shard else one for one in paid.parts]
    assert spent_in_all(joined, unknown, 2) is None


def test_what_a_shard_took_that_would_ask_again_is_not_known_before_its_last_try() -> None:
    plan = plan_of()
    first = join(plan, (), before=1).shares(plan, 3)[0]
    paid = in_two_tries(plan, lost=first.keys[0])
    assert spent_in_all(join(plan, paid.parts), paid.parts, 2) is None
    paid.measure(1, 1, 3, attempt=2)
    assert spent_in_all(join(plan, paid.parts), paid.parts, 2) == 9
