from crewai import Agent, Crew, Process, Task
from crewai.project import CrewBase, agent, crew, task
from crewai.tools import tool


@tool("order_status")
def order_status(order: int) -> str:
    """The status of an order."""
    return "in transit"


@CrewBase
class Desk:
    agents_config = "agents.yaml"
    tasks_config = "tasks.yaml"

    @agent
    def clerk(self) -> Agent:
        return Agent(config=self.agents_config["clerk"], llm="gpt-4.1-mini", tools=[order_status])

    @task
    def answer(self) -> Task:
        return Task(config=self.tasks_config["answer"])

    @crew
    def crew(self) -> Crew:
        return Crew(agents=self.agents, tasks=self.tasks, process=Process.sequential)
