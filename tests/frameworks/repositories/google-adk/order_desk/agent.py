import os

from google.adk.agents import Agent

from .prompt import INSTRUCTION
from .tools.orders import order_status

root_agent = Agent(
    model=os.getenv("DESK_MODEL", "gemini-2.5-flash"),
    name="order_desk",
    instruction=INSTRUCTION,
    tools=[order_status],
)
