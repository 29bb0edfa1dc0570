"""`gateval init` in real repositories: what it writes works, and nothing is ever overwritten."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.shop import build_shop
from tools.workflow_lint import lint_all, linters

WORKFLOW = ".github/workflows/gateval.yml"


def complaints(workflow: Path) -> list[str]:
    verdicts = lint_all([one._replace(files=(workflow,)) for one in linters([workflow], [], [])])
    if any(one.missing for one in verdicts):
        pytest.skip("a linter is not installed: no wheel for this machine")
    return [one.complaint for one in verdicts if one.complaint]


def files(repo: Repo) -> dict[str, bytes]:
    listed = repo.git("ls-files", "-z", "--cached", "--others", "--exclude-standard").decode()
    return {path: (repo.path / path).read_bytes() for path in listed.split("\0") if path}


def test_an_empty_repository_gets_a_gate_that_works(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    done = gateval(repo, "init")
    assert done.returncode == 0, done.stderr
    assert set(files(repo)) == {
        ".gateval/scripted/first.yaml",
        ".github/gateval.yml",
        WORKFLOW,
        "agents/assistant/agent.yaml",
        "agents/assistant/evals.yaml",
        "agents/assistant/prompt.md",
    }
    last = done.stdout.splitlines()[-1]
    assert last.startswith("Next:  gateval run assistant-eval    (then `gateval doctor` says")
    assert "Commit this first: a change is compared with a commit" in done.stdout
    assert gateval(repo, "validate").stdout == (
        "1 Agent, 1 Eval, 1 fixture, 0 calibrations: valid.\n"
    )
    ran = gateval(repo, "run", "assistant-eval")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    repo.commit()
    again = gateval(repo, "init").stdout
    assert f"kept   {WORKFLOW}  (the workflow; it was here, and stays as it is)" in again
    assert "Commit this first" not in again
    assert again.endswith("\nNext:  gateval doctor\n")
    assert complaints(repo.path / WORKFLOW) == []


def test_a_real_model_needs_its_key_from_secrets(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    done = gateval(repo, "init", OPENAI_API_KEY="sk-secret-of-this-test")
    assert "gh secret set OPENAI_API_KEY" in done.stdout
    everything = b"".join(files(repo).values())
    assert b"OPENAI_API_KEY: ${{ secrets.OPENAI_API_KEY }}" in everything
    assert b"openai/gpt-5-mini" in everything
    assert b"sk-secret" not in everything + done.stdout.encode() + done.stderr.encode()
    assert complaints(repo.path / WORKFLOW) == []


def test_what_is_there_stays_as_it_is(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    repo.write(".github/gateval.yml", "policy: {regressions: warn}\n")
    repo.write(WORKFLOW, "name: mine\n")
    repo.write("prompts/support.md", "You help.\n")
    before = files(repo)
    done = gateval(repo, "init", "--model", "ollama/llama3")
    assert done.returncode == 0, done.stderr
    assert "kept   .github/gateval.yml" in done.stdout
    assert "prompts/support.md looks like a system prompt" in done.stdout
    after = files(repo)
    assert {path: after[path] for path in before} == before
    assert b"file: /prompts/support.md" in after["agents/support/agent.yaml"]
    again = gateval(repo, "init")
    assert again.returncode == 0
    assert "wrote" not in again.stdout
    assert "kept   .github/gateval.yml" in again.stdout
    assert files(repo) == after


def test_an_agent_without_an_eval_gets_its_first(tmp_path: Path) -> None:
    repo = build_shop(tmp_path / "shop")
    agent = "apiVersion: gateval/v1\nkind: Agent\nmetadata: {name: null-desk}\nspec: {models: [openai/gpt-5-mini]}\n"
    repo.write("desks/agent.yaml", agent)
    repo.write("desks/evals.yaml", "is: taken\n")
    repo.write(".github/workflows/ci.yml", "jobs: {x: {steps: [{uses: gateval/gateval@v9}]}}\n")
    done = gateval(repo, "init")
    assert done.returncode == 0, done.stderr
    assert WORKFLOW not in files(repo)
    assert b"targetAgent: null-desk" in files(repo)["desks/evals-2.yaml"]
    assert gateval(repo, "validate").returncode == 0


def test_a_link_out_of_the_repository_is_not_followed(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    outside = tmp_path / "outside"
    outside.mkdir()
    (repo.path / ".github").symlink_to(outside)
    done = gateval(repo, "init")
    assert done.returncode == 2
    assert ".github/gateval.yml could not be written" in done.stderr
    assert list(outside.iterdir()) == []


def test_files_that_candidates_cannot_get_are_named_with_what_to_do(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    repo.write("desk/agent.py", "import sys\nimport openai\nsys.argv[1]\n")
    (repo.path / "desk" / "out").symlink_to("../../elsewhere")
    repo.commit("Begin")
    done = gateval(repo, "init", "--yes")
    assert done.returncode == 2
    assert "The symbolic link desk/out leads out of the repository" in done.stderr
    assert "name those that it needs under `watch`" in done.stderr
    (manifest,) = repo.path.glob("agents/*/agent.yaml")
    manifest.write_text(manifest.read_text() + "  watch: [/desk/*.py]\n")
    assert gateval(repo, "validate").returncode == 0


def test_nothing_is_written_beside_broken_manifests(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    repo.write("agent.yaml", "apiVersion: gateval/v1\nkind: Eval\nmetadata: {name: x}\nspec: {}\n")
    before = files(repo)
    done = gateval(repo, "init")
    assert done.returncode == 2
    assert "Mend them first; nothing was written." in done.stderr
    assert files(repo) == before


@pytest.mark.parametrize(
    ("path", "text"),
    [(".github/gateval.yml", "manifests: [elsewhere]\n"), (".gitignore", "agents/\n")],
)
def test_files_that_the_gate_would_not_see_are_a_mistake(
    tmp_path: Path, path: str, text: str
) -> None:
    repo = Repo(tmp_path / "new")
    repo.write(path, text)
    done = gateval(repo, "init")
    assert done.returncode == 2
    assert "Add them to `manifests` in .github/gateval.yml" in done.stderr
    assert "no .gitignore leaves them out" in done.stderr


def test_where_a_folder_cannot_be_nothing_is_lost(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    repo.write("agents/assistant", "A file, not a folder.\n")
    before = files(repo)
    done = gateval(repo, "init")
    assert done.returncode == 2
    assert "agents/assistant/agent.yaml could not be written: Not a directory." in done.stderr
    assert files(repo) == before


def test_a_prompt_whose_name_has_spaces(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    repo.write("src dir/prompts/system prompt.md", "You help.\n")
    done = gateval(repo, "init")
    assert done.returncode == 0, done.stderr
    assert b"/src dir/prompts/system prompt.md" in files(repo)["agents/src-dir/agent.yaml"]
    assert gateval(repo, "validate").returncode == 0


def test_a_model_that_cannot_be_one_is_refused(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    for model in ("gpt-5", "nobody/gpt-5", "openai/"):
        done = gateval(repo, "init", "--model", model)
        assert done.returncode == 2
        assert "provider/model-id" in done.stderr
    assert files(repo) == {}


PROGRAM = """\
import sys
try:
    import openai
except ImportError:  # not installed where the tests run
    openai = None
question = sys.argv[1]
print(f"The program heard: {question}")
if __name__ == "__main__":
    pass
"""


def test_the_program_that_is_there_becomes_the_agent_and_runs(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    repo.write("desk.py", PROGRAM)
    repo.write("prompts/support.md", "You help.\n")
    repo.write("requirements.txt", "")
    repo.commit()
    before = files(repo)

    done = gateval(repo, "init", "--yes")
    assert done.returncode == 0, done.stderr
    assert "desk.py uses OpenAI SDK, so it is the first Agent." in done.stdout
    assert {path: files(repo)[path] for path in before} == before
    assert not any(path.startswith(".gateval/scripted") for path in files(repo))
    assert gateval(repo, "validate").returncode == 0

    ran = gateval(repo, "run", "desk-eval", "--results", str(tmp_path / "out"))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "The program heard: What can you help me with?" in (
        (tmp_path / "out/results.v1.json").read_text()
    )


def test_a_program_that_takes_a_file_is_asked_with_the_one_its_readme_shows(tmp_path: Path) -> None:
    """Its first fixture names the file, which is at hand where the program runs."""
    repo = Repo(tmp_path / "new")
    opens = "import argparse\np = argparse.ArgumentParser()\np.add_argument('path')\nquestion = open(p.parse_args().path).read()"
    repo.write("desk.py", PROGRAM.replace("question = sys.argv[1]", opens))
    repo.write("README.md", "Try it:\n\n    python desk.py notes/today.md\n")
    repo.write("notes/today.md", "All is well.\n")
    repo.write("requirements.txt", "")
    repo.commit()

    done = gateval(repo, "init", "--yes")
    assert done.returncode == 0, done.stderr
    assert "a question is the path of one: notes/today.md at first." in done.stdout
    ran = gateval(repo, "run", "desk-eval", "--results", str(tmp_path / "out"))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "The program heard: All is well." in (tmp_path / "out/results.v1.json").read_text()


def test_two_programs_as_likely_are_told(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    for name in ("sales", "support"):
        repo.write(f"{name}/bot.py", PROGRAM)
    done = gateval(repo, "init", "--yes")

    assert "takes the first of: sales/bot.py (OpenAI SDK), support/bot.py" in done.stdout
    assert "name: sales" in files(repo)["agents/sales/agent.yaml"].decode()


def test_a_person_names_the_program_and_then_a_further_one(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    for name in ("sales", "support"):
        repo.write(f"{name}/bot.py", PROGRAM)
    repo.commit()
    first = gateval(repo, "init", "support/bot.py")
    assert "support/bot.py uses OpenAI SDK, so it is the first Agent." in first.stdout
    before = files(repo)

    second = gateval(repo, "init", "./support/../sales/bot.py")
    assert second.returncode == 0, second.stderr
    assert "sales/bot.py uses OpenAI SDK, so it is an Agent." in second.stdout
    assert {path: files(repo)[path] for path in before} == before
    assert "\nNext:  gateval run sales-eval " in second.stdout
    assert gateval(repo, "validate").stdout.startswith("2 Agents, 2 Evals, 2 fixtures")

    twice = gateval(repo, "init", "sales/bot.py")
    assert "agents/sales-2/agent.yaml" in twice.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("gone.py",), '"gone.py" is no file of this repository.'),
        (("../new.py",), '"../new.py" is no file of this repository.'),
        (("sales",), '"sales" is no file of this repository.'),
        (("run.sh",), 'How "run.sh" is started cannot be told: this reads .py, .js,'),
        (("run.sh", "--model", "ollama/x"), "leave out PROGRAM or --model"),
    ],
)
def test_what_a_person_names_has_to_be_a_program(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    repo = Repo(tmp_path / "new")
    repo.write("sales/bot.py", PROGRAM)
    repo.write("run.sh", "exit\n")
    before = files(repo)
    done = gateval(repo, "init", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert files(repo) == before


def test_a_program_that_nothing_starts_is_not_made_green(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    repo.write("lib/desk.py", "try:\n    import openai\nexcept ImportError:\n    openai = None\n")
    repo.write("prompts/support.md", "You help.\n")
    repo.commit()
    done = gateval(repo, "init", "--yes")
    assert done.returncode == 2
    assert "lib/desk.py asks a model, but no agent was found: no langgraph.json" in done.stderr
    assert "gateval init FILE:OBJECT" in done.stderr
    assert not (repo.path / "agents").exists()
    assert gateval(repo, "init", "lib/desk.py").returncode == 0
    assert gateval(repo, "run", "desk-eval").returncode == 1


NO_AGENT = [
    ({"agent.ipynb": "{}", "util.py": "x = 1"}, "agent.ipynb is a notebook", "nbconvert"),
    ({"shop/cart.py": "def add(): ..."}, "shop/cart.py is a program, but none here", "FILE:OBJECT"),
    ({"src/Agent.cs": "class Agent {}"}, "src/Agent.cs is a program in a language", "by hand"),
]


@pytest.mark.parametrize(("tree", "said", "hint"), NO_AGENT, ids=["notebook", "other", "language"])
def test_without_an_agent_that_is_said_and_nothing_written(
    tmp_path: Path, tree: dict[str, str], said: str, hint: str
) -> None:
    repo = Repo(tmp_path / "new")
    for path, text in tree.items():
        repo.write(path, text)
    done = gateval(repo, "init", "--yes")
    assert done.returncode == 2
    assert said in done.stderr
    assert hint in done.stderr
    assert not (repo.path / "agents").exists()
    assert gateval(repo, "init", "--model", "openai/gpt-5-mini").returncode == 0


def test_a_hostile_name_stays_a_name(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    odd = "x: [y]\n# $schema"
    repo.write(f"{odd}/bot.py", PROGRAM)
    repo.write("a #b: c, d/bot.py", PROGRAM)
    done = gateval(repo, "init", "--yes")

    assert done.returncode == 0, done.stderr
    assert gateval(repo, "validate").returncode == 0


def test_with_a_model_the_small_agent_is_written(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    repo.write("desk.py", PROGRAM)
    done = gateval(repo, "init", "--model", "ollama/llama3")
    assert done.returncode == 0
    assert "ollama/llama3" in files(repo)["agents/assistant/agent.yaml"].decode()
    assert b"OLLAMA_BASE_URL: ${{ vars.OLLAMA_BASE_URL }}" in files(repo)[WORKFLOW]
    assert "gh variable set OLLAMA_BASE_URL" in done.stdout


GO = """\
package main

import (
	"fmt"
	"os"

	openai "github.com/openai/openai-go"
)

func main() { fmt.Println(openai.Hello() + os.Args[1]) }
"""


def test_a_go_program_is_found_built_and_asked(tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("there is no Go")
    repo = Repo(tmp_path / "desk")
    module = "github.com/openai/openai-go"
    replaced = f"require {module} v0.0.0\n\nreplace {module} => ./third/openai\n"
    repo.write("go.mod", f"module example.com/desk\n\ngo 1.18\n\n{replaced}")
    repo.write("third/openai/go.mod", f"module {module}\n\ngo 1.18\n")
    repo.write(
        "third/openai/openai.go", 'package openai\n\nfunc Hello() string { return "So: " }\n'
    )
    repo.write("cmd/desk/main.go", GO)
    repo.commit("Begin")
    said = gateval(repo, "init", "--yes")
    assert "cmd/desk/main.go uses OpenAI SDK, so it is the first Agent." in said.stdout
    repo.commit("Take it")
    ran = gateval(repo, "run", "desk-eval")
    assert ran.returncode == 0, ran.stdout + ran.stderr
