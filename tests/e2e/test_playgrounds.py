"""Playgrounds through the real command: what candidates get and do in them, what a change of one is,
and that nothing of them is left.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.command import candidate_processes, gateval, start_gateval
from tests.helpers.isolation import open_folder
from tests.helpers.repo import Repo
from tests.helpers.serving import HTTP

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec:
  runtime: {type: command, command: [python3, agent.py, "{playground}"]}
  watch: [agent.py]
"""
EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: desk-eval}
spec:
  targetAgent: desk
  fixtures: [ships]
  execution: {repsPerFixture: REPS}
"""
FIXTURE = """\
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: ships}
spec:
  input: {type: prompt, payload: {prompt: Ship 10482}}
  playground: PLAYGROUND
  assertions:
"""
WORLD = "{folder: world, env: {SHOP_MODE: test}}"
SHIPS = """\
import json, os, sys
assert os.environ["GATEVAL_PLAYGROUND"] == sys.argv[1], os.environ
assert os.environ["SHOP_MODE"] == "test"
path = os.path.join(sys.argv[1], "orders.json")
orders = json.load(open(path))
orders["10482"] = "shipped"
json.dump(orders, open(path, "w"))
print("Shipped.")
"""
SHIPPED = "{type: fileJson, path: orders.json, at: '$[\"10482\"]', value: shipped}"


def evals(*assertions: str, playground: str = WORLD, reps: int = 1) -> str:
    asked = "".join(f"    - {one}\n" for one in assertions)
    fixture = FIXTURE.replace("PLAYGROUND", playground)
    return EVAL.replace("REPS", str(reps)) + fixture + asked


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "repo")
    repo.write("desk/agent.yaml", AGENT)
    repo.write("desk/agent.py", SHIPS)
    repo.write("desk/world/orders.json", '{"10482": "paid"}')
    repo.write("desk/evals.yaml", evals(SHIPPED))
    repo.commit("Begin")
    repo.branch("change")
    return repo


def agent(repo: Repo, program: str) -> None:
    repo.write("desk/agent.py", textwrap.dedent(program))


def trials(repo: Repo, *command: str, code: int) -> list[dict[str, Any]]:
    """Run the gate; return the trials of head, and see that nothing of them is left."""
    out = repo.path.parent / f"results-{len(list(repo.path.parent.iterdir()))}"
    keys = {"OPENAI_API_KEY": "sk-canary-0123456789", "SHOP_TOKEN": "canary-of-the-shop"}
    done = gateval(repo, *command, "--results", str(out), **keys)
    assert done.returncode == code, done.stdout + done.stderr
    assert candidate_processes(repo.path.parent) == []
    assert list((repo.path.parent / "home").glob("gateval-*")) == []
    results = json.loads((out / "results.v1.json").read_text())
    return [one for one in results["trials"] if one["key"]["side"] == "head"]


def run(repo: Repo, code: int = 0) -> dict[str, Any]:
    repo.commit()
    found = trials(repo, "run", "desk-eval", code=code)
    return found[0]


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


def test_what_a_hostile_candidate_leaves_is_looked_at_when_it_is_gone(repo: Repo) -> None:
    asked = (
        "{type: not, assertions: [{type: fileExists, path: late}]}",
        "{type: fileEquals, path: hosts, value: ''}",
        "{type: fileMatches, path: fifo, pattern: .}",
        "{type: fileExists, path: 'out/passwd'}",
        "{type: directoryListing, entries: [fifo, hosts, orders.json, out]}",
    )
    repo.write("desk/evals.yaml", evals(*asked))
    agent(
        repo,
        """\
        import os, sys, time
        os.chdir(sys.argv[1])
        os.symlink("/etc/hosts", "hosts")
        os.symlink("/etc", "out")
        os.mkfifo("fifo")
        if os.fork() == 0:
            os.setsid()
            os.close(1), os.close(2)
            time.sleep(3)
            open("late", "w").write("x")
            time.sleep(60)
        print("Done.")
        """,
    )
    repo.commit()
    began = time.monotonic()
    (trial,) = trials(repo, "run", "desk-eval", code=1)
    assert time.monotonic() - began < 60
    said = [one["status"] for one in trial["assessments"]]
    assert said == ["passed", "failed", "failed", "failed", "passed"]
    assert "a symbolic link, which is not followed" in trial["assessments"][1]["reason"]


def test_statements_reach_nothing_but_their_database(repo: Repo, tmp_path: Path) -> None:
    target = tmp_path / "escaped.db"
    tmp_path.chmod(0o777)
    ground = "{sqlite: {source: shop.sql}}"
    asked = "{type: sqlQuery, query: SELECT b FROM a, value: 1}"
    repo.write("desk/evals.yaml", evals(asked, playground=ground))
    repo.write("desk/shop.sql", f"ATTACH '{target}' AS x; CREATE TABLE x.a (b);")
    agent(repo, "print('Done.')\n")
    trial = run(repo, 3)
    assert (trial["outcome"], trial["cause"]) == ("error", "check")
    assert "The playground could not be made. What makes the database ended" in trial["reason"]
    assert not target.exists()
    repo.write("desk/shop.sql", "CREATE TABLE a (b); INSERT INTO a VALUES (1);")
    assert run(repo)["outcome"] == "pass"


SERVICE = """\
import http.server, os, sys
os.environ["GATEVAL_PLAYGROUND"]
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
        self.wfile.write(open("orders.json", "rb").read())
    def do_PUT(self):
        open("orders.json", "w").write('{"10482": "shipped"}')
        self.send_response(204); self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
SERVED = "{folder: world, services: [{name: shop, folder: served, command: [python3, shop.py, '{port}'], ready: {path: /}}]}"  # fmt: skip
ASKED = "{type: httpResponse, service: shop, at: '$[\"10482\"]', value: shipped}"


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


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("desk/world/orders.json", '{"10482": "shipped"}'), "files of the playground of fixture"),
        (("desk/world/more.txt", None), "files of the playground of fixture"),
        (("desk/world/new.txt", "x"), "files of the playground of fixture"),
        (
            ("desk/evals.yaml", evals(SHIPPED, playground="{folder: world}")),
            "playground of fixture",
        ),
    ],
)
def test_a_change_of_its_files_selects_the_fixture_and_no_agent(
    repo: Repo, change: tuple[str, str | None], what: str
) -> None:
    repo.checkout("main")
    repo.write("desk/world/more.txt", "More.")
    repo.commit()
    repo.branch("less")
    path, text = change
    if text is None:
        (repo.path / path).unlink()
    else:
        repo.write(path, text)
    repo.commit()
    plan = json.loads(gateval(repo, "plan", "--base", "main", "--json").stdout)
    assert plan["changes"] == []
    assert [one["name"] for one in plan["evals"]] == ["desk-eval", "desk-eval.base-tip"]
    assert [one["what"] for one in plan["evals"][0]["why"]] == ["fixture ships changed"]
    (lowered,) = plan["evals"][1]["bar"]["lowered"]
    assert lowered["what"].startswith(what)


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


def test_files_of_an_agent_do_not_stop_to_count_by_being_declared_a_playground(repo: Repo) -> None:
    repo.checkout("main")
    whole = AGENT.replace("  watch: [agent.py]\n", "")
    repo.write("desk/agent.yaml", whole)
    repo.write("desk/lib/words.txt", "Shipped.")
    repo.commit()
    repo.branch("attack")
    repo.write("desk/evals.yaml", evals(SHIPPED, playground="{folder: lib}"))
    repo.commit()
    plan = json.loads(gateval(repo, "plan", "--base", "main", "--json").stdout)
    (change,) = plan["changes"]
    assert change["agent"] == "desk"
    assert "lib/words.txt" in json.dumps(change)


def test_a_playground_that_is_made_to_pass_is_as_the_target_branch_has_it(repo: Repo) -> None:
    agent(repo, "print('I did nothing.')\n")
    repo.write("desk/world/orders.json", '{"10482": "shipped"}')
    repo.commit()
    found = trials(repo, "check", "--base", "main", code=1)
    outcomes = {one["key"]["eval"]: one["outcome"] for one in found}
    assert outcomes == {"desk-eval": "pass", "desk-eval.base-tip": "fail"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_none_is_left_of_a_run_that_is_stopped(
    repo: Repo, tmp_path: Path, number: signal.Signals
) -> None:
    repo.write("desk/served/shop.py", SERVICE)
    repo.write("desk/served/orders.json", "{}")
    repo.write("desk/evals.yaml", evals(ASKED, playground=SERVED))
    agent(repo, "import time\ntime.sleep(60)\n")
    repo.commit()
    started = start_gateval(repo, "run", "desk-eval", "--results", str(tmp_path / "out"))
    home, deadline = tmp_path / "home", time.monotonic() + 40
    while not candidate_processes(tmp_path) or len(list(home.glob("gateval-*/playground-*"))) < 2:
        assert time.monotonic() < deadline
        assert started.poll() is None
        time.sleep(0.02)
    os.kill(started.pid, number)
    started.communicate(timeout=30)
    deadline = time.monotonic() + 30
    while candidate_processes(tmp_path) or any(home.glob("gateval-*")):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("playground", "said"),
    [
        ("{folder: .}", "holds the manifest itself"),
        ("{folder: ../..}", "leads out of the repository"),
        ("{folder: nowhere}", "desk/nowhere is no folder with files of this revision"),
        ("{files: ['*.txt']}", "matches no file of this revision"),
        ("{sqlite: {source: x.sql}}", "desk/x.sql is no file of this revision"),
        ("{env: {HOME: /}}", "HOME is set by the gate"),
        ("{services: [{name: a, command: [x, '{services.b}']}]}", 'no service "b" before'),
    ],
)
def test_what_cannot_be_made_is_told_before(repo: Repo, playground: str, said: str) -> None:
    repo.write("desk/evals.yaml", evals(SHIPPED, playground=playground))
    done = gateval(repo, "validate")
    assert done.returncode == 2, done.stdout
    assert said in " ".join((done.stdout + done.stderr).split())


def test_a_check_without_a_playground_or_in_a_turn_is_told_before(repo: Repo) -> None:
    repo.write("desk/evals.yaml", evals(SHIPPED).replace(f"  playground: {WORLD}\n", ""))
    done = gateval(repo, "validate")
    assert "`fileJson` looks at a playground. Add spec.playground" in done.stdout + done.stderr
    turn = f"  turns: [{{user: One, assertions: [{SHIPPED}]}}]\n  playground"
    repo.write("desk/evals.yaml", evals(SHIPPED).replace("  playground", turn))
    done = gateval(repo, "validate")
    assert "looked at after the last turn" in done.stdout + done.stderr
    repo.write("desk/evals.yaml", evals(ASKED))
    done = gateval(repo, "validate")
    assert 'The playground has no service "shop"' in done.stdout + done.stderr


def test_an_agent_that_can_do_nothing_in_it_is_told(repo: Repo) -> None:
    repo.write("desk/agent.yaml", MCP.partition("  tools:")[0])
    repo.write(".gateval/scripted/desk.yaml", SCRIPT)
    done = gateval(repo, "validate")
    assert done.returncode == 0, done.stderr
    assert "so nothing changes what is in the playgrounds" in done.stdout + done.stderr


def test_an_agent_may_not_name_a_playgrounds_own_files(repo: Repo) -> None:
    repo.write("desk/agent.yaml", AGENT.replace("[agent.py]", "[agent.py, world/orders.json]"))
    done = gateval(repo, "validate")
    assert "is a playground's own, which agents get in its runs alone" in done.stdout + done.stderr


MCP = f"""\
apiVersion: gateval/v1
kind: Agent
metadata: {{name: desk}}
spec:
  models: [scripted/desk]
  tools:
    - type: mcp
      name: files
      command: [{sys.executable}, agent.py, "{{playground}}"]
  watch: [agent.py]
"""
TOOL = """\
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if asked["method"] == "initialize":
        said = {"protocolVersion": asked["params"]["protocolVersion"],
                "capabilities": {"tools": {}}, "serverInfo": {"name": "files", "version": "1"}}
    elif asked["method"] == "tools/list":
        said = {"tools": [{"name": "ship", "description": "Ship.", "inputSchema": {"type": "object"}}]}
    else:
        open(sys.argv[1] + "/orders.json", "w").write('{"10482": "shipped"}')
        said = {"content": [{"type": "text", "text": "shipped"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": said}), flush=True)
"""
SCRIPT = """\
rules:
  - when: {user: Ship, turn: 1}
    toolCalls: [{name: ship, arguments: {order: "10482"}}]
  - when: {tool: shipped}
    reply: It is shipped.
"""


def test_tools_of_a_declarative_agent_work_in_it_and_are_seen_on_the_wire(repo: Repo) -> None:
    repo.write("desk/agent.yaml", MCP)
    agent(repo, TOOL)
    repo.write(".gateval/scripted/desk.yaml", SCRIPT)
    call = "{type: wireCall, tool: ship, arguments: {order: '10482'}, atMost: 1}"
    said = "{type: transcriptContains, phrases: [ship, It is shipped.], speaker: any}"
    repo.write("desk/evals.yaml", evals(SHIPPED, call, said))
    assert run(repo)["outcome"] == "pass"


LOCKED = """\
import os, sqlite3, sys, urllib.request
root = sys.argv[1]
for path in (root, root + "/orders.json", root + "/deep"):
    assert os.stat(path).st_uid == os.getuid() != 0, path
os.chdir(root)
os.makedirs("deep/locked")
open("deep/locked/note", "w").write("x")
os.chmod("deep/locked/note", 0)
os.chmod("deep/locked", 0)
with sqlite3.connect("shop.db") as shop:
    shop.execute("UPDATE a SET b = 2")
others = [one for one in os.listdir(os.path.dirname(root))] if os.access(os.path.dirname(root), os.R_OK) else []
assert others == [], others
url = "http://" + os.environ["GATEVAL_SERVICE_SHOP"]
urllib.request.urlopen(urllib.request.Request(url, method="PUT")).close()
print("Done.")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives users of their own")
def test_behind_walls_with_users_of_their_own_all_is_looked_at_and_removed() -> None:
    ground = (
        "{folder: world, sqlite: {name: shop.db, source: shop.sql}, services: [{name: shop, "
        "folder: served, command: [python3, shop.py, '{port}'], ready: {path: /}}]}"
    )
    asked = (
        "{type: fileEquals, path: deep/locked/note, value: x}",
        "{type: sqlQuery, path: shop.db, query: SELECT b FROM a, value: 2}",
        "{type: commandResult, command: [sh, -c, 'cat deep/*/note; touch n; id -u'], stdoutMatches: '^x[1-9]'}",
        "{type: directoryListing, entries: [deep/, orders.json, shop.db]}",
        ASKED,
    )
    with open_folder() as folder:
        shop = Repo(folder / "repo")
        shop.write("desk/agent.yaml", AGENT)
        shop.write("desk/agent.py", LOCKED)
        shop.write("desk/world/orders.json", "{}")
        shop.write("desk/world/deep/.keep", "")
        shop.write("desk/shop.sql", "CREATE TABLE a (b); INSERT INTO a VALUES (1);")
        shop.write("desk/served/shop.py", SERVICE)
        shop.write("desk/served/orders.json", "{}")
        shop.write("desk/evals.yaml", evals(*asked, playground=ground, reps=2))
        shop.commit()
        arguments = ("run", "desk-eval", "--results", str(folder / "out"))
        started = start_gateval(shop, *arguments, command=[sys.executable, "-P", "-m", "gateval"])
        said = "".join(started.communicate(timeout=120))
        assert started.returncode == 0, said
        assert "own user per candidate" in said
        assert list((folder / "home").glob("gateval-*")) == []
