"""From production to fixture."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from tests.compat.rows import states
from tests.helpers.calibrations import judged_shop, verdict
from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.shop import build_shop

REFUND = [
    {"role": "user", "content": "I want a refund"},
    {"role": "assistant", "tool_calls": [
        {"id": "c1", "type": "function",
         "function": {"name": "clarify_reason", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "It is broken"},
    {"role": "assistant", "content": "Done."},
]  # fmt: skip


def promoted(repo: Repo, *words: str) -> dict[str, object]:
    """Promote the refund; return the fixture as it was written."""
    trace = json.dumps({"id": "conv-support-cd7e649e", "messages": REFUND})
    done = gateval(repo, "promote", "-", *words, stdin=trace)
    assert done.returncode == 0, done.stderr
    (file,) = repo.path.glob("evals/support-*refund*.yaml")
    fixture: dict[str, object] = yaml.safe_load(file.read_text())
    return fixture


@states("Promote a trace to a fixture, from the Trace tab or its wizard",
        differs="`gateval promote TRACE` writes the fixture into a new file beside its siblings; a "
        "rubric is added there by hand")  # fmt: skip
@states("The wizard pre-fills the input from the trace")
@states("It suggests `toolCalled` assertions for every tool the agent used")
@states("`spec.toolReplay` records tool outputs, so that nothing is executed live",
        differs="honoured, not reserved: what the trace recorded is replayed")  # fmt: skip
def test_a_trace_becomes_a_fixture(tmp_path: Path) -> None:
    shop = build_shop(tmp_path / "shop")
    spec = promoted(shop)["spec"]
    assert isinstance(spec, dict)
    assert spec["input"] == {"type": "prompt", "payload": {"prompt": "I want a refund"}}
    assert spec["assertions"] == [
        {"type": "toolCalled", "tool": "clarify_reason"},
        {"type": "contains", "value": "Done."},
    ]
    assert spec["toolReplay"] == [{"tool": "clarify_reason", "result": "It is broken"}]


@states("Promoted fixtures are labelled `agent=<targetAgent>`, which the Eval's `fixtureSelector` "
        "already matches: the next run picks them up")  # fmt: skip
def test_the_next_run_has_it(tmp_path: Path) -> None:
    shop = build_shop(tmp_path / "shop")
    assert promoted(shop)["metadata"] == {
        "name": "support-i-want-a-refund",
        "labels": {"agent": "support"},
    }
    done = gateval(shop, "run", "support-eval")
    assert done.returncode == 0, done.stdout
    assert "3/3 trials: 3 pass" in done.stderr


@states("`spec.origin` records the source trace, the promoter and the time; hand-written fixtures "
        "leave it blank")  # fmt: skip
def test_the_origin_is_recorded(tmp_path: Path) -> None:
    shop = build_shop(tmp_path / "shop")
    shop.git("config", "user.email", "amir@company.example")
    spec = promoted(shop)["spec"]
    assert isinstance(spec, dict)
    assert spec["origin"]["traceId"] == "conv-support-cd7e649e"
    assert spec["origin"]["promotedBy"] == "amir@company.example"
    assert spec["origin"]["promotedAt"].endswith("Z")
    assert "1 Agent, 1 Eval, 3 fixtures, 0 calibrations: valid." in gateval(shop, "validate").stdout


@states("Every run of a task agent becomes a trace",
        differs="there is no platform that captures: results of Gateval, chat messages, OTLP and "
        "JSONL of these are read")  # fmt: skip
def test_a_trace_is_whatever_was_recorded(tmp_path: Path) -> None:
    shop = build_shop(tmp_path / "shop")
    assert gateval(shop, "run", "support-eval", "--results", str(tmp_path / "out")).returncode == 0
    done = gateval(shop, "promote", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "2 fixtures" in done.stdout
    assert "4/4 trials: 4 pass" in gateval(shop, "run", "support-eval").stderr


@states("Troubleshooting: a promotion that does not appear in the Eval has labels that its "
        "`fixtureSelector` does not match")  # fmt: skip
def test_a_label_that_no_eval_selects_is_told(tmp_path: Path) -> None:
    shop = build_shop(tmp_path / "shop")
    text = (shop.path / "evals/support-eval.yaml").read_text()
    shop.write(
        "evals/support-eval.yaml",
        text.replace("fixtureSelector: {matchLabels: {agent: support}}", "fixtures: [greets]"),
    )
    trace = json.dumps(REFUND)
    done = gateval(shop, "promote", "-", stdin=trace)
    assert "No Eval selects it: its label is agent=support." in done.stdout
    assert "fixtureSelector: {matchLabels: {agent: support}}" in done.stdout


@states("The promotion wizard uses `spec.kind` (`golden`, `bad`, `edge`)",
        differs="`golden` is written, for the fixture asks for what the agent did; what it should "
        "have done instead only a person knows")  # fmt: skip
def test_what_the_agent_did_is_the_reference(tmp_path: Path) -> None:
    spec = promoted(build_shop(tmp_path / "shop"))["spec"]
    assert isinstance(spec, dict)
    assert spec["kind"] == "golden"


@states("`disagreementReason` is set when an example comes from a Challenge",
        differs="`gateval challenge FIXTURE --score --reason --note`: `rubricWrong`, `judgeWrong` or "
        "`traceWrong`")  # fmt: skip
def test_a_challenge_labels_an_example(tmp_path: Path) -> None:
    shop = judged_shop(tmp_path / "shop", wrong=0, of=2, agent=verdict(0.0, "Hello"))
    gateval(shop, "run", "support-eval")
    words = ("--score", "1", "--reason", "rubricWrong", "--note", "The rubric forgets greetings")
    done = gateval(shop, "challenge", "kind-word", *words)
    assert done.returncode == 0, done.stderr
    examples = yaml.safe_load((shop.path / "evals/tone.yaml").read_text())["spec"]["examples"]
    assert [one.get("disagreementReason") for one in examples] == [None, None, "rubricWrong"]
