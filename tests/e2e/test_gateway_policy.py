"""What a program of a pull request may ask of the models behind the gate's keys."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.providers import provider
from tests.helpers.repo import Repo
from tests.helpers.shop import EVAL
from tests.servers.model_server import failure, reply

PROGRAM = f"""\
apiVersion: gateval/v1
kind: Agent
metadata: {{name: support}}
spec:
  models: [openai/cheap]
  runtime: {{type: command, command: [{sys.executable}, -I, agent.py]}}
"""
FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: greets, labels: {agent: support}}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  assertions:
    - {type: contains, value: Hello}
"""
ASKS = """\
import json, os, sys, urllib.error, urllib.request
body = {"model": "cheap", "messages": [{"role": "user", "content": "hi"}]}
MORE
request = urllib.request.Request(
    os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
    {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"})
try:
    print(json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"])
except urllib.error.HTTPError as error:
    sys.exit(error.read().decode())
"""


def shop_with(tmp_path: Path, more: str, *, manifest: str = PROGRAM, config: str = "") -> Repo:
    """A program that asks one model on main, and does `more` to the request on `change`."""
    shop = Repo(tmp_path / "shop")
    shop.write("agent.yaml", manifest)
    shop.write("agent.py", ASKS.replace("MORE", ""))
    shop.write("evals/fixtures.yaml", FIXTURE)
    shop.write("evals/support-eval.yaml", EVAL)
    if config:
        shop.write(".github/gateval.yml", config)
    shop.commit("Begin")
    shop.branch("change")
    shop.write("agent.py", ASKS.replace("MORE", more))
    shop.commit()
    return shop


def check(shop: Repo) -> tuple[int, str, list[dict[str, object]]]:
    with provider(lambda call: reply(call, "Hello")) as (server, environ):
        done = gateval(shop, "check", "--results", str(shop.path.parent / "out"), **environ)
        return done.returncode, " ".join(done.stdout.split()), [one.body for one in server.calls]


def test_a_model_that_the_manifest_does_not_name_is_not_asked(tmp_path: Path) -> None:
    shop = shop_with(tmp_path, 'body["model"] = "dear"')
    code, said, calls = check(shop)
    assert code == 1, said
    assert "The Agent names openai/cheap, and not openai/dear" in said
    assert {call["model"] for call in calls} == {"cheap"}


def test_a_model_that_the_provider_does_not_have_is_told_of_a_program_too(tmp_path: Path) -> None:
    """Also where the program says nothing of it."""
    shop = shop_with(tmp_path, "")
    shop.write("agent.py", ASKS.replace("MORE", "").replace("error.read().decode()", "3"))
    shop.commit()
    with provider(lambda call: failure(call, 404, "no cheap here")) as (_, environ):
        done = gateval(shop, "run", "support-eval", **environ)
    said = " ".join(done.stdout.split())
    assert done.returncode == 1, said
    assert "openai answered 404 (no such model or address; look at spec.models of the Agent" in said
    assert "no cheap here. The agent ended with exit code 3." in said


@pytest.mark.parametrize(("more", "code"), [("", 1), ("  modelCalls: optional\n", 0)])
def test_a_program_that_lives_with_a_rejected_call_has_its_answer_if_it_may(
    tmp_path: Path, more: str, code: int
) -> None:
    shop = shop_with(tmp_path, "", manifest=PROGRAM + more)
    shop.write(
        "agent.py", ASKS.replace("MORE", "").replace("sys.exit(error", "print('Hello', error")
    )
    shop.commit()
    with provider(lambda call: failure(call, 404, "no cheap here")) as (_, environ):
        assert gateval(shop, "run", "support-eval", **environ).returncode == code


def test_a_refusal_stands_under_not_measured_with_the_gateways_sentence(tmp_path: Path) -> None:
    """And not with what the programs of both sides print about it."""
    shop = shop_with(tmp_path, 'body["model"] = "dear"; print("Traceback", file=sys.stderr)')
    asks_both = ASKS.replace("MORE", 'body["model"] = "dear"; print("Traceback", file=sys.stderr)')
    shop.checkout("main")
    shop.write("agent.py", asks_both)
    shop.commit()
    shop.branch("both")
    shop.write("agent.py", asks_both + "# changed")
    shop.commit()
    code, said, calls = check(shop)
    assert code == 3, said
    unmeasured = said.partition("Not measured")[2]
    assert (
        "The gateway refused a call. The Agent names openai/cheap, and not openai/dear; add it to `spec.uses` of its manifest. "
        "The agent ended with exit code 1."
    ) in unmeasured
    assert "Traceback" not in said
    assert "gets its" not in said, "no hint at files that it may have missed"
    assert '{"error"' not in said
    assert calls == []


def test_a_model_that_it_uses_is_asked_and_stands_in_for_nobody(tmp_path: Path) -> None:
    more = PROGRAM.replace("  runtime", "  uses: [openai/dear]\n  runtime")
    shop = shop_with(tmp_path, 'body["model"] = "dear"', manifest=more)
    code, said, calls = check(shop)
    assert code == 0, said
    assert {call["model"] for call in calls} == {"cheap", "dear"}


SEARCHES = """\
import json, os, sys, urllib.request
def ask(path, **body):
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + path, json.dumps(body).encode(),
        {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
    return json.load(urllib.request.urlopen(request))
prompt = json.load(sys.stdin)["prompt"]
pages = ["Hello and goodbye", "Taxes and fees"]
vectors = [one["embedding"] for one in ask("/embeddings", model="near", input=[prompt, *pages])["data"]]
best = max((1, 2), key=lambda at: sum(a * b for a, b in zip(vectors[0], vectors[at])))
said = [{"role": "user", "content": pages[best - 1]}]
print(ask("/chat/completions", model="desk", messages=said)["choices"][0]["message"]["content"])
"""


def test_a_program_that_searches_by_embeddings_is_measured_without_any_key(tmp_path: Path) -> None:
    manifest = PROGRAM.replace("[openai/cheap]", "[scripted/desk]")
    uses = manifest.replace("  runtime", "  uses: [scripted/near]\n  runtime")
    shop = Repo(tmp_path / "shop")
    shop.write("agent.yaml", uses)
    shop.write("agent.py", SEARCHES)
    shop.write(".gateval/scripted/near.yaml", "rules: [{reply: x}]\ndimensions: 64\n")
    shop.write(".gateval/scripted/desk.yaml", "rules: [{when: {user: goodbye}, reply: Hello}]\n")
    shop.write("evals/fixtures.yaml", FIXTURE)
    shop.write("evals/support-eval.yaml", EVAL)
    shop.commit("Begin")
    shop.branch("change")
    shop.write("agent.py", f"{SEARCHES}# changed\n")
    shop.commit()
    code, said, calls = check(shop)
    assert code == 0, said
    assert calls == []
    trials = json.loads((tmp_path / "out" / "results.v1.json").read_text())["trials"]
    assert {tuple(trial["trace"]["models"]) for trial in trials} == {
        ("scripted/near", "scripted/desk")
    }
    assert all(trial["trace"]["model_calls"] == 2 for trial in trials)
    assert all(trial["usage"]["input_tokens"] > 5 for trial in trials), "embeddings count"

    shutil.rmtree(tmp_path / "out")
    shop.write("agent.yaml", manifest)
    shop.commit()
    code, said, _ = check(shop)
    assert code == 1, said
    assert "The Agent names scripted/desk, and not openai/near; add it to `spec.uses`" in said


def test_a_program_that_names_no_model_may_ask_any_and_that_is_told_once(tmp_path: Path) -> None:
    open_ = PROGRAM.replace("  models: [openai/cheap]\n", "")
    shop = shop_with(tmp_path, 'body["model"] = "dear"', manifest=open_)
    code, said, _ = check(shop)
    assert code == 0, said
    assert said.count("support names no model in its manifest, so it may ask for any.") == 1
    assert "It asked for openai/dear" in said


def test_the_policy_of_the_target_branch_says_what_calls_may_do(tmp_path: Path) -> None:
    store = 'body["store"] = True'
    shop = shop_with(tmp_path / "closed", store)
    shop.write(".github/gateval.yml", "policy: {gateway: {allow: [store]}}\n")
    shop.commit()
    code, said, calls = check(shop)
    assert code == 1, said
    assert "`store` keeps data in the provider's account" in said
    assert "policy.gateway.allow none → store" in said
    assert not any(call.get("store") for call in calls)
    allowed = "policy: {gateway: {allow: [store]}}\n"
    opened = shop_with(tmp_path / "open", store, config=allowed)
    code, said, calls = check(opened)
    assert code == 0, said
    assert any(call.get("store") for call in calls)


def test_more_tokens_than_the_policy_allows_are_refused_and_never_rewritten(tmp_path: Path) -> None:
    config = "policy: {gateway: {maxTokens: 1000}}\n"
    shop = shop_with(tmp_path, 'body["max_tokens"] = 1001', config=config)
    code, said, calls = check(shop)
    assert code == 1, said
    assert "`max_tokens` is over 1,000" in said
    assert {call.get("max_tokens") for call in calls} == {None}


def test_what_a_run_may_use_is_counted_over_all_its_trials(tmp_path: Path) -> None:
    shop = shop_with(tmp_path, "pass", config="policy: {gateway: {callsPerRun: 1}}\n")
    shop.write("evals/more.yaml", FIXTURE.replace("greets", "greets-again"))
    shop.commit()
    code, said, calls = check(shop)
    assert code == 3, said
    assert "The run has made the 1 model calls that policy.gateway.callsPerRun gives it" in said
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("uses", "words"),
    [
        ("[embedding]", 'spec.uses[0]: "embedding" names no provider'),
        ("[opnai/x]", 'spec.uses[0]: "opnai/x" names the unknown provider "opnai". Did you mean'),
        ("[scripted/none]", 'spec.uses: The scripted model "none" needs the file'),
        ("openai/x", "spec.uses: Expected a list"),
    ],
)
def test_models_that_cannot_be_used_are_refused_where_they_stand(
    tmp_path: Path, uses: str, words: str
) -> None:
    wrong = PROGRAM.replace("  runtime", f"  uses: {uses}\n  runtime")
    shop = shop_with(tmp_path, "", manifest=wrong)
    done = gateval(shop, "validate")
    assert done.returncode == 2
    line = 1 + wrong.splitlines().index(f"  uses: {uses}")
    assert f"agent.yaml:{line}:" in done.stdout
    assert words in done.stdout
