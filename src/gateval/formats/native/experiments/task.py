"""Makes an Agent of a Python function: a program that reads the input and prints what came of it.

The program is an argument of the interpreter, so that it needs no file beside the function's own.
"""

from __future__ import annotations

from gateval.domain.manifests.agent import Agent, AgentSpec, RuntimeSpec
from gateval.formats.native.experiments.written import ExperimentDocument
from gateval.formats.native.written import Source, canonical, meaning

PROGRAM = """\
import asyncio, importlib.util, inspect, json, os, sys
file, name = sys.argv[1:]
told = json.load(sys.stdin)
answer = os.dup(1)
os.dup2(2, 1)
sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
spec = importlib.util.spec_from_file_location("gateval_task", file)
module = importlib.util.module_from_spec(spec)
sys.modules["gateval_task"] = module
spec.loader.exec_module(module)
asked = told["input"]
made = getattr(module, name)(told["prompt"] if asked["type"] == "prompt" else asked["payload"])
async def waited():
    return await made
if inspect.isawaitable(made):
    made = asyncio.run(waited())
sys.stdout.flush()
with os.fdopen(answer, "w", encoding="utf-8") as out:
    json.dump(dict(output=made), out)
"""
"""It holds no brace, since words of a command are templates. What the function prints is for
people: standard output leads where standard error does."""


def task_agent(source: Source, written: ExperimentDocument) -> Agent | None:
    """Return the Agent that the experiment's function is, of the experiment's name; None without.

    `expected` and `reference` never reach it: it is asked as every candidate is.
    """
    task = written.spec.task
    if task is None:
        return None
    file, _, function = task.python.partition(":")
    runtime = RuntimeSpec(
        type="command",
        command=(*task.interpreter, "-c", PROGRAM, file, function),
        setup=task.setup,
        env=task.env,
    )
    spec = AgentSpec(models=task.models, runtime=runtime, include=task.include, watch=task.watch)
    place = source.document.key_place(("spec", "task"))
    return Agent(
        name=written.metadata.name,
        labels=written.metadata.labels,
        spec=spec,
        place=place,
        path=source.path,
        places={"spec.runtime": place, "spec.runtime.command": place, "spec.models": place},
        digest=meaning("Agent", written.metadata, canonical(spec)),
    )
