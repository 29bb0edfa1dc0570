"""A repository with a sealed Eval, and a search for words that must not be found."""

from __future__ import annotations

import base64
import io
import json
import re
import subprocess
import tarfile
import urllib.parse
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from gateval.adapters.age import new_identity
from tests.helpers import stored
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
    found = [*(f"{file}: {word}" for file in _files(places) for word in words_in(file))]
    for number, text in enumerate(texts):
        data = text if isinstance(text, bytes) else text.encode()
        found += [f"text {number}: {word}" for word in hidden_words(data)]
    return found


def words_in(file: Path) -> Iterator[str]:
    """Yield the secret words in a file; in a pack of git's, those in all its objects."""
    data = stored.content(file)
    if file.suffix == ".pack" and file.parent.name == "pack":
        git = ["git", "-C", str(file.parents[2]), "cat-file", "--batch", "--batch-all-objects"]
        data = subprocess.run(git, capture_output=True, check=True).stdout
    yield from hidden_words(data, file.name)
    yield from hidden_words(file.name.encode())


def hidden_words(data: bytes, name: str = "") -> set[str]:
    """Return the secret words in the data: plain, or packed, compressed or encoded in it."""
    found: set[str] = set()
    for layer in _layers(data, DEPTH):
        folded = layer.lower().replace(b"\0", b"")  # UTF-16 is ASCII with zeros in between
        for word, forms in _FORMS.items():
            if word.lower().encode() in folded or any(form in layer for form in forms):
                found.add(word)
    return found


DEPTH = 4
"""So many wrappings are taken off, as in base64 of a gzip of a JSON text in a tar."""

_ENCODED = re.compile(rb"[A-Za-z0-9+/_-]{40,}={0,2}")


def _layers(data: bytes, depth: int) -> Iterator[bytes]:
    yield data
    if depth:
        for inner in _unwrapped(data):
            yield from _layers(inner, depth - 1)


def _unwrapped(data: bytes) -> Iterator[bytes]:
    """Yield what is inside: of archives each file, of compressed data the data, of JSON the text."""
    if data[:2] == b"PK":
        with suppress(zipfile.BadZipFile), zipfile.ZipFile(io.BytesIO(data)) as archive:
            yield from (archive.read(one) for one in archive.namelist())
    if data[257:262] == b"ustar":
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            yield from (file.read() for one in archive if (file := archive.extractfile(one)))
    if data[:2] == b"\x1f\x8b" or data[:1] == b"x":
        with suppress(zlib.error):
            yield zlib.decompressobj(wbits=47).decompress(data)
    if b"\\u00" in data:
        yield re.sub(rb"\\u00([2-7][0-9a-fA-F])", lambda one: bytes.fromhex(one[1].decode()), data)
    if b"%" in data:
        yield urllib.parse.unquote_to_bytes(data)
    for run in _ENCODED.findall(data):
        with suppress(ValueError):
            inner = base64.b64decode(
                run.rstrip(b"=") + b"==", altchars=b"-_" if b"-" in run or b"_" in run else None
            )
            if inner[:2] == b"\x1f\x8b" or inner[:1] == b"x" or inner[:2] == b"PK":
                yield inner


def _forms(word: str) -> set[bytes]:
    """The word in base64, wherever it begins in a group of three bytes, and in hexadecimal."""
    found = set()
    for spelt in (word, word.lower(), word.upper(), word.capitalize()):
        plain = spelt.encode()
        found |= {plain.hex().encode(), plain.hex().upper().encode()}
        for before in range(3):
            whole = base64.b64encode(bytes(before) + plain)
            first, last = (0, 2, 3)[before], (len(plain) + before) * 8 // 6
            found.add(whole[first:last])
    return found


_FORMS = {word: _forms(word) for word in SECRET_WORDS}


def _files(places: Iterable[Path]) -> Iterator[Path]:
    for place in places:
        for file in [place] if place.is_file() else place.rglob("*"):
            if file.is_file() and not file.is_symlink():
                yield file
