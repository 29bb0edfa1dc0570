"""The runtimes `python` and `node`: plain functions, what goes wrong, and what cannot be shadowed."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import JsonValue

from gateval.candidates.base import TrialRequest
from gateval.candidates.team import Candidates
from gateval.domain.manifests.fixture import InputType
from gateval.domain.manifests.messages import InputMessage, Role
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.trial import Answer, Cause, NoAnswer
from tests.helpers.candidates import World, ask, bridged_agent, no_survivors

PATH = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")


def answered(world: World, agent: AgentDefinition, request: TrialRequest) -> Answer | NoAnswer:
    async def main() -> Answer | NoAnswer:
        async with Candidates(world.context) as candidates:
            return await candidates.answer(agent, request)

    found = asyncio.run(main())
    assert no_survivors(world.context.run)
    return found


def world_of(tmp_path: Path) -> World:
    return World(tmp_path, environ={"PATH": PATH})


def reason(given: Answer | NoAnswer) -> str:
    assert isinstance(given, NoAnswer), given
    assert given.cause is Cause.CANDIDATE
    return given.reason


FUNCTIONS = """\
    import asyncio, dataclasses, subprocess

    print("imported")

    def text(question):
        print("asked")
        subprocess.run(["echo", "from a child"])
        return f"text {question}"

    async def waits(prompt: str):
        await asyncio.sleep(0)
        return f"waits {prompt}"

    def runs_a_loop(query):
        return asyncio.run(waits(query))

    def yields(q):
        yield "yields "
        yield q

    async def streams(q):
        yield "streams "
        yield q

    def chats(messages):
        return [m["role"][0] + ":" + m["content"] for m in messages]

    def gets(payload: dict):
        return {"city": payload["city"]}

    def named(question, city):
        return f"{question} {city}"

    @dataclasses.dataclass
    class Reply:
        words: int

    def counts(q):
        return Reply(len(q.split()))

    class Desk:
        def __init__(self):
            self.heard = []

        def __call__(self, q):
            self.heard.append(q)
            return " ".join(self.heard)

        def method(self, q):
            return f"method {q}"

    desk = Desk()

    def make_desk():
        return Desk()
"""

PYTHON = [
    ("text", "text hello"),
    ("waits", "waits hello"),
    ("runs_a_loop", "waits hello"),
    ("yields", "yields hello"),
    ("streams", "streams hello"),
    ("chats", '["u:hello"]'),
    ("gets", '{"city":"Lyon"}'),
    ("named", "hello Lyon"),
    ("counts", '{"words":1}'),
    ("desk", "hello"),
    ("desk.method", "method hello"),
    ("make_desk", "hello"),
    ("make_desk()", "hello"),
]


@pytest.mark.parametrize(("name", "said"), PYTHON)
def test_a_python_function_answers(tmp_path: Path, name: str, said: str) -> None:
    world = world_of(tmp_path)
    world.write("desk/functions.py", FUNCTIONS)
    asked = ask(payload={"prompt": "hello", "city": "Lyon"})
    for target in (f"desk.functions:{name}", f"desk/functions.py:{name}"):
        given = answered(world, bridged_agent("python", target), asked)
        assert isinstance(given, Answer), given
        assert (given.output, given.trace) == (said, None)


MODULE = """\
    import { execSync } from "node:child_process";
    console.log("imported");
    export function text(question) {
      console.log("asked");
      execSync("echo from a child", { stdio: "inherit" });
      return `text ${question}`;
    }
    export const waits = async (prompt) => `waits ${prompt}`;
    export async function* streams(q) { yield "streams "; yield q; }
    export const chats = (messages) => messages.map((one) => one.role[0] + ":" + one.content);
    export function gets(payload) { return { city: payload.city }; }
    export async function named({ prompt, city }) { return `${prompt} ${city}`; }
    export const desk = { method: (q) => `method ${q}` };
    export function makeDesk() { return desk.method; }
    export const makes=async()=>desk.method;
    export const terse=async(messages)=>messages.length;
    export async function POST(request) {
      const { messages } = await request.json();
      return new Response(`posted ${messages.at(-1).parts[0].text}`);
    }
    const flow = (inputSchema) => Object.assign(async (input) => JSON.stringify(input), { __action: { inputSchema } });
    export const flows = { plain: flow({}), open: flow({ shape: { tone: 1, question: 1 } }), filled: flow({ shape: { city: 1 } }) };
    export default { fetch: async (request) => Response.json({ reply: request.method }) };
"""

SCRIPT = [
    ("text", "text hello"),
    ("waits", "waits hello"),
    ("streams", "streams hello"),
    ("chats", '["u:hello"]'),
    ("gets", '{"city":"Lyon"}'),
    ("named", "hello Lyon"),
    ("desk.method", "method hello"),
    ("makeDesk", "method hello"),
    ("makeDesk()", "method hello"),
    ("makes", "method hello"),
    ("terse", "1"),
    ("POST", "posted hello"),
    ("default", "POST"),
    ("flows.plain", '"hello"'),
    ("flows.open", '{"question":"hello"}'),
    ("flows.filled", '{"city":"Lyon"}'),
]


@needs_node
@pytest.mark.parametrize(("name", "said"), SCRIPT)
def test_a_node_function_answers(tmp_path: Path, name: str, said: str) -> None:
    world = world_of(tmp_path)
    world.write("desk/functions.mjs", MODULE)
    asked = ask(payload={"prompt": "hello", "city": "Lyon"})
    given = answered(world, bridged_agent("node", f"desk/functions:{name}"), asked)
    assert isinstance(given, Answer), given
    assert (given.output, given.trace) == (said, None)


def talk(*turns: str, before: tuple[InputMessage, ...] = ()) -> TrialRequest:
    request = ask()
    told = request.input.model_copy(update={"messages": before})
    return replace(request, input=told, turns=turns)


BEFORE = (
    InputMessage(role=Role.USER, content="Hi"),
    InputMessage(role=Role.ASSISTANT, content="Hello!"),
)


@pytest.mark.parametrize("language", ["python", pytest.param("node", marks=needs_node)])
@pytest.mark.parametrize("conversation", [None, "history"])
def test_a_conversation_goes_on(tmp_path: Path, language: str, conversation: str | None) -> None:
    world = world_of(tmp_path)
    world.write("functions.py", FUNCTIONS)
    world.write("functions.mjs", MODULE)
    file = "functions.py" if language == "python" else "functions.mjs"
    more: dict[str, JsonValue] = {} if conversation is None else {"conversation": conversation}
    agent = bridged_agent(language, f"{file}:chats", **more)
    given = answered(world, agent, talk("One", "Two", before=BEFORE))
    assert isinstance(given, Answer), given
    first = ["u:Hi", "a:Hello!", "u:One"]
    outputs = [json.loads(turn.output) for turn in given.turns]
    assert outputs[0] == first
    assert outputs[1][:3] == first
    assert outputs[1][-1] == "u:Two"
    assert len(outputs[1]) == 5


def test_an_object_lives_on_through_a_conversation_and_no_longer(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.write("functions.py", FUNCTIONS)
    agent = bridged_agent("python", "functions:desk")
    for _ in range(2):
        given = answered(world, agent, talk("One", "Two"))
        assert isinstance(given, Answer), given
        assert [turn.output for turn in given.turns] == ["One", "One Two"]


BROKEN = """\
    import sys
    if "--train" in sys.argv:
        raise SystemExit

    def nothing(q):
        pass

    def empty(q):
        return "  "

    def raises(q):
        raise KeyError("no\\nsuch")

    def leaves(q):
        sys.exit(3)

    def greedy(q, sheep, goats):
        pass

    number = 5
"""


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("desk:number", "`desk:number` is of the type `int`, which no bridge drives. Name an agent"),
        ("desk:rises", "`desk` has no `rises`. Did you mean `raises`?"),
        ("desc:raises", "There is no module `desc` in the working directory, in its `src`, or installed. Did you mean `desk`?"),
        ("desk/desk.py:raises", "There is no file `desk/desk.py` in the working directory. Correct `target`."),
        ("desk:raises", "`desk:raises` raised KeyError: 'no\\nsuch' (desk.py:12)."),
        ("desk:leaves", "`desk:leaves` raised SystemExit: 3 (desk.py:15)."),
        ("desk:nothing", "`desk:nothing` answered nothing. It has to return its last message."),
        ("desk:empty", "The agent's answer cannot be used: `output` is empty."),
        ("desk:greedy", "The function asks for `sheep`, `goats`, which the question does not give."),
        ("desk", "`desk` has no agent of a framework that is known here. Name the object"),
        ("exits:f", "`exits` ended the program while it was imported. Put what it does"),
        ("odd:f", "`odd` cannot be imported: SyntaxError: "),
        ("late:f", "`late` cannot be imported: ZeroDivisionError: division by zero (late.py:1)."),
        ("lacks:f", "`lacks` imports `langgraph`, which this Python ("),
        ("stray:f", "`stray` imports `parts.gone`, which `parts` does not have. Correct the import."),
        ("langgraph.json", "`langgraph.json` has several graphs. Say which one `target` means: `langgraph.json:one`, `langgraph.json:two`."),
        ("langgraph.json:three", "`langgraph.json` has no graph `three`; there is `one`, `two`."),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_target_is_a_sentence(tmp_path: Path, target: str, said: str) -> None:
    world = world_of(tmp_path)
    world.write("desk.py", BROKEN)
    world.write("exits.py", "raise SystemExit")
    world.write("odd.py", "def f(:")
    world.write("late.py", "1 / 0")
    world.write("lacks.py", "from langgraph.graph import StateGraph")
    world.write("stray.py", "from parts.gone import f")
    world.write("parts/__init__.py", "")
    graphs = {"graphs": {"one": "./desk.py:number", "two": "./desk.py:raises"}}
    world.write("langgraph.json", json.dumps(graphs))
    for request in (ask(), talk("One", "Two")):
        found = reason(answered(world, bridged_agent("python", target), request))
        assert found.removeprefix("In turn 1 of 2: ").startswith(said), found


def test_what_is_wrong_with_a_target_is_wrong_in_each_trial(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.write("desk.py", BROKEN)
    never = answered(world, bridged_agent("python", "desk:rises"), ask())
    asked = answered(world, bridged_agent("python", "desk:raises"), ask())
    assert isinstance(never, NoAnswer)
    assert isinstance(asked, NoAnswer)
    assert (never.repeats, asked.repeats) == (True, False)
    assert never.detail == ("$ python3 bridge.py desk:rises",)
    assert asked.detail[-1] == "KeyError: 'no\\nsuch'"


def test_a_missing_framework_is_named_with_what_to_install(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.write("desk.py", "def f(q): return q")
    agent = bridged_agent("python", "desk:f", framework="crewai")
    found = reason(answered(world, agent, ask()))
    assert found.startswith("`framework: crewai` needs the package `crewai`, which this Python (")
    assert found.endswith("does not have. Install it in `runtime.setup`.")


@needs_node
@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("desk.mjs:number", "`desk.mjs:number` is of the type `Number`, which no bridge drives"),
        ("desk.mjs:rais", "`desk.mjs` exports no `rais`. Did you mean `raises`?"),
        ("desc.mjs:raises", "There is no file `desc.mjs` in the agent's folder. Correct `target`."),
        ("desk.mjs:raises", "`desk.mjs:raises` raised TypeError: no such (desk.mjs:2)."),
        ("desk.mjs:nothing", "`desk.mjs:nothing` answered nothing. It has to return its last message."),
        ("desk.mjs", "`desk.mjs` exports several. Say which one `target` means: `desk.mjs:nothing`, `desk.mjs:raises`."),
        ("late.mjs", "`late.mjs` cannot be imported: ReferenceError: "),
        ("lacks.mjs", "`lacks.mjs` imports `@mastra/core`, which is not installed here. Install it"),
        ("typed.ts", "`typed.ts` is TypeScript, which Node "),
        ("route.mjs", "`route.mjs` raised Error: the route answered with status 500: no key"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_script_is_a_sentence(tmp_path: Path, target: str, said: str) -> None:
    world = world_of(tmp_path)
    world.write(
        "desk.mjs",
        """\
        export function nothing() { arguments; }
        export const raises = (q) => { throw new TypeError("no such"); };
        export const number = 5;
        """,
    )
    world.write("late.mjs", "nowhere.at();")
    world.write("lacks.mjs", "import { Agent } from '@mastra/core';")
    world.write("typed.ts", "export const f = (q: string) => q;")
    world.write(
        "route.mjs",
        "export async function POST() { return new Response('no key', { status: 500 }); }",
    )
    for request in (ask(), talk("One", "Two")):
        found = reason(answered(world, bridged_agent("node", target), request))
        assert found.removeprefix("In turn 1 of 2: ").startswith(said), found


SHADOWS = (
    "bridge",
    "callables",
    "json",
    "inspect",
    "asyncio",
    "traceback",
    "contextlib",
    "threading",
)


def test_no_file_of_the_target_takes_the_place_of_one_of_the_bridge(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    for name in SHADOWS:
        world.write(f"{name}.py", "raise RuntimeError('this is the target's')")
    world.write("sub/desk.py", "def f(q): return f'f {q}'")
    world.write("agents/__init__.py", "class Agent:\n    def __call__(self, q): return 'own ' + q")
    world.write("own.py", "from agents import Agent\nagent = Agent()")
    for target, said in (("sub/desk.py:f", "f hello"), ("own:agent", "own hello")):
        given = answered(world, bridged_agent("python", target), ask())
        assert isinstance(given, Answer), given
        assert given.output == said


def test_a_bridge_of_ones_own_is_one_file(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.write(
        "desk.py", "class Machine:\n    def work(self, q): return q.upper()\nmachine = Machine()"
    )
    world.write(
        "bridges/machine.py",
        """\
        class Bridge:
            def __init__(self, target):
                self.target = target

            async def ask(self, question):
                if "bomb" in question.prompt:
                    raise question.refusal("bombs are not for machines")
                return self.target.work(question.prompt)
        """,
    )
    agent = bridged_agent("python", "desk:machine", framework="bridges/machine.py")
    given = answered(world, agent, ask("hello"))
    assert isinstance(given, Answer), given
    assert given.output == "HELLO"
    assert reason(answered(world, agent, ask("a bomb"))) == "Bombs are not for machines."
    wrong = bridged_agent("python", "desk:machine", framework="desk.py")
    assert reason(answered(world, wrong, ask())).startswith("`desk.py` has no class `Bridge`.")


@needs_node
def test_a_bridge_of_ones_own_for_node_is_one_file(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.write("desk.mjs", "export const machine = { work: (q) => q.toUpperCase() };")
    world.write(
        "machine.mjs",
        """\
        export class Bridge {
          constructor(target) { this.target = target; }
          ask(question) { return this.target.work(question.prompt); }
        }
        """,
    )
    agent = bridged_agent("node", "desk.mjs:machine", framework="machine.mjs")
    given = answered(world, agent, ask("hello"))
    assert isinstance(given, Answer), given
    assert given.output == "HELLO"


def test_an_interpreter_that_is_nowhere_is_told(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.write("desk.py", "def f(q): return q")
    agent = bridged_agent("python", "desk:f", interpreter=["python9"])
    found = reason(answered(world, agent, ask()))
    assert found.startswith("`python9` was not found. Install it where the gate runs, or name")


def test_the_virtual_environment_of_the_agent_comes_first(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.write("desk.py", "import sys\ndef f(q): return sys.prefix")
    world.write(".venv/bin/python", f'#!/bin/sh\nsys=1 exec {sys.executable} "$@"')
    (world.export / ".venv/bin/python").chmod(0o755)
    given = answered(world, bridged_agent("python", "desk:f"), ask())
    assert isinstance(given, Answer), given


def test_a_plan_of_another_bridge_is_not_run(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.write("desk.py", "def f(q): return q")
    agent = bridged_agent("python", "desk:f")
    runtime = agent.runtime.model_copy(update={"bridge": "0" * 64})
    given = answered(world, agent.model_copy(update={"runtime": runtime}), ask())
    assert isinstance(given, NoAnswer)
    assert given.cause is Cause.GATE
    assert given.reason == "The plan was made with other bridges. Plan and run with one Gateval."


def test_a_thread_that_never_ends_does_not_hold_the_answer(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.write(
        "desk.py",
        """\
        import threading, time
        def f(q):
            threading.Thread(target=time.sleep, args=(60,)).start()
            return "done"
        """,
    )
    given = answered(world, bridged_agent("python", "desk:f"), ask(timeout=15))
    assert isinstance(given, Answer), given
    assert given.output == "done"


MASTRA = """\
    const agent = (name) => ({ name, generate: async () => ({ text: name }), getInstructions() {} });
    class Mastra {
      agents = { "sum-agent": agent("sums"), desk: agent("desks") };
      getAgent(key) {
        if (!this.agents[key]) throw new Error(`no agent ${key}`);
        return this.agents[key];
      }
    }
    export const mastra = new Mastra();
    class Workflow {
      inputSchema = { shape: { query: {}, depth: {} } };
      then() { throw new Error("a step is no function"); }
      commit() {}
      async createRun() {
        return { start: async ({ inputData }) => inputData.depth < 2
          ? { status: "success", result: { told: Object.entries(inputData).join(" ") } }
          : { status: "failed", error: new Error("too deep") } };
      }
    }
    export const flow = new Workflow();
"""


@needs_node
@pytest.mark.parametrize(
    ("name", "said"),
    [("desk", "desks"), ("sum-agent", "sums"), ("other", "`index.mjs` exports no `mastra.other`")],
)
def test_an_agent_is_asked_through_its_mastra(tmp_path: Path, name: str, said: str) -> None:
    world = world_of(tmp_path)
    world.write("index.mjs", MASTRA)
    given = answered(world, bridged_agent("node", f"index.mjs:mastra.{name}"), ask())
    assert said in (given.output if isinstance(given, Answer) else reason(given))


@needs_node
@pytest.mark.parametrize(
    ("depth", "said"),
    [(1, '"told":"query,Where? depth,1"'), (2, "ended as `failed`: too deep")],
)
def test_a_workflow_of_mastra_gets_what_its_schema_names(
    tmp_path: Path, depth: int, said: str
) -> None:
    world = world_of(tmp_path)
    world.write("index.mjs", MASTRA)
    request = ask(payload={"prompt": "Where?", "query": "Where?", "depth": depth})
    given = answered(world, bridged_agent("node", "index.mjs:flow"), request)
    assert said in (given.output if isinstance(given, Answer) else reason(given))


ROUTES = """\
    const events = (list, headers = {}) => new Response(
      list.map((one) => `data: ${JSON.stringify(one)}\\n\\n`).join("") + "data: [DONE]\\n\\n",
      { headers: { "content-type": "text/event-stream", ...headers } },
    );
    const step = (...list) => events([{ type: "start" }, { type: "start-step" }, ...list, { type: "finish-step" }, { type: "finish" }]);
    const said = (text) => [{ type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta: text }, { type: "text-end", id: "t" }];
    const called = (name, input) => ({ type: "tool-input-available", toolCallId: "c1", toolName: name, input });

    // A tool of the page's, which closes the loop; the route sees the call with what came of it.
    export async function page(request) {
      const { messages, trigger } = await request.json();
      const last = messages.at(-1);
      if (last.role === "user") return step(...said("One moment. "), called("confirm", { order: 7 }));
      const tool = last.parts.find((one) => one.type === "tool-confirm");
      return step(...said(`${trigger} ${tool.state} ${JSON.stringify(tool.output)} ${messages.length}`));
    }
    // A tool of the route's own, one step for each request.
    export async function steps(request) {
      const { messages } = await request.json();
      const done = messages.at(-1).parts.filter((one) => one.type === "tool-look").length;
      if (done === 2) return step(...said("Done."));
      return step(called("look", { done }), { type: "tool-output-available", toolCallId: "c1", output: "seen" });
    }
    // Text after the tool in the same response is the answer, and what stands before it is none.
    export async function whole() {
      return events([
        { type: "start-step" }, ...said("Let me see."), called("look", {}),
        { type: "tool-output-available", toolCallId: "c1", output: "seen" }, { type: "finish-step" },
        { type: "start-step" }, ...said("In "), ...said("transit."), { type: "finish-step" },
      ]);
    }
    // The data stream of AI SDK 4.
    export async function four(request) {
      const { messages } = await request.json();
      const seen = messages.at(-1).toolInvocations?.[0];
      const lines = seen
        ? ['f:{"messageId":"m"}', `0:${JSON.stringify(`It is ${seen.result.shadow}.`)}`, 'd:{"finishReason":"stop"}']
        : ['f:{"messageId":"m"}', '9:{"toolCallId":"c1","toolName":"confirm","args":{}}', 'e:{"finishReason":"tool-calls"}'];
      return new Response(lines.join("\\n") + "\\n", { headers: { "x-vercel-ai-data-stream": "v1" } });
    }
    export async function chunks() {
      return events([{ choices: [{ delta: { content: "In " } }] }, { choices: [{ delta: { content: "transit." } }] }]);
    }
    // As OpenAI's samples stream Responses: strings, in an object with `event` and `data`.
    export async function responses(request) {
      const { messages } = await request.json();
      const plain = messages.filter((one) => one.type || Object.keys(one).join() === "role,content").length;
      const call = { type: "function_call", call_id: "c1", name: "confirm", arguments: "{}" };
      const list = messages.at(-1).type === "function_call_output"
        ? [{ type: "response.output_text.delta", delta: `${plain} ` }, { type: "response.output_text.delta", delta: messages.at(-1).output }]
        : [{ type: "response.output_text.delta", delta: "One moment." }, { type: "response.output_item.done", item: call }];
      const stream = new ReadableStream({
        start(controller) {
          for (const data of [{ type: "response.created" }, ...list]) {
            controller.enqueue(`data: ${JSON.stringify({ event: data.type, data })}\\n\\n`);
          }
          controller.close();
        },
      });
      return new Response(stream, { headers: { "Content-Type": "text/event-stream" } });
    }
    // As AG-UI has it: the last message counts.
    export async function run(request) {
      const { id, threadId, messages: [{ id: number, role, content, ...more }] } = await request.json();
      const told = (delta) => [{ type: "TEXT_MESSAGE_START", messageId: delta }, { type: "TEXT_MESSAGE_CONTENT", messageId: delta, delta }];
      const said = `${id} ${threadId} ${number} ${role} ${Object.keys(more).length}`;
      return events([{ type: "RUN_STARTED" }, ...told("Let me see."), ...told(said), { type: "RUN_FINISHED" }]);
    }
    export async function lines() {
      const all = [{ type: "RUN_STARTED" }, { type: "TEXT_MESSAGE_CHUNK", delta: "In " }, { type: "TEXT_MESSAGE_CHUNK", delta: "transit." }];
      return new Response(all.map((one) => JSON.stringify(one)).join("\\n"), { headers: { "content-type": "application/x-ndjson" } });
    }
    export async function readable() {
      const all = ["In ", "transit."].map((content) => JSON.stringify({ choices: [{ delta: { content } }] }));
      return new Response(new Blob([all.join("\\n") + "\\n"]).stream());
    }
    export async function bare() {
      return new Response("In transit.", { headers: { "content-type": "text/event-stream" } });
    }
    export async function broken() {
      return events([{ type: "RUN_STARTED" }, { type: "RUN_ERROR", message: "no key" }]);
    }
    export async function failing() {
      return step({ type: "error", errorText: "no key" });
    }
    export async function endless() {
      return step(called("look", {}), { type: "tool-output-available", toolCallId: "c1", output: "seen" });
    }
    export async function hook(request) {
      const { order } = await request.json();
      return Response.json({ order, status: "in transit" });
    }
"""


@needs_node
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("page", 'submit-message output-available {"shadow":true} 2'),
        ("steps", "Done."),
        ("whole", "In transit."),
        ("four", "It is true."),
        ("chunks", "In transit."),
        ("responses", '4 {"shadow":true}'),
        ("run", "undefined t m0 user 0"),
        ("lines", "In transit."),
        ("bare", "In transit."),
        ("readable", "In transit."),
    ],
)
def test_the_stream_of_a_route_is_read_and_its_loop_of_tools_closed(
    tmp_path: Path, name: str, said: str
) -> None:
    world = world_of(tmp_path)
    world.write("app/api/chat/route.mjs", ROUTES)
    if name == "responses":
        world.write("node_modules/openai/index.js", "")
        world.write("node_modules/openai/package.json", "{}")
    agent = bridged_agent("node", f"app/api/chat/route.mjs:{name}", framework="route")
    more = {"threadId": "t", "runId": "r"} if name == "run" else {}
    given = answered(world, agent, ask(payload={"prompt": "Where is it?", **more}))
    assert isinstance(given, Answer), given
    assert given.output == said


@needs_node
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("broken", "The route's stream holds an error: no key."),
        ("failing", "The route's stream holds an error: no key."),
        ("endless", "The route called tools in 20 steps one after the other, without an answer."),
    ],
)
def test_a_route_that_gives_no_answer_says_why(tmp_path: Path, name: str, said: str) -> None:
    world = world_of(tmp_path)
    world.write("route.mjs", ROUTES)
    agent = bridged_agent("node", f"route.mjs:{name}", framework="route")
    assert reason(answered(world, agent, ask())) == said


@needs_node
def test_a_route_gets_a_payload_that_is_no_prompt_as_its_body(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.write("route.mjs", ROUTES)
    request = ask(payload={"order": 7})
    told = request.input.model_copy(update={"type": InputType.WEBHOOK})
    agent = bridged_agent("node", "route.mjs:hook", framework="route")
    given = answered(world, agent, replace(request, input=told))
    assert isinstance(given, Answer), given
    assert json.loads(given.output) == {"order": 7, "status": "in transit"}
