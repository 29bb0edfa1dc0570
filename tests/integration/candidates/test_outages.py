"""A provider that is out of reach is not the candidate's fault, however the candidate takes it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from gateval.candidates.base import TrialRequest
from gateval.candidates.team import Candidates
from gateval.domain.manifests.fixture import FixtureInput, InputType
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.results.trial_verdict import conclude_no_answer
from gateval.domain.trials.trial import Answer, Cause, NoAnswer, Outcome, Side, TrialKey
from gateval.gateway.door import Gateway
from gateval.gateway.local.server import GatewayServer
from gateval.gateway.upstream.endpoints import read_upstreams
from gateval.gateway.upstream.retry import RetryPolicy
from tests.helpers.candidates import World, python_agent
from tests.helpers.serving import server
from tests.helpers.tiers import some_always
from tests.servers.model_server import Answer as Served
from tests.servers.model_server import Call, ModelServer, failure, in_turn, reply

ASK = """\
import json, os, sys, urllib.error, urllib.request
body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()
def ask():
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions", body,
        {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]
"""
SERVES = """\
import http.server
class Desk(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        try:
            status, text = 200, ask()
        except urllib.error.HTTPError:
            status, text = EXCUSE
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Desk).serve_forever()
"""
FAILS = ASK + SERVES.replace("EXCUSE", "500, 'boom'")
EXCUSES_ITSELF = ASK + SERVES.replace("EXCUSE", "200, 'Sorry, something went wrong.'")
GIVES_UP = ASK + "print(ask())\n"
APOLOGISES = (
    ASK
    + """\
try:
    print(ask())
except urllib.error.HTTPError:
    print("Sorry, something went wrong.")
"""
)
TRIES_AGAIN = (
    ASK
    + """\
try:
    print(ask())
except urllib.error.HTTPError:
    print(ask())
"""
)


def status(code: int) -> Callable[[Call], Served]:
    return lambda call: failure(call, code, "no")


def hang(call: Call) -> Served:
    return reply(call, "late", delay=30)


def question(seconds: float) -> TrialRequest:
    return TrialRequest(
        key=TrialKey(eval="e", fixture="f", side=Side.HEAD, repetition=1),
        input=FixtureInput(type=InputType.PROMPT, payload={"prompt": "hi"}),
        tool_replay=(),
        shadow_tools=(),
        timeout_seconds=seconds,
    )


def ask(
    tmp_path: Path,
    respond: Callable[[Call], Served],
    *,
    program: str | None,
    seconds: float = 10,
    policy: RetryPolicy | None = None,
) -> Answer | NoAnswer:
    """Let a candidate answer one question while the provider does as `respond` says."""
    quick = policy or RetryPolicy(attempts=2, first_wait=0.01, longest_wait=0.02)

    async def go() -> Answer | NoAnswer:
        async with ModelServer(respond) as provider:
            environ = {
                "OPENAI_BASE_URL": provider.openai_url,
                "OPENAI_API_KEY": "sk-0123456789abcdef",
            }
            async with (
                Gateway(read_upstreams(environ), {}, policy=quick) as gateway,
                GatewayServer(gateway) as door,
            ):
                world = World(tmp_path, calls=gateway, door=door)
                agent = _agent(world, program)
                async with world.http, Candidates(world.context) as candidates:
                    return await candidates.answer(agent, question(seconds))

    return asyncio.run(go())


def _agent(world: World, program: str | None) -> AgentDefinition:
    agent = python_agent(models=("openai/m",))
    if program is not None and SERVES[:20] in program:
        world.write("agent.py", program)
        return server(models=("openai/m",), request={"path": "/"}, response={})
    if program is not None:
        world.write("agent.py", program)
        return agent
    runtime = agent.runtime.model_copy(update={"type": "model", "command": ()})
    return agent.model_copy(update={"runtime": runtime})


@pytest.mark.parametrize("code", [503, 429, 401])
@pytest.mark.parametrize(
    "program",
    [GIVES_UP, APOLOGISES, FAILS, EXCUSES_ITSELF, None],
    ids=["gives-up", "apologises", "server fails", "server excuses itself", "model"],
)
def test_an_outage_is_the_providers(tmp_path: Path, code: int, program: str | None) -> None:
    given = ask(tmp_path, status(code), program=program)
    assert isinstance(given, NoAnswer)
    assert given.cause is Cause.PROVIDER
    assert "openai" in given.reason


def no_quota(_call: Call) -> Served:
    return Served(429, b'{"error": {"message": "No.", "code": "insufficient_quota"}}')


def no_credit(_call: Call) -> Served:
    said = (
        b'{"type": "invalid_request_error", "message": "Your credit balance is too low to access"}'
    )
    return Served(400, b'{"type": "error", "error": ' + said + b"}")


@pytest.mark.parametrize("respond", [no_quota, no_credit, status(401)], ids=["429", "400", "401"])
@pytest.mark.parametrize(
    "program",
    [GIVES_UP, APOLOGISES, FAILS, EXCUSES_ITSELF, None],
    ids=["gives-up", "apologises", "server fails", "server excuses itself", "model"],
)
def test_an_account_that_cannot_pay_will_not_pay_the_next_time(
    tmp_path: Path, respond: Callable[[Call], Served], program: str | None
) -> None:
    given = ask(tmp_path, respond, program=program)
    assert isinstance(given, NoAnswer)
    assert (given.cause, given.lasting) == (Cause.PROVIDER, True)
    if respond is no_quota or respond is no_credit:
        assert "the account has no quota left; look at its plan and billing" in given.reason


@pytest.mark.parametrize("program", [GIVES_UP, FAILS, None], ids=["command", "http", "model"])
def test_an_outage_may_pass(tmp_path: Path, program: str | None) -> None:
    given = ask(tmp_path, status(503), program=program)
    assert isinstance(given, NoAnswer)
    assert not given.lasting


def test_a_program_that_only_says_so_is_at_fault(tmp_path: Path) -> None:
    """What counts is what the gateway saw, not what a program prints."""
    says = "import sys\nsys.exit('429 insufficient_quota: Your credit balance is too low')\n"
    given = ask(tmp_path, no_quota, program=says)
    assert isinstance(given, NoAnswer)
    assert (given.cause, given.lasting) == (Cause.CANDIDATE, False)


def test_a_request_that_the_provider_quotes_is_at_fault(tmp_path: Path) -> None:
    def quotes(call: Call) -> Served:
        return failure(call, 400, "No such word: Your credit balance is too low")

    given = ask(tmp_path, quotes, program=GIVES_UP)
    assert isinstance(given, NoAnswer)
    assert (given.cause, given.lasting) == (Cause.CANDIDATE, False)


@pytest.mark.parametrize("program", [GIVES_UP, FAILS, None], ids=["command", "http", "model"])
@pytest.mark.parametrize(
    ("respond", "told"),
    some_always([(status(503), " openai answered 503"), (hang, "")], 2, spread=True),
    ids=["503 and slow retries", "hang"],
)
def test_a_provider_that_is_late_is_not_the_candidates_fault(
    tmp_path: Path, program: str | None, respond: Callable[[Call], Served], told: str
) -> None:
    slow = RetryPolicy(attempts=5, first_wait=20, longest_wait=20)
    given = ask(tmp_path, respond, program=program, seconds=3 if program else 1, policy=slow)
    assert isinstance(given, NoAnswer)
    assert (given.cause, given.timed_out) == (Cause.PROVIDER, True)
    assert given.reason.startswith(f"A model did not answer in time.{told}")
    assert ("openai" in given.reason) == bool(told)
    trial = conclude_no_answer(question(1).key, given)
    assert (trial.outcome, trial.cause) == (Outcome.ERROR, Cause.PROVIDER)


@pytest.mark.parametrize("program", [GIVES_UP, FAILS, None], ids=["command", "http", "model"])
def test_a_request_that_the_provider_rejects_is_the_candidates(
    tmp_path: Path, program: str | None
) -> None:
    given = ask(tmp_path, status(404), program=program)
    assert isinstance(given, NoAnswer)
    assert given.cause is Cause.CANDIDATE


def test_a_candidate_that_gets_through_in_the_end_is_measured(tmp_path: Path) -> None:
    once = RetryPolicy(attempts=1)
    respond = in_turn(status(503), lambda call: reply(call, "Hello"))
    given = ask(tmp_path, respond, program=TRIES_AGAIN, policy=once)
    assert isinstance(given, Answer)
    assert given.output.strip() == "Hello"


def test_a_candidate_that_is_slow_by_itself_is_at_fault(tmp_path: Path) -> None:
    program = ASK + "import time\nask()\ntime.sleep(20)\n"
    given = ask(tmp_path, lambda call: reply(call, "Hello"), program=program, seconds=1)
    assert isinstance(given, NoAnswer)
    assert (given.cause, given.timed_out) == (Cause.CANDIDATE, True)


@pytest.mark.parametrize("serves", some_always([False, True], 2), ids=["command", "http"])
def test_time_that_went_by_waiting_for_a_provider_is_not_the_candidates(
    tmp_path: Path, serves: bool
) -> None:
    """It had less than its time, though no single call took most of it."""
    busy = in_turn(
        lambda call: failure(call, 429, "Slow down.", retry_after_ms="300"),
        lambda call: reply(call, "Hello"),
    )
    slow = "import time\nask_once = ask\ndef ask():\n    ask_once()\n    time.sleep(20)\n"
    program = ASK + slow + (SERVES.replace("EXCUSE", "500, 'boom'") if serves else "ask()\n")
    given = ask(tmp_path, busy, program=program, seconds=3)
    assert isinstance(given, NoAnswer)
    assert (given.cause, given.timed_out) == (Cause.PROVIDER, True)
    assert "s of the time went by waiting for a provider" in given.reason


def test_the_gates_own_loop_does_not_count_it_either(tmp_path: Path) -> None:
    busy = in_turn(
        lambda call: failure(call, 429, "Slow down.", retry_after_ms="300"),
        lambda call: reply(call, tools=[("c", "look", {})], delay=0.4),
        lambda call: reply(call, "late", delay=0.4),
    )
    given = ask(tmp_path, busy, program=None, seconds=1)
    assert isinstance(given, NoAnswer)
    assert given.cause is Cause.PROVIDER
    assert "s of the time went by waiting for a provider" in given.reason
