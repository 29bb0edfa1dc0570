"""Playgrounds through the real command: what candidates get and do in them, by every runtime, and what
is seen of it.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.helpers.desk import (
    AGENT,
    ASKED,
    EVAL,
    MCP,
    SCRIPT,
    SERVED,
    SERVICE,
    SHIPPED,
    SHIPS,
    TOOL,
    agent,
    desk,
    evals,
    run,
    trials,
)
from tests.helpers.repo import Repo
from tests.helpers.serving import HTTP


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return desk(tmp_path)


def test_each_trial_begins_with_a_fresh_one(repo: Repo) -> None:
    repo.write("desk/evals.yaml", evals(SHIPPED, "{type: directoryListing, entries: [made, orders.json]}", reps=3))  # fmt: skip
    agent(repo, SHIPS + 'open(os.path.join(sys.argv[1], "made"), "x")\n')
    repo.commit()
    found = trials(repo, "run", "desk-eval", code=0)
    assert [one["outcome"] for one in found] == ["pass"] * 3


def test_what_is_expected_is_nowhere_for_the_candidate_to_find(repo: Repo) -> None:
    canary = "expected-end-state"
    repo.write("desk/world/extra.yaml", EVAL.replace("desk-eval", canary).replace("REPS", "1"))
    repo.write("desk/world/checks/told.py", f"print('{{\"score\": 0}}')  # {canary}\n")
    own = "{type: script, command: [python3, world/checks/told.py]}"
    asked = evals(f"{{type: not, assertions: [{{type: fileExists, path: {canary}}}]}}", own)
    repo.write("desk/evals.yaml", asked)
    agent(
        repo,
        """\
        import os, sys
        found = [*os.environ.items(), sys.stdin.read()]
        for root in (sys.argv[1], "."):
            for folder, _, names in os.walk(root):
                for name in names:
                    path = os.path.join(folder, name)
                    found.append((path, open(path).read()))
        print(found)
        """,
    )
    repo.commit()
    found = trials(repo, "run", "desk-eval", code=1)
    output = found[0]["output"]
    assert "orders.json" in output
    for secret in (canary, "told.py", "extra.yaml", "canary-of-the-shop", "sk-canary"):
        assert secret not in output


def test_a_service_is_the_trials_own_and_so_are_its_files(repo: Repo) -> None:
    repo.write("desk/served/shop.py", SERVICE)
    repo.write("desk/served/orders.json", '{"10482": "paid"}')
    untouched = "{type: fileJson, path: orders.json, at: '$[\"10482\"]', value: paid}"
    alone = "{type: directoryListing, entries: [orders.json]}"
    repo.write("desk/evals.yaml", evals(ASKED, untouched, alone, playground=SERVED, reps=2))
    calls = """\
    import os, urllib.request as r
    url = "http://" + os.environ["GATEVAL_SERVICE_SHOP"]
    assert r.urlopen(url).read() == b'{"10482": "paid"}'
    r.urlopen(r.Request(url, method="PUT")).close()
    print("Done.")
    """
    agent(repo, calls)
    repo.commit()
    assert [one["outcome"] for one in trials(repo, "run", "desk-eval", code=0)] == ["pass"] * 2
    repo.write("desk/served/shop.py", "raise SystemExit('no shop today')\n")
    trial = run(repo, 3)
    assert (trial["outcome"], trial["cause"]) == ("error", "check")
    assert "The service `shop` of the playground ended with exit code 1" in trial["reason"]
    assert any("no shop today" in line for line in trial["detail"])


def test_a_service_that_has_ended_is_an_error_whoever_has_its_port(repo: Repo) -> None:
    dies = SERVICE.replace(
        "    def do_PUT(self):\n", "    def do_PUT(self):\n        os._exit(5)\n"
    )
    repo.write("desk/served/shop.py", dies)
    repo.write("desk/served/orders.json", "{}")
    repo.write("desk/evals.yaml", evals(ASKED, playground=SERVED))
    calls = """\
    import contextlib, os, urllib.request as r
    with contextlib.suppress(OSError):
        r.urlopen(r.Request("http://" + os.environ["GATEVAL_SERVICE_SHOP"], method="PUT"))
    print("Done.")
    """
    agent(repo, calls)
    trial = run(repo, 3)
    (one,) = trial["assessments"]
    assert (one["status"], one["cause"]) == ("error", "check")
    assert "The service `shop` ended during the trial" in one["reason"]


def test_a_server_has_an_instance_for_each_playground(repo: Repo) -> None:
    repo.write(
        "desk/agent.yaml",
        """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec:
  runtime:
    type: http
    command: [python3, agent.py, "{port}"]
    ready: {path: /}
    env: {GROUND: "{playground}/orders.json"}
    request: {path: /, body: {message: "{{ prompt }}", at: "{{ playground }}"}}
    response: {output: "$.reply"}
  watch: [agent.py]
""",
    )
    serves = HTTP + textwrap.dedent("""\
    class Desk(Handler):
        def answer(self, body):
            assert os.environ["GROUND"] == body["at"] + "/orders.json"
            assert json.load(open(os.environ["GROUND"])) == {"10482": "paid"}
            open(os.environ["GROUND"], "w").write('{"10482": "shipped"}')
            self.say(200, {"reply": "Shipped."})
    serve(Desk)
    """)
    repo.write("desk/agent.py", serves)
    repo.write("desk/evals.yaml", evals(SHIPPED, reps=3))
    repo.commit()
    found = trials(repo, "run", "desk-eval", code=0)
    assert [one["outcome"] for one in found] == ["pass"] * 3


@pytest.mark.parametrize("mode", ["history", "process"])
def test_all_turns_of_a_conversation_are_in_one_playground(repo: Repo, mode: str) -> None:
    spoken = evals("{type: fileEquals, path: said, value: '2'}")
    turns = "  turns: [{user: One}, {user: Two}]\n  playground"
    repo.write("desk/evals.yaml", spoken.replace("  playground", turns))
    manifest = AGENT.replace("  watch", f"    conversation: {mode}\n  watch")
    manifest = manifest.replace("  runtime: {type: command, command: [python3, agent.py, \"{playground}\"]}\n", "  runtime:\n    type: command\n    command: [python3, agent.py, \"{playground}\"]\n")  # fmt: skip
    repo.write("desk/agent.yaml", manifest)
    counts = """\
    import os, sys
    path = os.path.join(sys.argv[1], "said")
    for line in sys.stdin:
        said = int(open(path).read()) if os.path.exists(path) else 0
        open(path, "w").write(str(said + 1))
        print("Yes.", flush=True)
    """
    agent(repo, counts)
    assert run(repo)["outcome"] == "pass"


def test_a_check_of_ones_own_gets_a_copy_of_the_end_state(repo: Repo) -> None:
    counts = """\
    import json, os
    os.chdir(os.environ["GATEVAL_PLAYGROUND"])
    found = json.load(open("orders.json"))
    open("orders.json", "w").write("{}")
    print(json.dumps({"passed": found == {"10482": "shipped"}, "score": 1}))
    """
    repo.write("desk/checks/shipped.py", textwrap.dedent(counts))
    own = "{type: script, command: [python3, checks/shipped.py]}"
    repo.write("desk/evals.yaml", evals(own, SHIPPED, own))
    assert run(repo)["outcome"] == "pass"


def test_cases_of_one_file_have_playgrounds_of_their_own(repo: Repo) -> None:
    repo.write("desk/cases.jsonl", '{"id": "a", "of": "world"}\n{"id": "b", "of": "other"}\n')
    repo.write("desk/other/orders.json", '{"10482": "lost"}')
    cased = evals(SHIPPED, "{type: fileExists, path: '{{ case.of }}.txt'}", playground="{folder: '{{ case.of }}', env: {SHOP_MODE: test}}")  # fmt: skip
    cased = cased.replace("  input:", "  cases: {file: cases.jsonl}\n  input:")
    repo.write("desk/evals.yaml", cased)
    repo.write("desk/world/world.txt", "x")
    repo.commit()
    found = trials(repo, "run", "desk-eval", code=1)
    outcomes = {one["key"]["fixture"]: one["outcome"] for one in found}
    assert outcomes == {"ships-a": "pass", "ships-b": "fail"}


def test_where_the_policy_limits_ports_its_services_are_reached(repo: Repo) -> None:
    repo.write(".github/gateval.yml", "policy: {egress: gateway}\n")
    repo.write("desk/served/shop.py", SERVICE)
    repo.write("desk/served/orders.json", "{}")
    repo.write("desk/evals.yaml", evals(ASKED, playground=SERVED))
    agent(
        repo,
        """\
        import os, urllib.request as r
        r.urlopen(r.Request("http://" + os.environ["GATEVAL_SERVICE_SHOP"], method="PUT")).close()
        print("Done.")
        """,
    )
    assert run(repo)["outcome"] == "pass"


def test_tools_of_a_declarative_agent_work_in_it_and_are_seen_on_the_wire(repo: Repo) -> None:
    repo.write("desk/agent.yaml", MCP)
    agent(repo, TOOL)
    repo.write(".gateval/scripted/desk.yaml", SCRIPT)
    call = "{type: wireCall, tool: ship, arguments: {order: '10482'}, atMost: 1}"
    said = "{type: transcriptContains, phrases: [ship, It is shipped.], speaker: any}"
    repo.write("desk/evals.yaml", evals(SHIPPED, call, said))
    assert run(repo)["outcome"] == "pass"
