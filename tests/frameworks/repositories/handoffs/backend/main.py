"""Serves the page: uvicorn main:app."""

from agents import Runner
from airline.agents import triage_agent
from airline.context import Passenger
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


async def chat(request: Request) -> JSONResponse:
    asked = await request.json()
    result = await Runner.run(triage_agent, asked["message"], context=Passenger())
    return JSONResponse({"reply": result.final_output, "agent": result.last_agent.name})


app = Starlette(routes=[Route("/chat", chat, methods=["POST"])])
