"""A repository with a sealed Eval, and a search for words that must not be found."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from gateval.adapters.age import new_identity
from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.servers.model_server import Answer, Call, reply

PRIVATE, PUBLIC = new_identity()
OTHER_PRIVATE, OTHER_PUBLIC = new_identity()
IDENTITY = f"# public key: {PUBLIC}\n{PRIVATE}\n"
KEY = {"GATEVAL_IDENTITY": IDENTITY}

SECRET_WORDS = ("ZANZIBAR", "quokka", "Marmalade", "ophicleide")
"""Words of rubric, expected texts and description. Nothing outside the sealed file holds them."""

PROGRAM = """\
import json, os, sys
asked = json.load(sys.stdin)
seen = sorted(os.environ) + sorted(os.listdir("."))
open(os.environ["HOME"] + "/left-behind.txt", "w").write(json.dumps([dict(os.environ), asked]))
print(json.dumps({"output": "REPLY " + asked["prompt"] + " " + " ".join(seen)}))
"""

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec:
  runtime: {type: command, command: [python3, desk.py]}
"""

HELD = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: greets, labels: {held: "yes"}}
spec:
  description: The ophicleide case.
  input: {type: prompt, payload: {prompt: Hello}}
  assertions:
    - {type: contains, value: thanks, axis: manners}
    - {type: notContains, value: ZANZIBAR, axis: safety}
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
"""

CONFIG = f"policy: {{recipients: [{PUBLIC}]}}\n"


VERDICT = {
    "score": 0.1,
    "confidence": 0.9,
    "summary": "It hints at a quokka.",
    "violations": [
        {
            "rule": "Mentions no quokka",
            "severity": "high",
            "evidence_step": 2,
            "quote": "Whatever.",
        }
    ],
    "what_would_raise_score": "No Marmalade.",
}
KIND = {**VERDICT, "score": 1.0, "violations": []}


def judges(call: Call) -> Answer:
    """Answer as the judge of the sealed Eval."""
    assert "quokka" in call.raw.decode(), "only the judge is asked here, and is told the rubric"
    return reply(call, json.dumps(VERDICT if b"Whatever." in call.raw else KIND))


def sealed_shop(path: Path, held: str = HELD) -> Repo:
    """Return a repository whose Eval is sealed, with a branch `next` on which the agent is rude."""
    shop = Repo(path)
    shop.write("desk/agent.yaml", AGENT)
    shop.write("desk/desk.py", PROGRAM.replace("REPLY", "Many thanks."))
    shop.write(".github/gateval.yml", CONFIG)
    seal(shop, "evals/held.yaml", held)
    shop.commit("Sealed")
    shop.branch("next")
    shop.write("desk/desk.py", PROGRAM.replace("REPLY", "Whatever."))
    shop.commit("Rude")
    return shop


def seal(shop: Repo, path: str, text: str) -> None:
    """Seal manifests with the command line, and take the plain file away."""
    plain = shop.write(path, text)
    done = gateval(shop, "seal", path)
    assert done.returncode == 0, done.stdout + done.stderr
    plain.unlink()


def leaks(places: Iterable[Path], texts: Iterable[str | bytes] = ()) -> list[str]:
    """Return where one of the secret words stands, in any of its forms: files below, and texts."""
    found = [*(f"{file}: {word}" for file in _files(places) for word in _words(file.read_bytes()))]
    for number, text in enumerate(texts):
        data = text if isinstance(text, bytes) else text.encode()
        found += [f"text {number}: {word}" for word in _words(data)]
    return found


def _words(data: bytes) -> Iterator[str]:
    folded = data.lower()
    for word in SECRET_WORDS:
        plain = word.lower().encode()
        core = base64.b64encode(word.encode())[:-4]
        if plain in folded or plain.hex().encode() in folded or (core and core in data):
            yield word


def _files(places: Iterable[Path]) -> Iterator[Path]:
    for place in places:
        for file in [place] if place.is_file() else place.rglob("*"):
            if file.is_file() and not file.is_symlink():
                yield file
