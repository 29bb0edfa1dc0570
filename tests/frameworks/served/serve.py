"""Servers of other people's packages: python serve.py KIND PORT."""

import sys
import uuid

import uvicorn

KIND, PORT = sys.argv[1], int(sys.argv[2])
PARTS = ("Order 7 ", "is in transit.")


def a2a(old: bool):
    from a2a.server.agent_execution import AgentExecutor
    from a2a.server.request_handlers import DefaultRequestHandler
    from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
    from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
    from a2a.types import (
        AgentCapabilities,
        AgentCard,
        AgentInterface,
        AgentSkill,
        Part,
        Task,
        TaskState,
        TaskStatus,
    )
    from starlette.applications import Starlette

    class Desk(AgentExecutor):
        async def execute(self, context, event_queue):
            task = context.current_task or Task(
                id=context.task_id,
                context_id=context.context_id,
                status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED),
                history=[context.message],
            )
            await event_queue.enqueue_event(task)
            updater = TaskUpdater(event_queue, context.task_id, context.context_id)
            await updater.start_work(updater.new_agent_message([Part(text="Looking it up.")]))
            name = str(uuid.uuid4())
            assert "order" in context.get_user_input().lower(), context.get_user_input()
            await updater.add_artifact(
                [Part(text=PARTS[0])], artifact_id=name, append=False, last_chunk=False
            )
            await updater.add_artifact(
                [Part(text=PARTS[1])], artifact_id=name, append=True, last_chunk=True
            )
            await updater.complete()

        async def cancel(self, context, event_queue):
            pass

    version = "0.3" if old else "1.0"
    card = AgentCard(
        name="Desk",
        description="Orders",
        version="1",
        default_input_modes=["text"],
        default_output_modes=["text"],
        supported_interfaces=[
            AgentInterface(
                protocol_binding="JSONRPC",
                protocol_version=version,
                url=f"http://localhost:{PORT}/a2a",
            )
        ],
        capabilities=AgentCapabilities(streaming=KIND != "a2a-plain"),
        skills=[AgentSkill(id="x", name="x", description="x", tags=["x"])],
    )
    handler = DefaultRequestHandler(
        agent_executor=Desk(), task_store=InMemoryTaskStore(), agent_card=card
    )
    return Starlette(
        routes=[
            *create_agent_card_routes(card),
            *create_jsonrpc_routes(handler, rpc_url="/a2a", enable_v0_3_compat=old),
        ]
    )


def ag_ui():
    from ag_ui.core import (
        EventType,
        RunAgentInput,
        RunFinishedEvent,
        RunStartedEvent,
        TextMessageContentEvent,
        TextMessageEndEvent,
        TextMessageStartEvent,
    )
    from ag_ui.encoder import EventEncoder
    from fastapi import FastAPI
    from fastapi.responses import StreamingResponse

    app = FastAPI()

    @app.post("/")
    async def run(given: RunAgentInput):
        assert "order" in given.messages[-1].content.lower()
        told = [
            RunStartedEvent(
                type=EventType.RUN_STARTED, thread_id=given.thread_id, run_id=given.run_id
            ),
            TextMessageStartEvent(
                type=EventType.TEXT_MESSAGE_START, message_id="m", role="assistant"
            ),
            *(
                TextMessageContentEvent(
                    type=EventType.TEXT_MESSAGE_CONTENT, message_id="m", delta=one
                )
                for one in PARTS
            ),
            TextMessageEndEvent(type=EventType.TEXT_MESSAGE_END, message_id="m"),
            RunFinishedEvent(
                type=EventType.RUN_FINISHED, thread_id=given.thread_id, run_id=given.run_id
            ),
        ]
        encoder = EventEncoder()
        return StreamingResponse(
            (encoder.encode(one) for one in told), media_type=encoder.get_content_type()
        )

    return app


def langserve():
    from fastapi import FastAPI
    from langchain_core.runnables import RunnableGenerator
    from langserve import add_routes

    app = FastAPI()

    async def said(given):
        asked = "".join([one async for one in given])
        assert "order" in asked.lower()
        for one in PARTS:
            yield one

    def plain(given):
        yield from PARTS

    add_routes(
        app,
        RunnableGenerator(plain, said).with_types(input_type=str, output_type=str),
        path="/desk",
    )
    return app


def chatkit():
    from datetime import UTC, datetime

    from chatkit.server import ChatKitServer, StreamingResult
    from chatkit.store import Store
    from chatkit.types import (
        AssistantMessageContent,
        AssistantMessageContentPartTextDelta,
        AssistantMessageItem,
        Page,
        ThreadItemAddedEvent,
        ThreadItemDoneEvent,
        ThreadItemUpdatedEvent,
    )
    from starlette.applications import Starlette
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route

    kept, items = {}, {}

    async def save(self, thread, context):
        kept[thread.id] = thread

    async def load(self, name, *others, **named):
        return Page(data=items.get(name, []))

    async def add(self, name, item, context):
        items.setdefault(name, []).append(item)

    async def nothing(self, *given, **named):
        return None

    own = dict.fromkeys(Store.__abstractmethods__, nothing)
    own |= {"save_thread": save, "load_thread_items": load, "add_thread_item": add}
    memory = type("Memory", (Store,), own)

    class Desk(ChatKitServer):
        async def respond(self, thread, input_user_message, context):
            assert "order" in input_user_message.content[0].text.lower()
            item = AssistantMessageItem(
                id="msg_1", thread_id=thread.id, created_at=datetime.now(UTC), content=[]
            )
            yield ThreadItemAddedEvent(item=item)
            for one in PARTS:
                yield ThreadItemUpdatedEvent(
                    item_id="msg_1",
                    update=AssistantMessageContentPartTextDelta(content_index=0, delta=one),
                )
            yield ThreadItemDoneEvent(
                item=item.model_copy(
                    update={"content": [AssistantMessageContent(text="".join(PARTS))]}
                )
            )

    desk = Desk(memory())

    async def answer(request):
        result = await desk.process(await request.body(), {})
        if isinstance(result, StreamingResult):
            return StreamingResponse(result, media_type="text/event-stream")
        return Response(result.json, media_type="application/json")

    return Starlette(routes=[Route("/chatkit", answer, methods=["POST"])])


made = {
    "a2a": lambda: a2a(False),
    "a2a-plain": lambda: a2a(False),
    "a2a-0.3": lambda: a2a(True),
    "ag-ui": ag_ui,
    "langserve": langserve,
    "chatkit": chatkit,
}
uvicorn.run(made[KIND](), port=PORT, log_level="warning")
