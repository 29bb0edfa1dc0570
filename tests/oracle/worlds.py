"""Worlds made of a seed: a plan, what its agents do in each trial, and how the run ends.

Only the standard library is used, so that both sides of the oracle are asked the very same. Plans
and answers are JSON in the form of stage files (`plan.v1`), which stay readable.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

from tests.oracle import acts

T = TypeVar("T")
Json = dict[str, Any]

MODELS = ("fixtures", "fixtures", "fixtures", "weighted", "weighted", "benchmark", "experiment")
SEVERITIES = ("low", "medium", "medium", "high", "critical")
LEVELS = (0.0, 0.25, 1 / 3, 0.5, 0.6, 2 / 3, 0.75, 0.8, 0.9, 0.95, 1.0, 1.0, 1.0)
WEIGHTS = (1.0, 1.0, 1.0, 0.0, 0.5, 2.0, 1 / 3, 0.1, 3.0, 0.001)
BASELINES = ("merge-base",) * 7 + ("new agent", "agent unchanged", "not compared")
THRESHOLDS = (None, None, None, 0.0, 0.5, 2 / 3, 0.75, 0.8, 0.9, 0.95, 1.0, 1.0)
JUDGES = ("scripted/judge", "openai/judge")


class Dice(Random):
    """A generator with the few words that worlds are made with."""

    def chance(self, share: float) -> bool:
        """Say yes in this share of cases."""
        return self.random() < share

    def maybe(self, share: float, value: T, other: T) -> T:
        """Return `value` in this share of cases, else `other`."""
        return value if self.chance(share) else other

    def some(self, values: Sequence[T], share: float) -> list[T]:
        """Return each value with this chance, in their order."""
        return [one for one in values if self.chance(share)]


@dataclass
class World:
    """A plan, and how its run goes. `answer` gives what a trial does, None if it never ran."""

    seed: int
    plan: Json
    habits: dict[tuple[str, str, str], Json]
    ending: Json
    calibrations: list[Json] = field(default_factory=list)
    earlier: list[Json] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)

    def answer(self, name: str, fixture: str, side: str, repetition: int, salt: int = 0) -> Any:
        """Return what comes of a trial, in the words of `acts.act`; equal keys, equal answers."""
        planned = next(one for one in self.plan["evals"] if one["name"] == name)
        asked = next(one for one in planned["fixtures"] if one["name"] == fixture)
        habit = self.habits[name, fixture, side]
        seed = f"{self.seed}/{salt}/{name}/{fixture}/{side}/{0 if habit['same'] else repetition}"
        key = {"eval": name, "fixture": fixture, "side": side, "repetition": repetition}
        return acts.act(Dice(seed), key, planned, asked, habit)

    def dropped(self, key: str) -> bool:
        """Whether a trial was lost on its way: it is in no file."""
        return bool(Random(f"{self.seed}/{key}").random() < self.ending["drop"])


_SEALED = False
"""What is published of sealed Evals is another form now, so worlds have none any more; the dice
are thrown all the same. `tests/unit/domain/test_sealing.py` holds the decision on them."""


def make_world(seed: int) -> World:
    """Return the world of a seed."""
    dice = Dice(f"oracle {seed}")
    evals = _evals(dice)
    plan = _plan(dice, evals)
    mixes = dice.choice((acts.CALM, acts.CALM, acts.MIXES, acts.MIXES, (*acts.CALM, *acts.MIXES)))
    habits = {
        (one["name"], fixture["name"], side): acts.habit(dice, one, mixes)
        for one in evals
        for fixture in one["fixtures"]
        for side in ("base", "head")
    }
    _in_common(dice, evals, habits)
    return World(
        seed=seed,
        plan=plan,
        habits=habits,
        ending=_ending(dice),
        calibrations=_calibrations(dice, evals),
        earlier=_earlier(dice, evals),
        labels=dice.maybe(0.08, [dice.choice(("force-eval-bypass", "accept-bar-change"))], []),
    )


def listed(world: World) -> str:
    """Return which difference from the old tree, listed in the change log, touches a world."""
    for one in world.plan["evals"]:
        if one["kind"] == "Experiment" and any(
            spec["required"] for fixture in one["fixtures"] for spec in fixture["assertions"]
        ):
            return "a scorer of which a required part failed scores 0"
    if any(one["hangs"] for one in world.habits.values()):
        return "an outage that lasts until the time is over is an error, no skip"
    return ""


def _in_common(dice: Dice, evals: Sequence[Json], habits: dict[tuple[str, str, str], Json]) -> None:
    """Let both sides of many fixtures, and now and then of all, do alike."""
    agree = dice.choice((0.0, 0.4, 0.7, 0.9))
    every = acts.habit(dice, evals[0], acts.MIXES) if evals and dice.chance(0.06) else None
    for (name, fixture, side), habit in habits.items():
        if every:
            habit.update({key: every[key] for key in ("mix", "said", "hangs")})
        elif side == "head" and dice.chance(agree):
            base = habits[name, fixture, "base"]
            habit.update({key: base[key] for key in ("mix", "said", "same", "level", "hangs")})


def _evals(dice: Dice) -> list[Json]:
    evals = [_eval(dice, number) for number in range(dice.choice((1, 1, 1, 2, 2, 3)))]
    if dice.chance(0.15):
        evals.append(_bar(dice, evals[0]))
    total = sum(len(one["compared"]) for one in evals)
    for one in evals:
        _share(dice, one, total)
    return evals


def _share(dice: Dice, planned: Json, total: int) -> None:
    """Give an Eval its parts of the budget for false alarms, as the planner might."""
    if not planned["compared"]:
        return
    weights = planned["scoring"]["model"] != "fixtures"
    crowded = len(planned["fixtures"]) > 200
    each = 0.03 / max(1, min(total, 6))
    planned["fixture_share"] = 0.0 if crowded else each
    planned["silence_share"] = 0.003 / total if crowded else 0.0
    if dice.chance(0.9):
        planned["broad_share"] = 0.02 * dice.choice((1.0, 0.5, 0.25))
        planned["family_share"] = planned["broad_share"] / 2
    if weights and dice.chance(0.85):
        planned["axis_share"] = 0.004 * dice.choice((1.0, 0.5))


def _eval(dice: Dice, number: int) -> Json:
    model = dice.choice(MODELS)
    many = 203 if dice.chance(0.003) else dice.choice((1, 1, 2, 2, 3, 4, 5, 6, 9))
    baseline = dice.choice(BASELINES)
    family = "cases" if many > 200 else ""
    judged = dice.chance(0.25)
    fixtures = [_fixture(dice, number, at, model, family, judged) for at in range(many)]
    names = [one["name"] for one in fixtures]
    added = [] if many > 200 else dice.some(names, dice.choice((0, 0, 0, 0.3)))
    compared = [one for one in names if one not in added] if baseline == "merge-base" else []
    reps = 1 if many > 200 else dice.choice((1, 1, 1, 2, 2, 3, 4))
    planned: Json = {
        "kind": {"benchmark": "Benchmark", "experiment": "Experiment"}.get(model, "Eval"),
        "name": f"eval-{number}",
        "version": dice.maybe(0.5, "2", "") if model == "benchmark" else "",
        "place": _place(f"evals/eval-{number}.yaml", 2),
        "agent": dice.choice(("support", "support", "desk")),
        "judge": _judge(dice, judged=judged),
        "scoring": _scoring(dice, model),
        "execution": {
            "parallel": 4,
            "timeout_seconds": 30.0,
            "reps_per_fixture": reps,
            "deterministic": dice.chance(0.05),
        },
        "baseline": baseline,
        "why": [{"where": "agents/support.yaml:4", "what": "spec.system"}],
        "fixtures": fixtures,
        "compared": compared,
        "added": added,
        "deterministic": dice.chance(0.25),
        "strict": dice.chance(0.1),
        "needs_model": dice.chance(0.9),
        "base_seen": dice.chance(0.1),
        "sealed": dice.chance(0.12) and _SEALED,
        "repetitions_asked": reps + 1 if dice.chance(0.03) else 0,
    }
    _known_before(dice, planned)
    return planned


def _known_before(dice: Dice, planned: Json) -> None:
    """Add what earlier runs found, what is in quarantine, and what is left out."""
    names, compared = [one["name"] for one in planned["fixtures"]], planned["compared"]
    if dice.chance(0.15):
        planned["standing"] = [_standing(dice, one) for one in dice.some(compared, 0.4)]
    if dice.chance(0.12):
        planned["quarantined"] = [
            {"fixture": one, "owner": "ada", "until": "2027-01-31"}
            for one in dice.some(names, dice.choice((0.3, 1.0)))
        ]
    if dice.chance(0.08):
        planned["left_out"] = [
            {"name": f"gone-{at}", "severity": dice.choice(SEVERITIES)} for at in range(2)
        ]
    plain = planned["scoring"]["model"] == "fixtures"
    if plain and compared and not planned["deterministic"] and dice.chance(0.3):
        planned["stored"] = [
            {"fixture": one, "marks": _marks(dice), "claimed": dice.chance(0.1)}
            for one in dice.some(compared, 0.8)
        ]
    if planned["kind"] == "Experiment" and dice.chance(0.5):
        planned["feedback"] = [_feedback(dice, names) for _ in range(dice.randint(1, 4))]
    calibrated = planned["judge"].get("calibration")
    if calibrated and dice.chance(0.85):
        planned["calibration"] = _calibration(calibrated)


def _marks(dice: Dice) -> str:
    rate = dice.choice((0.0, 0.5, 0.8, 0.95, 1.0))
    kinds = ["p" if dice.chance(rate) else dice.choice("ffs") for _ in range(dice.randint(1, 10))]
    return "".join(kinds)


def _standing(dice: Dice, fixture: str) -> Json:
    many = dice.randint(1, 6)
    counts = {"base_passes": many, "base_trials": many, "head_passes": 0, "head_trials": many}
    return {"fixture": fixture, **counts, "found_at": dice.maybe(0.8, "2026-11-20T10:00:00Z", "")}


def _feedback(dice: Dice, names: Sequence[str]) -> Json:
    about = hashlib.sha256(dice.choice(acts.OUTPUTS).encode()).hexdigest()
    return {
        "fixture": dice.choice([*names, "elsewhere"]),
        "score": dice.choice(LEVELS),
        "answer": dice.maybe(0.5, about, ""),
        "who": "ada",
    }


def _judge(dice: Dice, *, judged: bool) -> Json:
    judge: Json = {"model": dice.choice(JUDGES) if judged or dice.chance(0.2) else None}
    if judged and dice.chance(0.5):
        judge["calibration"] = dice.maybe(0.9, "politeness", None)
        judge["min_agreement"] = dice.choice((None, 0.4, 0.8))
    return judge


def _scoring(dice: Dice, model: str) -> Json:
    usual = 0.9 if model == "benchmark" else 0.8
    scoring: Json = {
        "model": model,
        "pass_score": dice.choice((usual, usual, 0.5, 2 / 3, 0.75, 1.0, 0.0)),
        "pass_threshold": dice.choice(THRESHOLDS),
    }
    if dice.chance(0.15):
        scoring["severity_weights"] = {
            one: dice.choice((0.001, 1.0, 7.0, 1 / 3))
            for one in dice.some(("low", "medium", "high", "critical"), 0.5)
        }
    return scoring


def _fixture(dice: Dice, number: int, at: int, model: str, family: str, judged: bool) -> Json:
    place = _place(f"evals/fixtures-{number}.yaml", 8 + at)
    many = dice.choice((1, 1, 2, 2, 3, 4))
    asked = [_assertion(dice, index, model, place, judged) for index in range(many)]
    if model == "experiment" and number != 2:
        asked = [{**one, "required": False} for one in asked]
    if model in {"fixtures", "weighted"} and not any(one["weight"] for one in asked):
        asked[0]["weight"] = 1.0
    own = f"eval-{number}." if model == "benchmark" else ""
    name = f"{own}f{at}-{number}"
    return {
        "name": name,
        "severity": dice.choice(SEVERITIES),
        "description": f"What {name} is about.",
        "input": {"type": "prompt", "payload": {"prompt": "Hello"}},
        "assertions": asked,
        "place": place,
        "path": place["file"],
        "digest": hashlib.sha256(name.encode()).hexdigest(),
        "family": family or dice.maybe(0.2, dice.choice(("alpha", "beta")), ""),
    }


def _assertion(dice: Dice, index: int, model: str, place: Json, judged: bool) -> Json:
    by_judge = judged and dice.chance(0.5)
    scorers = model == "experiment"
    return {
        "type": "judge" if by_judge else dice.choice(("contains", "toolCalled", "equals")),
        "name": f"scorer-{index}" if scorers else dice.maybe(0.2, f"says {index}", ""),
        "weight": dice.choice(WEIGHTS) if dice.chance(0.6) else 1.0,
        "required": model != "fixtures" and dice.chance(0.1),
        "severity": dice.maybe(0.1, dice.choice(SEVERITIES), None),
        "axis": None if model == "fixtures" else dice.choice((None, None, "safety", "tone")),
        "needs_judge": by_judge,
        "place": place,
    }


def _bar(dice: Dice, own: Json) -> Json:
    """Return the target branch's version of an Eval, which a change has to meet beside its own."""
    bar = json.loads(json.dumps(own))
    names = [one["name"] for one in bar["fixtures"]]
    lowered = {"place": own["place"], "what": "spec.scoring.passThreshold", "before": "0.9"}
    reused = names if len(names) > 200 else dice.some(names, dice.choice((0.5, 1.0, 1.0)))
    bar["name"] = f"{own['name']}.base-tip"
    bar["bar"] = {"eval": own["name"], "lowered": [lowered], "reused": reused}
    bar["added"], bar["stored"] = [], []
    bar["scoring"]["pass_threshold"] = dice.choice((None, 0.5, 0.9, 1.0))
    if dice.chance(0.3):
        bar["execution"]["reps_per_fixture"] = dice.randint(1, 3)
    return {key: value for key, value in bar.items() if key != "feedback"}


def _plan(dice: Dice, evals: list[Json]) -> Json:
    if dice.chance(0.01):
        evals.clear()
    commit: Json = {"commit": "d4e5f6a" + "0" * 33}
    if dice.chance(0.05):
        commit = {"commit": None, "worktree": True}
    plan: Json = {
        "version": "plan.v1",
        "head": {"name": "HEAD", "tree": "2" * 40, **commit},
        "base": {"name": "main", "commit": "a1b2c3d" + "0" * 33, "tree": "1" * 40},
        "policy": _policy(dice, evals),
        "policy_source": "main:.github/gateval.yml",
        "policy_digest": "9" * 64,
        "changes": [{"agent": "support", "kind": "modified", "reasons": [{"where": "a.yaml:4"}]}],
        "agents": _agents(dice),
        "evals": evals,
        "scripts": [],
        "nothing": "" if evals else "No agent, Eval or fixture changed.",
    }
    stored = {one["name"]: one["stored"] for one in evals if one.get("stored")}
    if stored:
        text = json.dumps(stored, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        run = {"run": 7, "commit": "c" * 40, "at": "2026-11-20T10:00:00Z", "url": "https://ci/7"}
        plan["baseline"] = {"digest": hashlib.sha256(text.encode()).hexdigest(), "runs": [run]}
    odd = dice.choice((0.0, 0.0, 0.02, 0.06))
    plan.update({key: make(dice) for key, make in _ODDITIES.items() if dice.chance(odd)})
    return plan


def _place(file: str, line: int = 1) -> Json:
    return {"file": file, "line": line, "column": 1}


def _problem(dice: Dice) -> Json:
    where = dice.choice(("target branch", "merge-base", "head"))
    return {"where": where, "problem": {"place": _place("evals/x.yaml"), "message": "It is bad."}}


_LOWERED = {"place": _place("evals/x.yaml", 3), "what": "Eval x", "before": "1", "after": "0.5"}
_GONE = {"name": "gone", "eval": "eval-0", "place": _place("evals/x.yaml")}
_SUBMODULE = {"path": "lib", "commit": "e" * 40, "of": "support", "where": "head"}

_ODDITIES: dict[str, Callable[[Dice], Any]] = {
    "adds_config": lambda _: True,
    "adds_gate": lambda _: True,
    "only": lambda _: ["f0-0"],
    "left_out": lambda _: [{"name": "another-eval", "fixtures": 3}],
    "removed": lambda dice: [{"kind": dice.choice(("Eval", "fixture")), **_GONE}],
    "lost": lambda dice: [{**_LOWERED, "moved": dice.chance(0.5)}],
    "doubts": lambda dice: [_problem(dice)],
    "unclaimed": lambda _: ["lib/other.py"],
    "lacking": lambda dice: [{**_SUBMODULE, "commit": dice.choice(("e" * 40, ""))}],
    "rules_unread": lambda _: "the rules could not be read",
    "findings_lost": lambda _: "an earlier finding has no record",
    "budget_spent": lambda _: "an earlier run used up the budget",
    "fresh": lambda _: "measured anew (--fresh)",
    "locked": lambda _: ["evals/held.yaml.age"],
    "bar_accepted": lambda _: "ada (admin) with the label accept-bar-change",
    "new_providers": lambda _: ["openai"],
    "warnings": lambda _: ["Something is odd."],
    "disk": lambda _: 4096,
}


def _agents(dice: Dice) -> list[Json]:
    same, models = dice.chance(0.5), [["openai/gpt-x"], ["openai/gpt-x", "openai/other"], []]
    found = []
    for name in ("support", "desk"):
        answering = dice.choice(models)
        for side in ("base", "head"):
            if dice.chance(0.02):
                continue
            closure = hashlib.sha256(f"{name}{'' if same else side}".encode()).hexdigest()
            place = _place(f"agents/{name}.yaml")
            found.append(
                {
                    "name": name,
                    "side": side,
                    "place": place,
                    "models": answering,
                    "closure": closure,
                }
            )
    return found


def _policy(dice: Dice, evals: Sequence[Json]) -> Json:
    policy: Json = {
        "regressions": dice.choice(("block",) * 6 + ("warn", "off")),
        "threshold": dice.choice(("block", "block", "worse")),
        "threshold_floor": dice.choice((0.0, 0.0, 0.5, 0.9)),
        "dead_baseline": dice.choice(("warn", "block")),
        "inconclusive": dice.choice(("block", "warn")),
        "judge": {
            "agreement": dice.choice(("point", "lowerBound")),
            "uncalibrated": dice.choice(("inconclusive", "warn")),
        },
    }
    if dice.chance(0.25):
        for name in ("cost", "latency"):
            ratio = dice.choice((None, 1.0, 1.5, 10.0))
            policy[name] = {"max_ratio": ratio, "over": dice.choice(("warn", "block"))}
    if dice.chance(0.2):
        planned = sum(
            len(one["fixtures"]) * one["execution"]["reps_per_fixture"] * 2 for one in evals
        )
        kind = dice.choice(("repetitions", "tokens", "usd", "minutes"))
        spare = dice.choice((0, 2, 5, 12, 40))
        each = {"repetitions": 1, "tokens": 150, "usd": 0.001, "minutes": 0.02}[kind]
        policy["budget"] = {kind: max(1, planned + spare) * each}
    return policy


def _ending(dice: Dice) -> Json:
    """Say how a run ends: whole mostly; cut off after some trials, or with some of them lost."""
    ending: Json = {"most": None, "drop": 0.0, "info": {}}
    info: Json = {"run": "20261120-093000-ab12", "started_at": "2026-11-20T09:30:00Z"}
    info |= {"seconds": 12.345, "gateval": "1.0.0"}
    if dice.chance(0.1):
        ending["most"] = dice.randint(0, 12)
        why = dice.choice(("interrupted", "ended", "over_budget", "", "started"))
        ways: dict[str, Json] = {
            "interrupted": {"interrupted": True},
            "ended": {"ended": "The time of the run was over (5 minutes)."},
            "over_budget": {"over_budget": "The run has used up policy.gateway.callsPerRun."},
            "started": {"interrupted": True},
            "": {},
        }
        info |= ways[why]
        ending["started"] = why == "started"
    elif dice.chance(0.05):
        ending["drop"] = dice.choice((0.1, 0.4))
    if dice.chance(0.05):
        info["warnings"] = ["support (head): its `after` failed", "A thing to know."]
    ending["info"] = info
    return ending


def _calibration(name: str) -> Json:
    examples = [
        {"input": f"q{n}", "candidate_output": f"a{n}", "human_score": n % 2, "human_label": "so"}
        for n in range(4)
    ]
    return {
        "name": name,
        "rubric": "Is it polite?",
        "judge_models": ["openai/judge"],
        "examples": examples,
        "place": _place("evals/calibration.yaml"),
        "path": "evals/calibration.yaml",
        "digest": "7" * 64,
    }


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _calibrations(dice: Dice, evals: Sequence[Json]) -> list[Json]:
    """Return replays of the calibrations that Evals ask for, most of them."""
    found: dict[str, Json] = {}
    for one in evals:
        spec = one.get("calibration")
        if spec is None or dice.chance(0.15):
            continue
        model = one["judge"]["model"]
        asked = [
            [each["input"], each["candidate_output"], float(each["human_score"])]
            for each in spec["examples"]
        ]
        binding = {
            "model": model,
            "temperature": 0.0,
            "prompt": "p" * 64,
            "rubric": _digest(spec["rubric"]),
            "examples": _digest(asked),
        }
        found[model] = {"calibration": spec["name"], "binding": binding, **_replayed(dice)}
    return list(found.values())


def _replayed(dice: Dice) -> Json:
    if dice.chance(0.3):
        names = ("true_pass", "false_pass", "false_fail", "true_fail", "missing")
        return {"counts": {one: dice.choice((0, 1, 5, 12)) for one in names}, "run": "7-1"}
    good = dice.choice((0.5, 0.9, 1.0, 1.0))
    return {
        "examples": [
            {
                "number": number,
                "human": float(number % 2),
                "score": float(number % 2 if dice.chance(good) else 1 - number % 2),
            }
            for number in range(1, dice.choice((2, 4, 12)))
        ]
    }


def _earlier(dice: Dice, evals: Sequence[Json]) -> list[Json]:
    sets = [one for one in evals if one["kind"] == "Experiment" and not one.get("bar")]
    return [
        {
            "eval": one["name"],
            "at": "2026-11-19T08:00:00Z",
            "revision": "c0ffee1",
            "run": "6-1",
            "averages": [
                {"scorer": "scorer-0", "mean": dice.choice(LEVELS), "rows": 3, "measured": 3}
            ],
            "same": dice.chance(0.7),
        }
        for one in sets
        if dice.chance(0.5)
    ]
