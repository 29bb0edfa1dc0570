"""A candidate that looks for the words of a sealed Eval in all it can reach, while others run."""

from __future__ import annotations

import codecs
import json
from pathlib import Path

from tests.e2e.sealed.test_sealed_words import HELD, shop_of
from tests.helpers.command import gateval
from tests.helpers.providers import provider
from tests.helpers.sealed import KEY, PRIVATE, SECRET_WORDS, judges

LOOKS = """
import codecs, glob, json, os, random, subprocess, time

HERE = os.getcwd()
WORDS = [codecs.decode(word, "rot13").encode() for word in ROTATED]
found = set()

def look(name, data):
    found.update(f"{name}: {word.decode()}" for word in WORDS if word.lower() in data.lower())

def read(path):
    try:
        with open(path, "rb") as file:
            look(path, file.read(1_000_000))
    except OSError:
        pass

until = time.monotonic() + random.choice([0.2, 2.5])
while time.monotonic() < until:
    for kind in ("cmdline", "environ", "stat", "status", "maps"):
        for path in glob.glob(f"/proc/[0-9]*/{kind}"):
            read(path)
for top in ("/tmp", "/var/tmp", "/dev/shm", os.path.dirname(HERE), SHOP, "/run"):
    for folder, _, files in os.walk(top):
        for file in files[:200]:
            read(f"{folder}/{file}")
for name, value in os.environ.items():
    look(f"variable {name}", value.encode())
done = subprocess.run(
    ["git", "-C", SHOP, "cat-file", "--batch", "--batch-all-objects"], capture_output=True
)
look("git", done.stdout + done.stderr)
print(json.dumps(sorted(found)))
"""

MANY = HELD.replace("Hello quokka", "Hello").replace("repsPerFixture: 2", "repsPerFixture: 8")


def test_nothing_that_a_candidate_reaches_holds_the_words_or_the_key(tmp_path: Path) -> None:
    words = (*SECRET_WORDS, PRIVATE)
    rotated = [codecs.encode(word, "rot13") for word in words]
    where = tmp_path / "shop"
    program = LOOKS.replace("ROTATED", repr(rotated)).replace("SHOP", repr(str(where)))
    held = MANY.replace("env: {TOPIC: marmalade}", "env: {TOPIC: none}")
    shop = shop_of(where, held, program)
    out = tmp_path / "out"
    with provider(judges) as (_, keys):
        done = gateval(shop, "run", "held-out", "--results", str(out), **keys, **KEY)
    assert done.returncode in {1, 3}, done.stdout + done.stderr
    opened = gateval(shop, "unseal", str(out), "--format", "results", **KEY).stdout
    outputs = [json.loads(one["output"]) for one in json.loads(opened)["trials"]]
    assert len(outputs) >= 8
    assert [one for found in outputs for one in found] == []
