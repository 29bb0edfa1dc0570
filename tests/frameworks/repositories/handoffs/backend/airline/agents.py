from agents import Agent, RunContextWrapper, handoff

from airline.context import Passenger
from airline.tools import order_status

MODEL = "gpt-4.1-mini"


def about_orders(context: RunContextWrapper[Passenger], agent: Agent[Passenger]) -> str:
    return "You answer questions about orders. Look the order up first."


order_agent = Agent[Passenger](
    name="Order Agent",
    model=MODEL,
    handoff_description="Knows the state of orders.",
    instructions=about_orders,
    tools=[order_status],
)

refund_agent = Agent[Passenger](
    name="Refund Agent",
    model=MODEL,
    handoff_description="Gives money back.",
    instructions="You give money back for orders that are lost.",
)


async def on_handoff(context: RunContextWrapper[Passenger]) -> None:
    if context.context is not None:
        context.context.handed_on = True


triage_agent = Agent[Passenger](
    name="Triage Agent",
    model=MODEL,
    instructions="You hand each question to the agent that can answer it.",
    handoffs=[handoff(agent=order_agent, on_handoff=on_handoff), refund_agent],
)

order_agent.handoffs.append(triage_agent)
refund_agent.handoffs.append(triage_agent)
