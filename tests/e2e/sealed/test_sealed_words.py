"""Every part of a sealed manifest holds secret words: none is shown, whatever goes wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gateval.adapters.age import seal as encrypt
from gateval.domain.manifests.evaluation import with_first_line
from tests.helpers.command import gateval
from tests.helpers.providers import provider
from tests.helpers.repo import Repo
from tests.helpers.sealed import AGENT, CONFIG, KEY, PROGRAM, PUBLIC, judges, leaks, seal
from tests.helpers.tiers import some_always

HELD = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: greets, labels: {held: "yes", about: ophicleide}}
spec:
  description: The ophicleide case.
  origin: {traceId: quokka}
  input: {type: prompt, payload: {prompt: Hello quokka}}
  playground:
    files: [data/start.txt]
    env: {TOPIC: marmalade}
    services: []
  assertions:
    - {type: contains, value: thanks, axis: manners}
    - {type: notContains, value: ZANZIBAR, axis: safety}
    - {type: fileEquals, path: quokka.txt, value: ZANZIBAR}
    - {type: fileJson, path: quokka.json, at: $.marmalade, value: ZANZIBAR}
    - {type: commandResult, command: [sh], stdin: "echo ophicleide", stdoutContains: ZANZIBAR}
    - {type: toolCalled, tool: quokka_tool}
    - {type: jsonSchema, schema: {required: [quokka]}}
    - {type: regex, pattern: "marmalade"}
    - {type: not, assertions: [{type: contains, value: Marmalade}]}
    - {type: judge, rubric: "Mentions no quokka. Never says Marmalade.", axis: safety}
---
apiVersion: gateval/v1
kind: Eval
metadata: {name: held-out}
spec:
  targetAgent: desk
  fixtureSelector: {matchLabels: {held: "yes"}}
  judge: {model: openai/judge}
  scoring: {model: weighted}
  execution: {repsPerFixture: 2}
"""

READS = "import json, sys\nasked = json.load(sys.stdin)['prompt']\n"
ODD_ANSWER = READS + "print(json.dumps({'output': 'x', asked: 1}))\n"
CRASH = READS + "print(asked, file=sys.stderr)\nsys.exit(asked)\n"
SERVICE = "services: [{name: quokka, command: [COMMAND, marmalade], ready: {timeoutSeconds: 2}}]"


def shop_of(path: Path, held: str = HELD, program: str = PROGRAM, agent: str = AGENT) -> Repo:
    """Return a repository with a sealed Eval, whose agent the branch `next` changes."""
    shop = Repo(path)
    shop.write("desk/agent.yaml", agent)
    shop.write("desk/desk.py", PROGRAM.replace("REPLY", "Many thanks."))
    shop.write("evals/data/start.txt", "start")
    shop.write(".github/gateval.yml", CONFIG)
    seal(shop, "evals/held.yaml", held)
    shop.commit("Sealed")
    shop.branch("next")
    shop.write("desk/desk.py", program.replace("REPLY", "Whatever."))
    shop.commit("Change")
    return shop


def checked(shop: Repo, **environ: str) -> tuple[str, Path]:
    """Check the branch; return all that was said, and the results."""
    out = shop.path.parent / "out"
    with provider(judges) as (_, keys):
        done = gateval(
            shop, "check", "--base", "main", "--results", str(out), **keys, **KEY, **environ
        )
    said = done.stdout + done.stderr
    assert done.returncode in {1, 3}, said
    return said, out


WRONG = {
    "all answers": (HELD, PROGRAM),
    "an answer that cannot be used": (HELD, ODD_ANSWER),
    "a crash": (HELD, CRASH),
    "a service that is not there": (
        HELD.replace("services: []", SERVICE.replace("COMMAND", "zanzibar")),
        PROGRAM,
    ),
    "a service that is never ready": (
        HELD.replace("services: []", SERVICE.replace("COMMAND", "echo")),
        PROGRAM,
    ),
}


@pytest.mark.parametrize("wrong", some_always(WRONG, 2))
def test_no_part_of_a_sealed_manifest_is_shown(tmp_path: Path, wrong: str) -> None:
    shop = shop_of(tmp_path / "shop", *WRONG[wrong])
    said, out = checked(shop)
    assert leaks([tmp_path], [said]) == []
    opened = gateval(shop, "unseal", str(out), "--format", "results", **KEY).stdout
    assert "quokka" in opened, "the search finds what is there, and holders of the key read it"


def test_not_even_an_exit_code_is_told(tmp_path: Path) -> None:
    shop = shop_of(tmp_path / "shop", HELD, CRASH)
    said, out = checked(shop)
    assert json.loads((out / "results.v1.json").read_text("utf-8"))["trials"] == []
    assert "exit code" not in said
    opened = gateval(shop, "unseal", str(out), "--format", "results", **KEY).stdout
    assert "The agent ended with exit code 1." in opened


KEEPS = PROGRAM + "open(os.environ['HOME'] + '/topic', 'w').write(asked['prompt'])\n"


def test_a_warning_beside_sealed_trials_has_no_words(tmp_path: Path) -> None:
    after = "[sh, -c, 'cat $HOME/topic; exit 3']"
    agent = AGENT.replace("[python3, desk.py]", f"[python3, desk.py], after: {after}")
    shop = shop_of(tmp_path / "shop", HELD, KEEPS, agent)
    said, out = checked(shop)
    assert leaks([tmp_path], [said]) == []
    assert "(head):" not in said.replace("Preparing desk (head):", "")
    opened = gateval(shop, "unseal", str(out), "--format", "results", **KEY).stdout
    assert "It printed: Hello quokka" in opened


MISSES = (
    "import json, sys\n"
    "topic = json.load(sys.stdin)['prompt'].split()[-1]\n"
    "sys.exit(f'no such file: {topic}.txt')\n"
)


def test_what_sealed_trials_looked_for_and_did_not_get_is_not_named(tmp_path: Path) -> None:
    shop = shop_of(tmp_path / "shop", HELD, MISSES)
    names = ("quokka.txt", "wombat.txt")
    for name in names:
        shop.write(f"topics/{name}", "Here.\n")
    shop.commit("Add files")
    said, out = checked(shop)
    assert not any(name in said for name in names)
    results = json.loads((out / "results.v1.json").read_text("utf-8"))
    assert not any("topics/" in one for one in results["info"]["warnings"])
    opened = gateval(shop, "unseal", str(out), "--format", "results", **KEY).stdout
    assert "looked for a file of the repository" in opened


SCRIPT = HELD.replace(
    '{type: regex, pattern: "marmalade"}', "{type: script, command: [python3, check.py]}"
)
FILLED = SCRIPT.replace("Hello quokka", "'Hello {{ vars.whom }}'") + "  vars: {whom: quokka}\n"
LIKE = "{type: similar, to: quokka, metric: embeddings, model: scripted/like, min: 0.5}"


@pytest.mark.parametrize(
    ("held", "why"),
    [
        (SCRIPT, "A check of one's own is a program that a change can rewrite"),
        (FILLED, "A check of one's own is a program that a change can rewrite"),
        (FILLED.replace("vars.whom", "vars.who"), "has no such var"),
        (
            HELD.replace('{type: regex, pattern: "marmalade"}', LIKE),
            "The rules of a scripted model come with a change",
        ),
        (
            HELD.replace("[data/start.txt]", '["../{{ vars.whom }}"]') + "  vars: {whom: desk/x}\n",
            "beside or below it only",
        ),
    ],
)
def test_what_a_change_could_learn_it_by_is_not_sealed(tmp_path: Path, held: str, why: str) -> None:
    shop = shop_of(tmp_path / "shop")
    shop.write("evals/more.yaml", held)
    shop.write("evals/check.py", "print('{}')")
    shop.write(".gateval/scripted/like.yaml", "rules: []\nembeddings: []\n")
    done = gateval(shop, "seal", "evals/more.yaml")
    assert done.returncode == 2, done.stdout
    assert why in done.stderr
    assert not (shop.path / "evals/more.yaml.age").exists()


def test_what_was_sealed_by_other_means_does_not_run_with_a_check_of_ones_own(
    tmp_path: Path,
) -> None:

    shop = shop_of(tmp_path / "shop")
    told = tmp_path / "told.txt"
    shop.write("evals/check.py", f"import sys; open({str(told)!r}, 'w').write(sys.stdin.read())")
    path = "evals/held.yaml.age"
    shop.write(path, encrypt(with_first_line(path, "0" * 32, FILLED.encode()), [PUBLIC]))
    shop.commit()
    done = gateval(shop, "validate", **KEY)
    assert done.returncode == 2, done.stdout
    assert "A check of one's own is a program that a change can rewrite" in done.stdout
    done = gateval(shop, "run", "held-out", **KEY)
    assert done.returncode == 2, done.stdout + done.stderr
    assert not told.exists()


UNSELECTED = """\
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: other, labels: {about: marmalade}}
spec: {input: {type: prompt, payload: {prompt: x}}, assertions: [{type: latency}]}
"""
PLAIN = UNSELECTED.replace("other", "plain").replace("marmalade", "nothing")


def test_warnings_tell_no_words_of_what_is_sealed(tmp_path: Path) -> None:
    shop = shop_of(tmp_path / "shop", HELD.replace('held: "yes"', "held: zanzibar") + UNSELECTED)
    shop.write("evals/plain.yaml", PLAIN.removeprefix("---\n"))
    said = gateval(shop, "validate", **KEY).stdout
    assert "warning: evals/held.yaml.age:" in said
    assert 'No Eval selects the fixture "plain"' in said
    assert leaks([], [said]) == []


REPLAYED = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: asks-NUMBER, labels: {held: "yes"}}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  toolReplay: [{tool: quokka, result: marmalade}]
  assertions: [{type: contains, value: thanks}]
---
"""


def test_a_change_that_does_not_fit_learns_of_which_file_and_no_more(tmp_path: Path) -> None:
    """It chooses the tools of its Agent, and would learn by lines which fixtures answer for one."""
    agent = AGENT + "  tools: [{name: quokka, description: x}]\n"
    held = "".join(REPLAYED.replace("NUMBER", str(n)) for n in range(2)) + HELD
    shop = shop_of(tmp_path / "shop", held, agent=agent)
    shop.write("desk/agent.yaml", AGENT)
    shop.commit("Without the tool")
    for words in (["check", "--base", "main"], ["plan", "--base", "main"], ["validate"]):
        done = gateval(shop, *words, **KEY)
        said = done.stdout + done.stderr
        assert done.returncode == 2, said
        assert said.count("evals/held.yaml.age") == said.count("evals/held.yaml.age:1:1:") == 1
        assert leaks([], [said]) == []
