"""Agents of Node that nothing here asks: the cause is told at the file that takes the question."""

from __future__ import annotations

import json

import pytest

from tests.unit.domain.test_programs_of_strangers import found

AI = "import { generateText } from 'ai';\n"
TRIGGER = "import { streams, schemaTask } from '@trigger.dev/sdk';\n"
RUNTIME = "import { createApp } from '@agentuity/runtime';\n"
FUNCTION = (
    "import { app } from '@azure/functions';\nimport { ChatOpenAI } from '@langchain/openai';\n"
)
THREAD = "import OpenAI from 'openai';\nexport async function POST(request, { params: { threadId } }) {\n  const { KEY } = await request.json();\n}\n"
THREADS = {
    "app/api/threads/route.ts": "import OpenAI from 'openai';\nexport async function POST() {\n  return Response.json({ threadId: (await openai.beta.threads.create()).id });\n}\n",
    "app/api/threads/[threadId]/actions/route.ts": THREAD.replace("KEY", "outputs"),
    "app/api/threads/[threadId]/messages/route.ts": THREAD.replace("KEY", "content"),
}
ACTION = '"use server";\nimport { generateText } from "ai";\nexport async function ask(question: string) {\n  return (await generateText({ prompt: question })).text;\n}\n'
ONE = (
    "import { Agent } from '@mastra/core/agent';\nexport const %s = new Agent({ name: 'desk' });\n"
)
FLOW = "import { createWorkflow } from '@mastra/core/workflows';\nconst flow = createWorkflow({\n  id: 'sheet-flow',\n  inputSchema: z.object({ sheetUrl: z.string() }),\n});\nexport { flow };\n"
MASTRA = {
    "src/mastra/agents/sum.ts": "import { Agent } from '@mastra/core/agent';\nexport const sum = new Agent({ name: 'Sum Agent' });\n",
    "src/mastra/workflows/flow.ts": FLOW,
    "src/mastra/index.ts": "import { Mastra } from '@mastra/core';\nexport const mastra = new Mastra({ workflows: { flow }, agents: { sum } });\n",
    "package.json": "{}",
}


@pytest.mark.parametrize(
    ("files", "path", "why"),
    [
        ({"trigger/a-stream.ts": TRIGGER + "export const told = streams.define({ id: 'told' });\n", "trigger/work.ts": TRIGGER + AI + "export const work = schemaTask({ run: async ({ question }) => generateText({ prompt: question }) });\n"}, "trigger/work.ts", "is a task of Trigger.dev"),
        ({"app.ts": RUNTIME + "import { ask } from './src/desk';\nexport default app;\n", "src/desk.ts": "import { createAgent } from '@agentuity/runtime';\n" + AI + "export const ask = createAgent('desk', { handler: async (ctx, { text }) => generateText({ prompt: text }) });\n"}, "src/desk.ts", "is an agent of Agentuity"),
        ({"src/index.ts": AI + "import { createSlackAdapter } from '@chat-adapter/slack';\nexport const bot = new Chat({ slack: createSlackAdapter() });\n"}, "src/index.ts", "is a bot of Slack"),
        ({"src/client.ts": "import { Client } from '@temporalio/client';\nimport { work } from './work';\nconst asked = process.argv.slice(2).join(' ');\nclient.workflow.start(work, { args: [asked] });\n", "src/work.ts": AI + "export const work = (asked) => generateText({ prompt: asked });\n"}, "src/client.ts", "hands the question to a job"),
        ({"app/actions.ts": ACTION, "app/page.tsx": "'use client';\nimport { useState } from 'react';\nimport { ask } from './actions';\n"}, "app/actions.ts", 'has server actions of Next.js ("use server": `ask`)'),
        ({"app/page.tsx": AI + "export default function Page() {\n  async function told(form) {\n    'use server';\n    return generateText({ prompt: form.get('topic') });\n  }\n}\n"}, "app/page.tsx", 'has server actions of Next.js ("use server": `told`)'),
        ({"app/index.ts": "import { slack } from '@copilotkit/channels/slack';\nimport { discord } from '@copilotkit/channels/discord';\nimport { CopilotRuntime } from '@copilotkit/runtime/v2';\nnew CopilotRuntime({ channels: [slack()] });\ncreateServer(work).listen(80);\n"}, "app/index.ts", "is a bot of Slack and Discord"),
        ({"src/index.ts": "export default {\n  /** All requests. */\n  async fetch(request, env) {\n    if (url.pathname === '/api/chat') return env.AI.run('m', await request.json());\n  },\n};\n"}, "src/index.ts", "has a handler that a platform calls"),
        ({"src/back.js": "chrome.runtime.onMessage.addListener(work);\nfetch('https://api.openai.com/v1/chat/completions');\n"}, "src/back.js", "is a part of an extension of a browser"),
        ({"server/work.ts": AI + "export class Work {\n  answer(text) { return generateText({ prompt: text }); }\n}\n", "server/plugin.ts": "import { WebSocketServer } from 'ws';\nconst all = new WebSocketServer({ noServer: true });\n"}, "server/plugin.ts", "takes questions over WebSocket alone"),
        ({"src/agents/one.ts": ONE % "one", "src/agents/two.ts": ONE % "two", "src/trigger/both.ts": TRIGGER + "import { one } from '../agents/one';\nimport { two } from '../agents/two';\nexport const both = schemaTask({ run: async ({ city }) => two.generate(await one.generate(city)) });\n"}, "src/trigger/both.ts", "is a task of Trigger.dev"),
        ({"app/page.tsx": "import { useOpenCodeRuntime } from '@assistant-ui/react-opencode';\n"}, "app/page.tsx", "is a page of an agent that runs elsewhere"),
        ({"app/layout.tsx": "export default (given) => given.children;\n", "app/api/ask/route.ts": "import { URLS } from '../urls';\nexport async function POST(req) {\n  const { messages } = await req.json();\n  return fetch(URLS.service, { method: 'POST', body: JSON.stringify({ messages }) });\n}\n"}, "app/api/ask/route.ts", "hands the question on to a server elsewhere"),
        ({"src/api.ts": "import { sse } from '@agentuity/runtime';\nimport { desk } from './desk';\n", "src/desk.ts": "import { createAgent } from '@agentuity/runtime';\nimport { work } from './work';\nexport const desk = createAgent('desk', {});\n", "src/work.ts": AI + "export const work = (prompt) => generateText({ prompt });\n"}, "src/desk.ts", "is an agent of Agentuity"),
        ({"server/server.ts": "import { createApp, server } from '@databricks/appkit';\nimport { ask } from './ask';\ncreateApp({ plugins: [server()] });\n", "server/ask.ts": AI + "export const ask = (prompt) => generateText({ prompt });\n"}, "server/server.ts", "is an app of Databricks AppKit"),
        ({"src/Talk.tsx": "import { contexts } from '@convex-dev/agent';\nimport { useMessages } from '@convex-dev/agent/react';\nexport const Talk = () => <p className='x' />;\n"}, "src/Talk.tsx", "is a page of an agent that runs elsewhere"),
        ({"functions/chats-delete.ts": FUNCTION + "app.http('drop', { handler: (request) => history.clear(message) });\n", "functions/chats-post.ts": FUNCTION + "app.http('chat', { handler: (request) => new ChatOpenAI().invoke(messages) });\n"}, "functions/chats-post.ts", "has handlers of Azure Functions"),
        (THREADS, "app/api/threads/[threadId]/messages/route.ts", "is asked in a conversation that another request begins (`POST /api/threads`), which `init`"),
        ({"src/tools.ts": "import { defineTool } from '@flue/runtime';\nexport const look = defineTool({ run: ({ text }) => text });\n", "src/agents/desk.ts": "'use agent';\nimport { useModel } from '@flue/runtime';\nexport const Desk = () => useModel('m');\n"}, "src/agents/desk.ts", "is an agent of Flue"),
        ({"src/chat.ts": "import { Bash } from '@hashbrownai/core';\nexport const handler = awslambda.streamifyResponse(async (event) => run(event.body));\n"}, "src/chat.ts", "has a handler that a platform calls"),
        ({"README.md": "Begin with `work.ts`, then see `work-all.ts`.\n", "work-all.ts": TRIGGER + AI + "export const all = schemaTask({});\n", "work.ts": TRIGGER + AI + "export const one = schemaTask({});\n"}, "work.ts", "is a task of Trigger.dev"),
        (MASTRA | {"README.md": "Open Studio, and start the `sheet-flow` workflow.\n"}, "src/mastra/workflows/flow.ts", "has the workflow `sheet-flow` of Mastra, whose input has `sheetUrl`"),
    ],
    ids=["task", "agentuity", "chat", "temporal", "action", "inner action", "channels", "worker", "extension", "socket", "parts of a task", "page of another", "proxy", "defined", "appkit", "page alone", "azure", "thread", "flue", "lambda", "first named", "workflow"],
)  # fmt: skip
def test_a_cause_is_told_at_the_file_that_takes_the_question(
    files: dict[str, str], path: str, why: str
) -> None:
    first, *_ = found({"package.json": "{}", **files})
    assert first.refused is not None
    assert (first.path, first.refused.why[: len(why)]) == (path, why)
    assert "gateval init" in first.refused.hint or "bridges.md" in first.refused.hint


def test_an_agent_of_mastra_that_people_are_told_of_stays_before_its_workflow() -> None:
    readme = {"README.md": "Ask the Sum Agent, or start the `sheet-flow` workflow.\n"}
    first, *_ = found(MASTRA | readme)
    assert first.refused is None
    first, *_ = found(MASTRA)
    assert first.refused is None


HOSTED = "import { createAgent } from '@agentuity/runtime';\nimport { createAgent as make } from 'langchain';\nconst agent = createAgent('desk', { handler: () => make({}).invoke(1) });\nexport default agent;\n"


def test_what_a_platform_makes_is_no_agent_of_the_library_beside_it() -> None:
    first, *_ = found({"src/agent/index.ts": HOSTED, "package.json": "{}"})
    assert first.refused is not None
    assert first.refused.why.startswith("is an agent of Agentuity")
    own = HOSTED.replace("import { createAgent } from '@agentuity/runtime';\n", "").replace(
        " as make", ""
    )
    first, *_ = found({"src/agent/index.ts": own, "package.json": "{}"})
    assert (first.refused, first.target) == (None, "src/agent/index.ts:default")


CHOICE = "import { Agent, run } from '@openai/agents';\nconst mode = (process.argv[2] ?? '').toLowerCase(); // mode of the run\nif (mode === 'alone') {\n  await main({ mode: 'one' });\n} else {\n  await main({});\n}\n"
CONFIRMS = "import { Agent, run } from '@openai/agents';\nimport { createInterface } from 'node:readline/promises';\nconst rl = createInterface({ input: process.stdin, output: process.stdout });\nconst said = await rl.question('\\nProceed? [y/N] ');\nawait main(said === 'y');\n"


@pytest.mark.parametrize("text", [CHOICE, CONFIRMS])
def test_a_program_that_reads_a_mode_or_a_yes_takes_no_question(text: str) -> None:
    assert all(one.refused for one in found({"run.ts": text, "package.json": "{}"}))
    asks = text.replace("mode === 'alone'", "mode").replace("Proceed? [y/N]", "What?")
    first, *_ = found({"run.ts": asks, "package.json": "{}"})
    assert first.refused is None


def test_a_function_of_appwrite_is_the_handler_of_a_platform() -> None:
    text = "import OpenAI from 'openai';\nexport default async ({ req, res, error }) => {\n  const told = await new OpenAI().chat(req.bodyJson.prompt);\n  return res.json({ told });\n};\n"
    (first,) = found({"src/main.js": text, "package.json": "{}"})
    assert first.refused is not None
    assert first.refused.why.startswith("has a handler that a platform calls")


def test_a_workflow_of_mastra_that_takes_a_question_is_started_through_its_mastra() -> None:
    takes = FLOW.replace("sheetUrl: z.string()", "userQuery: z.string(), depth: z.number()")
    flow = {
        "src/mastra/workflows/flow.ts": takes,
        "README.md": "Start the `sheet-flow` workflow.\n",
    }
    alone = MASTRA["src/mastra/index.ts"].replace(", agents: { sum }", "")
    for files in (MASTRA | flow, {**flow, "src/mastra/index.ts": alone, "package.json": "{}"}):
        first, *_ = found(files)
        assert (first.refused, first.target) == (None, "src/mastra/index.ts:mastra.flow")
        assert (first.inputs, first.more) == (("userQuery",), (("depth", "1"),))
    files = {"src/mastra/index.ts": alone, "src/mastra/flow.ts": FLOW, "package.json": "{}"}
    first, *_ = found(files)
    assert first.refused is not None
    assert first.refused.why.startswith("has the workflow `sheet-flow` of Mastra")


def test_a_route_stays_before_a_server_action() -> None:
    route = (
        AI
        + "export async function POST(req) {\n  const { prompt } = await req.json();\n  return generateText({ prompt });\n}\n"
    )
    first, *_ = found({"app/actions.ts": ACTION, "app/api/chat/route.ts": route})
    assert (first.path, first.refused) == ("app/api/chat/route.ts", None)


HONO = "import { Hono } from 'hono';\nimport { serve } from '@hono/node-server';\nimport { genkit, z } from 'genkit';\nimport { fetchHandler, fetchHandlers, withActionOptions } from '@genkit-ai/fetch';\nconst ai = genkit({});\nexport const talk = ai.defineFlow({ name: 'talkFlow', inputSchema: z.object({ question: z.string() }) }, work);\n"


@pytest.mark.parametrize(
    ("served", "route"),
    [
        ("app.post('/talk', (c) => fetchHandler(talk)(c.req.raw));\n", "/talk"),
        ("app.all('/api/*', (c) => fetchHandlers([withActionOptions(own, { by }), talk], '/api')(c.req.raw));\n", "/api/talkFlow"),
        ("const actions = [talk];\napp.all('/*', (c) => fetchHandlers(actions)(c.req.raw));\n", "/talkFlow"),
    ],
)  # fmt: skip
def test_flows_of_genkit_behind_its_fetch_handlers_are_asked_at_their_paths(
    served: str, route: str
) -> None:
    text = HONO + "const app = new Hono();\n" + served + "serve({ fetch: app.fetch });\n"
    first, *_ = found({"src/index.ts": text, "package.json": "{}"})
    asked = first.invocation
    assert (first.refused, asked.route, asked.field) == (None, route, "data.question")
    assert (json.loads(asked.body), asked.answer) == (
        {"data": {"question": "{{ prompt }}"}},
        "result",
    )
