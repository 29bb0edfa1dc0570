"""The second `gateval check` of a program with many packages, whose lock file did not change.

Its set-up is pip's, from wheels in the repository, so no network is measured. It is compared with
the same check of the same program without a set-up.
"""

from __future__ import annotations

import base64
import hashlib
import io
import tempfile
import zipfile
from pathlib import Path

from benchmarks.figures import Figure, median
from benchmarks.processes import GATEVAL, BenchmarkError, Sample, interleaved, sample
from benchmarks.repository import BASE, HEAD, Files, repository
from benchmarks.scale import Scale

NAME = "second_set_up"
RATIO_BAR = 1.2
SECONDS_BAR = 1.0

SETUP = 'setup: {run: [python3, install.py], inputs: [install.py, "wheels/*"], creates: [.venv]}'
AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {{name: desk}}
spec:
  runtime:
    type: command
    command: [python3, desk.py]
    {setup}
---
apiVersion: gateval/v1
kind: Eval
metadata: {{name: desk-eval}}
spec: {{targetAgent: desk, fixtureSelector: {{matchLabels: {{agent: desk}}}}}}
"""
FIXTURE = """\
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {{name: order-{number}, labels: {{agent: desk}}}}
spec:
  input: {{type: prompt, payload: {{prompt: "Where is order {number}?"}}}}
  assertions: [{{type: contains, value: "order {number}"}}]
"""
INSTALL = """\
import base64, pathlib, subprocess, sys, tempfile
with tempfile.TemporaryDirectory() as folder:
    for file in pathlib.Path("wheels").iterdir():
        wheel = pathlib.Path(folder, file.name.removesuffix(".txt"))
        wheel.write_bytes(base64.b64decode(file.read_text()))
    subprocess.run([sys.executable, "-m", "venv", ".venv"], check=True)
    wheels = sorted(map(str, pathlib.Path(folder).iterdir()))
    subprocess.run([".venv/bin/pip", "install", "--no-index", "--no-deps", *wheels], check=True)
"""
DESK = "import json, sys\nprint({what!r}, json.load(sys.stdin)['prompt'][9:-1])\n"


def files(scale: Scale, setup: str) -> dict[str, str]:
    """The Agent with its fixtures, its program, and the wheels of its packages."""
    fixtures = "".join(FIXTURE.format(number=number) for number in range(scale.checked))
    wheels = {
        f"wheels/package_{number:02d}-1.0-py3-none-any.whl.txt": _wheel(number, scale.modules)
        for number in range(scale.packages)
    }
    return {
        "desk.yaml": AGENT.format(setup=setup) + fixtures,
        "desk.py": DESK.format(what="It is"),
        "install.py": INSTALL,
        **wheels,
    }


def measure(scale: Scale) -> list[Figure]:
    """Measure and return the figures. A check that does not pass would end the benchmark."""
    change: Files = {"desk.py": DESK.format(what="That is")}
    plain, packed = (repository(scale.cache, files(scale, one), change) for one in ("", SETUP))
    with tempfile.TemporaryDirectory() as kept:
        first = _check(packed, kept)
        without, second = interleaved(
            scale.run_rounds, lambda: _check(plain, kept), lambda: _check(packed, kept)
        )
    ours, theirs = (median(one.wall for one in taken) for taken in (second, without))
    return [
        Figure(NAME, "second check / check without set-up", ours / theirs, "×", RATIO_BAR),
        Figure(NAME, "set-up of the second", ours - theirs, "s", SECONDS_BAR),
        Figure(NAME, "set-up of the first", first.wall - theirs, "s"),
        Figure(NAME, "check without set-up", theirs, "s"),
    ]


def _check(folder: Path, kept: str) -> Sample:
    env = {"GATEVAL_LAYERS": kept}
    command = (*GATEVAL, "check", "--base", BASE, "--head", HEAD)
    done = sample(command, folder, env=env, ends_with=None)
    if done.code != 0 or "pass" not in done.output:
        raise BenchmarkError(f"the check ended with {done.code}:\n{done.output[-2000:]}")
    return done


def _wheel(number: int, modules: int) -> str:
    """Return a wheel with so many modules of some 6 kB as text in base64; always the same."""
    name = f"package_{number:02d}"
    body = "".join(f"def function_{n}(value):\n    return value + {n}\n\n" for n in range(130))
    texts = {f"{name}/module_{n}.py": f'"""Module {n}."""\n\n{body}' for n in range(modules)}
    info = f"{name}-1.0.dist-info"
    texts[f"{name}/__init__.py"] = ""
    texts[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    texts[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = "".join(f"{path},{_digest(text)},{len(text)}\n" for path, text in texts.items())
    texts[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n"
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, text in texts.items():
            wheel.writestr(zipfile.ZipInfo(path), text, zipfile.ZIP_DEFLATED)
    return base64.b64encode(made.getvalue()).decode("ascii")


def _digest(text: str) -> str:
    raw = hashlib.sha256(text.encode()).digest()
    return f"sha256={base64.urlsafe_b64encode(raw).rstrip(b'=').decode()}"
