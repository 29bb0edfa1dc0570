"""Servers of Node whose framework makes the routes: at which path they are asked, with which body."""

from __future__ import annotations

import json

import pytest

from gateval.candidates.options import NodeOptions
from gateval.domain.setup.node_protocols import AG_UI_KEYS, COPILOT
from gateval.domain.setup.other_work import SILENT
from gateval.domain.setup.platforms import LOGIN
from tests.unit.domain.test_programs_of_strangers import found

VOLT = "import { Agent, VoltAgent } from '@voltagent/core';\nimport { honoServer } from '@voltagent/server-hono';\n"
ONE = "const desk = new Agent({\n  name: 'Front Desk',\n  tools: [look],\n});\n"
TWO = "export const lead: Agent = new Agent({ id: 'lead-1', name: 'Lead', subAgents: [desk] });\n"
GENKIT = "import { genkit, z } from 'genkit';\nimport { startFlowServer, expressHandler } from '@genkit-ai/express';\nconst ai = genkit({});\n"
FLOW = "export const talk = ai.defineFlow(\n  { name: 'talkFlow', inputSchema: %s, outputSchema: z.string() },\n  async (given) => (await ai.generate(given)).text,\n);\n"
TALK = "z.object({ question: z.string(), user: z.string(), tone: z.string().optional() })"


@pytest.mark.parametrize(
    ("text", "route", "field", "body", "answer"),
    [
        (VOLT + ONE + "new VoltAgent({\n  agents: {\n    // it's the desk\n    desk,\n  },\n  server: honoServer({ port: 3141 }),\n});\n", "/agents/Front%20Desk/text", "input", None, "data.text"),
        (VOLT + ONE + TWO + "new VoltAgent({ agents: { desk, first: lead }, server: honoServer() });\n", "/agents/lead-1/text", "input", None, "data.text"),
        (VOLT + ONE + "const all = new VoltAgent({ agents: { desk }, // server: honoServer()\n  serverless: serverlessHono() });\nexport default all.serverless().toCloudflareWorker();\n", "/agents/Front%20Desk/text", "input", None, "data.text"),
        (VOLT + "function makeDesk(memory) {\n  return new Agent({ name: 'desk', memory });\n}\nconst desk = makeDesk(1);\nnew VoltAgent({ agents: { Desk: desk }, server: honoServer() });\n", "/agents/desk/text", "input", None, "data.text"),
        (GENKIT + FLOW % TALK + "startFlowServer({ flows: [talk], pathPrefix: 'api/' });\n", "/api/talkFlow", "data.question", {"data": {"question": "{{ prompt }}", "user": "gateval"}}, "result"),
        (GENKIT + "const Talk = " + TALK + ";\n" + FLOW % "Talk" + "app.post('/talk', expressHandler(talk));\napp.listen(80);\n", "/talk", "data.question", {"data": {"question": "{{ prompt }}", "user": "gateval"}}, "result"),
        (GENKIT + FLOW % "z.string()" + "startFlowServer({ flows: [talk] });\n", "/talkFlow", "data", {"data": "{{ prompt }}"}, "result"),
    ],
)  # fmt: skip
def test_a_framework_says_where_its_agents_are_asked(
    text: str, route: str, field: str, body: object, answer: str
) -> None:
    first, *_ = found({"src/index.ts": text, "package.json": "{}"})
    asked = first.invocation
    assert (first.runtime, first.refused, asked.route, asked.field) == ("http", None, route, field)
    assert (json.loads(asked.body) if asked.body else None, asked.answer) == (body, answer)
    assert ("-e" in first.command) == ("export default" in text)


def test_a_first_word_that_chooses_how_a_program_of_node_works_is_no_question() -> None:
    text = "import { Agent, run } from '@openai/agents';\nconst mode = (process.argv[2] ?? '').toLowerCase();\nconst made = mode === 'fast' ? one() : two();\nawait run(new Agent({ name: 'a' }), 'Go.');\n"
    first, *_ = found({"go.ts": text, "package.json": '{"scripts": {"start": "tsx go.ts"}}'})
    assert first.refused
    assert first.refused.why.startswith("takes no question: what it reads of its command")


def test_a_server_of_voltagent_that_wants_a_token_says_so() -> None:
    served = "new VoltAgent({ agents: { desk }, server: honoServer({ authNext: { provider: jwtAuth({}) } }) });\n"
    first, *_ = found({"src/index.ts": VOLT + ONE + served, "package.json": "{}"})
    assert first.refused == LOGIN


AG_UI = "import { EventEncoder } from '@ag-ui/encoder';\nimport { agent } from './agent';\n"
STRANDS = (
    "import { addStrandsExpressEndpoint } from '@ag-ui/aws-strands/server';\n"
    "import { Agent } from '@strands-agents/sdk';\nconst app = express();\n"
)


@pytest.mark.parametrize(
    ("text", "route"),
    [
        (STRANDS + "app.post('/', seen);\naddStrandsExpressEndpoint(app, agent, { path: '/talk' });\napp.listen(8000);\n", "/talk"),
        (STRANDS + "const made = createStrandsApp(agent);\nmade.listen(8000);\n", "/"),
        (AG_UI + "http.createServer((req, res) => {\n  if (req.method === 'POST' && pathname === '/run') {\n    const told = new EventEncoder();\n  }\n}).listen(PORT);\n", "/run"),
    ],
)  # fmt: skip
def test_a_server_of_node_may_speak_ag_ui(text: str, route: str) -> None:
    made = "import { query } from '@anthropic-ai/claude-agent-sdk';\n"
    made += "export const page = new CopilotRuntime({});\n"  # of the page beside it
    first, *_ = found({"server.ts": text, "agent.ts": made, "package.json": "{}"})
    assert first.refused is None
    assert (first.path, first.invocation.preset, first.invocation.route) == (
        "server.ts",
        "ag-ui",
        route,
    )


BY_HAND = "import { chat } from '@tanstack/ai';\nconst app = new Hono();\napp.post('/other', (c) => c.json(await c.req.json()));\n"


@pytest.mark.parametrize(
    "text",
    [
        "async function stream(body) {\n  const params = await chatParamsFromRequestBody(body);\n  return chat(params);\n}\napp.post('/talk', async (c) => {\n  const body = await c.req.json();\n  return told(await stream(body));\n});\n",
        "app.post('/talk', async (c) => {\n  const { threadId, runId, messages } = await c.req.json();\n  write({ type: EventType.RUN_STARTED, threadId, runId });\n  write({ type: 'TEXT_MESSAGE_CONTENT', delta: chat(messages) });\n});\n",
    ],
)
def test_ag_ui_written_by_hand_is_asked_at_the_route_that_speaks_it(text: str) -> None:
    first, *_ = found({"server.ts": BY_HAND + text + "serve({ fetch: app.fetch });\n"})
    asked = first.invocation
    assert (first.refused, asked.preset, asked.route) == (None, "ag-ui", "/talk")


def test_a_route_that_speaks_ag_ui_is_given_what_that_demands() -> None:
    text = "import { chat, chatParamsFromRequest } from '@tanstack/ai';\nexport async function POST(req) {\n  const params = await chatParamsFromRequest(req);\n  return told(chat(params));\n}\n"
    first, *_ = found({"app/api/chat/route.ts": text, "package.json": "{}"})
    assert (first.refused, first.language) == (None, "node")
    assert {*dict(first.more)} == {*AG_UI_KEYS}


AUTO = "import AutoLoad from '@fastify/autoload';\nconst app: FastifyPluginAsync = async (fastify) => {\n  fastify.register(AutoLoad, {\n    dir: join(__dirname, 'routes'),\n    options: { prefix: '/api' },\n  });\n};\nexport default app;\n"
LOADED = "import OpenAI from 'openai';\nconst root: FastifyPluginAsync = async (_fastify) => {\n  const fastify = _fastify.withTypeProvider<Told<{ a: { b: string } }>>();\n  fastify.post('/ask', { handler: async (request) => {\n    const { question } = request.body;\n    return { answer: await told(question) };\n  } });\n};\nexport default root;\n"


def test_plugins_of_fastify_are_started_by_its_tool_and_asked_at_their_folders() -> None:
    files = {"src/app.ts": AUTO, "src/routes/desk/index.ts": LOADED, "package.json": "{}"}
    first, *_ = found(files)
    asked = first.invocation
    assert (first.path, asked.route, asked.field) == ("src/app.ts", "/api/desk/ask", "question")
    assert first.command[-5:] == ("fastify", "start", "--port", "{port}", "src/app.ts")


MIDDLEWARE = "import OpenAI from 'openai';\nexport default defineConfig({\n  plugins: [{\n    name: 'api',\n    configureServer(server) {\n      server.middlewares.use('/api/chat', async (req, res) => {\n        const { message } = JSON.parse(await read(req));\n        res.end(JSON.stringify({ reply: await told(message) }));\n      });\n    },\n  }],\n});\n"


def test_a_route_that_vite_is_told_of_is_asked_at_its_server() -> None:
    spoken = MIDDLEWARE.replace("{ message }", "params").replace(
        "JSON.parse(", "chatParamsFromRequestBody("
    )
    (first,) = found({"vite.config.ts": spoken, "package.json": "{}"})
    assert (first.invocation.route, first.invocation.preset) == ("/api/chat", "ag-ui")
    (first,) = found({"vite.config.ts": MIDDLEWARE, "package.json": "{}"})
    asked = first.invocation
    assert (first.refused, asked.route, asked.field) == (None, "/api/chat", "message")
    assert first.command == (
        *("npx", "vite", "--config", "vite.config.ts", "--port", "{port}", "--strictPort"),
    )


def test_what_a_handler_makes_up_for_is_no_question() -> None:
    text = "import { GoogleGenerativeAI } from '@google/generative-ai';\nconst app = express();\napp.post('/chat', async (req, res) => {\n  const past = req.body.history || [];\n  const msg = req.body.chat;\n  const chat = model.startChat({ history: past });\n  const told = await chat.sendMessage(msg);\n  res.send({ text: told });\n});\napp.listen(process.env.PORT);\n"
    first, *_ = found({"app.js": text, "package.json": "{}"})
    asked = first.invocation
    assert (asked.field, asked.body, asked.answer) == ("chat", "", "text")


@pytest.mark.parametrize(
    ("mounted", "inner"),
    [
        ("app.use('/api', makeRouter({ model, log: own() }));\n", "export function makeRouter(given) {\n  const router = express.Router();\n"),
        ("app.use('/api', require('./desk')(model));\n", "module.exports = (given) => {\n  const router = express.Router();\n"),
        ("const BASE = '/api';\napp.register(makeRouter, { prefix: BASE });\n", "export async function makeRouter(router) {\n"),
    ],
)  # fmt: skip
def test_routers_that_functions_make_have_the_path_before_theirs(mounted: str, inner: str) -> None:
    server = "import express from 'express';\nimport { makeRouter } from './desk.js';\nconst app = express();\n"
    files = {
        "server.js": server + mounted + "app.listen(3000);\n",
        "desk.js": "import OpenAI from 'openai';\n"
        + inner
        + "  router.post('/ask', async (req, res) => {\n    const { question } = req.body;\n    res.json({ answer: await told(question) });\n  });\n  return router;\n}\n",
        "package.json": "{}",
    }
    first, *_ = found(files)
    assert (first.path, first.invocation.route) == ("server.js", "/api/ask")


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("app/api/copilotkit/[[...slug]]/route.ts", "import { CopilotRuntime } from '@copilotkit/runtime';\nconst runtime = new CopilotRuntime({ agents });\nexport const POST = handle(app);\n", COPILOT.why),
        ("src/server.ts", "import { CopilotRuntime } from '@copilotkit/runtime/v2';\nconst runtime = new CopilotRuntime({ agents });\napp.use('/api', given);\napp.listen(4000);\n", COPILOT.why),
        ("app/api/chat/route.ts", "import { convertToModelMessages } from 'ai';\nimport { start } from 'workflow/api';\nexport async function POST(req) {\n  const { messages } = await req.json();\n  const run = await start(chat, [convertToModelMessages(messages)]);\n}\n", "hands the question to a job (`workflow/api`)"),
        ("app/api/chat/route.ts", "import { createAgent } from '@inngest/agent-kit';\nexport async function POST(req) {\n  const { message } = await req.json();\n  await inngest.send({ name: 'chat', data: { message } });\n}\n", "hands the question to a job (`inngest.send`)"),
        ("src/cli.ts", "import Anthropic from '@anthropic-ai/sdk';\nconst [word, ...args] = process.argv.slice(2);\nif (word === 'make') make();\nif (word === 'send') {\n  const message = args.join(' ');\n  await new Anthropic().beta.sessions.events.send(id, { message });\n}\n", "gives the question to a managed agent of Anthropic (`beta.sessions`)"),
    ],
)  # fmt: skip
def test_what_hands_its_questions_on_says_so(path: str, text: str, why: str) -> None:
    (first,) = found({path: text, "package.json": "{}"})
    assert first.refused is not None
    assert first.refused.why.startswith(why)


def test_agents_that_a_job_asks_are_its_parts_where_a_route_starts_it() -> None:
    agent = "import { createAgent } from '@inngest/agent-kit';\nexport const %s = createAgent({ name: '%s' });\n"
    files = {one + ".ts": agent % (one, one) for one in ("sums", "words", "alone")}
    files["app/api/jobs/route.ts"] = (
        "import { serve } from 'inngest/next';\nimport { go } from '../../../job';\nserve({ functions: [go] });\n"
    )
    files["job.ts"] = (
        "import { sums } from './sums';\nimport { words } from './words';\nexport const go = inngest.createFunction({}, {}, work);\n"
    )
    files["app/api/chat/route.ts"] = (
        "import { inngest } from '../client';\nexport async function POST(req) {\n  const { message } = await req.json();\n  await inngest.send({ data: { message } });\n}\n"
    )
    (first,) = found({**files, "package.json": "{}"})
    assert first.refused is not None
    assert first.path == "app/api/chat/route.ts"


def test_a_first_word_that_a_program_of_node_compares_names_its_command() -> None:
    cli = "import OpenAI from 'openai';\nconst [command, ...args] = process.argv.slice(2);\nif (command === 'make') make(args[0]);\nif (command === 'tell') {\n  const message = args.join(' ');\n  await new OpenAI().responses.create({ input: message });\n}\n"
    first, *_ = found({"cli.ts": cli, "package.json": "{}"})
    assert (first.refused, first.invocation.words) == (None, ("tell", "{{ prompt }}"))


def test_a_job_of_inngest_says_that_its_server_starts_it() -> None:
    text = "import { createAgent } from '@inngest/agent-kit';\nexport const go = inngest.createFunction({ id: 'go' }, { event: 'x' }, async () => agent.run(1));\n"
    (first,) = found({"src/inngest/go.ts": text, "package.json": "{}"})
    assert first.refused is not None
    assert first.refused.why.startswith("is a job of Inngest")


def test_a_graph_may_have_a_name_with_a_hyphen() -> None:
    declared = '{"graphs": {"react-agent": "./a.ts:agent", "other": "./b.ts:agent"}}'
    files = {"langgraph.json": declared, "a.ts": "", "b.ts": ""}
    targets = [one.target for one in found(files)]
    assert "langgraph.json:react-agent" in targets
    assert {NodeOptions(target=one).target for one in targets} == {*targets}


def test_a_server_of_python_may_take_what_ag_ui_sends() -> None:
    text = "import openai\nfrom ag_ui.core import RunAgentInput\nfrom ag_ui.encoder import EventEncoder\nfrom fastapi import FastAPI, Request\napp = FastAPI()\n\n@app.post('/awp')\nasync def endpoint(given: RunAgentInput, request: Request):\n    return StreamingResponse(told(given))\n"
    (first,) = found({"main.py": text})
    assert (first.invocation.preset, first.invocation.route) == ("ag-ui", "/awp")


def test_a_runtime_may_stand_behind_its_server_and_beside_other_routes() -> None:
    runtime = "import { CopilotRuntime } from '@copilotkit/runtime';\nexport const app = express();\nnew CopilotRuntime({});\n"
    serves = "import { app } from './app';\napp.listen(4000);\n"
    files = {"src/index.ts": serves, "src/app.ts": runtime, "package.json": "{}"}
    assert {one.refused for one in found(files)} == {COPILOT}
    ask = "import OpenAI from 'openai';\napp.post('/chat', (req, res) => res.json({ reply: req.body.message }));\n"
    (first, *_) = found({**files, "src/app.ts": runtime + ask})
    assert (first.refused, first.invocation.route) == (None, "/chat")
    tasks = "import { runtime } from '../../runtime';\nexport async function POST(req) {\n  const { tasks } = await req.json();\n}\n"
    files = {"app/api/tasks/route.ts": tasks, "runtime.ts": runtime, "package.json": "{}"}
    assert not any(one.refused is None for one in found(files))


def test_a_server_of_flows_that_are_not_found_is_guessed_at_no_path() -> None:
    text = GENKIT + "import { talk } from './talk';\nstartFlowServer({ flows: [talk] });\n"
    made = "export const talk = defineAgent(ai, { name: 'talk' });\n"
    (first,) = found({"src/index.ts": text, "src/talk.ts": made, "package.json": "{}"})
    assert first.refused is SILENT
