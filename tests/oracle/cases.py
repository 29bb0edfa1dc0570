"""Small repositories, each with a change and the runs that are made of it: recipes of stored runs.

`plan --json` is asked of all of them, too. Nothing here needs a network: models are scripts, agents
are programs, and a provider that is down is a port of this machine at which nobody listens.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.helpers import agentv, benchmarks, calibrations, experiments, sealed, stored
from tests.helpers.repo import Repo
from tests.helpers.shop import AGENT, EVAL, FIXTURES, PROMPT, SCRIPT
from tests.oracle.sides import Side

CHECK = ("check", "--base", "main")
_LINK = "gitlink "
_WORSE = PROMPT.replace("ask for the reason", "be quick")
Files = Mapping[str, str | None]


@dataclass(frozen=True)
class Case:
    """A repository: what is on `main`, what the change makes of it (None deletes), and the runs.

    `sealed` files are sealed on both branches, `env` is that of runs.
    `after` edits what the runs left, as a crash would. With `merged` main is merged into the change.
    A file that begins with `gitlink ` is a submodule at that commit.
    """

    name: str
    main: Files
    change: Files = field(default_factory=dict)
    runs: Sequence[Sequence[str]] = (CHECK,)
    sealed: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    later: Files = field(default_factory=dict)
    after: Callable[[Path], None] | None = None
    large: bool = False
    merged: bool = False

    def make(self, path: Path, side: Side) -> Repo:
        """Make the repository, with the change checked out; `later` is what main got meanwhile."""
        repo = Repo(path)
        self._write(repo, side, self.main)
        repo.commit("Begin")
        repo.branch("change")
        if self.later:
            repo.checkout("main")
            self._write(repo, side, self.later)
            repo.commit("Meanwhile")
            repo.checkout("change")
        self._write(repo, side, self.change)
        repo.commit("Change")
        if self.merged:
            repo.git("merge", "--quiet", "--no-edit", "main")
        return repo

    def _write(self, repo: Repo, side: Side, files: Files) -> None:
        for name, text in files.items():
            if text is None:
                repo.delete(name)
            elif text.startswith(_LINK):
                (repo.path / name).mkdir(exist_ok=True)
                link = f"160000,{text.removeprefix(_LINK)},{name}"
                repo.git("update-index", "--add", "--cacheinfo", link)
            elif name in self.sealed:
                plain = repo.write(name, text)
                done = side.one(
                    {"command": ["seal", name], "folder": str(repo.path), "env": repo.env}
                )
                assert done["code"] == 0, done["err"]
                plain.unlink()
            else:
                repo.write(name, text)


def _script(*rules: object) -> str:
    return json.dumps({"rules": rules})


def _fixture(name: str, *assertions: str, prompt: str = "Hello", more: str = "") -> str:
    lines = "".join(f"    - {{{one}}}\n" for one in assertions)
    return (
        f"apiVersion: gateval/v1\nkind: EvalFixture\nmetadata: {{name: {name}, labels: {{agent: "
        f"support}}}}\nspec:\n{more}  input: {{type: prompt, payload: {{prompt: {prompt}}}}}\n"
        f"  assertions:\n{lines}"
    )


_PROGRAM = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: support}
spec:
  include: [desk.py]
  runtime: {type: command, command: [python3, desk.py]}
"""
_DESK = """\
import json, sys
asked = json.load(sys.stdin)
print(json.dumps({"output": "Hello, many thanks. " + asked["prompt"]}))
"""

SHOP: Files = {
    "agents/support.yaml": AGENT,
    "agents/prompts/support.md": PROMPT,
    "evals/fixtures.yaml": FIXTURES,
    "evals/support-eval.yaml": EVAL,
    ".gateval/scripted/support.yaml": SCRIPT,
    "README.md": "A shop.\n",
}
WORSE: Files = {"agents/prompts/support.md": _WORSE}
TOUCHED: Files = {"agents/prompts/support.md": PROMPT + "Be brief.\n"}
DESK: Files = {
    "agents/support.yaml": _PROGRAM,
    "agents/desk.py": _DESK,
    "evals/fixtures.yaml": _fixture("greets", "type: contains, value: Hello")
    + "---\n"
    + _fixture("thanks", "type: contains, value: thanks", prompt="Thanks"),
    "evals/support-eval.yaml": EVAL,
}
_WEIGHTED = EVAL + "  scoring: {model: weighted, passScore: 0.6}\n"
_SCORED = "---\n".join(
    _fixture(
        f"greets-{number}",
        "type: contains, value: Hello, weight: 3, axis: tone",
        "type: contains, value: help, axis: use",
        "type: notContains, value: Bye, weight: 0",
    )
    for number in range(3)
)
_CURT = _script({"when": {"user": "Hello"}, "reply": "Hello."}, {"reply": "Done."})
_MUTE = _script({"when": {"user": "Hello"}, "reply": "Bye!"}, {"reply": "Done."})
_CHANCE = _script(
    {"when": {"user": "Hello"}, "reply": "Hello! How can I help?", "probability": 0.6},
    {"reply": "Bye."},
)


def _program(text: str) -> Files:
    return {"agents/desk.py": text}


def _policy(text: str) -> Files:
    return {".github/gateval.yml": f"policy: {{{text}}}\n"}


def _eval(more: str) -> Files:
    return {"evals/support-eval.yaml": EVAL + more}


def _judged(score: float, *, wrong: int = 0, asked: str = "", agent: str = "") -> Files:
    judge = f"  judge: {{model: scripted/judge{asked}}}\n"
    return {
        ".gateval/scripted/judge.yaml": calibrations.script(
            wrong=wrong, of=20, agent=agent or calibrations.verdict(score, "How can I help?")
        ),
        "evals/fixtures.yaml": calibrations.FIXTURES,
        "evals/tone.yaml": calibrations.calibration(20),
        "evals/support-eval.yaml": calibrations.EVAL + judge,
    }


def _crashed(path: Path) -> None:
    """Leave what a run leaves that was killed: its plan and some of its trials."""
    for folder in (path / ".gateval/results").glob("2*"):
        for one in folder.iterdir():
            if one.is_file() and one.name != "plan.v1.json":
                one.unlink()
        lines = stored.log(folder).splitlines(keepends=True)
        stored.make_old(folder, "".join(lines[:-1]))


def _many(count: int) -> Files:
    cases = "".join(json.dumps({"id": f"c{n}", "word": f"word {n}"}) + "\n" for n in range(count))
    fixture = (
        "apiVersion: gateval/v1\nkind: EvalFixture\nmetadata: {name: all, labels: {agent: support}}"
        '\nspec:\n  cases: {file: cases.jsonl}\n  input: {type: prompt, payload: {prompt: "{{ '
        'case.word }}"}}\n  assertions:\n    - {type: contains, value: Done}\n'
    )
    return {**SHOP, "evals/cases.jsonl": cases, "evals/fixtures.yaml": fixture}


def _talk() -> Files:
    return {
        **SHOP,
        "evals/fixtures.yaml": "apiVersion: gateval/v1\nkind: EvalFixture\nmetadata: {name: talk, "
        "labels: {agent: support}}\nspec:\n  turns:\n    - user: I want a refund\n      assertions:"
        "\n        - {type: toolCalled, tool: clarify_reason}\n    - user: Hello\n      assertions:"
        "\n        - {type: contains, value: help}\n  assertions:\n    - {type: toolNotCalled, "
        "tool: refund}\n",
    }


_PLAYED = _fixture(
    "writes", "type: fileExists, path: note.txt", more="  playground: {folder: world}\n"
)
_SUITE = """\
description: A desk that answers
execution: {target: echo}
tests:
  - id: says-hello
    criteria: It says hello
    input: hello
    assertions:
      - {type: contains, value: hello}
  - id: says-bye
    input: what
    assertions:
      - {type: contains, value: bye}
      - {type: contains, value: what}
"""
_TWO = AGENT.replace("name: support", "name: desk").replace("scripted/support", "scripted/desk")
_TWO_EVAL = EVAL.replace("support-eval", "desk-eval").replace(
    "targetAgent: support", "targetAgent: desk"
)
_DOWN = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "sk-none"}
_KEY = sealed.KEY
_OPEN = sealed.HELD.replace("name: greets, labels", "name: open, labels").replace("held", "open")
_HELD: Files = {
    ".github/gateval.yml": sealed.CONFIG,
    "desk/agent.yaml": sealed.AGENT,
    "desk/desk.py": _DESK,
    "evals/held.yaml": sealed.HELD.replace(
        '    - {type: judge, rubric: "Mentions no quokka. Never says Marmalade.", axis: safety}\n',
        "",
    ).replace("  judge: {model: openai/judge}\n", ""),
}
_RUDE: Files = {"desk/desk.py": _DESK.replace("Hello, many thanks.", "Whatever.")}
_FRESH = (CHECK, CHECK, (*CHECK, "--fresh"))
_BENCH: Files = {**SHOP, "bench/desk.yaml": benchmarks.manifest()}
_LAB: Files = {
    "lab/experiment.yaml": experiments.manifest(),
    "lab/task.py": experiments.TASK,
    "lab/scorers/all.py": experiments.SCORERS,
}
_FAIL_ALL = EVAL + "  scoring: {passThreshold: 0.9}\n"
_LOW = EVAL + "  scoring: {passThreshold: 0.4}\n"
_REMOVED = FIXTURES.split("---\n")[0]
_ADDED = FIXTURES + "---\n" + _fixture("says-bye", "type: contains, value: Bye", prompt="Hello")

CASES = (
    Case("passes", SHOP, TOUCHED),
    Case("regressed", SHOP, WORSE, [CHECK, (*CHECK, "--failed")]),
    Case("improved", {**SHOP, **WORSE}, {"agents/prompts/support.md": PROMPT}),
    Case("nothing", SHOP, {"README.md": "Another.\n"}),
    Case("new-fixture", SHOP, {"evals/fixtures.yaml": _ADDED}),
    Case("removed-fixture", SHOP, {**TOUCHED, "evals/fixtures.yaml": _REMOVED}),
    Case("removed-eval", SHOP, {**TOUCHED, "evals/support-eval.yaml": None}),
    Case("standing", SHOP, WORSE, _FRESH),
    Case("part", SHOP, TOUCHED, [(*CHECK, "--fixture", "greets")]),
    Case("quarantine", {**SHOP, **_policy(
        "quarantine: [{fixture: refund-asks-why, owner: ada, until: '2027-01-31'}]"
    )}, WORSE),
    Case("warns", {**SHOP, **_policy("regressions: warn")}, WORSE),
    Case("bar-lowered", {**SHOP, "evals/support-eval.yaml": _FAIL_ALL},
         {**WORSE, "evals/support-eval.yaml": _LOW}),
    Case("bar-accepted", {**SHOP, "evals/support-eval.yaml": _FAIL_ALL},
         {**TOUCHED, "evals/support-eval.yaml": _LOW}, [(*CHECK, "--accept-bar-change")]),
    Case("threshold", {**SHOP, **WORSE, "evals/support-eval.yaml": _FAIL_ALL},
         {"agents/prompts/support.md": _WORSE + "Be brief.\n"}),
    Case("strict", {**SHOP, **WORSE, **_policy("unsetThreshold: strict, threshold: worse")},
         {"agents/prompts/support.md": _WORSE + "Be brief.\n"}),
    Case("must-belong", {**SHOP, **_policy("mustBelong: ['lib/**']")}, {"lib/a.py": "1\n"}),
    Case("chance", {**SHOP, ".gateval/scripted/support.yaml": _CHANCE,
                    **_eval("  execution: {repsPerFixture: 3}\n")}, TOUCHED),
    Case("budget", {**SHOP, **_policy("budget: {repetitions: 5}"),
                    ".gateval/scripted/support.yaml": _CHANCE}, TOUCHED),
    Case("no-baseline", SHOP, TOUCHED, [("run", "support-eval"), ("run", "support-eval")]),
    Case("scheduled", {**SHOP, **_eval("  schedule: '0 3 * * *'\n")}, TOUCHED,
         [("run", "support-eval")]),
    Case("weighted", {**SHOP, "evals/fixtures.yaml": _SCORED, "evals/support-eval.yaml": _WEIGHTED},
         TOUCHED),
    Case("weighted-axis", {**SHOP, "evals/fixtures.yaml": _SCORED,
                           "evals/support-eval.yaml": _WEIGHTED},
         {".gateval/scripted/support.yaml": _CURT, **TOUCHED}),
    Case("weighted-fails", {**SHOP, "evals/fixtures.yaml": _SCORED,
                            "evals/support-eval.yaml": _WEIGHTED},
         {".gateval/scripted/support.yaml": _MUTE, **TOUCHED}),
    Case("benchmark", _BENCH, WORSE, [("run", "desk"), CHECK]),
    Case("benchmark-repeated", {**SHOP, "bench/desk.yaml": benchmarks.manifest(
        more="runsPerTask: 3\n")}, TOUCHED, [("run", "desk"), ("run", "desk")]),
    Case("experiment", _LAB, {"lab/task.py": experiments.TASK.replace("upper", "lower")},
         [("run", "uppercase-agent"), CHECK]),
    Case("conversation", _talk(), WORSE),
    Case("playground", {**DESK, "evals/fixtures.yaml": _PLAYED, "evals/world/a.txt": "x\n",
                        "agents/desk.py": "open('note.txt', 'w')\n" + _DESK},
         _program(_DESK)),
    Case("agentv", {".agentv/targets.yaml": agentv.TARGETS, "echo.py": agentv.ECHO,
                    "evals/desk.eval.yaml": _SUITE},
         {"echo.py": agentv.ECHO.replace("given.prompt}", "given.prompt.upper()}")}),
    Case("agentv-fails", {".agentv/targets.yaml": agentv.TARGETS, "evals/echo.py": agentv.ECHO,
                          "evals/desk.eval.yaml": _SUITE},
         {".agentv/targets.yaml": agentv.TARGETS.replace("echo.py", "loud.py"),
          "evals/loud.py": agentv.ECHO.replace("given.prompt}", "given.prompt.upper()}")}),
    Case(
        "judge",
        {
            **SHOP,
            **_judged(1.0),
            ".gateval/scripted/judge.yaml": _script(
                {"when": {"user": "Go away"}, "reply": calibrations.verdict(0.1, "Go away")},
                {"reply": calibrations.verdict(1.0)},
            ),
        },
        {".gateval/scripted/support.yaml": _script({"reply": "Hello. Go away!"}), **TOUCHED},
    ),
    Case("judge-calibrated", {**SHOP, **_judged(1.0, asked=", calibration: tone")}, TOUCHED),
    Case("judge-uncalibrated", {**SHOP, **_judged(1.0, wrong=9, asked=", calibration: tone")},
         TOUCHED),
    Case("judge-silent", {**SHOP, **_judged(1.0, agent="I cannot say.")}, TOUCHED),
    Case("provider-down", {**SHOP, "agents/support.yaml": AGENT.replace("scripted/support",
         "openai/gpt-x")}, TOUCHED, env={**_DOWN, "GATEVAL_OUTAGE_SECONDS": "0"}),
    Case("program", DESK, _program(_DESK.replace("thanks", "regards"))),
    Case("silent", DESK, _program("raise SystemExit(1)\n")),
    Case("silent-both", {**DESK, "agents/desk.py": "raise SystemExit(1)\n"},
         _program("raise SystemExit(2)\n")),
    Case("missing-module", DESK, _program("import left_pad\n")),
    Case("ended-early", DESK, _program("import time\ntime.sleep(60)\n"),
         [(*CHECK, "--max-minutes", "0.05")]),
    Case("crashed", SHOP, WORSE, after=_crashed),
    Case("several", {**SHOP, "agents/desk.yaml": _TWO.replace("support.md", "support.md"),
                     ".gateval/scripted/desk.yaml": _CURT, "evals/desk.yaml": _TWO_EVAL}, WORSE),
    Case("large", _many(2_000), {".gateval/scripted/support.yaml": _script(
        {"when": {"user": "word 1"}, "reply": "No."}, {"reply": "Done."}), **TOUCHED}, large=True),
    Case("sealed", _HELD, _RUDE, sealed=["evals/held.yaml"], env=_KEY),
    Case("sealed-partly", {**_HELD, "evals/open.yaml": str(_HELD["evals/held.yaml"]).replace(
        "held", "open").replace("greets", "greets-openly")}, _RUDE, sealed=["evals/held.yaml"],
        env=_KEY),
    Case("locked", _HELD, _RUDE, sealed=["evals/held.yaml"]),
)  # fmt: skip
"""All cases; the name of one is that of its files."""

_CASES = (
    "apiVersion: gateval/v1\nkind: EvalFixture\nmetadata: {name: all, labels: {agent: support}}"
    '\nspec:\n  cases: {file: cases.jsonl}\n  input: {type: prompt, payload: {prompt: "{{ '
    'case.word }}"}}\n  assertions:\n    - {type: contains, value: "{{ vars.done }}"}\n'
)
_TEMPLATES: Files = {
    **SHOP,
    "evals/fixtures.yaml": _CASES,
    "evals/cases.jsonl": '{"id": "a", "word": "one"}\n{"id": "b", "word": "two"}\n',
    **_eval("  vars: {done: Done}\n"),
}
_SUITES: Files = {
    ".agentv/targets.yaml": agentv.TARGETS,
    "echo.py": agentv.ECHO,
    "evals/desk.eval.yaml": _SUITE,
}
_WITH_PARTS: Files = {**DESK, "lib": "gitlink " + "a" * 40, ".gitmodules": (
    '[submodule "lib"]\n\tpath = lib\n\turl = https://example.com/lib\n'
), "agents/support.yaml": _PROGRAM.replace("[desk.py]", '[desk.py, "/lib/**"]')}  # fmt: skip

PLANS = (
    Case("plan-model", SHOP, {"agents/support.yaml": AGENT.replace("refund, desc", "pay, desc")}),
    Case("plan-tool", SHOP, {"agents/support.yaml": AGENT + "    - {name: mail}\n"}),
    Case("plan-new-agent", SHOP, {"agents/desk.yaml": _TWO, "evals/desk.yaml": _TWO_EVAL,
                                  ".gateval/scripted/desk.yaml": _CURT}),
    Case("plan-no-agent", SHOP, {"agents/support.yaml": None, "evals/support-eval.yaml": None}),
    Case("plan-eval-alone", SHOP, _eval("  execution: {repsPerFixture: 4}\n")),
    Case("plan-severity", SHOP, {**TOUCHED, "evals/fixtures.yaml": FIXTURES.replace("high", "low")}),
    Case("plan-weaker", SHOP, {**TOUCHED, "evals/fixtures.yaml": FIXTURES.replace(
        "{type: contains, value: Hello}", "{type: contains, value: H}")}),
    Case("plan-threshold", {**SHOP, "evals/support-eval.yaml": _FAIL_ALL},
         {**TOUCHED, "evals/support-eval.yaml": EVAL}),
    Case("plan-policy", {**SHOP, **_policy("regressions: block")},
         {**TOUCHED, **_policy("regressions: 'off', budget: {repetitions: 3}")}),
    Case("plan-bar-head", {**SHOP, **_policy("bar: head"), "evals/support-eval.yaml": _FAIL_ALL},
         {**TOUCHED, "evals/support-eval.yaml": _LOW}),
    Case("plan-weights", {**SHOP, **_policy("evalWeights: {support-eval: 3}"),
                          "evals/other.yaml": EVAL.replace("support-eval", "other-eval")}, TOUCHED),
    Case("plan-cases", _TEMPLATES, {"evals/cases.jsonl":
         '{"id": "a", "word": "one"}\n{"id": "c", "word": "three"}\n', **TOUCHED}),
    Case("plan-template", _TEMPLATES, {**_eval("  vars: {done: D}\n"), **TOUCHED}),
    Case("plan-renamed", SHOP, {"evals/fixtures.yaml": None, "evals/moved.yaml": FIXTURES,
                                **TOUCHED}),
    Case("plan-moved-prompt", SHOP, {"agents/prompts/support.md": None, "agents/support.md": PROMPT,
         "agents/support.yaml": AGENT.replace("prompts/support.md", "support.md")}),
    Case("plan-suite", _SUITES, {"evals/desk.eval.yaml": _SUITE.replace("value: bye", "value: b")}),
    Case("plan-targets", _SUITES, {".agentv/targets.yaml": agentv.TARGETS.replace(
        "echo.py {PROMPT}", "echo.py x{PROMPT}")}),
    Case("plan-task", _BENCH, {"bench/desk.yaml": benchmarks.manifest().replace(
        "weight: 3", "weight: 1"), **TOUCHED}),
    Case("plan-scorer", _LAB, {"lab/scorers/all.py": experiments.SCORERS + "# other\n"}),
    Case("plan-behind", SHOP, TOUCHED, later={"evals/support-eval.yaml": _FAIL_ALL}),
    Case("plan-merged", SHOP, TOUCHED, later={"evals/support-eval.yaml": _FAIL_ALL}, merged=True),
    Case("plan-submodule", _WITH_PARTS, {"lib": "gitlink " + "b" * 40}),
    Case("plan-broken", SHOP, {**TOUCHED, "evals/fixtures.yaml": FIXTURES + "---\nkind: 7\n"}),
    Case("plan-first", {"README.md": "A shop.\n"}, {**SHOP, **_policy("bar: head")}),
    Case("plan-same-text", SHOP, {"agents/support.yaml": AGENT + "# a remark\n"}),
)  # fmt: skip
"""Changes that are planned and not run."""
