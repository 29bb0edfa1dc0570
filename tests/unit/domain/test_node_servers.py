"""Servers of Node in shapes that public repositories show: at which route, with which body."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Mapping
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from gateval.domain.setup.invocation import Begin, Invocation
from gateval.domain.setup.nest import nest_start
from gateval.domain.setup.other_work import SILENT
from gateval.domain.setup.platforms import LOGIN, PLATFORM, begun_by
from gateval.domain.setup.program import FoundProgram
from gateval.domain.setup.program_install import with_bun, with_tools
from gateval.domain.setup.starter import said_of
from gateval.render.starter import program_manifest
from tests.unit.domain.test_programs_of_strangers import found

NEST = {
    "package.json": '{"dependencies": {"@nestjs/core": "1"}, "devDependencies": {"ts-node": "1"}}',
    "package-lock.json": "{}",
    "src/main.ts": "import { NestFactory } from '@nestjs/core';\nimport { AppModule } from './app.module';\nasync function bootstrap() {\n  const app = await NestFactory.create(AppModule);\n  app.setGlobalPrefix('api', { exclude: ['health'] });\n  await app.listen(3000);\n}\nbootstrap();\n",
    "src/app.module.ts": "import { ChatController } from './chat/chat.controller';\nimport { PostsController } from './posts.controller';\n@Module({ controllers: [ChatController, PostsController] })\nexport class AppModule {}\n",
    "src/posts.controller.ts": "@Controller('posts')\nexport class PostsController {\n  @Post()\n  create(@Body() body: { content: string }) { return this.posts.create(body); }\n}\n",
    "src/chat/dto/chat.dto.ts": "export enum Tone { Kind = 'kind', Dry = 'dry' }\nclass Place { @IsString() city: string; }\nexport class BaseDto {\n  @IsUUID()\n  threadId: string;\n}\nexport class ChatDto extends BaseDto {\n  @ApiProperty({ description: 'What, { is } asked?' })\n  @IsString() @MaxLength(400)\n  message!: string;\n  @IsEnum(Tone) tone: Tone;\n  @IsIn(['de', 'en']) language: string;\n  @ValidateNested() place: Place;\n  @IsOptional()\n  @IsNumber()\n  temperature?: number;\n  extra: Record<string, any> = {};\n  tags: string[];\n}\n",
    "src/chat/chat.service.ts": "import OpenAI from 'openai';\nexport class ChatService {\n  async reply(dto: ChatDto): Promise<{ reply: string }> {\n    const text = await this.ask([{ role: 'user', content: dto.message }]);\n    return { reply: text };\n  }\n}\n",
    "src/chat/chat.controller.ts": "import { ChatService } from './chat.service';\nimport { ChatDto } from './dto/chat.dto';\n@ApiTags('chat')\n@Controller('chat')\nexport class ChatController {\n  constructor(private readonly chat: ChatService) {}\n  @Get('history/:id')\n  history(@Param('id') id: string) { return []; }\n  @Post('completions')\n  @HttpCode(200)\n  @ApiBody({ type: ChatDto })\n  async complete(\n    @Body(new ValidationPipe({ whitelist: true })) dto: ChatDto,\n  ): Promise<any> {\n    return this.chat.reply(dto);\n  }\n}\n",
}


def test_a_controller_of_nest_is_asked_with_what_its_dto_demands() -> None:
    (first,) = found(NEST)
    asked = first.invocation
    assert (first.runtime, first.refused) == ("http", None)
    assert (asked.route, asked.field, asked.answer) == (
        "/api/chat/completions",
        "message",
        "reply",
    )
    assert json.loads(asked.body) == {
        "threadId": "00000000-0000-4000-8000-000000000000",
        "message": "{{ prompt }}",
        "tone": "kind",
        "language": "de",
        "place": {"city": "gateval"},
        "tags": [],
    }
    assert first.setup is not None
    assert first.setup.run[-1] == "npm ci && npm install --no-save tsconfig-paths"
    assert (first.command[0], first.command[-2:]) == ("node", ("-e", 'require("./src/main.ts")'))
    assert "--import" in first.command  # its own port gives way to that of the trial


def test_nest_is_started_though_something_is_imported_before(tmp_path: Path) -> None:
    for name in ("ts-node/register/transpile-only", "tsconfig-paths/register"):
        place = tmp_path / "node_modules" / f"{name}.js"
        place.parent.mkdir(parents=True)
        place.write_text("require.extensions['.ts'] = require.extensions['.js'];\n")
    (tmp_path / "main.ts").write_text("console.log('began');\n")
    node, *words = nest_start("main.ts")
    run = subprocess.run(
        [node, "--import", "data:text/javascript,", *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    assert run.stdout == "began\n"


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("@Post()\n  ask(@Body('question') question: string, @Body('top') top?: number) { return { answer: 1 }; }", Invocation(route="/api/chat", field="question", answer="answer")),
        ("@Post('say')\n  ask(@Body() { messages }: { messages: Message[] }, @Res() res: Response) {\n    const result = streamText({});\n    result.pipeUIMessageStreamToResponse(res);\n  }", Invocation(route="/api/chat/say", field="messages", stream="aisdk")),
        ("@Get('ask')\n  ask(@Query('q_query') q: string) { return { answer: q }; }", Invocation(route="/api/chat/ask?q_query={{ prompt }}", field="q_query", answer="answer", method="GET")),
    ],
)  # fmt: skip
def test_a_controller_may_take_single_fields_or_none_of_a_class(
    method: str, expected: Invocation
) -> None:
    text = f"import {{ ChatService }} from './chat.service';\n@Controller('chat')\nexport class ChatController {{\n  {method}\n}}\n"
    (first,) = found({**NEST, "src/chat/chat.controller.ts": text})
    assert first.invocation == expected


def test_what_asks_no_model_or_takes_a_file_is_no_question_to_nest() -> None:
    text = "import { ChatService } from './chat.service';\n@Controller('chat')\nexport class ChatController {\n  @Post('analyze')\n  @UseInterceptors(FileInterceptor('file'))\n  ask(@UploadedFile() file: File, @Body('prompt') prompt: string) { return 1; }\n}\n"
    (first,) = found({**NEST, "src/chat/chat.controller.ts": text})
    assert first.refused is SILENT


SERVED = "import OpenAI from 'openai';\n%s\napp.listen(process.env.PORT);\n"


def served(text: str, more: Mapping[str, str] = {}) -> FoundProgram:
    first, *_ = found({"server.ts": SERVED % text, "package.json": "{}", **more})
    assert first.refused is None
    return first


@pytest.mark.parametrize(
    ("text", "route", "body", "answer"),
    [
        ("app.post('/chat', (req, res) => { const { messages } = req.body; res.json({ text: 1 }) });", "/chat", {"messages": "{{ messages }}"}, "text"),
        ("app.get('/health', (q, res) => res.json({ok: 1}));\napp.post('/chat', async (c) => { const { session, message } = await c.req.json(); return c.json({ reply: 1 }) });", "/chat", {"message": "{{ prompt }}"}, "reply"),
        ("app.post('/ask', async (req, res) => {\n  const { question, sessionId, topK = 3 } = req.body;\n  if (!question || !sessionId) return res.status(400).json({ message: 'no' });\n  const told = rows.map((one) => { return { content: one } });\n  res.json({ success: true, answer: told });\n});", "/ask", {"question": "{{ prompt }}", "sessionId": "gateval"}, "answer"),
        ("interface Ask { prompt: string; user: { id: number; plan: 'free' | 'paid' }; limit?: number }\napp.post<{ Body: Ask }>('/generate', async (request, reply) => {\n  const { prompt, user } = request.body;\n  reply.send({ result: 1 });\n});", "/generate", {"prompt": "{{ prompt }}", "user": {"id": 1, "plan": "free"}}, "result"),
        ("app.post('/chat', async ({ body }) => ({ reply: await go(body.message) }), { body: t.Object({ message: t.String(), mode: t.Union([t.Literal('fast')]), n: t.Optional(t.Number()) }) });", "/chat", {"message": "{{ prompt }}", "mode": "fast"}, ""),
        ("app.route('/api/chat').get(list).post(async (req, res) => { res.json({ reply: go(req.body.message) }) });", "/api/chat", {"message": "{{ prompt }}"}, "reply"),
        ("const ROUTES = { CHAT: '/v2/chat' };\napp.post(ROUTES.CHAT, async (ctx) => { const { message } = ctx.request.body; ctx.body = { reply: 1 }; });", "/v2/chat", {"message": "{{ prompt }}"}, "reply"),
        ("app.post('/chat', async (req, res) => { const result = await go(req.body.message); res.json({ original: req.body.message, took: 1, processed: result.text }) });", "/chat", {"message": "{{ prompt }}"}, "processed"),
        ("app.post('/chat/start', make);\napp.post('/review', async (req, res) => { const body = req.body as Review; res.json({ notes: go(body.code) }) });\ninterface Review { code: string; strict?: boolean }", "/review", {"code": "{{ prompt }}"}, "notes"),
    ],
)  # fmt: skip
def test_a_route_is_asked_with_what_its_handler_demands(
    text: str, route: str, body: dict[str, object], answer: str
) -> None:
    asked = served(text).invocation
    alone = {asked.field: "{{ messages }}" if asked.field == "messages" else "{{ prompt }}"}
    assert (asked.route, json.loads(asked.body or json.dumps(alone))) == (route, body)
    assert asked.answer == answer


def test_a_handler_in_a_file_of_its_own_says_what_it_takes() -> None:
    routes = "import { Router } from 'express';\nimport { ask } from './talk.controller';\nexport const talk = Router();\ntalk.post('/', limited, asyncHandler(ask));\n"
    handler = "export const ask = async (req: Request, res: Response) => {\n  const { userInput } = req.body;\n  res.status(200).json({ reply: 1 });\n};\n"
    first = served(
        "import { talk } from './talk.routes';\nconst PREFIX = '/api/v1';\napp.use(`${PREFIX}/talk`, talk);",
        {"talk.routes.ts": routes, "talk.controller.ts": handler},
    )
    asked = first.invocation
    assert (asked.route, asked.field, asked.answer) == ("/api/v1/talk", "userInput", "reply")


def test_a_stream_of_events_is_read_by_the_key_of_its_texts() -> None:
    first = served(
        "app.post('/chat', async (req, res) => {\n  res.setHeader('Content-Type', 'text/event-stream');\n  for await (const part of go(req.body.message)) res.write(`data: ${JSON.stringify({ content: part })}\\n\\n`);\n});"
    )
    assert (first.invocation.answer, first.invocation.stream) == ("content", "sse")
    manifest = program_manifest("desk", first, (), "")
    assert '    response: {stream: sse, output: "$.content"}\n' in manifest


def test_a_yarn_that_npm_has_under_another_name_installs_what_it_locked() -> None:
    files = {
        "package.json": '{"packageManager": "yarn@4.5.3+sha512.1f", "dependencies": {"ai": "1"}}',
        "yarn.lock": "__metadata:\n",
    }
    first = served(
        "app.post('/chat', (req, res) => { res.json({ reply: req.body.message }) });", files
    )
    assert first.setup is not None
    for here in ({"npx"}, {"npx", "yarn"}):
        setup = with_tools(first.setup, here.__contains__, files["package.json"])
        assert setup.run[-1] == (
            "export YARN_NODE_LINKER=node-modules && "
            "npx --yes --package=@yarnpkg/cli-dist@4.5.3 yarn install --immutable && "
            "npx --yes --package=@yarnpkg/cli-dist@4.5.3 yarn add tsx"
        )


def test_a_question_may_stand_in_the_address_alone() -> None:
    text = "app.get('/generate', async (req, reply) => {\n  const prompt = req.query.prompt || 'x';\n  reply.send({ text: 1, message: 'made' });\n});"
    asked = served(text).invocation
    assert (asked.method, asked.route) == ("GET", "/generate?prompt={{ prompt }}")
    assert asked.answer == "text"


FETCHED = "import { Hono } from 'hono';\nimport OpenAI from 'openai';\nconst app = new Hono().basePath('/api');\napp.post('/chat', async (c) => {\n  const { message } = await c.req.json();\n  return c.json({ success: true, message: 'Made', data: c.env.TONE + message });\n});\nexport default app;\n"


def test_what_a_platform_would_fetch_is_served_here(tmp_path: Path) -> None:
    first, *_ = found({"src/index.js": FETCHED, "package.json": "{}"})
    asked = first.invocation
    assert (asked.route, asked.field, asked.answer) == ("/api/chat", "message", "")
    assert first.command[:2] == ("node", "-e")
    assert not {"{", "}"} & {*" ".join(first.command)}
    (tmp_path / "src").mkdir()
    (tmp_path / "src/index.js").write_text(
        "exports.default = { async fetch(request, env) {\n"
        "  const { message } = await request.json();\n"
        "  return new Response(`${env.TONE} ${request.method} ${new URL(request.url).pathname} ${message}`, { status: 201 });\n"
        "} };\n"
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environ = {**os.environ, "PORT": str(port), "TONE": "kind"}
    with subprocess.Popen(first.command, cwd=tmp_path, env=environ) as server:
        try:
            said = None
            for _ in range(200):
                said = said or post(port, b'{"message": 1}')
                time.sleep(0 if said else 0.05)
        finally:
            server.kill()
    assert said == (201, "kind POST /api/chat 1")


def post(port: int, body: bytes) -> tuple[int, str] | None:
    with closing(HTTPConnection("127.0.0.1", port, timeout=5)) as asked:
        try:
            asked.request("POST", "/api/chat", body)
        except ConnectionError:
            return None
        with asked.getresponse() as reply:
            return reply.status, reply.read().decode()


def test_nest_says_that_a_conversation_has_to_be_begun() -> None:
    begin = "@Controller('chats')\nexport class PostsController {\n  @Post()\n  create(@Body() body: { title: string }) { return 1; }\n}\n"
    go_on = "import { ChatService } from './chat.service';\n@Controller('chats')\nexport class ChatController {\n  @Sse(':id/stream')\n  go(@Param('id') id: string) { return this.chat.reply(id); }\n}\n"
    files = {"src/posts.controller.ts": begin, "src/chat/chat.controller.ts": go_on}
    (first,) = found({**NEST, **files})
    assert first.refused == begun_by("/api/chats")


def test_a_router_may_be_imported_by_an_alias_and_route_by_route() -> None:
    routes = "import { ask } from './ask.js';\nconst router = express.Router();\nrouter.route('/plain').get(page);\nrouter.route('/plain').post(ask);\nexport default router;\n"
    handler = (
        "export const ask = async (req, res) => { res.json({ text: req.body.userPrompt }) };\n"
    )
    first = served(
        "import talk from '@/talk/routes.js';\napp\n  .use(limit)\n  .route('/api/talk', talk);",
        {"src/talk/routes.js": routes, "src/talk/ask.js": handler},
    )
    assert (first.invocation.route, first.invocation.field) == ("/api/talk/plain", "userPrompt")


def test_the_type_that_a_controller_gives_says_where_its_answer_stands() -> None:
    text = "import { ChatService } from './chat.service';\nclass Told { @ApiProperty() response!: string; took: number }\n@Controller('chat')\nexport class ChatController {\n  @Post()\n  ask(@Body('question') question: string): Promise<Told> {\n    return this.chat.told(question);\n  }\n}\n"
    (first,) = found({**NEST, "src/chat/chat.controller.ts": text})
    assert first.invocation.answer == "response"


def test_a_schema_of_a_tool_is_no_argument_of_a_program() -> None:
    tool = "import OpenAI from 'openai';\nexport async function handler(event) {\n  const tool = { properties: { text: { type: 'string' } } };\n}\n"
    assert [one.refused for one in found({"src/worker.ts": tool})] == [PLATFORM]


def test_a_project_of_bun_is_started_by_a_bun_of_its_own_where_there_is_none() -> None:
    told = '{"scripts": {"dev": "bun run --hot src/index.ts"}, "dependencies": {"hono": "1"}}'
    (first,) = found({"src/index.ts": FETCHED, "package.json": told})
    assert (first.setup and first.setup.run, first.command) == (
        ("bun", "install"),
        ("bun", "src/index.ts"),
    )
    assert first.setup is not None
    assert with_bun(first.setup, first.command, lambda _: True) == (first.setup, first.command)
    setup, command = with_bun(first.setup, first.command, {"npm"}.__contains__)
    assert command == (".tools/node_modules/.bin/bun", "src/index.ts")
    assert setup.run[-1].endswith(" bun && .tools/node_modules/.bin/bun install")
    assert setup.creates == ("node_modules", ".tools")


def test_a_thread_that_another_route_makes_is_named() -> None:
    text = "app.get('/start', async (req, res) => {\n  const thread = await openai.beta.threads.create();\n  res.json({ thread_id: thread.id });\n});\napp.post('/chat', async (req, res) => {\n  const { thread_id, message } = req.body;\n  if (!thread_id) return res.status(400).end();\n  res.json({ reply: 1 });\n});"
    (first,) = found({"server.ts": SERVED % text, "package.json": "{}"})
    assert first.refused == begun_by("/start", "GET")


def test_a_socket_beside_controllers_does_not_refuse_them() -> None:
    main = NEST["src/main.ts"] + "import { WebSocketServer } from 'ws';\nnew WebSocketServer({});\n"
    (first,) = found({**NEST, "src/main.ts": main})
    assert (first.refused, first.invocation.route) == (None, "/api/chat/completions")


CHAT = "app.post('/chats/:id/messages', async (req, res) => { res.json({ reply: req.body.message }) });\n"
TOLD = "app.post('/api/chat', async (req, res) => {\n  const { sessionId, message } = req.body;\n  if (!sessionId) return res.status(400).end();\n  res.json({ reply: 1 });\n});\n"


@pytest.mark.parametrize(
    ("text", "begin", "route", "body"),
    [
        ("app.post('/chats', (req, res) => { const { title } = req.body; if (!title) return res.status(400).json({ id: 1 }); res.status(201).json({ id: made.id, at: now }) });\n" + CHAT, Begin("/chats", '{"title": "gateval"}'), "/chats/{{ begun.chat.id }}/messages", None),
        ("app.post('/api/session', (req, res) => { res.json({ ok: true, session_id: 1 }) });\n" + TOLD, Begin("/api/session", "{}"), "/api/chat", {"sessionId": "{{ begun.chat.session_id }}", "message": "{{ prompt }}"}),
    ],
)  # fmt: skip
def test_a_route_of_node_goes_on_with_what_another_began(
    text: str, begin: Begin, route: str, body: dict[str, object] | None
) -> None:
    asked = served(text).invocation
    assert (asked.begin, asked.route) == (begin, route)
    assert (json.loads(asked.body) if asked.body else None) == body


def test_what_a_beginning_gives_may_not_be_told() -> None:
    text = "app.post('/chats', (req, res) => { res.json(made) });\n" + CHAT
    (first,) = found({"server.ts": SERVED % text, "package.json": "{}"})
    assert first.refused == begun_by("/chats")


GUARD = "function requireAuth(req, res, next) {\n  if (!req.token) return res.status(401).end();\n  next();\n}\n"
SAYS = "const { message } = req.body; res.json({ reply: 1 }) });\n"


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        (GUARD + "app.post('/chat', limited, requireAuth, async (req, res) => { " + SAYS, LOGIN),
        (GUARD + "app.use('/api', requireAuth);\napp.post('/api/chat', async (req, res) => { " + SAYS, LOGIN),
        ("app.use('/admin', requireAuth);\napp.post('/api/chat', async (req, res) => { " + SAYS, None),
        ("app.use(passport.initialize());\napp.post('/chat', passport.authenticate('jwt', { session: false }), async (req, res) => { " + SAYS, LOGIN),
        ("app.post('/chat', { preHandler: [app.authenticate] }, async (req, res) => { " + SAYS, LOGIN),
        ("app.post('/chat', async (req, res) => { if (!req.headers.authorization) return res.status(401).end(); " + SAYS, LOGIN),
        (GUARD.replace("return res.status(401).end()", "req.user = null") + "app.post('/chat', requireAuth, async (req, res) => { " + SAYS, None),
    ],
)  # fmt: skip
def test_a_route_behind_a_login_says_so(text: str, refused: object) -> None:
    (first,) = found({"server.ts": SERVED % text, "package.json": "{}"})
    assert first.refused == refused


def test_the_schema_of_a_tool_is_no_body() -> None:
    text = "app.post('/chat', async (req, res) => {\n  const { message } = req.body;\n  const told = { tools: { find: tool({ inputSchema: z.object({ city: z.string() }) }) } };\n  res.json({ reply: 1 });\n});"
    assert (served(text).invocation.field, served(text).invocation.body) == ("message", "")


def test_messages_of_a_page_are_taken_as_the_page_has_them() -> None:
    text = "app.post('/chat', async (c) => {\n  const { messages } = await c.req.json();\n  return createAgentUIStreamResponse({ agent, uiMessages: messages });\n});"
    assert (served(text).invocation.preset, served(text).invocation.route) == ("aisdk", "/chat")


def test_a_place_with_a_star_begins_no_comment() -> None:
    text = "app.use('/api/*', cors());\napp.post('/api/chat', async (c) => {\n  const { message } = await c.req.json();\n  return c.json({ reply: await ask(message) });\n});"
    assert (served(text).invocation.route, served(text).invocation.field) == (
        "/api/chat",
        "message",
    )


def test_parts_of_what_a_model_said_are_none_of_a_page() -> None:
    text = "app.post('/chat', async (req, res) => {\n  const { messages } = req.body;\n  const out = await ai.models.generateContent({ contents: messages });\n  res.json({ answer: out.candidates[0].content.parts.map((p) => p.text).join('') });\n});"
    assert (served(text).invocation.preset, served(text).invocation.field) == ("", "messages")


def test_a_server_of_bun_is_asked_at_the_route_of_its_object() -> None:
    text = "import Anthropic from '@anthropic-ai/sdk';\nBun.serve({\n  port: 3000,\n  routes: {\n    '/api/state': { GET: () => Response.json(1) },\n    '/api/agent': {\n      async POST(req) {\n        const { prompt } = await req.json();\n        return Response.json({ content: await run(prompt) });\n      },\n    },\n  },\n});\n"
    (first,) = found({"src/index.ts": text, "package.json": "{}"})
    asked = first.invocation
    assert (first.refused, asked.route, asked.field) == (None, "/api/agent", "prompt")
    assert asked.answer == "content"


LINES = "import OpenAI, { AzureOpenAI } from 'openai';\nimport { ChainedTokenCredential } from '@azure/identity';\nconst asked = new AzureOpenAI({ deployment: process.env.AZURE_OPENAI_CHAT_DEPLOYMENT, token: new ChainedTokenCredential() });\napp.post('/chat', async (req, res) => {\n  const { messages } = req.body;\n  const told = await asked.chat.completions.create({ messages, stream: true });\n  WRITES\n  res.end();\n});\napp.listen(3000);\n"


@pytest.mark.parametrize(
    ("writes", "answer"),
    [
        ("for await (const chunk of told) for (const choice of chunk.choices) res.write(JSON.stringify(choice) + '\\n');", "delta.content"),
        ("for await (const chunk of told) res.write(`${JSON.stringify(chunk)}\\n`);", "choices[0].delta.content"),
        ("for await (const chunk of told) res.write(JSON.stringify({ content: said(chunk), done: false }) + '\\n');", "content"),
    ],
)  # fmt: skip
def test_lines_of_json_that_a_handler_writes_are_a_stream(writes: str, answer: str) -> None:
    (first,) = found({"server.ts": LINES.replace("WRITES", writes), "package.json": "{}"})
    assert (first.invocation.stream, first.invocation.answer) == ("ndjson", answer)
    assert first.variables == ("AZURE_OPENAI_CHAT_DEPLOYMENT",)
    assert "It logs in to Azure by ChainedTokenCredential" in " ".join(said_of(first))


def test_a_route_that_gives_the_number_of_what_it_stored_is_not_asked() -> None:
    text = "import express from 'express';\nimport OpenAI from 'openai';\nconst app = express();\napp.post('/api/posts', async (req, res) => {\n  const { userId, content } = req.body;\n  const id = await save({ userId, content });\n  res.json({ id });\n});\napp.post('/api/draft', async (req, res) => {\n  const { userId, topic } = req.body;\n  if (!userId || !topic) return res.status(400).json({ error: 'x' });\n  res.json(await made({ userId, topic }));\n});\napp.listen(process.env.PORT);\n"
    asked = found({"server.js": text})[0].invocation
    assert asked.route == "/api/draft"
    assert json.loads(asked.body) == {"userId": "gateval", "topic": "{{ prompt }}"}


def test_a_server_that_another_file_makes_is_started_by_the_one_that_calls_it() -> None:
    routes = "import { Router } from 'express'\nimport OpenAI from 'openai'\nexport function createAsk(agent) {\n  const router = Router()\n  router.post('/', async (req, res) => {\n    const { input } = req.body\n    res.setHeader('Content-Type', 'text/event-stream')\n    for await (const event of new OpenAI().responses.create({ input })) res.write(`data: ${JSON.stringify(event)}\\n\\n`)\n    res.write(JSON.stringify({ type: 'response.failed' }))\n  })\n  return router\n}\n"
    server = "import express from 'express'\nimport { createAsk } from './routes.js'\nexport async function startServer(agent) {\n  const app = express()\n  const ask = createAsk(agent)\n  app.use('/invocations', ask)\n  app.listen(8000)\n}\n"
    main = "import { startServer } from './server.js'\nstartServer({}).catch(console.error)\n"
    project = '{"scripts": {"start": "node $PWD/dist/src/main.js"}}'
    files = {"src/routes.ts": routes, "src/server.ts": server, "src/main.ts": main}
    first, *_ = found(files | {"package.json": project})
    asked = first.invocation
    assert (first.path, asked.route) == ("src/main.ts", "/invocations")
    assert (asked.field, asked.answer, asked.stream) == ("input", "delta", "sse")
