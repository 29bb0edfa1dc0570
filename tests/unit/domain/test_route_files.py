"""Files that are routes by where they stand, of six frameworks: which are asked, with what."""

from __future__ import annotations

import json

import pytest

from gateval.render.starter import payload_of
from tests.unit.domain.test_programs_of_strangers import found

ASKS = "import OpenAI from 'openai';\n"
PAGE = "export default async function handler(req, res) {\n  const { messages } = req.body;\n}\n"
TOLD = "interface Told { query: string; sessionId: string; topK?: number; model: string }\n"
CHECKED = "function told(body: unknown) {\n  const b = body as Record<string, unknown>;\n  if (typeof b.question !== 'string' || typeof b.namespace !== 'string') return null;\n}\n"


@pytest.mark.parametrize(
    ("path", "text", "payload"),
    [
        ("pages/api/chat.js", PAGE, ["prompt"]),
        ("src/pages/api/chat/send.ts", PAGE.replace("messages", "message"), ["prompt", "message"]),
        ("pages/api/animal.js", PAGE.replace("messages", "animal"), ["prompt", "animal"]),
        ("src/pages/api/chat.ts", "export const POST: APIRoute = async ({ request }) => {\n  const { prompt } = await request.json();\n};\n", ["prompt"]),
        ("src/routes/api/chat/+server.ts", "export const POST = (async ({ request }) => {\n  const json = await request.json();\n  const { messages } = json;\n}) satisfies RequestHandler;\n", ["prompt"]),
        ("server/api/chat.post.ts", "export default defineEventHandler(async (event) => {\n  const { text } = await readBody(event);\n});\n", ["prompt", "text"]),
        ("app/routes/api.chat.ts", "export const action = async ({ request }) => {\n  const { messages } = await request.json();\n};\n", ["prompt"]),
        ("app/api/chat/route.ts", TOLD + "export async function POST(req) {\n  const { query, sessionId } = (await req.json()) as Told;\n}\n", ["sessionId", "prompt", "query"]),
        ("app/routes/api.ts", "const makers = ['one', 'two'] as const;\ntype Maker = (typeof makers)[number];\nexport const action = async ({ request }) => {\n  const {\n    messages,\n    provider,\n  }: { messages: CoreMessage[]; provider: Maker; model: string } = await request.json();\n};\n", ["provider", "prompt"]),
        ("src/routes/api/chat/+server.js", "export async function POST({ request }) {\n  const { message, past, other } = await request.json();\n  const all = past.map((one) => one.text);\n  other?.map(go);\n}\n", ["past", "prompt", "message"]),
        ("app/api/basic/route.ts", "export async function POST(req) {\n  let { messages, threadId, decisions, state, image, messageId } = await req.json();\n  if (image) show(image.data);\n  if (!threadId) {\n    threadId = make();\n  }\n  if (Object.keys(decisions).length) go();\n  const tools = getTools(state);\n}\nfunction getTools(given: State) {\n  const { search } = given;\n}\n", ["decisions", "state", "prompt"]),
        ("app/api/chat/route.ts", "const kept = {\n  'one': gateway('x'),\n};\nexport type modelID = keyof typeof kept;\nexport async function POST(req) {\n  const { messages, selectedModel }: { messages: UIMessage[]; selectedModel: modelID } = await req.json();\n}\n", ["selectedModel", "prompt"]),
        ("app/api/chat/route.ts", CHECKED + "export async function POST(req) {\n  const body = await req.json();\n  go(told(body));\n}\n", ["namespace", "prompt", "question"]),
    ],
)  # fmt: skip
def test_a_file_is_a_route_by_its_place_and_what_it_exports(
    path: str, text: str, payload: list[str]
) -> None:
    (first,) = found({path: ASKS + text, "package.json": "{}"})
    assert (first.target, first.language, first.refused) == (path, "node", None)
    given = payload_of(first, first.inputs)
    assert list(given) == payload
    question = '"What can you help me with?"'
    assert {value for key, value in given.items() if key in {"prompt", *first.inputs}} == {question}
    assert {value for key, value in given.items() if key in dict(first.more)} <= {
        '"gateval"',
        '"one"',
        "[]",
        "{}",
    }


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pages/api/upload.js", PAGE),
        ("app/api/threads/route.ts", "export async function POST() {\n  return Response.json(await openai.beta.threads.create());\n}\n"),
        ("server/api/chats.get.ts", "export default defineEventHandler(() => []);\n"),
        ("server/utils/ask.ts", "export default defineEventHandler(() => []);\n"),
        ("src/routes/api/image/+server.ts", "export async function POST({ request }) {\n  const { imageUrl } = await request.json();\n}\n"),
    ],
)  # fmt: skip
def test_what_stores_lists_or_takes_a_form_is_no_agent(path: str, text: str) -> None:
    assert [one.target for one in found({path: ASKS + text, "package.json": "{}"})] in ([], [""])


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("app/api/chat/route.ts", "export async function POST(req) {\n  const session = await auth();\n  if (!session) return new Response('no', { status: 401 });\n  const { messages } = await req.json();\n}\n", "answers who has logged in"),
        ("app/api/chat/route.ts", "export async function POST(req) {\n  const { data: { user } } = await supabase.auth.getUser();\n  if (!user) return Response.json({ error: 'Unauthorized' });\n  const { messages } = await req.json();\n}\n", "answers who has logged in"),
        ("app/api/quiz/route.ts", "export async function POST(req) {\n  const { files } = await req.json();\n  go(files[0].data);\n}\n", "takes a file, and no question"),
        ("app/routes/ask.tsx", "export const action = async ({ request }) => {\n  const form = await request.formData();\n};\n", "takes the form of a page"),
        ("server/api/chat.post.js", "export default defineEventHandler(async (event) => {\n  let all = [];\n  const told = await readBody(event);\n  all = all.concat(told);\n  const req = await fetch(url);\n  const res = await req.json();\n  return res.choices;\n});\n", "takes a bare list as its body"),
        ("server/api/chats/[id].post.ts", "export default defineEventHandler(async (event) => {\n  const { id } = getRouterParams(event);\n  const { messages } = await readBody(event);\n});\n", "is asked in a conversation that another request begins (`POST /api/chats`)"),
        ("src/app/api/chat/[chatId]/route.ts", "export async function POST(req, { params }) {\n  const { message } = await req.json();\n}\n", "is asked in a conversation that another request begins (`POST /api/chat`)"),
    ],
)  # fmt: skip
def test_a_route_that_cannot_be_asked_says_why(path: str, text: str, why: str) -> None:
    begins = {
        "server/api/chats.post.ts": "export default defineEventHandler(() => 1);\n",
        "src/app/api/chat/route.ts": "export async function POST() {}\n",
    }
    (first,) = found({**begins, path: ASKS + text, "package.json": "{}"})
    assert first.refused is not None
    assert first.refused.why.startswith(why)


def test_a_number_in_the_path_that_nothing_else_makes_may_be_any() -> None:
    text = "export async function POST(req, { params }) {\n  const { message } = await req.json();\n}\n"
    (first,) = found({"app/api/chat/[id]/route.ts": ASKS + text, "package.json": "{}"})
    assert (first.refused, first.inputs) == (None, ("message",))


def test_a_model_that_a_route_is_told_is_one_that_the_page_names() -> None:
    text = "const told = z.object({ mood: z.string() });\nexport async function POST(req) {\n  const { messages, model } = await req.json();\n  const reply = await client.messages.create({ model: model, messages });\n  return Response.json(told.parse(JSON.parse(reply)));\n}\n"
    page = "const models = ['gpt-5-mini', 'claude-haiku-4-5'];\n"
    files = {"app/api/chat/route.ts": ASKS + text, "app/page.tsx": page, "package.json": "{}"}
    (first,) = found(files)
    assert first.more == (("model", '"gpt-5-mini"'),)
    files["app/api/chat/route.ts"] = files["app/api/chat/route.ts"].replace(
        "model: model", "model: model || 'gpt-5'"
    )
    (first,) = found(files)
    assert first.more == ()


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("  const body = await req.json();\n  look(body.messages, body.paper);\n", (("paper", '"gateval"'),)),
        ("  const { messages, paper } = await req.json();\n  look(messages, paper);\n", (("paper", '"gateval"'),)),
        ("  const { messages, paper } = (await req.json()) as { messages: Message[]; paper: Paper };\n  look(messages, paper.name);\n", (("paper", "{}"),)),
        ("  const { messages, paper = 'a' } = await req.json();\n  look(messages, paper);\n", ()),
        ("  const { messages, paper } = await req.json();\n  look(messages, paper ?? 'a');\n", ()),
        ("  const { messages } = await req.json();\n  look(messages);\n", ()),
    ],
)  # fmt: skip
def test_what_the_page_sends_beside_its_messages_is_demanded_where_the_route_reads_it(
    text: str, more: tuple[tuple[str, str], ...]
) -> None:
    page = "const { messages } = useChat({ api: '/api/chat', body: { paper, look: 1 } });\n"
    route = f"export async function POST(req) {{\n{text}  return streamText({{}});\n}}\n"
    files = {"app/api/chat/route.ts": ASKS + route, "app/page.tsx": page, "package.json": "{}"}
    (first,) = found(files)
    assert first.more == more


def test_what_another_page_sends_to_another_route_is_not_demanded() -> None:
    page = "const { messages } = useChat({ api: '/api/draw', body: { paper } });\n"
    route = "export async function POST(req) {\n  const { messages, paper } = await req.json();\n  return streamText({ paper });\n}\n"
    files = {
        "app/api/(own)/chat/route.ts": ASKS + route,
        "app/page.tsx": page,
        "package.json": "{}",
    }
    assert found(files)[0].more == ()
    files["app/page.tsx"] = page.replace("draw", "chat")
    assert found(files)[0].more == (("paper", '"gateval"'),)


def test_what_a_type_lets_be_left_out_may_be_missed_aloud() -> None:
    text = "interface Asked { messages: Message[]; config: Config; source?: string }\nexport async function POST(req) {\n  const body = await req.json();\n  const { messages, config, source } = body as Asked;\n  if (!messages || !source) return Response.json({}, { status: 400 });\n}\n"
    (first,) = found({"app/api/chat/route.ts": ASKS + text, "package.json": "{}"})
    assert first.more == (("config", "{}"), ("source", '"gateval"'))


def test_a_prompt_that_speaks_of_input_is_no_program() -> None:
    text = "import { tool } from 'ai';\nexport const prompt = `Don't use input() here`;\nmake(prompt);\n"
    assert [one.refused is None for one in found({"lib/prompts.ts": text})] in ([], [False])


OF_A_TYPE = "import type { Told } from '@/lib/store';\ntype Thread = string;\nexport async function POST(req) {\n  const { prompt, threadId } = (await req.json()) as {\n    prompt: Told;\n    threadId: Thread;\n  };\n  add(prompt);\n}\n"
APPENDED = "import { convertToModelMessages } from 'ai';\nexport async function POST(req) {\n  const { message, id } = await req.json();\n  const messages = convertToModelMessages([...(await past(id)), message]);\n}\n"


@pytest.mark.parametrize(
    ("text", "payload"),
    [
        (OF_A_TYPE, {"threadId": "gateval", "prompt": {"role": "user", "content": "What can you help me with?"}, "text": "What can you help me with?"}),
        (APPENDED, {"message": {"id": "gateval", "role": "user", "parts": [{"type": "text", "text": "What can you help me with?"}]}, "prompt": "What can you help me with?"}),
        ("export async function POST(req) {\n  const { message } = await req.json();\n  go(message.content);\n}\n", {"message": {"role": "user", "content": "What can you help me with?"}, "prompt": "What can you help me with?"}),
    ],
    ids=["its type", "appended", "its content"],
)  # fmt: skip
def test_a_question_is_a_message_where_a_route_reads_one(
    text: str, payload: dict[str, object]
) -> None:
    files = {"src/lib/store.ts": "import OpenAI from 'openai';\nexport type Told = OpenAI.Chat.ChatCompletionMessageParam & { id?: string };\n"}  # fmt: skip
    first, *_ = found({"src/app/api/chat/route.ts": ASKS + text, **files, "package.json": "{}"})
    given = payload_of(first, first.inputs)
    assert {key: json.loads(value) for key, value in given.items()} == payload


def test_tools_of_a_page_that_a_route_takes_apart_are_an_object() -> None:
    route = "import { streamText, convertToModelMessages } from 'ai';\nimport { frontendTools } from '@assistant-ui/ai-sdk';\nexport async function POST(req) {\n  const { messages, system, tools } = await req.json();\n  return streamText({ system, tools: { ...frontendTools(tools) }, messages: await convertToModelMessages(messages) }).toUIMessageStreamResponse();\n}\n"
    (first,) = found({"app/api/chat/route.ts": route, "package.json": "{}"})
    assert first.more == (("tools", "{}"),)
