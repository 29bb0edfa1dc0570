"""How servers of Python are asked: their paths, keys, forms, streams, and what has to be there."""

from __future__ import annotations

import json

import pytest

from gateval.domain.setup.invocation import Invocation
from gateval.domain.setup.request_models import asked_as_written
from tests.unit.domain.test_programs_of_strangers import found
from tests.unit.domain.test_request_models import TOP

ASK = "class Ask(BaseModel):\n    question: str\n"
FLASK = "from flask import *\napp = Flask(__name__)\n"


def asked(text: str, top: str = TOP, **others: str) -> Invocation:
    texts = {"main.py": top + text, **{f"{name}.py": other for name, other in others.items()}}
    written = asked_as_written(texts)
    assert written is not None
    return written


CHAT = "router = APIRouter(prefix='/chat')\n@router.post('/ask')\ndef f(ask: Ask): ...\n"
ROUTER = f"from fastapi import APIRouter\nfrom main import Ask\n{CHAT}"


@pytest.mark.parametrize(
    ("mounted", "config", "expected"),
    [
        ("from config import settings\napp.include_router(router, prefix=settings.API_V1_STR)\n", "class Settings(BaseSettings):\n    API_V1_STR: str = '/api/v1'\nsettings = Settings()\n", "/api/v1/chat/ask"),
        ("from config import settings\napp.include_router(router, prefix=f'{settings.prefix}/{settings.version}')\n", "class Settings(BaseSettings):\n    prefix: str = Field(default='/api', env='P')\n    version: str = 'v2'\n", "/api/v2/chat/ask"),
        ("from config import PREFIX as BEFORE\napp.include_router(router, prefix=BEFORE)\n", "VERSION = 'v1'\nPREFIX = '/api/' + VERSION\n", "/api/v1/chat/ask"),
        ("import config\napp.include_router(router, prefix=config.PREFIX)\n", "import os\nPREFIX = os.getenv('PREFIX', '/from-env').rstrip('/')\n", "/from-env/chat/ask"),
        ("def make(before='/given'):\n    app.include_router(router, prefix=before)\n", "", "/given/chat/ask"),
        ("import os\napp.include_router(router, prefix=os.getenv('P') or '/else')\n", "", "/else/chat/ask"),
        ("app.include_router(router, prefix='/api/')\n", "", "/api/chat/ask"),
    ],
)  # fmt: skip
def test_a_prefix_may_be_a_setting_a_constant_or_an_argument(
    mounted: str, config: str, expected: str
) -> None:
    text = f"{ASK}from chat import router\n{mounted}"
    assert asked(text, chat=ROUTER, config=config).route == expected


def test_a_blueprint_stands_where_it_is_registered() -> None:
    chat = "from flask import Blueprint, request, jsonify\nbp = Blueprint('chat', __name__, url_prefix='/own')\n@bp.route('/ask/<int:number>', methods=['POST'])\ndef ask(number):\n    question = request.get_json().get('question')\n    return jsonify({'question': question, 'answer': go(question)}), 200\n"
    own = "from chat import bp\ndef make():\n    app.register_blueprint(bp)\n"
    written = asked(own, FLASK, chat=chat)
    assert (written.route, written.field, written.answer) == ("/own/ask/1", "question", "answer")
    given = own.replace("(bp)", "(bp, url_prefix='/api')")
    assert asked(given, FLASK, chat=chat).route == "/api/ask/1"


GUARD = "def guard({given}):\n{body}    raise HTTPException(401)\n@app.post('/ask', dependencies=[Depends(guard)])\ndef f(ask: Ask): ...\n"
COMPARED = "    if key != {key}:\n    "


@pytest.mark.parametrize(
    ("text", "headers", "env", "login"),
    [
        ("scheme = APIKeyHeader(name='X-API-Key')\nKEY = os.getenv('SERVICE_KEY', '')\n" + GUARD.format(given="key: str = Security(scheme)", body=COMPARED.format(key="KEY")), {"X-API-Key": "gateval"}, {"SERVICE_KEY": "gateval"}, False),
        ("class S(BaseSettings):\n    model_config = SettingsConfigDict(env_prefix='APP_')\n    api_key: str\ns = S()\n" + GUARD.format(given="key: str = Header(..., alias='X-Key')", body=COMPARED.format(key="s.api_key")), {"X-Key": "gateval"}, {"APP_API_KEY": "gateval"}, False),
        ("bearer = HTTPBearer()\n" + GUARD.format(given="sent = Depends(bearer)", body="    key = sent.credentials\n    if not hmac.compare_digest(key, os.environ['TOKEN']):\n    "), {"Authorization": "Bearer gateval"}, {"TOKEN": "gateval"}, False),
        ("bearer = HTTPBearer()\n" + GUARD.format(given="sent = Depends(bearer)", body="    if not jwt.decode(sent.credentials):\n    "), {"Authorization": "Bearer gateval"}, {}, True),
        ("API_KEY = 'known'\n@app.middleware('http')\nasync def look(request, go_on):\n    if request.headers.get('x-api-key') != API_KEY: return JSONResponse({}, 401)\n    return await go_on(request)\n@app.post('/ask')\ndef f(ask: Ask): ...\n", {"x-api-key": "known"}, {}, False),
        ("User = Annotated[dict, Depends(current)]\ndef current(sent: str = Depends(OAuth2PasswordBearer('/token'))):\n    user = decode_token(sent)\n    if not user: raise HTTPException(401)\n@app.post('/ask')\ndef f(ask: Ask, user: User): ...\n", {"Authorization": "Bearer gateval"}, {}, True),
        ("@app.post('/ask')\ndef f(ask: Ask, request: Request):\n    return go(ask, request.headers.get('X-Api-Key'))\n", {"X-Api-Key": "gateval"}, {}, False),
        ("@app.post('/ask')\ndef f(ask: Ask, x_tenant_id: str = Header(...)): ...\n", {"x-tenant-id": "gateval"}, {}, False),
        ("@app.post('/ask')\ndef f(ask: Ask, request: Request):\n    return go(ask, request.headers.get('User-Agent'))\n", {}, {}, False),
    ],
)  # fmt: skip
def test_a_key_is_chosen_where_the_server_compares_it_and_a_login_is_told(
    text: str, headers: dict[str, str], env: dict[str, str], *, login: bool
) -> None:
    written = asked(ASK + text)
    assert (dict(written.headers), dict(written.env), written.login) == (headers, env, login)


def test_a_decorator_of_flask_wants_a_key() -> None:
    text = "def key_required(f):\n    @wraps(f)\n    def inner(*a, **k):\n        if request.headers.get('X-API-KEY') != current_app.config['KEY']: abort(401)\n        return f(*a, **k)\n    return inner\n@app.route('/ask', methods=['POST'])\n@key_required\ndef ask():\n    return jsonify(answer=go(request.json['question']))\n"
    assert dict(asked(text, FLASK).headers) == {"X-API-KEY": "gateval"}
    login = asked(
        text.replace("key_required", "jwt_required()").partition("\n@app")[2].join(["@app", ""]),
        FLASK,
    )
    assert login.login


def test_who_has_logged_in_is_refused_aloud() -> None:
    text = (
        TOP
        + ASK
        + "import openai\n@app.post('/ask')\ndef f(ask: Ask, user=Depends(get_current_user)): ...\ndef get_current_user(sent=Depends(HTTPBearer())):\n    if not jwt.decode(sent): raise HTTPException(401)\n"
    )
    (program,) = found({"main.py": text})
    assert program.refused is not None
    assert program.refused.why.startswith("answers who has logged in")


@pytest.mark.parametrize(
    ("top", "text", "expected"),
    [
        (TOP, "@app.post('/ask')\ndef f(question: str = Form(...), tone: str = Form('kind'), user_id: int = Form(...)): ...\n", {"question": "{{ prompt }}", "user_id": 1}),
        (TOP, "@app.post('/ask')\nasync def f(question: Annotated[str, Form()], file: Optional[UploadFile] = File(None)): ...\n", {"question": "{{ prompt }}"}),
        (FLASK, "@app.route('/', methods=['GET', 'POST'])\ndef ask():\n    form = request.form\n    return go(form['question'], form.get('tone', 'kind'))\n", {"question": "{{ prompt }}"}),
        (TOP, "@app.post('/ask')\nasync def f(request: Request):\n    form = await request.form()\n    return go(form.get('question'))\n", {"question": "{{ prompt }}"}),
    ],
)  # fmt: skip
def test_a_form_is_sent_as_one(top: str, text: str, expected: dict[str, object]) -> None:
    written = asked(text, top)
    assert written.form
    assert json.loads(written.body) == expected


def test_a_file_that_has_to_be_there_is_no_question() -> None:
    text = "@app.post('/ask')\ndef f(file: UploadFile, question: str = Form(...)): ...\n"
    assert asked_as_written({"main.py": TOP + text}) is None


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("    async def go():\n        async for piece in ask():\n            yield f\"data: {json.dumps({'type': 'token', 'content': piece})}\\n\\n\"\n        yield f\"data: {json.dumps({'type': 'done', 'text': 'x'})}\\n\\n\"\n    return StreamingResponse(go(), media_type='text/event-stream')\n", ("sse", "content")),
        ("    def go():\n        for piece in ask():\n            yield f'data: {piece}\\n\\n'\n    return StreamingResponse(go(), media_type='text/event-stream')\n", ("sse", "")),
        ("    def go():\n        for piece in ask():\n            yield json.dumps({'token': piece}) + '\\n'\n    return StreamingResponse(go(), media_type='application/x-ndjson')\n", ("ndjson", "token")),
        ("    return StreamingResponse(ask(), media_type='text/plain')\n", ("", "")),
        ("    if ask.stream:\n        return StreamingResponse(ask(), media_type='text/event-stream')\n    return {'answer': 1}\n", ("", "answer")),
        ("    found = {'response': 1, 'error': None}\n    return found\n", ("", "response")),
        ("    return Said(ai_reply=1, took=2)\nclass Said(BaseModel):\n    ai_reply: str\n    took: int\n", ("", "ai_reply")),
        ("    return {'data': 1}\n", ("", "data")),
    ],
)  # fmt: skip
def test_the_answer_stands_where_the_handler_puts_it(body: str, expected: tuple[str, str]) -> None:
    written = asked(f"{ASK}@app.post('/ask')\ndef f(ask: Ask):\n{body}")
    assert (written.stream, written.answer) == expected


SENT = "@app.post('/ask')\nasync def f():\n    messages = (await request.get_json())['messages']\n{making}    async def go{given}:\n        async for event in {stream}:\n{body}    return {answer}\n"
ASKING = "ai.chat.completions.create(messages=messages, stream=True)"
LINES = "            yield json.dumps({}, ensure_ascii=False) + '\\n'\n"
SENDS = "Response(go())"


@pytest.mark.parametrize(
    ("lines", "answer", "expected"),
    [
        (LINES.format("{'delta': {'content': event.delta}}") + LINES.format("{'error': 'x'}"), SENDS, ("ndjson", "delta.content")),
        (LINES.format("{'id': 1, 'choices': [{'delta': {'content': event}}]}"), SENDS, ("ndjson", "choices[0].delta.content")),
        (LINES.format("{'token': event}"), "go(), 200, {'X-Own': '1'}", ("ndjson", "token")),
        (LINES.format("event.model_dump()['choices'][0]"), "await make_response(go())", ("ndjson", "delta.content")),
        ("            event = event.model_dump()\n" + LINES.format("event['choices'][0]"), SENDS, ("ndjson", "delta.content")),
        ("            one = event.model_dump()\n            if one['choices']:\n    " + LINES.format("one['choices'][0]['delta']"), SENDS, ("ndjson", "content")),
        (LINES.format("event.to_dict()"), "Response(stream_with_context(go()))", ("ndjson", "choices[0].delta.content")),
        ("            yield event.model_dump_json() + '\\n'\n", SENDS, ("ndjson", "choices[0].delta.content")),
        ("            yield f'data: {event.model_dump_json()}\\n\\n'\n", "Response(go(), headers={'Content-Type': 'text/event-stream'})", ("sse", "choices[0].delta.content")),
        (LINES.format("event.usage"), SENDS, ("", "")),
        (LINES.format("other.model_dump()"), SENDS, ("", "")),
        ("            yield event.choices[0].delta.content\n", SENDS, ("", "")),
        ("            yield json.dumps({'token': event})\n", SENDS, ("", "")),
    ],
)  # fmt: skip
def test_a_chunk_that_is_handed_on_as_a_line_has_its_text_where_the_model_puts_it(
    lines: str, answer: str, expected: tuple[str, str]
) -> None:
    ways = (
        ("", "", f"await {ASKING}"),
        (f"    coming = {ASKING}\n", "", "await coming"),
        (f"    coming = await {ASKING}\n", "(said)", "said"),
    )
    for making, given, stream in ways:
        parts = {"making": making, "given": given or "()", "stream": stream}
        sent = answer.replace("go()", "go(coming)") if given else answer
        written = asked(SENT.format(body=lines, answer=sent, **parts), FLASK)
        assert (written.stream, written.answer) == expected


def test_what_is_no_chunk_of_a_model_has_no_text_that_is_known() -> None:
    other = ASKING.replace("completions", "events")
    text = SENT.format(
        making="", given="()", stream=other, body=LINES.format("event.model_dump()"), answer=SENDS
    )
    assert (asked(text, FLASK).stream, asked(text, FLASK).answer) == ("", "")


def test_what_has_to_be_there_has_a_value_of_its_type() -> None:
    fields = "    age: int = Field(..., ge=18)\n    mail: EmailStr\n    kind: Kind\n    tags: list[str] = Field(..., min_length=1)\n    to: Where\n    lang: str = Field(..., examples=['de'])\n    ratio: Annotated[float, Field(gt=0.5)]\n    ok: bool\n    when: datetime\n"
    text = f"class Kind(Enum):\n    A = 'web'\nclass Where(BaseModel):\n    site: HttpUrl\n    floor: int\n{ASK}{fields}@app.post('/ask')\ndef f(ask: Ask): ...\n"
    assert json.loads(asked(text).body) == {
        "question": "{{ prompt }}", "age": 18, "mail": "gateval@example.com", "kind": "web",
        "tags": ["gateval"], "to": {"site": "https://example.com", "floor": 1}, "lang": "de",
        "ratio": 1.5, "ok": False, "when": "2026-01-01T00:00:00Z",
    }  # fmt: skip


def test_a_field_that_chooses_gets_what_the_program_knows() -> None:
    fields = "class Ask(BaseModel):\n    model_name: str\n    model_provider: str\n    system_prompt: str\n    messages: List[str]\n"
    text = f"{fields}NAMES = ['small', 'large']\n@app.post('/chat')\ndef f(ask: Ask):\n    if ask.model_name not in NAMES: return {{'error': 1}}\n    return go(ask, ask.model_provider)\ndef go(ask, provider):\n    if provider.lower() == 'groq': ...\n"
    assert json.loads(asked(text).body) == {
        "model_name": "small", "model_provider": "groq", "system_prompt": "gateval",
        "messages": ["{{ prompt }}"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("top", "handler"),
    [
        (TOP, "@app.get('/ask-it')\nasync def ask(q: Annotated[str, Query(min_length=1)], db=Depends(x)) -> str: ...\n"),
        (FLASK, "@app.route('/ask-it')\ndef ask():\n    return str(go(request.args.get('q')))\n"),
    ],
)  # fmt: skip
def test_a_question_may_stand_in_a_query(top: str, handler: str) -> None:
    written = asked(handler, top)
    assert (written.route, written.method) == ("/ask-it?q={{ prompt }}", "GET")
    (program,) = found({"main.py": f"import openai\n{top}{handler}"})
    assert program.refused is None


def test_what_another_request_makes_has_to_come_before() -> None:
    text = "class Ask(BaseModel):\n    conversation_id: int\n    question: str\n@app.post('/conversations')\ndef new(title: Title): ...\n@app.post('/ask')\ndef f(ask: Ask):\n    if not find(ask): raise HTTPException(status_code=404)\n"
    begin = asked(text).begin
    assert begin
    assert begin.route == "/conversations"
    assert json.loads(asked(text).body)["conversation_id"] == "{{ begun.chat.conversation_id }}"
    assert asked(text.replace("404", "500")).begin is None
    assert asked(text.replace("title: Title): ...", "title: str): return {'made': 1}")).begun


SERVER = "import click, uvicorn\nfrom fastapi import FastAPI\nfrom pydantic import BaseModel\nimport openai\napp = FastAPI()\n@click.group()\ndef cli(): ...\n@cli.command()\n@click.option('--port', type=int)\ndef start(port):\n    global agent\n    agent = make()\n    uvicorn.run(app, port=port)\n@cli.command()\ndef index(): ...\nclass Ask(BaseModel):\n    question: str\n@app.post('/ask')\ndef f(ask: Ask): ...\nif __name__ == '__main__':\n    cli()\n"


def test_a_server_behind_a_command_is_started_by_it_where_handlers_read_what_that_sets() -> None:
    (program,) = found({"bot.py": SERVER})
    assert program.command == ("python3", "bot.py", "start", "--port", "{port}")
    (plain,) = found({"bot.py": SERVER.replace("    global agent\n", "")})
    assert plain.command == ("python3", "-m", "uvicorn", "bot:app", "--port", "{port}")
    made = SERVER.replace(
        "app = FastAPI()", "def make_it(kind):\n    app = FastAPI()\n    return app"
    )
    made = made.replace("uvicorn.run(app, port=port)", "uvicorn.run(make_it(1))").replace(
        "@click.option('--port', type=int)\ndef start(port)", "def start()"
    )
    (of_a_factory,) = found({"bot.py": made})
    assert of_a_factory.command[1] == "-c"
    assert of_a_factory.command[-1] == "start"
    assert "port={port}" in of_a_factory.command[2]


GRAPH = "from langgraph.graph import StateGraph, MessagesState\nbuilder = StateGraph(MessagesState)\nbuilder.add_node('a', a)\nassistant = builder.compile()\n"
SERVICE = "from fastapi import FastAPI\nfrom pydantic import BaseModel\nfrom graph import assistant\napp = FastAPI()\nclass Ask(BaseModel):\n    question: str\n@app.post('/ask')\ndef f(ask: Ask): return {'answer': assistant.invoke(ask)}\n"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("README.md", "Start it:\n\n    uvicorn service:app --reload\n"),
        ("Dockerfile", 'CMD ["uvicorn", "service:app"]\n'),
        ("Procfile", "web: uvicorn service:app\n"),
        ("docker-compose.yml", "services:\n  api:\n    command: uvicorn service:app\n"),
    ],
)
def test_a_server_that_people_start_comes_before_the_graph_that_it_asks(
    file: str, text: str
) -> None:
    files = {"graph.py": GRAPH, "service.py": SERVICE}
    assert found(files)[0].target == "graph.py:assistant"
    assert found({**files, file: text})[0].path == "service.py"
    declared = '{"graphs": {"a": "./graph.py:assistant"}, "dependencies": ["."]}'
    assert found({**files, file: text, "langgraph.json": declared})[0].path == "langgraph.json"


def test_a_form_beside_a_websocket_is_asked_and_its_folder_of_files_is_there() -> None:
    text = f"import openai\n{TOP}app.mount('/static', StaticFiles(directory='static'), name='s')\n@app.post('/', response_class=HTMLResponse)\nasync def ask(request: Request, user_input: Annotated[str, Form()]):\n    return page(go(user_input))\n@app.websocket('/ws')\nasync def talk(ws): ...\n"
    (program,) = found({"main.py": text, "static/logo.svg": "", "other/logo.png": ""})
    assert program.refused is None
    assert (program.invocation.form, program.reads) == (True, ("static/logo.svg",))


def test_a_model_of_the_body_is_the_body_whatever_the_handler_makes_of_json() -> None:
    text = f"{ASK}class Said(BaseModel):\n    answer: str\n    sure: float\n@app.post('/ask')\ndef f(ask: Ask, request: Request) -> Said:\n    return Said(**json.loads(go(ask)))\n"
    assert json.loads(asked(text).body) == {"question": "{{ prompt }}"}


def test_a_path_may_be_named() -> None:
    text = f"import openai\n{TOP}@app.get(path='/chat')\nasync def chat(message: str = 'Hello', session_id: str = '1') -> str: ...\n"
    (program,) = found({"main.py": text})
    assert (program.invocation.route, program.invocation.method) == (
        "/chat?message={{ prompt }}",
        "GET",
    )


MLFLOW = """from databricks.sdk import WorkspaceClient
from mlflow.genai.agent_server import invoke
from pydantic import BaseModel
client = WorkspaceClient().serving_endpoints.get_open_ai_client()
class Asked(BaseModel):
    document_text: str
    questions: list[str]
class Said(BaseModel):
    results: list[str]
@invoke()
async def answer(data: dict) -> dict:
    asked = Asked(**data)
    said = Said(results=[client.chat.completions.create(messages=asked.questions)])
    return said.model_dump()
"""
SERVES = "from mlflow.genai.agent_server import AgentServer\nimport agent\nserver = AgentServer()\napp = server.app\ndef main():\n    server.run(app_import_string='start:app')\nif __name__ == '__main__':\n    main()\n"


def test_a_handler_of_mlflow_is_asked_by_a_model_of_its_own() -> None:
    first, *_ = found({"agent.py": MLFLOW, "start.py": SERVES})
    body = {"document_text": "gateval", "questions": ["{{ prompt }}"]}
    assert (first.path, first.invocation.route) == ("start.py", "/invocations")
    assert (json.loads(first.invocation.body), first.invocation.answer) == (body, "results")
    turns = "from mlflow.types.responses import ResponsesAgentRequest\n" + MLFLOW
    assert "input" in json.loads(found({"agent.py": turns, "start.py": SERVES})[0].invocation.body)


def test_what_a_handler_says_of_an_error_is_no_answer() -> None:
    text = "@app.route('/ask', methods=['POST'])\ndef ask():\n    question = request.get_json().get('question')\n    if question is None:\n        return jsonify({'message': 'none'}), 400\n    return jsonify({'reply_to': go(question)})\n"
    assert asked(text, FLASK).answer == "reply_to"
    marked = "from flask import *\nimport json\napp = Flask(__name__)\ndef go(question):\n    yield f'data: [SOURCE] {json.dumps({\"page_content\": 1})}\\n\\n'\n    for chunk in model(question):\n        yield f'data: {chunk}\\n\\n'\n@app.route('/ask', methods=['POST'])\ndef ask():\n    question = request.get_json().get('question')\n    return Response(go(question), mimetype='text/event-stream')\n"
    written = asked("", marked)
    assert (written.stream, written.answer) == ("sse", "")
