"""Records of runs, made up."""

from __future__ import annotations

from gateval.domain.history.run_record import RunEval, RunFixture, RunRecord
from gateval.domain.verdicts import GateVerdict


def run_fixture(name: str = "one", trials: str = "ppp", **more: object) -> RunFixture:
    """A fixture with these marks."""
    digest = more.pop("digest", "d" * 20)
    return RunFixture.model_validate({"fixture": name, "digest": digest, "trials": trials, **more})


def run_eval(*fixtures: RunFixture, name: str = "support-eval", **more: object) -> RunEval:
    """An Eval with these fixtures; its score is that of their rates."""
    shown = fixtures or (run_fixture(),)
    rate = sum(one.passes / max(1, len(one.trials)) for one in shown) / len(shown)
    return RunEval.model_validate(
        {
            "eval": name,
            "agent": "support",
            "closure": "c" * 64,
            "setting": "e" * 64,
            "verdict": "pass",
            "low": rate,
            "high": rate,
            "passing": sum(one.passes == len(one.trials) for one in shown),
            "total": len(shown),
            "fixtures": shown,
            **more,
        }
    )


def run_record(number: int = 1, *evals: RunEval, **more: object) -> RunRecord:
    """Run `number`, recorded in that minute of a day."""
    at = f"2026-11-20T{number // 60 % 24:02}:{number % 60:02}:00Z"
    return RunRecord.model_validate(
        {
            "id": f"{number}-1",
            "event": "push",
            "at": at,
            "run": number,
            "commit": f"{number:040x}",
            "verdict": GateVerdict.PASS,
            "evals": evals or (run_eval(),),
            **more,
        }
    )
