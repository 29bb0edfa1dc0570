from agents import Agent, Runner
from order_tools import order_status

agent = Agent(
    name="Order desk",
    instructions="You answer questions about orders. Look the order up first.",
    model="gpt-5-mini",
    tools=[order_status],
)

if __name__ == "__main__":
    question = input("How can I help you? ")
    result = Runner.run_sync(agent, question)
    print(result.final_output)
