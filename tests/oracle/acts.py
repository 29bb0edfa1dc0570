"""What comes of one trial in a generated world: an answer with its assessments, or no answer."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

Json = dict[str, Any]

OUTPUTS = ("Yes.", "No.", "I have refunded $129.00.", "", "Why?\nTell me.")
LEVELS = (0.0, 0.1, 0.25, 1 / 3, 0.5, 0.6, 2 / 3, 0.75, 0.8, 0.9, 0.95, 1.0, 1.0, 1.0)
NEAR = (0.0, 0.0, 0.0, 1e-12, -1e-12, -9e-10, -1.1e-9, 1e-9, -1e-9, 1e-3, -1e-3)

MIXES: Sequence[tuple[tuple[str, float], ...]] = (
    *((("pass", 1.0),),) * 6,
    *((("fail", 1.0),),) * 3,
    *((("pass", 0.9), ("fail", 0.1)),) * 3,
    (("pass", 0.5), ("fail", 0.5)),
    (("pass", 0.2), ("fail", 0.8)),
    *((("level", 1.0),),) * 3,
    (("high", 1.0),),
    (("low", 1.0),),
    *((("tie", 1.0),),) * 2,
    (("level", 0.8), ("silent", 0.2)),
    *((("silent", 1.0),),) * 3,
    (("silent", 0.5), ("pass", 0.5)),
    (("silent", 0.5), ("provider", 0.5)),
    (("repeats", 1.0),),
    (("endless", 1.0),),
    (("endless", 0.7), ("pass", 0.3)),
    (("late", 1.0),),
    (("late", 0.5), ("pass", 0.5)),
    (("refused", 1.0),),
    (("refused", 0.6), ("pass", 0.4)),
    (("barred", 1.0),),
    (("provider", 1.0),),
    (("provider", 0.3), ("pass", 0.7)),
    (("provider", 0.15), ("fail", 0.85)),
    (("judge", 1.0),),
    (("judge", 0.4), ("pass", 0.6)),
    (("judge", 0.2), ("level", 0.8)),
    (("check", 0.5), ("pass", 0.5)),
    (("gate", 0.5), ("fail", 0.5)),
    (("uncalibrated", 1.0),),
    (("uncalibrated", 0.5), ("level", 0.5)),
    (("short", 0.3), ("pass", 0.7)),
    (("never", 0.3), ("pass", 0.7)),
    (("never", 1.0),),
)
"""What a side of a fixture does, each with its share; those of one line are drawn by trial."""

CALM = (
    *((("pass", 1.0),),) * 8,
    *((("high", 1.0),),) * 3,
    *((("pass", 0.95), ("fail", 0.05)),) * 2,
    (("level", 1.0),),
    (("tie", 1.0),),
    (("fail", 1.0),),
)
"""What the fixtures of a world do in which little goes wrong."""

SILENCES = (
    "The agent ended with exit code 1.",
    "The agent was not done within 3 s and was ended.",
    "The module left_pad is not installed.",
    "Its set-up failed. The log says more.",
    "The agent gave no answer, for all it printed.",
)


def habit(dice: Random, planned: Json, mixes: Sequence[tuple[tuple[str, float], ...]]) -> Json:
    """Return how one side of a fixture behaves over its trials."""
    graded = planned["scoring"]["model"] != "fixtures"
    mix = dice.choice(mixes)
    if graded and mix[0][0] in {"pass", "fail"} and dice.random() < 0.4:
        mix = ((dice.choice(("level", "high", "tie")), 1.0),)
    return {
        "mix": mix,
        "same": dice.random() < 0.4,
        "level": dice.choice(LEVELS),
        "said": dice.choice(OUTPUTS),
        "source": dice.choice(("gate", "gate", "gateway", "candidate", "answer", None)),
        "calls": dice.choice((None, "asked", "asked", "none", "inputs")),
        "model": dice.choice(("openai/gpt-x",) * 5 + ("openai/other",)),
        "claims": dice.random() < 0.1,
        "tokens": dice.choice((None, 10, 100, 100, 100, 1_000, 0)),
        "usd": dice.choice((None, 0.001, 0.001, 0.01, 0.0)),
        "seconds": dice.choice((0.0, 1.0, 1.0, 2.5, 30.0)),
        "lost": dice.random() < 0.05,
        "varies": dice.random() < 0.3,
        "hangs": dice.random() < 0.03 and any(word == "provider" for word, _ in mix),
    }


def act(dice: Random, key: Json, planned: Json, asked: Json, habit: Json) -> Json | None:
    """Return what a trial with this key does: `answer` with `assessments`, or `silence`."""
    words, shares = zip(*habit["mix"], strict=True)
    word = dice.choices(words, shares)[0]
    if word == "never":
        return None
    if word in _SILENT:
        return {"key": key, "silence": _silence(dice, word, habit)}
    output = dice.choice(OUTPUTS) if habit["varies"] else habit["said"]
    found = [
        _assessment(dice, index, spec, _score_for(dice, word, planned, habit), habit)
        for index, spec in enumerate(asked["assertions"])
    ]
    _spoil(dice, word, asked["assertions"], found)
    if word == "short":
        found.pop()
    answer = {
        "output": output,
        "seconds": round(habit["seconds"] * dice.choice((1.0, 1.0, 1.25)), 3),
        "trace": _trace(dice, habit, output),
        "usage": _usage(dice, habit),
        "calls": _calls(habit),
    }
    more: Json = {"judge_usage": _usage(dice, habit) if _judged(found) else {}}
    if habit["lost"]:
        more["lost_usage"] = {"input_tokens": 5, "output_tokens": 1}
    return {"key": key, "answer": answer, "assessments": found, **more}


_SILENT = {"silent", "repeats", "endless", "late", "refused", "barred", "provider"}


def _judged(found: Sequence[Json]) -> bool:
    return any(one.get("verdict") for one in found)


def _silence(dice: Random, word: str, habit: Json) -> Json:
    cause = "provider" if word == "provider" else "candidate"
    reason = SILENCES[len(habit["said"]) % len(SILENCES)]
    silence: Json = {"cause": cause, "reason": reason, "seconds": habit["seconds"]}
    if word == "provider":
        silence |= {"reason": "The provider was down.", "timed_out": habit["hangs"]}
    elif word == "late":
        silence |= {"timed_out": True, "reason": SILENCES[1]}
    elif word in {"repeats", "endless"}:
        silence[word] = True
    elif word in {"refused", "barred"}:
        who = "provider" if word == "refused" else "gateway"
        said = {"refused_by": who, "status": 404, "said": "no such model"}
        silence["calls"] = {"made": dice.choice((1, 3)), **said}
    if dice.random() < 0.2:
        silence["detail"] = ["python3 desk.py", "Traceback: no."]
    return silence


def _score_for(dice: Random, word: str, planned: Json, habit: Json) -> float:
    if word == "fail":
        return dice.choice((0.0, 0.0, 0.2))
    if word == "low":
        return dice.choice((0.0, 0.1, 0.25))
    if word == "high":
        return dice.choice((0.9, 0.95, 1.0))
    if word == "level":
        return float(habit["level"] if dice.random() < 0.5 else dice.choice(LEVELS))
    if word == "tie":
        wanted: float = planned["scoring"].get("pass_score", 0.8) + dice.choice(NEAR)
        return min(1.0, max(0.0, wanted))
    return 1.0


def _assessment(dice: Random, index: int, spec: Json, score: float, habit: Json) -> Json:
    passed = score >= 0.5 if spec["type"] == "judge" else score == 1
    found: Json = {
        "index": index,
        "type": spec["type"],
        "status": "passed" if passed else "failed",
        "score": score,
        "reason": "It is there." if passed else 'Expected "yes" in the answer; it says no.',
        "steps": [] if passed else [2],
        "claimed": habit["claims"],
    }
    if spec["type"] == "judge":
        found["verdict"] = {"score": score, "confidence": 0.9, "summary": "So so.", "model": "j"}
        found["asked"] = dice.choice((1, 1, 2))
    if not passed and dice.random() < 0.1:
        found["absent"] = True
    if spec["required"] and not passed:
        found["fatal"] = dice.random() < 0.7
    if spec["type"] == "judge" and dice.random() < 0.2:
        found["again"] = dice.choice(("passed", "failed", "error"))
    return found


def _spoil(dice: Random, word: str, asked: Sequence[Json], found: list[Json]) -> None:
    """Make assessments errors: those of the judge, or one of them, by the word."""
    if word == "uncalibrated":
        for spec, one in zip(asked, found, strict=True):
            if spec["needs_judge"]:
                _fault(one, "uncalibrated")
    elif word in {"judge", "check", "gate"}:
        _fault(found[dice.randrange(len(found))], word)
        others = [one for one in found if one["status"] != "error"]
        if others and dice.random() < 0.3:
            others[0] |= {"status": "failed", "score": 0.0}


def _fault(one: Json, cause: str) -> None:
    one.pop("verdict", None)
    one |= {"status": "error", "score": None, "reason": f"The {cause} was down.", "cause": cause}


def _trace(dice: Random, habit: Json, output: str) -> Json | None:
    if habit["source"] is None:
        return None
    steps: list[Json] = [{"number": 1, "kind": "user", "text": "Hello"}]
    if dice.random() < 0.3:
        tool = {"tool": "lookup", "arguments": {"n": dice.choice((1, 2))}, "refused": False}
        steps.append({"number": 2, "kind": "tool_call", **tool})
    ends = "openai/gpt-x stopped at its token limit." if dice.random() < 0.03 else ""
    steps.append({"number": len(steps) + 1, "kind": "error" if ends else "assistant"})
    steps[-1]["text"] = ends or output
    seen = habit["source"] in {"gate", "gateway"}
    return {
        "steps": steps,
        "source": habit["source"],
        "usage": _usage(dice, habit),
        "model_calls": 1 if seen else 0,
        "models": [habit["model"]],
        "waited": dice.choice((0.0, 0.0, 0.5)),
    }


def _usage(dice: Random, habit: Json) -> Json:
    if habit["tokens"] is None:
        return {}
    tokens = int(habit["tokens"] * dice.choice((1, 1, 1.25)))
    return {"input_tokens": tokens, "output_tokens": tokens // 2, "usd": habit["usd"]}


def _calls(habit: Json) -> Json | None:
    if habit["calls"] is None:
        return None
    if habit["calls"] == "inputs":
        return {"made": 2, "answered": 2, "inputs": 2, "inputs_answered": 2}
    return {"made": 1, "answered": 1} if habit["calls"] == "asked" else {"made": 0}
