"""One's own checks through the real command: what they may do, who sees them, what a change of them
is. Every fault of a check is an error: never a pass, never the candidate's failure.
"""

from __future__ import annotations

import contextlib
import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.serving import HTTP

ANSWERED = {
    "a check edited to say 1.0, or a file that it reads": "an edit of the bar; the target branch's version runs from the target branch's files as well",
    "an alternative added to `any`, a part taken out of `all` or `not`": "the same",
    "a candidate that looks for the check's files, changes them, or kills it": "it gets none of them; the check runs after the answer, in an export and as a user of its own",
    "an Agent that names the check's files in `include`, `watch` or `command`": "refused before anything runs",
    "an Agent's folder declared a check's own, so that its changes no longer count": "a file that leaves its Agent is a change of it, and a lower bar to be accepted",
    "a check that crashes, hangs, forks, prints without end, answers `NaN`, 7 or two things at once": "`error`, and nothing of it is left",
    "a check that looks for keys or calls out": "it has none; where `policy.egress` limits candidates, it connects to nothing",
    "a reason with markup, escapes or workflow commands": "shortened, and through the one sanitiser",
    "a negation that passes because nothing was there, or because a call was refused": "it fails",
}
"""What these tests and their neighbours carry out, as `docs/reference/attacks.md` tells it."""

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec:
  runtime: {type: command, command: [python3, agent.py]}
"""
EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: desk-eval}
spec:
  targetAgent: desk
  fixtureSelector: {matchLabels: {agent: desk}}
"""
SAYS = "print('Please come in.')\n"
POLITE = """\
from gateval.checks import check

@check
def is_polite(trial):
    return "please" in trial.output.lower()
"""
PYTHON = "{type: python, function: checks/polite.py::is_polite}"


def fixture(name: str, *assertions: str) -> str:
    return (
        "---\napiVersion: gateval/v1\nkind: EvalFixture\n"
        f"metadata: {{name: {name}, labels: {{agent: desk}}}}\nspec:\n"
        "  input: {type: prompt, payload: {prompt: Hello}}\n"
        f"  assertions: [{', '.join(assertions)}]\n"
    )


def script(*words: str, more: str = "") -> str:
    return f"{{type: script, command: [{', '.join(words)}]{more}}}"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "repo")
    repo.write("desk/agent.yaml", AGENT)
    repo.write("desk/agent.py", SAYS)
    repo.write("desk/checks/polite.py", POLITE)
    repo.write("desk/evals.yaml", EVAL + fixture("greets", PYTHON))
    repo.commit("Begin")
    repo.branch("change")
    return repo


def trials(repo: Repo, *command: str, code: int) -> dict[str, Any]:
    """Run the gate; return the trials of head by fixture."""
    folder = repo.path.parent / f"results-{len(list(repo.path.parent.iterdir()))}"
    keys = {"OPENAI_API_KEY": "sk-canary-0123456789", "SHOP_TOKEN": "canary-of-the-shop"}
    done = gateval(repo, *command, "--results", str(folder), **keys)
    assert done.returncode == code, done.stdout + done.stderr
    results = json.loads((folder / "results.v1.json").read_text())
    assert left(f"check-{results['info']['run']}") == []
    return {
        f"{one['key']['eval']}/{one['key']['fixture']}": one
        for one in results["trials"]
        if one["key"]["side"] == "head"
    }


def left(mark: str) -> list[str]:
    """The processes that carry this name in their environment."""
    found = []
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if process.name.isdigit() and mark.encode() in (process / "environ").read_bytes():
                found.append(process.name)
    return found


def test_a_function_and_a_program_are_run_with_what_they_are_told(repo: Repo) -> None:
    told = """\
    import json, os, re, sys
    told = json.load(sys.stdin)
    mine = sorted(os.path.join(folder, name) for folder, _, names in os.walk(".") for name in names)
    keys = sorted(told), told["prompt"], told["output"], told["vars"], told["fixture"]["name"]
    kinds = [step["kind"] for step in told["steps"]]
    env = [name for name in os.environ if re.search("KEY|TOKEN|SECRET|URL|SHOP", name)]
    print(json.dumps({"score": 0.25, "passed": True, "steps": [1],
                      "reason": " ".join(map(str, [keys, kinds, mine, env]))}))
    """
    repo.write("desk/checks/told.py", textwrap.dedent(told))
    repo.write("lib/words.txt", "x\n")
    repo.write("desk/checks/notes.yaml", fixture("noted", PYTHON.replace("checks/", "")))
    more = ", vars: {a: 1}, include: [/lib/**]"
    asked = script("python3", "checks/told.py", more=more)
    repo.write("desk/evals.yaml", EVAL + fixture("greets", PYTHON) + fixture("told", asked))
    repo.commit()
    found = trials(repo, "run", "desk-eval", code=0)
    assert found["desk-eval/greets"]["assessments"][0]["score"] == 1
    (one,) = found["desk-eval/told"]["assessments"]
    assert (one["status"], one["score"], one["steps"]) == ("passed", 0.25, [1])
    for words in (
        "'complete', 'fixture', 'input', 'output', 'prompt', 'reference', 'seconds', 'steps', 'trace', ",
        "'Hello', 'Please come in.\\\\n', {'a': 1}, 'told'",
        "['user', 'assistant'] ['./checks/polite.py', './checks/told.py'] []",
    ):
        assert words.replace("\\\\n", "") in one["reason"].replace("\\\\n", "").replace(
            "\\n", ""
        ), one["reason"]


FAULTS = {
    "crash": ("raise SystemExit(3)", "ended with exit code 3"),
    "traceback": ("1 / 0", "It said last: ZeroDivisionError: division by zero"),
    "hang": ("import time; time.sleep(60)", "not done within 1 s"),
    "deaf": (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)",
        "not done within 1 s",
    ),
    "flood": ("while True: print('x' * 2**20)", "printed more than 256 KiB on standard output"),
    "forks": (
        "import os, time\nfor _ in range(5):\n    if os.fork() == 0: time.sleep(600)\nos._exit(4)",
        "ended with exit code 4",
    ),
    "nothing": ("", "cannot be used: it printed nothing"),
    "prose": ("print('all fine')", 'expecting value at line 1, column 1; it printed "all fine"'),
    "two": ('print(\'{"score": 1}{"score": 0}\')', "cannot be used: extra data"),
    "twice": ('print(\'{"score": 1, "score": 0}\')', "stands there twice"),
    "nan": ("print('{\"score\": NaN}')", "NaN is no JSON number"),
    "infinite": ("print('{\"score\": 1e999}')", "a number is too big"),
    "seven": ("print('{\"score\": 7}')", "score: Input should be less than or equal to 1"),
    "bool": ("print('{\"score\": true}')", "score: Input should be a valid number"),
    "text": ('print(\'{"passed": "yes"}\')', "passed: Input should be a valid boolean"),
    "silent": ('print(\'{"reason": "well"}\')', "it has neither `score` nor `passed`"),
    "list": ("print('[1]')", "it is no JSON object"),
    "unknown": ("print('{\"scores\": 1}')", "scores: Extra inputs are not permitted"),
    "steps": ('print(\'{"score": 0, "steps": [99]}\')', "names step 99, and there are steps"),
    "zero": ('print(\'{"score": 0, "steps": [0]}\')', "names step 0"),
    "bytes": ("import sys; sys.stdout.buffer.write(b'\\xff')", "it is not UTF-8"),
}


def test_a_check_that_breaks_is_an_error_and_nothing_of_it_stays(repo: Repo) -> None:
    written = EVAL.replace("spec:\n", "spec:\n  execution: {parallel: 8}\n")
    for name, (program, _) in FAULTS.items():
        repo.write(f"desk/checks/{name}.py", program)
        seconds = 1 if name in {"hang", "deaf"} else 30
        asked = script("python3", f"checks/{name}.py", more=f", timeoutSeconds: {seconds}")
        written += fixture(name, asked)
    repo.write("desk/evals.yaml", written)
    repo.commit()
    found = trials(repo, "run", "desk-eval", code=3)
    for name, (_, said) in FAULTS.items():
        trial = found[f"desk-eval/{name}"]
        (one,) = trial["assessments"]
        assert (trial["outcome"], one["status"], one["cause"]) == ("error", "error", "check"), name
        assert said in one["reason"], (name, one["reason"])
        assert "gateval-" not in one["reason"], one["reason"]


def test_what_it_says_does_nothing_to_a_terminal_or_a_log(repo: Repo) -> None:
    hostile = (
        "import json\nprint(json.dumps({'score': 0, 'reason': "
        "'\\n::add-mask::x\\x1b[31m <b>' + 'y' * 9000}))\n"
    )
    repo.write("desk/checks/hostile.py", hostile)
    asked = script("python3", "checks/hostile.py")
    repo.write("desk/evals.yaml", EVAL + fixture("greets", asked))
    repo.commit()
    done = gateval(repo, "run", "desk-eval")
    assert done.returncode == 1, done.stdout
    assert "\x1b[31m" not in done.stdout
    assert not any(line.startswith("::") for line in (done.stdout + done.stderr).splitlines())
    assert "y" * 600 not in done.stdout


LOOKS = """
import glob, os
seen = []
for folder in (".", "..", "checks", "../..", "/tmp", "/tmp/gateval-*"):
    for found in glob.glob(folder):
        for here, _, names in os.walk(found, onerror=lambda e: None):
            seen += [os.path.join(here, name) for name in names if "polite" in name]
def reads(path):
    try:
        return "print" in open(path).read() or True
    except OSError:
        return False
print("Please", [one for one in seen if reads(one)])
"""


def test_no_candidate_gets_the_files_of_a_check(repo: Repo) -> None:
    repo.write("desk/agent.py", LOOKS)
    repo.write("desk/notes/readme.txt", "theirs\n")
    repo.commit()
    found = trials(repo, "check", "--base", "main", code=0)
    assert found["desk-eval/greets"]["output"].strip() == "Please []"
    listed = json.loads(gateval(repo, "closure", "desk", "--json").stdout)
    assert [one["path"] for one in listed["files"]] == ["desk/agent.py", "desk/notes/readme.txt"]


HOSTILE = """
import glob, os, signal, threading, time
def harm():
    while True:
        try: os.kill(-1, signal.SIGKILL)
        except OSError: pass
        for path in glob.glob("/tmp/gateval-*/*") + glob.glob("../../*") + glob.glob("/proc/[0-9]*/cwd"):
            for name in ("checks/polite.py", "checks", "run_check.py"):
                try: open(os.path.join(path, name), "w").write("print('{\\"score\\": 1}')")
                except OSError: pass
        time.sleep(0.001)
threading.Thread(target=harm, daemon=True).start()
class Mine(Handler):
    def answer(self, body): self.say(200, {"output": "Go away."})
serve(Mine)
"""


def test_a_server_that_lives_on_cannot_harm_the_check(repo: Repo) -> None:
    runtime = '{type: http, command: [python3, agent.py, "{port}"], request: {path: /}}'
    repo.write("desk/agent.yaml", AGENT.partition("  runtime")[0] + f"  runtime: {runtime}\n")
    repo.write("desk/agent.py", HTTP + HOSTILE)
    slow = POLITE.replace("    return", "    import time\n    time.sleep(1)\n    return")
    repo.write("desk/checks/polite.py", slow)
    repo.commit()
    found = trials(repo, "run", "desk-eval", code=1)
    (one,) = found["desk-eval/greets"]["assessments"]
    assert one["status"] == "failed"
    assert "the check `checks/polite.py::is_polite` to pass, saw 0" in one["reason"]


def test_a_check_that_changes_selects_its_fixtures_and_no_agent(repo: Repo) -> None:
    repo.write("desk/evals.yaml", EVAL + fixture("greets", PYTHON))
    repo.write("desk/checks/polite.py", POLITE + "# stricter one day\n")
    repo.commit()
    plan = json.loads(gateval(repo, "plan", "--base", "main", "--json").stdout)
    assert plan["changes"] == []
    assert [one["name"] for one in plan["evals"]] == ["desk-eval", "desk-eval.base-tip"]
    why = [reason["what"] for reason in plan["evals"][0]["why"]]
    assert why == ["fixture greets changed"]
    (lowered,) = plan["evals"][1]["bar"]["lowered"]
    what = "files of assertion python checks/polite.py::is_polite of fixture greets changed"
    assert lowered["what"] == what


@pytest.mark.parametrize("around", ["{}", "{{type: any, assertions: [{}]}}"])
def test_a_check_that_is_made_to_pass_is_run_as_the_target_branch_has_it(
    repo: Repo, around: str
) -> None:
    repo.checkout("main")
    repo.write("desk/evals.yaml", EVAL + fixture("greets", around.format(PYTHON)))
    repo.commit()
    repo.branch("attack")
    repo.write("desk/agent.py", "print('Go away.')\n")
    repo.write("desk/checks/polite.py", POLITE.replace('"please" in', "True or"))
    repo.commit()
    found = trials(repo, "check", "--base", "main", code=1)
    assert found["desk-eval/greets"]["outcome"] == "pass"
    assert found["desk-eval.base-tip/greets"]["outcome"] == "fail"


def test_a_helper_of_the_check_counts_like_the_check(repo: Repo) -> None:
    repo.checkout("main")
    words = "from words import KIND\n" + POLITE.replace('"please"', "KIND")
    repo.write("desk/checks/polite.py", words)
    repo.write("desk/checks/words.py", 'KIND = "please"\n')
    repo.commit()
    repo.branch("attack")
    repo.write("desk/agent.py", "print('Go away.')\n")
    repo.write("desk/checks/words.py", 'KIND = ""\n')
    repo.commit()
    found = trials(repo, "check", "--base", "main", code=1)
    assert found["desk-eval.base-tip/greets"]["outcome"] == "fail"


NAMES = {
    "include": "  include: [checks/polite.py]\n",
    "include folder": "  include: [/desk/checks/**]\n",
    "include pattern": "  include: [checks/*.py]\n",
    "watch": "  watch: [agent.py, checks]\n",
}


@pytest.mark.parametrize("case", NAMES)
def test_an_agent_that_names_the_files_of_a_check_is_refused(repo: Repo, case: str) -> None:
    repo.write("desk/agent.yaml", AGENT.replace("spec:\n", f"spec:\n{NAMES[case]}"))
    repo.commit()
    done = gateval(repo, "validate")
    assert done.returncode == 2, done.stdout
    assert "is among the own files of a check, which no agent may see" in done.stdout


def test_a_check_in_the_folder_of_an_agent_is_refused(repo: Repo) -> None:
    repo.write("other/evals.yaml", fixture("far", script("python3", "../desk/agent.py")))
    repo.commit()
    done = gateval(repo, "validate")
    assert done.returncode == 2, done.stdout
    assert "desk (cwd) is among the own files of a check" in done.stdout


def test_a_program_beside_the_manifest_is_hidden_alone(repo: Repo) -> None:
    repo.write("desk/rude.py", "print('{\"passed\": true}')\n")
    repo.write("desk/evals.yaml", EVAL + fixture("greets", script("python3", "rude.py")))
    repo.write("desk/agent.py", "import os\nprint(sorted(os.listdir('.')))\n")
    repo.commit()
    found = trials(repo, "run", "desk-eval", code=0)
    assert found["desk-eval/greets"]["output"].strip() == "['agent.py', 'checks']"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (script("python3", "checks/polit.py"), "desk/checks/polit.py is no file of this revision"),
        ("{type: python, function: checks/no.py::f}", "desk/checks/no.py is no file of"),
        ("{type: python, function: checks/polite.py}", "function"),
        ("{type: python, function: /desk/checks/polite.py::f}", "function"),
        ("{type: script, command: python3 checks/polite.py}", "command"),
        (script("python3", "checks/polite.py", more=", timeoutSeconds: 0"), "timeoutSeconds"),
        ("{type: not, assertions: [{type: script, comand: [x]}]}", 'Did you mean "command"?'),
    ],
)
def test_what_cannot_be_run_is_said_before_the_run(repo: Repo, asked: str, said: str) -> None:
    repo.write("desk/evals.yaml", EVAL + fixture("greets", asked))
    repo.commit()
    done = gateval(repo, "validate")
    assert done.returncode == 2, done.stdout
    assert said in done.stdout


def test_a_declared_agent_has_checks_too(repo: Repo) -> None:
    repo.write(".gateval/scripted/desk.yaml", "rules: [{reply: Please come in.}]\n")
    repo.write(".gateval/checks/polite.py", POLITE)
    repo.write("desk/agent.yaml", AGENT.partition("  runtime")[0] + "  models: [scripted/desk]\n")
    asked = "{type: python, function: ../.gateval/checks/polite.py::is_polite}"
    repo.write("desk/evals.yaml", EVAL + fixture("greets", asked))
    repo.commit()
    found = trials(repo, "run", "desk-eval", code=0)
    assert found["desk-eval/greets"]["outcome"] == "pass"
