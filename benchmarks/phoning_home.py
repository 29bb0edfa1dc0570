"""A program of the OpenAI Agents SDK with the switches that every candidate gets, and without.

Without them the SDK sends a trace of its own home, which leads to nothing in a closed network, and
the program does not end before it has tried again. The way there is a proxy on a closed port here,
so no call leaves the machine. Without `make frameworks` nothing is measured.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.figures import Figure, median
from benchmarks.model_server import AGENT_MODEL
from benchmarks.processes import ROOT, Sample, interleaved, sample
from benchmarks.run_http import model_server
from benchmarks.scale import Scale

NAME = "phoning_home"
RATIO_BAR = 0.6

NOWHERE = "http://127.0.0.1:1"
PYTHON = ROOT / ".venv" / "frameworks" / "bin" / "python"
PROGRAM = f"""\
from agents import Agent, Runner, set_default_openai_api
set_default_openai_api("chat_completions")
agent = Agent(name="desk", model={AGENT_MODEL!r}, instructions="Help.")
print(Runner.run_sync(agent, "Where is my order?").final_output)
"""


def measure(scale: Scale) -> list[Figure]:
    """Measure the program by turns, and return the figures."""
    from gateval.candidates.environment import SWITCHES

    if not PYTHON.exists():
        return []
    with model_server(0) as address, tempfile.TemporaryDirectory() as folder:
        door = {
            "OPENAI_BASE_URL": f"{address}/v1",
            "OPENAI_API_KEY": "benchmark",
            "HTTPS_PROXY": NOWHERE,
        }

        def run(switches: dict[str, str]) -> Sample:
            command = (str(PYTHON), "-c", PROGRAM)
            return sample(command, Path(folder), env={**switches, **door})

        quiet, loud = interleaved(scale.run_rounds, lambda: run(dict(SWITCHES)), lambda: run({}))
    ours, theirs = (median(one.wall for one in taken) for taken in (quiet, loud))
    return [
        Figure(NAME, "with switches / without", ours / theirs, "×", RATIO_BAR),
        Figure(NAME, "with switches", ours, "s"),
        Figure(NAME, "without", theirs, "s"),
    ]
