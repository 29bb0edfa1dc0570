"""Limits, status and troubleshooting."""

from __future__ import annotations

from pathlib import Path

from gateval.domain.decision.decision import make_report
from gateval.domain.results.trial_verdict import MORE_TIME, conclude_no_answer
from gateval.domain.trials.trial import (
    OUTPUT_LIMIT,
    Answer,
    Cause,
    NoAnswer,
    Outcome,
    Side,
    TrialKey,
)
from gateval.render.comment import render_comment
from gateval.render.view import ReportView
from tests.compat.rows import states
from tests.helpers.command import gateval
from tests.helpers.reports import edit, make_results
from tests.helpers.shop import build_shop

KEY = TrialKey(eval="a-eval", fixture="f", side=Side.HEAD, repetition=1)

JUDGED = """\
apiVersion: pai.io/v1
kind: EvalFixture
metadata: {name: polite, labels: {agent: support}}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  assertions: [{type: judge, rubric: The agent is polite.}]
"""


@states("Output captured per fixture: 8 KiB; the full event log lives in the trace")
def test_captured_output() -> None:
    assert OUTPUT_LIMIT == 8 * 1024
    assert Answer(output="x" * 10_000, seconds=1).output[:OUTPUT_LIMIT] == "x" * OUTPUT_LIMIT


@states(
    "Fixtures per Eval: unbounded; a large Eval is slow, so use parallelism and repetitions wisely"
)
@states(
    "`repsPerFixture` per Eval: unbounded", differs="up to 1,000, and `policy.budget` bounds a run"
)
def test_repetitions_have_an_end(tmp_path: Path) -> None:
    repo = build_shop(tmp_path / "shop")
    text = (repo.path / "evals/support-eval.yaml").read_text()
    repo.write("evals/support-eval.yaml", text + "  execution: {repsPerFixture: 1001}\n")
    done = gateval(repo, "validate")
    assert done.returncode == 2
    assert "repsPerFixture: Must be at most 1000, but is 1001" in done.stdout


@states(
    "Fixture row `Skip`: no terminal event before the timeout; raise "
    "`spec.execution.timeoutSeconds`",
    differs="the agent's own lateness counts as failed, and the reason names the key",
)
def test_a_late_agent() -> None:
    late = NoAnswer(cause=Cause.CANDIDATE, reason="It did not answer.", timed_out=True)
    trial = conclude_no_answer(KEY, late)
    assert (trial.outcome, trial.passed) == (Outcome.SKIP, False)
    assert trial.reason.endswith(MORE_TIME)
    assert "spec.execution.timeoutSeconds" in MORE_TIME
    theirs = NoAnswer(cause=Cause.PROVIDER, reason="It was down.", timed_out=True)
    assert conclude_no_answer(KEY, theirs).reason == "It was down."


@states(
    "Judge assertions are all `skipped` where `spec.judge.model` is unset",
    refused="Add spec.judge.model",
)
def test_no_judge_model(tmp_path: Path, refusal: str) -> None:
    repo = build_shop(tmp_path / "shop")
    repo.write("evals/polite.yaml", JUDGED)
    done = gateval(repo, "validate")
    assert done.returncode == 2
    assert "This Eval has no judge, but fixtures of it need one" in done.stdout
    assert refusal in " ".join(done.stdout.split())


@states(
    "Judge assertions are all `skipped` where the judge's ModelProvider is missing",
    refused="ANTHROPIC_API_KEY",
)
def test_no_key_for_the_judge(tmp_path: Path, refusal: str) -> None:
    repo = build_shop(tmp_path / "shop")
    repo.write("evals/polite.yaml", JUDGED)
    text = (repo.path / "evals/support-eval.yaml").read_text()
    repo.write("evals/support-eval.yaml", text + "  judge: {model: anthropic/claude-haiku-4-5}\n")
    repo.commit("Judge")
    done = gateval(repo, "run", "support-eval")
    assert done.returncode == 3
    assert refusal in done.stderr


@states(
    "A fixture's `output` is empty: the session ended before a final message; check the trace "
    "timeline"
)
def test_an_empty_final_message_is_told() -> None:
    results = make_results("a-eval f base:pass head:fail")
    shown = render_comment(ReportView(make_report(edit(results, "a-eval/f #1 on head", output=""))))
    assert "The final message is empty: the steps tell why." in shown
    shown = render_comment(
        ReportView(make_report(edit(results, "a-eval/f #1 on head", output="No.")))
    )
    assert "The final message is empty" not in shown


@states("A fixture that appears in no Eval has labels that no selector asks for: verify the labels")
def test_labels_that_nobody_selects(tmp_path: Path) -> None:
    repo = build_shop(tmp_path / "shop")
    text = JUDGED.replace("agent: support", "agent: supprot").replace(
        "{type: judge, rubric: The agent is polite.}", "{type: contains, value: Hello}"
    )
    repo.write("evals/polite.yaml", text)
    told = " ".join(gateval(repo, "validate").stdout.split())
    assert 'No Eval selects the fixture "polite", so it never runs.' in told
    assert 'Its labels are "agent: supprot"; Evals select "agent: support".' in told
