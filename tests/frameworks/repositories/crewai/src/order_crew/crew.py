from crewai import Agent, Crew, Process, Task
from crewai.project import CrewBase, agent, crew, task

from order_crew.tools.orders import order_status


@CrewBase
class OrderCrew:
    agents_config = "config/agents.yaml"
    tasks_config = "config/tasks.yaml"

    @agent
    def clerk(self) -> Agent:
        return Agent(config=self.agents_config["clerk"], llm="gpt-4.1-mini", tools=[order_status])

    @task
    def answer(self) -> Task:
        return Task(config=self.tasks_config["answer"])

    @crew
    def crew(self) -> Crew:
        return Crew(agents=self.agents, tasks=self.tasks, process=Process.sequential)
