"""An answer that no model gave does not count, though the program that printed it ended well."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.command import gateval
from tests.helpers.providers import provider
from tests.helpers.repo import Repo
from tests.helpers.sealed import CONFIG, KEY, leaks, seal
from tests.servers.model_server import Answer, Call, failure, reply

GONE = "The model `gone` does not exist or you do not have access to it."

PROGRAM = """\
import json, os, sys, urllib.request

def ask(model, text):
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps({"model": model, "messages": [{"role": "user", "content": text}]}).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
    )
    with urllib.request.urlopen(request) as answered:
        return json.load(answered)["choices"][0]["message"]["content"]

def answer(text):
    for model in MODELS:
        try:
            return ask(model, text)
        except Exception:
            pass
    return "There's an issue with the selected model. Answered without it."

"""

COMMAND = 'print(answer(json.load(sys.stdin)["prompt"]))\n'
PROCESS = """\
for line in sys.stdin:
    print(answer(json.loads(line)["prompt"]), flush=True)
"""
HTTP = """\
from http.server import BaseHTTPRequestHandler, HTTPServer

class Desk(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = json.dumps({"reply": answer(asked["message"])}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

HTTPServer(("127.0.0.1", int(sys.argv[1])), Desk).serve_forever()
"""

RUNTIMES = {
    "command": (COMMAND, "{type: command, command: [python3, desk.py]}"),
    "process": (
        PROCESS,
        "{type: command, command: [python3, desk.py], conversation: process}",
    ),
    "http": (
        HTTP,
        """{type: http, command: [python3, desk.py, '{port}'], ready: {path: /},
    request: {path: /, body: {message: '{{ prompt }}'}}, response: {output: $.reply}}""",
    ),
}

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {{name: desk}}
spec:
  uses: [openai/fine, openai/gone, openai/odd, openai/next, openai/down, openai/embed]
{more}  runtime: {runtime}
"""
EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: desk-eval}
spec:
  targetAgent: desk
  fixtures: [hello]
"""
FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: hello}
spec:
  input: {type: prompt, payload: {prompt: "Hello?"}}
TURNS  assertions: [{type: regex, pattern: '\\w'}]
"""


def serve(call: Call) -> Answer:
    """`fine` and `next` answer; `gone` is no model, `odd` wants no such parameter, `down` is ill."""
    model = call.body["model"]
    if model == "gone":
        return failure(call, 404, GONE)
    if model == "odd":
        return failure(call, 400, "Unsupported parameter: 'max_tokens'.")
    if model == "down":
        return failure(call, 503, "Overloaded.")
    return reply(call, "Good day!")


def desk(tmp_path: Path, runtime: str = "command", more: str = "", **models: list[str]) -> Repo:
    """A repository whose Agent asks `base` models, and on the branch `work` those of `head`."""
    repo = Repo(tmp_path / "desk")
    body, spec = RUNTIMES[runtime]
    repo.write("agent.yaml", AGENT.format(runtime=spec, more=more))
    repo.write("evals/eval.yaml", EVAL)
    turns = "  turns: [{user: And how are you?}]\n" if runtime == "process" else ""
    repo.write("evals/hello.yaml", FIXTURE.replace("TURNS", turns))
    for side in ("base", "head"):
        if side == "head":
            repo.branch("work")
        repo.write("desk.py", f"MODELS = {models[side]!r}\n{PROGRAM}{body}")
        repo.commit(side)
    return repo


def check(repo: Repo, *arguments: str) -> tuple[int, dict[str, Any], str, str]:
    """Compare `work` with main; give the exit code, the results, what was printed, the comment."""
    folder = repo.path.parent / f"results-{len(list(repo.path.parent.iterdir()))}"
    with provider(serve) as (_, environ):
        done = gateval(
            repo, *(arguments or ("check", "--base", "main")), "--results", str(folder),
            **environ, GATEVAL_OUTAGE_SECONDS="1", COLUMNS="200",
        )  # fmt: skip
    assert (folder / "results.v1.json").is_file(), done.stderr
    results = json.loads((folder / "results.v1.json").read_text())
    results["decision"] = json.loads((folder / "decision.v1.json").read_text())
    shown = f"{done.stdout}\n{(folder / 'junit.xml').read_text()}"
    return done.returncode, results, shown, (folder / "comment.md").read_text()


def sides(results: dict[str, Any]) -> list[str]:
    return sorted(trial["key"]["side"] for trial in results["trials"])


@pytest.mark.drawn("runtime")
@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize(
    ("model", "words"),
    [("gone", "does not exist or you do not have access"), ("odd", "Unsupported parameter")],
)
def test_a_model_that_the_provider_refuses_is_heads_failure(
    tmp_path: Path, runtime: str, model: str, words: str
) -> None:
    code, results, shown, comment = check(desk(tmp_path, runtime, base=["fine"], head=[model]))
    assert code == 1, shown
    assert words in " ".join(shown.split())
    assert words in comment
    [reason] = results["decision"]["reasons"]
    assert reason["text"].startswith("hello: head does not answer; base does. No model answered ")
    assert words in reason["text"]
    assert sides(results) == ["base", "head"], "it repeats, so nobody is asked again"
    head = next(one for one in results["trials"] if one["key"]["side"] == "head")
    assert (head["outcome"], head["cause"]) == ("fail", "candidate")
    assert (head["calls"]["refused_by"], head["calls"]["answered"]) == ("provider", 0)


def test_a_fallback_model_that_answers_is_an_answer(tmp_path: Path) -> None:
    code, results, shown, _ = check(desk(tmp_path, base=["fine"], head=["gone", "next"]))
    assert code == 0, shown
    assert {trial["outcome"] for trial in results["trials"]} == {"pass"}


@pytest.mark.parametrize("threshold", ["", "  scoring: {passThreshold: 0.9}\n"])
def test_what_the_provider_refuses_both_sides_is_inconclusive(
    tmp_path: Path, threshold: str
) -> None:
    repo = desk(tmp_path, base=["gone"], head=["gone", "odd"])
    repo.write("evals/eval.yaml", EVAL + threshold)
    repo.commit()
    code, results, shown, _ = check(repo)
    assert code == 3, shown
    assert sides(results) == ["base", "head"]
    assert "Base was refused as well" in shown


def test_an_outage_is_still_an_outage(tmp_path: Path) -> None:
    """Also where a fallback is refused, which nobody would have asked had the provider been up."""
    code, results, shown, _ = check(desk(tmp_path, base=["fine"], head=["down", "gone"]))
    assert code == 3, shown
    head = next(one for one in results["trials"] if one["key"]["side"] == "head")
    assert (head["outcome"], head["cause"]) == ("error", "provider")


def test_what_the_gateway_refuses_is_the_candidates_doing(tmp_path: Path) -> None:
    code, results, shown, _ = check(desk(tmp_path, base=["fine"], head=["unnamed"]))
    assert code == 1, shown
    assert "and not openai/unnamed" in shown
    head = next(one for one in results["trials"] if one["key"]["side"] == "head")
    assert (head["outcome"], head["calls"]["refused_by"]) == ("fail", "gateway")


def test_a_path_that_the_gateway_does_not_have_is_the_candidates_doing(tmp_path: Path) -> None:
    repo = desk(tmp_path, base=["fine"], head=["fine"])
    program = (repo.path / "desk.py").read_text()
    repo.write("desk.py", program.replace("/chat/completions", "/threads"))
    repo.commit()
    code, _, shown, _ = check(repo)
    assert code == 1, shown
    assert "The gateway refused its only model call" in shown


def test_embeddings_are_no_answer_where_a_model_was_asked_for_words(tmp_path: Path) -> None:
    repo = desk(tmp_path, base=["fine"], head=["gone"])
    program = (repo.path / "desk.py").read_text()
    embeds = """\
def embed():
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/embeddings",
        json.dumps({"model": "embed", "input": "x"}).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
    )
    urllib.request.urlopen(request).read()
"""
    repo.write(
        "desk.py",
        program.replace("def answer(text):\n", embeds + "def answer(text):\n    embed()\n"),
    )
    repo.commit()

    def respond(call: Call) -> Answer:
        if call.path.endswith("/embeddings"):
            found = {"object": "list", "model": "embed", "usage": {"prompt_tokens": 1, "total_tokens": 1},
                     "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}]}  # fmt: skip
            return Answer(body=json.dumps(found).encode())
        return serve(call)

    results = repo.path.parent / "results"
    with provider(respond) as (_, environ):
        done = gateval(repo, "check", "--base", "main", "--results", str(results), **environ)
    trials = json.loads((results / "results.v1.json").read_text())["trials"]
    head = next(one for one in trials if one["key"]["side"] == "head")
    assert done.returncode == 1, done.stdout
    assert (head["calls"]["inputs_answered"], head["outcome"]) == (1, "fail")


@pytest.mark.drawn("runtime")
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_an_agent_that_asks_no_model_any_more_is_inconclusive(tmp_path: Path, runtime: str) -> None:
    repo = desk(tmp_path, runtime, base=["fine"], head=[])
    code, _, shown, comment = check(repo)
    assert code == 3, shown
    assert "desk: base asked models in 1 of 1 runs, and head in none of 1" in " ".join(
        shown.split()
    )
    assert "desk: base asked models in 1 of 1 runs" in comment
    assert "accept-bar-change" in comment
    code, _, shown, _ = check(repo, "check", "--base", "main", "--accept-bar-change")
    assert code == 0, shown


@pytest.mark.parametrize("head", [["gone"], []], ids=["an honest fallback", "no model any more"])
def test_the_base_tip_may_let_an_agent_answer_without_a_model(
    tmp_path: Path, head: list[str]
) -> None:
    optional = "  modelCalls: optional\n"
    code, _, shown, _ = check(desk(tmp_path, more=optional, base=["fine"], head=head))
    assert code == 0, shown


@pytest.mark.parametrize(("head", "code"), [(["gone"], 1), ([], 3)])
def test_head_may_not_let_itself(tmp_path: Path, head: list[str], code: int) -> None:
    repo = desk(tmp_path, base=["fine"], head=head)
    manifest = AGENT.format(runtime=RUNTIMES["command"][1], more="  modelCalls: optional\n")
    repo.write("agent.yaml", manifest)
    repo.commit()
    got, _, shown, _ = check(repo)
    assert got == code, shown


def test_a_program_that_never_asked_a_model_passes_as_before(tmp_path: Path) -> None:
    repo = desk(tmp_path, base=[], head=[])
    repo.write("desk.py", (repo.path / "desk.py").read_text() + "# changed\n")
    repo.commit()
    code, _, shown, _ = check(repo)
    assert code == 0, shown


@pytest.mark.parametrize("command", [("run", "desk-eval"), ("check", "--base", "main")])
def test_without_a_base_it_is_no_pass_either(tmp_path: Path, command: tuple[str, ...]) -> None:
    repo = Repo(tmp_path / "desk")
    repo.write("README.md", "A desk.\n")
    repo.commit()
    body, spec = RUNTIMES["command"]
    repo.branch("work")
    repo.write("agent.yaml", AGENT.format(runtime=spec, more=""))
    repo.write("evals/eval.yaml", EVAL)
    repo.write("evals/hello.yaml", FIXTURE.replace("TURNS", ""))
    repo.write("desk.py", f"MODELS = ['gone']\n{PROGRAM}{body}")
    repo.commit()
    code, results, shown, _ = check(repo, *command)
    assert code != 0, shown
    assert "does not exist" in shown
    assert sides(results) == ["head"]


@pytest.mark.parametrize(("base", "code"), [("fine", 1), ("gone", 3)])
def test_of_what_is_sealed_nobody_reads_the_providers_words(
    tmp_path: Path, base: str, code: int
) -> None:
    repo = Repo(tmp_path / "desk")
    body, spec = RUNTIMES["command"]
    repo.write("agent.yaml", AGENT.format(runtime=spec, more=""))
    repo.write(".github/gateval.yml", CONFIG)
    asked = FIXTURE.replace("TURNS", "").replace("Hello?", "Is it ZANZIBAR?")
    seal(repo, "evals/held.yaml", f"{asked}---\n{EVAL}")
    for side, model in (("main", base), ("work", "gone")):
        if side == "work":
            repo.branch("work")
        repo.write("desk.py", f"MODELS = {[model]!r}\n{PROGRAM}{body}# {side}\n")
        repo.commit()

    def quotes(call: Call) -> Answer:
        if call.body["model"] == "gone":
            return failure(call, 404, f"Cannot answer {call.body['messages']}")
        return reply(call, "Good day!")

    out = tmp_path / "out"
    with provider(quotes) as (_, environ):
        arguments = ("check", "--base", "main", "--results", str(out))
        done = gateval(repo, *arguments, **environ, **KEY)
    assert done.returncode == code, done.stdout
    assert leaks([out], [done.stdout, done.stderr]) == []
    assert json.loads((out / "results.v1.json").read_text())["trials"] == []


@pytest.mark.parametrize("base", ["fine", "gone"])
def test_an_agent_of_the_gates_own_loop_is_no_other(tmp_path: Path, base: str) -> None:
    repo = Repo(tmp_path / "desk")
    declared = "{{type: model}}\n  models: [openai/{model}]".replace("{{", "{").replace("}}", "}")
    repo.write("evals/eval.yaml", EVAL)
    repo.write("evals/hello.yaml", FIXTURE.replace("TURNS", ""))
    for side, model in (("main", base), ("work", "gone")):
        if side == "work":
            repo.branch("work")
        spec = declared.replace("{model}", model)
        repo.write("agent.yaml", AGENT.format(runtime=spec, more=f"  system: Of {side}.\n"))
        repo.commit()
    code, results, shown, _ = check(repo)
    assert code == (1 if base == "fine" else 3), shown
    assert sides(results) == ["base", "head"]
    assert "does not exist" in shown


def test_a_call_that_the_program_gives_up_is_answered_by_nobody(tmp_path: Path) -> None:
    repo = desk(tmp_path, base=["fine"], head=["slow"])
    program = (repo.path / "desk.py").read_text()
    repo.write("desk.py", program.replace("urlopen(request)", "urlopen(request, timeout=0.3)"))
    manifest = (repo.path / "agent.yaml").read_text()
    repo.write("agent.yaml", manifest.replace("openai/fine,", "openai/fine, openai/slow,"))
    repo.commit()

    def respond(call: Call) -> Answer:
        return reply(call, "Good day!", delay=30 if call.body["model"] == "slow" else 0)

    out = tmp_path / "out"
    with provider(respond) as (_, environ):
        done = gateval(repo, "check", "--base", "main", "--results", str(out), **environ)
    assert done.returncode == 1, done.stdout
    assert "The agent gave up its only model call before a model answered" in " ".join(
        done.stdout.split()
    )


EXPERIMENT = """\
apiVersion: gateval/v1
kind: Experiment
metadata: {name: desk-eval}
spec:
  targetAgent: desk
  data: golden.csv
  scorers: [contains]
"""
BENCHMARK = """\
apiVersion: gateval/v1
kind: Benchmark
metadata: {name: desk-eval}
spec:
  version: "1"
  targetAgent: desk
  tasks:
    - name: hello
      instruction: "Hello?"
      criteria:
        - {label: says something, axis: correctness, check: {type: regex, pattern: '\\w'}}
"""
SUITE = """\
execution: {target: desk}
evalcases:
  - id: hello
    expected_outcome: Says something
    input: "Hello?"
    execution:
      evaluators: [{name: says, type: code_judge, script: [python3, says.py]}]
"""
TARGETS = """\
targets:
  - {name: desk, provider: cli, command_template: "python3 desk.py {PROMPT}", cwd: ..}
"""
SAYS = 'print(\'{"score": 1.0, "hits": [], "misses": []}\')\n'
KINDS = {
    "experiment": {
        "evals/eval.yaml": EXPERIMENT,
        "evals/golden.csv": "id,input,expected\nhello,Hello?,Good day!\n",
    },
    "benchmark": {"evals/eval.yaml": BENCHMARK},
    "agentv": {
        "evals/desk.yaml": SUITE,
        "evals/says.py": SAYS,
        ".agentv/targets.yaml": TARGETS,
    },
}


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_so_for_all_that_is_asked(tmp_path: Path, kind: str) -> None:
    repo = Repo(tmp_path / "desk")
    body, spec = RUNTIMES["command"]
    if kind == "agentv":
        body = "print(answer(sys.argv[1]))\n"
    else:
        repo.write("agent.yaml", AGENT.format(runtime=spec, more=""))
    for path, text in KINDS[kind].items():
        repo.write(path, text)
    for model in ("fine", "gone"):
        if model == "gone":
            repo.branch("work")
        repo.write("desk.py", f"MODELS = {[model]!r}\n{PROGRAM}{body}")
        repo.commit()
    code, results, shown, _ = check(repo)
    assert code == 1, shown
    assert "does not exist or you do not have access" in " ".join(shown.split())
    assert sides(results) == ["base", "head"]
