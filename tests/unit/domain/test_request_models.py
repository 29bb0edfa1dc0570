"""How a FastAPI server is asked, by its handlers and their models."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateval.domain.setup.request_models import asked_as_written

TOP = "from fastapi import *\nfrom pydantic import BaseModel, Field\nfrom typing import *\napp = FastAPI()\n"


def asked(text: str, **others: str) -> tuple[str, dict[str, Any], str] | None:
    texts = {"main.py": TOP + text, **{f"{name}.py": other for name, other in others.items()}}
    found = asked_as_written(texts)
    return found and (found.route, json.loads(found.body), found.answer)


BODIES = [
    pytest.param(
        "class Ask(BaseModel):\n    session_id: str\n    message: str\n    lang: str = 'en'\n@app.post('/chat')\ndef f(ask: Ask):\n    return {'reply': 1}\n",
        ("/chat", {"session_id": "gateval", "message": "{{ prompt }}"}, "reply"), id="an id beside it",
    ),
    pytest.param(
        "class Base(BaseModel):\n    user: str\nclass Ask(Base):\n    query: str = Field(..., min_length=1)\n    top: int = Field(3)\n    mode: Literal['fast', 'deep']\n@app.post('/ask')\nasync def f(ask: Annotated[Ask, Body()]) -> Said: ...\nclass Said(BaseModel):\n    took: float\n    answer: str\n",
        ("/ask", {"user": "gateval", "query": "{{ prompt }}", "mode": "fast"}, "answer"), id="inherited",
    ),
    pytest.param(
        "class M(BaseModel):\n    id: str\n    role: str\n    content: str\nclass C(BaseModel):\n    messages: List[M]\n    context: Optional[dict] = None\n@app.post('/chat')\ndef f(c: C): ...\n",
        ("/chat", {"messages": [{"id": "gateval", "role": "user", "content": "{{ prompt }}"}]}, ""), id="messages of a model",
    ),
    pytest.param(
        "class M(BaseModel):\n    role: str\n    content: str\nclass C(BaseModel):\n    messages: list[M]\n@app.post('/chat', response_model=M)\ndef f(c: C): ...\n",
        ("/chat", {"messages": "{{ messages }}"}, "content"), id="plain messages",
    ),
    pytest.param(
        "@app.post('/api/ask')\ndef f(question: str, customer: str, n: int = 3, db=Depends(x)): ...\n",
        ("/api/ask?question={{ prompt }}&customer=gateval", {}, ""), id="in the query",
    ),
    pytest.param(
        "@app.post('/ask')\nasync def f(request: Request):\n    data = await request.json()\n    return {'answer': go(data['thread_id'], data.get('question'))}\n",
        ("/ask", {"thread_id": "gateval", "question": "{{ prompt }}"}, "answer"), id="read by hand",
    ),
    pytest.param(
        "class Kind(str, Enum):\n    A = 'web'\nclass R(BaseModel):\n    message: str\n@app.post('/agents/{kind}/runs')\ndef f(kind: Kind, r: R): ...\n",
        ("/agents/web/runs", {"message": "{{ prompt }}"}, ""), id="a place in the path",
    ),
    pytest.param(
        "class P(BaseModel):\n    topic: str\n    style: str\nclass R(BaseModel):\n    params: P\n@app.post('/write')\ndef f(r: R): ...\n",
        ("/write", {"params": {"topic": "{{ prompt }}", "style": "gateval"}}, ""), id="a model inside",
    ),
    pytest.param(
        "class I(BaseModel):\n    text: str\nclass Q(BaseModel):\n    text: str\n@app.post('/ingest')\ndef a(i: I): ...\n@app.post('/chat/stream')\ndef b(q: Q): return StreamingResponse(x)\n@app.post('/chat')\ndef c(q: Q): return {'text': 1}\n@app.post('/upload')\ndef d(file: UploadFile): ...\n",
        ("/chat", {"text": "{{ prompt }}"}, "text"), id="the one that asks",
    ),
    pytest.param("@app.post('/rows')\ndef f(n: int): ...\n", None, id="no question"),
    pytest.param(
        "from fastapi import Request as Asked\nclass P(BaseModel):\n    type: str\n    text: str\nclass C(BaseModel):\n    message: List[P]\n    history: List[P] = []\n@app.post('/chat')\nasync def f(raw: Asked):\n    c = C(**(await raw.json()))\n",
        ("/chat", {"message": [{"type": "text", "text": "{{ prompt }}"}]}, ""), id="a model made by hand, of parts",
    ),
    pytest.param(
        "class M(BaseModel):\n    role: str\n    parts: list[dict]\nclass C(BaseModel):\n    messages: list[M]\n@app.post('/chat')\ndef f(c: C): ...\n",
        ("/chat", {"messages": [{"role": "user", "parts": [{"type": "text", "text": "{{ prompt }}"}]}]}, ""), id="messages of the AI SDK",
    ),
    pytest.param(
        "class T(BaseModel):\n    text: str\n@app.post('/admin/prompt')\ndef a(t: T): return {'answer': 1}\n@app.post('/chat/{id}', status_code=status.HTTP_202_ACCEPTED)\ndef b(id: str, t: T): return {'message_id': 1}\n@app.post('/stream/{id}')\ndef c(id: str, t: T): return StreamingResponse(x)\n",
        ("/stream/gateval", {"text": "{{ prompt }}"}, ""), id="not to administer, not to be answered later",
    ),
    pytest.param("class T(BaseModel):\n    token: str\n    password: str\n@app.post('/set-password')\ndef f(t: T): ...\n", None, id="a password is no question"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), BODIES)
def test_a_body_has_what_its_model_demands(
    text: str, expected: tuple[str, dict[str, Any], str] | None
) -> None:
    assert asked(text) == expected


@pytest.mark.parametrize(
    ("handler", "expected"),
    [
        ("@app.post('/desk')\nasync def f(given: RunAgentInput): ...\n", ("ag-ui", "/desk")),
        ("@app.post('/v1/chat/completions')\nasync def f(r: Request): ...\n", ("openai", "/v1/chat/completions")),
    ],
)  # fmt: skip
def test_a_handler_may_take_what_a_protocol_says(handler: str, expected: tuple[str, str]) -> None:
    found = asked_as_written({"main.py": TOP + handler})
    assert found is not None
    assert (found.preset, found.route) == expected


def test_a_router_stands_where_it_is_included_and_models_lie_elsewhere() -> None:
    main = "from chat import router as chat_router\napi = APIRouter(prefix='/api')\napi.include_router(chat_router, prefix='/v1')\napp.include_router(api)\n"
    chat = "from fastapi import APIRouter\nfrom schemas import Ask\nrouter = APIRouter(prefix='/chat')\n@router.post('')\ndef f(ask: Ask): ...\n"
    schemas = "from pydantic import BaseModel\nclass Ask(BaseModel):\n    user_query: str\n"
    assert asked(main, chat=chat, schemas=schemas) == (
        "/api/v1/chat",
        {"user_query": "{{ prompt }}"},
        "",
    )


def test_modules_of_one_name_in_several_folders_are_told_apart() -> None:
    texts = {
        "app/main.py": "from fastapi import FastAPI\nfrom .core.config import settings\nfrom app.api.routes import router\napp = FastAPI()\napp.include_router(router, prefix=f'{settings.API_PREFIX}/v1')\n",
        "app/core/config.py": "class Settings(BaseSettings):\n    def __init__(self):\n        self.API_PREFIX = os.getenv('API_PREFIX', '/api')\n",
        "app/api/routes.py": "from fastapi import APIRouter\nfrom app.chat.routes import router as chat, made\nfrom app.rows import routes as rows\nrouter = APIRouter()\nfor one in (chat, rows.router):\n    router.include_router(one)\nrouter.include_router(made(), prefix='/made')\n",
        "app/rows/routes.py": "from fastapi import APIRouter\nfrom .models import Row as Ask\nrouter = APIRouter(prefix='/rows')\n@router.post('')\ndef add(row: Ask): ...\n",
        "app/rows/models.py": "from pydantic import BaseModel\nclass Ask(BaseModel):\n    session_id: int\nclass Row(BaseModel):\n    content: str\n",
        "app/chat/routes.py": "from fastapi import APIRouter\nfrom .models import Ask\nrouter = APIRouter(prefix='/chat')\n@router.post('')\ndef ask(ask: Ask): ...\ndef made():\n    own = APIRouter()\n    @own.post('/later', status_code=202)\n    def later(ask: Ask): ...\n    return own\n",
        "app/chat/models.py": "from pydantic import BaseModel\nclass Ask(BaseModel):\n    content: str\n",
    }  # fmt: skip
    found = asked_as_written(texts)
    assert found is not None
    assert (found.route, json.loads(found.body)) == ("/api/v1/chat", {"content": "{{ prompt }}"})
    asking = asked_as_written(texts, asking={"app/rows/routes.py"})
    assert asking is not None
    assert asking.route == "/api/v1/rows"  # for a model is asked behind it
    late = {path: text.replace("@router.post", "@router.put") for path, text in texts.items()}
    made = asked_as_written(late, asking={"app/chat/routes.py"})
    assert made is not None
    assert made.route == "/api/v1/made/later"


def test_a_handler_that_tells_only_that_it_went_well_keeps_its_answer_elsewhere() -> None:
    text = "from fastapi import FastAPI\nclass Ask(BaseModel):\n    query: str\nclass Done(BaseModel):\n    success: bool\napp = FastAPI()\n@app.post('/api/desk', response_model=Done)\nasync def desk(given: Ask):\n    await store((await agent.run(given.query)).output)\n    return Done(success=True)\n"
    found = asked_as_written({"main.py": text})
    assert found is not None
    assert found.route == "/api/desk"
    assert found.later.startswith("(main.py) and answers only whether it went well")
    told = text.replace("success: bool", "success: bool\n    answer: str")
    found = asked_as_written({"main.py": told})
    assert found is not None
    assert (found.later, found.answer) == ("", "answer")


def test_of_texts_none_of_which_is_a_question_the_topic_is_asked() -> None:
    text = "from fastapi import FastAPI\nclass Ask(BaseModel):\n    platform: str\n    topic: str\napp = FastAPI()\n@app.post('/draft')\nasync def desk(given: Ask):\n    return {'draft': await agent.run(given.topic)}\n"
    found = asked_as_written({"main.py": text})
    assert found is not None
    assert json.loads(found.body) == {"platform": "gateval", "topic": "{{ prompt }}"}


@pytest.mark.parametrize("text", ["def (", "class A(A): x: A", "x = " + "(" * 5000, "\0"])
def test_what_strangers_write_breaks_nothing(text: str) -> None:
    own = "class B(BaseModel):\n    text: str\n    more: 'A'\n@app.post('/ask')\ndef f(b: B): ...\n"
    found = asked(own, other=text)
    assert found is not None
    assert found[0] == "/ask"
