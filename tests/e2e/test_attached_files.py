"""Files and images in messages: read at their revision, told to programs and models, and guarded."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.shop import AGENT, EVAL

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
PROGRAM = f"""\
apiVersion: gateval/v1
kind: Agent
metadata: {{name: support}}
spec:
  runtime: {{type: command, command: [{sys.executable}, desk.py]}}
"""
DESK = """\
import base64, hashlib, json, sys
asked = json.load(sys.stdin)
parts = asked["messages"][-1]["content"]
sent = base64.b64decode(parts[2]["data"])
print(asked["prompt"])
print([part["type"] for part in parts], parts[2]["name"], parts[2]["media_type"])
print(hashlib.sha256(sent).hexdigest() == parts[2]["sha256"], len(sent))
"""
FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: broken-cup, labels: {agent: support}}
spec:
  input:
    type: prompt
    messages:
      - role: user
        content:
          - {type: text, text: What is wrong with it?}
          - {type: file, path: order.txt}
          - {type: image, path: /pictures/cup.png}
  assertions:
    - {type: contains, value: Order 4711}
    - {type: contains, value: "['text', 'text', 'image'] cup.png image/png"}
    - {type: contains, value: True 264}
"""


def shop(tmp_path: Path, *, fixture: str = FIXTURE, agent: str = PROGRAM) -> Repo:
    """A repository whose fixture attaches a text and a picture; the branch `change` is out."""
    repo = Repo(tmp_path / "shop")
    repo.write("agents/support.yaml", agent)
    repo.write("agents/desk.py", DESK)
    repo.write("agents/prompts/support.md", "Help.\n")
    repo.write("evals/cup.yaml", fixture)
    repo.write("evals/eval.yaml", EVAL)
    repo.write("evals/order.txt", "Order 4711: a blue cup\n")
    (repo.path / "pictures").mkdir()
    (repo.path / "pictures/cup.png").write_bytes(PNG)
    repo.commit("Begin")
    repo.branch("change")
    return repo


def test_a_program_gets_texts_and_data(tmp_path: Path) -> None:
    ended = gateval(shop(tmp_path), "run", "support-eval", "--results", str(tmp_path / "out"))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    results = (tmp_path / "out/results.v1.json").read_text()
    (trial,) = json.loads(results)["trials"]
    said = trial["trace"]["steps"][0]["text"]
    assert '<file name="order.txt">\nOrder 4711: a blue cup\n</file>' in said
    assert "[image cup.png (image/png, 264 bytes, sha256 " in said
    assert base64.b64encode(PNG).decode()[:40] not in results, "no view stores the picture"


def test_each_turn_may_have_files(tmp_path: Path) -> None:
    turn = FIXTURE.replace("  input:\n    type: prompt\n    messages:\n      - role: user\n        content:", "  turns:\n      - user:")  # fmt: skip
    ended = gateval(shop(tmp_path, fixture=turn), "run", "support-eval")
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("file", ["pictures/cup.png", "evals/order.txt"])
def test_another_picture_is_another_test(tmp_path: Path, file: str) -> None:
    """Nothing else changed: what is asked did, so both versions are asked."""
    repo = shop(tmp_path)
    (repo.path / file).write_bytes(PNG + b"?" if file.endswith("png") else b"Order 4711: a cup\n")
    repo.commit("Send another file")
    ended = gateval(repo, "check", "--base", "main")
    assert "input of fixture broken-cup" in ended.stdout, ended.stdout + ended.stderr
    assert "evals/cup.yaml" in ended.stdout
    assert ended.returncode == (1 if file.endswith("png") else 0), "the desk counts bytes"


def test_a_declarative_agent_hears_of_it(tmp_path: Path) -> None:
    repo = shop(tmp_path, agent=AGENT, fixture=FIXTURE.replace("True 264", "image"))
    rules = "rules:\n  - when: {user: 'cup.png (image/png'}\n    reply: \"Order 4711 ['text', 'text', 'image'] cup.png image/png\"\n"  # fmt: skip
    repo.write(".gateval/scripted/support.yaml", rules)
    repo.commit("Be declarative")
    ended = gateval(repo, "run", "support-eval")
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("path", "content", "said"),
    [
        ("gone.txt", None, "There is no file evals/gone.txt in this revision."),
        ("../../secret", None, '"../../secret" leads out of the repository.'),
        ("cup.png", PNG + bytes(11 * 1024 * 1024), "evals/cup.png has more than 10,485,760 bytes."),
        ("big.txt", b"x" * 300_000, "evals/big.txt has more than 262,144 bytes of text."),
        ("void.txt", b"", "evals/void.txt is empty."),
        (
            "lfs.png",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
            "evals/lfs.png is a Git LFS pointer. Store the file itself in git.",
        ),
    ],
)
def test_what_cannot_be_attached_is_told_with_its_line(
    tmp_path: Path, path: str, content: bytes | None, said: str
) -> None:
    repo = shop(tmp_path, fixture=FIXTURE.replace("path: order.txt", f"path: {path}"))
    if content is not None:
        (repo.path / "evals" / path).write_bytes(content)
    repo.commit("Attach it")
    ended = gateval(repo, "validate")
    assert ended.returncode == 2, ended.stdout
    assert f"evals/cup.yaml:11:13: spec.input.messages[0].content[1].path: {said}" in ended.stdout


def test_a_link_and_a_picture_that_is_none_are_refused(tmp_path: Path) -> None:
    repo = shop(tmp_path, fixture=FIXTURE.replace("type: file, path", "type: image, path"))
    ended = gateval(repo, "validate")
    assert "evals/order.txt is no PNG, JPEG, GIF or WebP image." in ended.stdout
    (repo.path / "evals/order.txt").unlink()
    (repo.path / "evals/order.txt").symlink_to("/etc/passwd")
    repo.commit("Link out")
    ended = gateval(repo, "validate")
    assert ended.returncode == 2
    assert "evals/order.txt is a symbolic link or a submodule." in ended.stdout


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (
            "{type: image, path: order.txt, content: {}}",
            '11:44: spec.input.messages[0].content[1].content: Unknown key "content".',
        ),
        (
            "{type: image}",
            '11:13: spec.input.messages[0].content[1].path: The required key "path" is missing.',
        ),
        (
            "{type: picture, path: order.txt}",
            '11:13: spec.input.messages[0].content[1]: "picture" is not known here.',
        ),
        (
            "{type: file, path: a, file: b}",
            '11:35: spec.input.messages[0].content[1].file: Unknown key "file".',
        ),
    ],
)
def test_slips_in_parts_are_told(tmp_path: Path, part: str, said: str) -> None:
    repo = shop(tmp_path, fixture=FIXTURE.replace("{type: file, path: order.txt}", part))
    ended = gateval(repo, "validate")
    assert ended.returncode == 2, ended.stdout
    assert f"evals/cup.yaml:{said}" in ended.stdout
    assert "1 problem." in ended.stdout, "and nothing that only follows from it"


def test_cases_name_their_own_picture(tmp_path: Path) -> None:
    fixture = FIXTURE.replace("spec:\n", "spec:\n  cases: {file: cups.csv}\n").replace("/pictures/cup.png", '"{{ case.picture }}"')  # fmt: skip
    repo = shop(tmp_path, fixture=fixture)
    repo.write("evals/cups.csv", "id,picture\na,/pictures/cup.png\nb,/pictures/gone.png\n")
    repo.commit("Ask for many cups")
    ended = gateval(repo, "validate")
    assert ended.returncode == 2
    assert "There is no file pictures/gone.png in this revision." in ended.stdout
    repo.write("evals/cups.csv", "id,picture\na,/pictures/cup.png\n")
    repo.commit("Ask for one")
    ended = gateval(repo, "run", "support-eval")
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_program_that_goes_on_gets_the_files_of_each_turn(tmp_path: Path) -> None:
    desk = "import json, sys\nfor line in sys.stdin:\n    asked = json.loads(line)\n    parts = asked['messages'][-1]['content'] if 'messages' in asked else []\n    print(asked['prompt'].splitlines()[0], len(parts), flush=True)\n"  # fmt: skip
    talk = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: talk, labels: {agent: support}}
spec:
  turns:
    - user: [{type: image, path: /pictures/cup.png}, {type: text, text: See}]
      assertions: [{type: contains, value: "[image cup.png (image/png, 264 bytes, sha256"}]
    - user: Well?
      assertions: [{type: equals, value: Well? 0}]
"""
    agent = PROGRAM.replace("command: [", "conversation: process, command: [")
    repo = shop(tmp_path, fixture=talk, agent=agent)
    repo.write("agents/desk.py", desk)
    repo.commit("Go on")
    ended = gateval(repo, "run", "support-eval")
    assert ended.returncode == 0, ended.stdout + ended.stderr
