"""Programs of Node whose library is not known, or whose platform asks them, and what they import."""

from __future__ import annotations

import pytest

from gateval.domain.setup.node_imports import NodeImports
from tests.unit.domain.test_programs_of_strangers import found

ROUTE = "import { answer } from '%s';\nexport async function POST(req) {\n  const { messages } = await req.json();\n  return answer(messages);\n}\n"
MODEL = (
    "import OpenAI from 'openai';\nexport const answer = () => new OpenAI().responses.create({});\n"
)


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"src/worker.ts": "import { Worker } from '@temporalio/worker';\n", "src/acts.ts": MODEL}, "is a worker of Temporal, which its server gives work (it imports `@temporalio/worker`)"),
        ({"src/server.ts": "import { AIChatAgent } from '@cloudflare/ai-chat';\nexport class Chat extends AIChatAgent {}\n"}, "is an agent of Cloudflare"),
        ({"agent/agent.ts": "import { defineAgent } from 'eve';\nexport default defineAgent({});\n"}, "is an agent of Eve"),
        ({"src/index.ts": "import { Sandbox } from 'e2b';\nconst box = await Sandbox.create('codex');\n"}, "is a program that works in a sandbox of a cloud (it imports `e2b`)"),
        ({"src/chat.ts": "import { Client } from '@langchain/langgraph-sdk';\nnew Client({ apiUrl });\n"}, "is a client of a LangGraph server that runs elsewhere"),
        ({"src/chat.tsx": "'use client';\nimport { useStream } from '@langchain/langgraph-sdk/react';\nimport React from 'react';\n"}, "is a client of a LangGraph server that runs elsewhere"),
        ({"app/api/session/route.ts": "export async function POST() {\n  return fetch('https://api.openai.com/v1/realtime/sessions', { method: 'POST' });\n}\n"}, "is spoken to"),
        ({"index.ts": "import { MCPServer } from 'mcp-use/server';\nimport { generateText } from 'ai';\nnew MCPServer('x');\n"}, "is a server of MCP"),
        ({"src/routes/api.chat.ts": "import { chat } from '@tanstack/ai';\nexport const Route = createFileRoute('/api/chat')({});\n", "src/start.ts": "import { createStart } from '@tanstack/react-start';\n"}, "is a route of TanStack Start"),
        ({"src/desk.ts": "import { makeAgent } from '@acme/agent-kit';\nmakeAgent({});\n"}, "imports `@acme/agent-kit`, for which there is no bridge"),
        ({"src/act.ts": "'use server';\nimport { createStreamableValue } from 'ai/rsc';\nconst url = `${process.env.MY_ASSISTANT_URL}/chat`;\n"}, "asks an agent that runs elsewhere (`MY_ASSISTANT_URL`)"),
        ({"src/page.ts": "import { runFlow } from 'genkit/beta/client';\nrunFlow({ url: 'http://127.0.0.1:3400/chatFlow' });\n"}, "is a client of flows of Genkit that run elsewhere"),
        ({"src/index.ts": "import { genkit } from 'genkit';\nai.defineFlow('hi', async () => 1);\n"}, "has flows of Genkit that it does not export"),
        ({"app/own.tsx": "import { useExternalStoreRuntime } from '@assistant-ui/react';\nexport const Own = () => useExternalStoreRuntime({ onNew });\n"}, "is a page of a chat (it imports `@assistant-ui/react`), and nothing here answers"),
        ({"main.ts": "import OpenAI from 'openai';\nimport { ingestData } from './data.ts';\nasync function main() {\n  await ingestData();\n  rl.question('Who? ', go);\n}\nprocess.stdin.on('data', go);\nmain();\n"}, "writes data into its store each time it is started"),
    ],
    ids=["temporal", "cloudflare", "eve", "sandbox", "client", "page", "voice", "mcp", "tanstack", "unknown", "address", "flow elsewhere", "flow", "mock", "fills"],
)  # fmt: skip
def test_what_nothing_asks_says_who_does_and_by_which_import(
    files: dict[str, str], why: str
) -> None:
    (program,) = found({**files, "package.json": "{}"})
    assert program.refused is not None
    assert program.refused.why.startswith(why)
    assert "gateval init" in program.refused.hint


@pytest.mark.parametrize(
    ("module", "place"),
    [
        ("../../../lib/answer", "lib/answer.ts"),
        ("../../../lib/answer.js", "lib/answer.ts"),
        ("@/lib/answer", "src/lib/answer.tsx"),
        ("~/answer", "src/answer/index.ts"),
        ("@acme/answer", "packages/answer/src/index.ts"),
    ],
)
def test_a_route_that_reaches_a_model_through_its_imports_is_the_agent(
    module: str, place: str
) -> None:
    (first,) = found({"app/api/chat/route.ts": ROUTE % module, place: MODEL})
    assert (first.path, first.framework) == ("app/api/chat/route.ts", "OpenAI SDK")


@pytest.mark.parametrize("module", ["answer", "../answer", "@acme/lib", "@acme/other/answer"])
def test_a_name_alike_in_another_place_is_no_import(module: str) -> None:
    files = {"app/api/chat/route.ts": ROUTE % module, "lib/answer.ts": MODEL}
    assert all(one.path != "app/api/chat/route.ts" for one in found(files))


def test_a_route_that_imports_a_task_for_its_type_or_starts_it_is_no_agent() -> None:
    route = "import { tasks } from '@trigger.dev/sdk';\nimport type { answer } from '@/trigger/answer';\nexport async function POST(req) {\n  const { prompt } = await req.json();\n  return Response.json(await tasks.trigger('answer', { prompt }));\n}\n"
    task = "import { task } from '@trigger.dev/sdk';\n" + MODEL
    first, *_ = found({"app/api/chat/route.ts": route, "trigger/answer.ts": task})
    assert first.refused is not None
    assert "a task of Trigger.dev" in first.refused.why


def test_a_route_that_asks_a_model_and_starts_a_job_beside_is_the_agent() -> None:
    route = "import { tasks } from '@trigger.dev/sdk';\nimport OpenAI from 'openai';\nexport async function POST(req) {\n  const { prompt } = await req.json();\n  await tasks.trigger('log', { prompt });\n  return Response.json(await new OpenAI().responses.create({ input: prompt }));\n}\n"
    (first,) = found({"app/api/chat/route.ts": route})
    assert first.refused is None


WORKSPACE = '{"name": "@acme/model", "main": "./dist/start.js", "dependencies": {"answer": "1"}}'


@pytest.mark.parametrize(
    ("module", "place", "reached"),
    [
        ("@acme/model", "packages/lm/src/start.ts", True),
        ("@acme/model", "packages/lm/index.ts", True),
        ("@acme/model", "packages/lm/src/other.ts", False),
        ("@acme/model/answer", "packages/lm/src/answer.ts", True),
        ("answer", "src/answer.ts", True),
        ("openai-like", "src/openai-like.ts", False),
    ],
)
def test_a_package_of_the_repository_is_what_its_project_says(
    module: str, place: str, *, reached: bool
) -> None:
    needs = '{"dependencies": {"openai-like": "1"}}'
    projects = {"package.json": needs, "packages/lm/package.json": WORKSPACE}
    texts = {"app/api/chat/route.ts": ROUTE % module, place: MODEL}
    assert NodeImports(texts, projects).of("app/api/chat/route.ts") == [place] * reached


def test_what_a_comment_imports_is_not_imported_and_the_own_project_is_nearest() -> None:
    route = "/**\n * import { a } from '@/other';\n */\n// import b from '@/other';\nimport { answer } from '@/lib/answer';\nawait import(\n  /* webpackChunkName: 'x' */\n  '@/lib/late'\n);\n"
    names = ("other", "lib/answer", "lib/late")
    texts = {f"apps/{app}/{one}.ts": MODEL for app in ("a", "b") for one in names}
    projects = {f"apps/{app}/package.json": "{}" for app in ("a", "b")}
    imports = NodeImports({**texts, "apps/b/route.ts": route}, projects)
    assert imports.of("apps/b/route.ts") == ["apps/b/lib/answer.ts", "apps/b/lib/late.ts"]


def test_a_server_of_bun_is_started_by_bun() -> None:
    text = "import OpenAI from 'openai';\nBun.serve({\n  routes: { '/chat': { POST: async (req) => {\n    const { message } = await req.json();\n    return Response.json({ answer: await new OpenAI().x(message) });\n  } } },\n});\n"
    for told in ("{}", '{"dependencies": {}, "scripts": {"start": "bun server.ts"}}'):
        (program,) = found({"server.ts": text, "package.json": told})
        assert (program.command, program.refused) == (("bun", "server.ts"), None)
        assert program.setup is None or program.setup.run[0] == "bun"


def test_what_nuxt_gives_without_an_import_is_followed() -> None:
    texts = {
        "server/api/chat.post.ts": "export default defineEventHandler((event) => answer(event));",
        "server/utils/model.ts": MODEL,
        "other/server/utils/model.ts": MODEL,
        "app/x.ts": "answer();",
    }
    imports = NodeImports(texts)
    assert imports.of("server/api/chat.post.ts") == ["server/utils/model.ts"]
    assert imports.of("app/x.ts") == []


GENKIT = "import { genkit, z } from 'genkit';\nexport const indexMenu = ai.defineFlow({ name: 'indexMenu', inputSchema: z.string().describe('PDF file path') }, go);\nexport const menuQA = ai.defineFlow({ name: 'menuQA', inputSchema: %s }, go);\n"


@pytest.mark.parametrize(
    ("schema", "inputs"),
    [("z.string()", ()), ("z.object({ question: z.string() })", ("question",))],
)
def test_a_flow_of_genkit_that_is_exported_and_takes_a_question_is_asked(
    schema: str, inputs: tuple[str, ...]
) -> None:
    (flow,) = found({"src/menu.ts": GENKIT % schema, "package.json": "{}"})
    assert (flow.target, flow.inputs, flow.refused) == ("src/menu.ts:menuQA", inputs, None)


def test_a_team_of_autogen_comes_before_its_agents() -> None:
    text = "from autogen_agentchat.agents import AssistantAgent\nfrom autogen_agentchat.teams import RoundRobinGroupChat\ndesk = AssistantAgent('desk', model_client=client, tools=[look])\nshop = RoundRobinGroupChat([desk], max_turns=2)\n"
    first, second = found({"desk.py": text})
    assert (first.target, first.framework, first.language) == ("desk.py:shop", "AutoGen", "python")
    assert second.target == "desk.py:desk"


def test_the_root_agent_of_adk_for_typescript_comes_before_its_helpers() -> None:
    text = "import { AgentTool, LlmAgent } from '@google/adk';\nexport const helper = new LlmAgent({ name: 'helper', tools: [look] });\nexport const rootAgent = new LlmAgent({\n  name: 'lead',\n  subAgents: [helper],\n});\n"
    first, second = found({"app/agent.ts": text, "package.json": "{}"})
    assert (first.target, first.framework) == ("app/agent.ts:rootAgent", "Google ADK")
    assert second.target == "app/agent.ts:helper"


@pytest.mark.parametrize(
    ("framework", "text", "first"),
    [
        ("Strands Agents", "import { Agent, tool } from '@strands-agents/sdk';\nexport const agent = new Agent({ tools: [look] });\n", "agent"),
        ("AgentKit", "import { createAgent, createNetwork } from '@inngest/agent-kit';\nexport const desk = createAgent({ name: 'desk', system: 'Help.' });\nexport const shop = createNetwork({ name: 'shop', agents: [desk] });\n", "shop"),
        ("LlamaIndex", "import { agent } from '@llamaindex/workflow';\nexport const desk = agent({ llm, tools: [look] });\n", "desk"),
        ("BeeAI", "import { RequirementAgent } from 'beeai-framework/agents/requirement/agent';\nexport const desk = new RequirementAgent({ llm, tools: [look] });\n", "desk"),
    ],
)  # fmt: skip
def test_an_agent_that_a_module_of_node_exports_is_asked_by_a_bridge(
    framework: str, text: str, first: str
) -> None:
    agent = found({"src/desk.ts": text, "package.json": "{}"})[0]
    assert (agent.target, agent.framework) == (f"src/desk.ts:{first}", framework)
    assert (agent.language, agent.refused) == ("node", None)
    assert agent.redirect == (framework == "AgentKit")  # which reads no base URL
