"""What was lost is asked of whoever lost it; what fails the same way each time is not tried thrice."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_answers_without_a_model import RUNTIMES
from tests.helpers.command import gateval
from tests.helpers.providers import provider
from tests.helpers.repo import Repo
from tests.helpers.tiers import some_always
from tests.servers.model_server import Answer, Call, failure, in_turn, reply

VERDICT = {
    "score": 0.9,
    "confidence": 0.9,
    "summary": "Polite.",
    "violations": [],
    "what_would_raise_score": "",
}
PROGRAM = """\
import json, os, sys, time, urllib.error, urllib.request

def answer(text):
    for attempt in range(4):
        request = urllib.request.Request(
            os.environ["OPENAI_BASE_URL"] + "/chat/completions",
            json.dumps({"model": "agent", "messages": [{"role": "user", "content": text}]}).encode(),
            {
                "Content-Type": "application/json",
                "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"],
            },
        )
        try:
            with urllib.request.urlopen(request) as answered:
                return json.load(answered)["choices"][0]["message"]["content"]
        except urllib.error.HTTPError as error:
            if error.code != 429 or error.headers.get("x-should-retry") == "false" and HEEDS:
                return "Sorry."
            time.sleep(0.05)
    return "Sorry."

"""
MODEL = "  models: [openai/agent]\n  system: Be polite.\n"
AGENT = "apiVersion: gateval/v1\nkind: Agent\nmetadata: {name: desk}\nspec:\n"
EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: desk-eval}
spec:
  targetAgent: desk
  fixtureSelector: {matchLabels: {of: desk}}
  execution: {parallel: 1}
"""
FIXTURE = """\
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {{name: case-{number}, labels: {{of: desk}}}}
spec:
  input: {{type: prompt, payload: {{prompt: "Hello {number}"}}}}
  assertions:
    - {{type: regex, pattern: '\\w'}}
"""
JUDGED = "    - {type: judge, rubric: Is it polite?}\n"


def desk(tmp_path: Path, runtime: str, *, fixtures: int, judged: bool = False) -> Repo:
    repo = Repo(tmp_path / "desk")
    if runtime == "model":
        repo.write("agent.yaml", AGENT + MODEL)
    else:
        body, spec = RUNTIMES[runtime]
        repo.write("agent.yaml", f"{AGENT}  models: [openai/agent]\n  runtime: {spec}\n")
        repo.write("desk.py", f"HEEDS = True\n{PROGRAM}{body}")
    repo.write("evals/eval.yaml", EVAL + ("  judge: {model: openai/judge}\n" if judged else ""))
    texts = (FIXTURE.format(number=number) for number in range(fixtures))
    repo.write("evals/cases.yaml", "".join(text + (JUDGED if judged else "") for text in texts))
    repo.commit("Begin")
    return repo


def run(
    repo: Repo, respond: Any, *arguments: str, outage: str = "1"
) -> tuple[int, dict[str, Any], Counter[str], str]:
    results = repo.path.parent / "results"
    with provider(respond) as (server, environ):
        done = gateval(
            repo, *(arguments or ("run", "desk-eval")), "--results", str(results),
            **environ, GATEVAL_OUTAGE_SECONDS=outage,
        )  # fmt: skip
        asked = Counter(call.body["model"] for call in server.calls)
    found = json.loads((results / "results.v1.json").read_text())
    return done.returncode, found, asked, done.stdout


@pytest.mark.parametrize("runtime", ["model", "command", "http"])
def test_a_judges_outage_is_the_judges_and_repeats_no_agent(tmp_path: Path, runtime: str) -> None:
    repo = desk(tmp_path, runtime, fixtures=2, judged=True)

    def respond(call: Call) -> Answer:
        if call.body["model"] == "judge":
            return failure(call, 500, "The judge is ill.")
        return reply(call, "Good day!")

    code, found, asked, said = run(repo, respond)
    assert code == 3, said
    assert asked["agent"] == 2
    assert {(one["outcome"], one["cause"]) for one in found["trials"]} == {("error", "judge")}
    assert "the judge gave no usable verdict in 2 runs" in said
    assert "The judge is ill." in said


def test_a_judge_that_comes_back_is_heard(tmp_path: Path) -> None:
    repo = desk(tmp_path, "command", fixtures=1, judged=True)
    words = in_turn(
        *[lambda call: reply(call, "I have no verdict.")] * 4,
        lambda call: reply(call, json.dumps(VERDICT)),
    )

    def respond(call: Call) -> Answer:
        return words(call) if call.body["model"] == "judge" else reply(call, "Good day!")

    code, found, asked, said = run(repo, respond)
    assert (code, asked["agent"], asked["judge"]) == (0, 1, 5), said
    [trial] = found["trials"]
    assert trial["judge_usage"]["input_tokens"] == 50, "what was lost is paid for as well"


@pytest.mark.parametrize("runtime", some_always(RUNTIMES, 3))
def test_an_account_without_quota_is_asked_once_by_a_trial(tmp_path: Path, runtime: str) -> None:
    repo = desk(tmp_path, runtime, fixtures=1)
    program = (repo.path / "desk.py").read_text()
    repo.write("desk.py", program.replace("HEEDS = True", "HEEDS = False"))
    repo.commit()
    no = b'{"error": {"message": "You exceeded your quota.", "code": "insufficient_quota"}}'
    code, found, asked, said = run(repo, lambda _: Answer(429, no))
    assert code == 3, said
    assert asked["agent"] == 1
    [trial] = found["trials"]
    assert (trial["outcome"], trial["cause"]) == ("error", "provider")
    assert "has no quota left" in trial["reason"]


BROKEN = {
    "import": ("desk.py", "import nothing_of_this_name\n"),
    "syntax": ("desk.py", "def (\n"),
    "start": ("agent.yaml", f"{AGENT}  runtime: {{type: command, command: [no-such-program]}}\n"),
    "set-up": (
        "agent.yaml",
        f"{AGENT}  runtime: {{type: command, command: [python3, desk.py], setup: [python3, -c, 'exit(7)']}}\n",
    ),
}


@pytest.mark.parametrize(
    ("broken", "runtime"), [*((one, "command") for one in BROKEN), ("import", "http")]
)
def test_a_failure_that_repeats_exactly_is_tried_once(
    tmp_path: Path, broken: str, runtime: str
) -> None:
    repo = desk(tmp_path, runtime, fixtures=1)
    repo.branch("work")
    path, text = BROKEN[broken]
    repo.write(path, text)
    repo.commit()
    answers = lambda call: reply(call, "Good day!")  # noqa: E731
    code, found, _, said = run(repo, answers, "check", "--base", "main")
    assert code == 1, said
    assert Counter(one["key"]["side"] for one in found["trials"]) == {"head": 1, "base": 1}


def test_a_failure_of_both_sides_that_repeats_is_tried_once(tmp_path: Path) -> None:
    repo = desk(tmp_path, "command", fixtures=1)
    repo.write("desk.py", "import nothing_of_this_name\n")
    repo.commit()
    repo.branch("work")
    repo.write("desk.py", "import nothing_of_this_name  # changed\n")
    repo.commit()
    code, found, _, said = run(repo, lambda call: reply(call), "check", "--base", "main")
    assert code == 3, said
    assert Counter(one["key"]["side"] for one in found["trials"]) == {"head": 1, "base": 1}


def test_a_crash_of_chance_is_still_looked_at_more_than_once(tmp_path: Path) -> None:
    repo = desk(tmp_path, "command", fixtures=1)
    repo.branch("work")
    body = RUNTIMES["command"][0]
    repo.write("desk.py", f"HEEDS = True\n{PROGRAM}{body}import nothing_of_this_name\n")
    repo.commit()
    answers = lambda call: reply(call, "Good day!")  # noqa: E731
    code, found, _, said = run(repo, answers, "check", "--base", "main")
    assert code == 1, said
    heads = [one for one in found["trials"] if one["key"]["side"] == "head"]
    assert len(heads) > 1, "a model had answered, so it may be chance"


@pytest.mark.parametrize("dark", ["fails", "hangs"])
@pytest.mark.parametrize("runtime", some_always(["model", *RUNTIMES], 3))
def test_an_outage_that_meets_the_time_limit_is_called_the_outage(
    tmp_path: Path, runtime: str, dark: str
) -> None:
    """The provider is waited for as long as a trial may take, and never answers."""
    repo = desk(tmp_path, runtime, fixtures=1)
    text = (repo.path / "evals/eval.yaml").read_text()
    repo.write("evals/eval.yaml", text.replace("parallel: 1", "parallel: 1, timeoutSeconds: 3"))
    repo.commit("Three seconds")

    def respond(call: Call) -> Answer:
        answer = failure(call, 503, "The lights are out.")
        return replace(answer, delay=8) if dark == "hangs" else answer

    code, found, _, said = run(repo, respond, outage="60")
    assert code == 3, said
    assert {(one["outcome"], one["cause"]) for one in found["trials"]} == {("error", "provider")}
    assert "the model provider was down or refused the call in 1 run" in said


@pytest.mark.parametrize(
    ("runtime", "dark"),
    [*((one, "fails") for one in ("model", *RUNTIMES)), ("model", "hangs"), ("command", "hangs")],
)
def test_an_outage_that_meets_the_time_of_the_run_is_called_the_outage(
    tmp_path: Path, runtime: str, dark: str
) -> None:
    """The run is over while the provider is waited for."""
    repo = desk(tmp_path, runtime, fixtures=2)

    def respond(call: Call) -> Answer:
        answer = failure(call, 503, "The lights are out.")
        return replace(answer, delay=20) if dark == "hangs" else answer

    minutes = "0.1" if dark == "fails" else "0.2"
    code, found, _, said = run(
        repo, respond, "run", "desk-eval", "--max-minutes", minutes, outage="60"
    )
    assert code == 3, said
    said = " ".join(said.split())
    assert (
        "the model provider was down or refused the call when its time was over"
        in said.partition(" head: ")[0]
    )
    assert "Until then openai/agent had answered no call for" in said
    assert "max-minutes" not in said, "more time does not help"
    assert found["info"]["unanswered"]


def test_a_run_that_takes_too_long_is_no_outage(tmp_path: Path) -> None:
    repo = desk(tmp_path, "model", fixtures=12)

    def respond(call: Call) -> Answer:
        return replace(reply(call, "Good day!"), delay=1)

    code, found, _, said = run(repo, respond, "run", "desk-eval", "--max-minutes", "0.06")
    assert code == 3, said
    assert "planned runs did not happen; its time was over" in said.partition("head:")[0]
    assert "unanswered" not in found["info"]
