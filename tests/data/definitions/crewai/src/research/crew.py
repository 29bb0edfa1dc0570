from crewai import Agent
from crewai.project import CrewBase, agent


@CrewBase
class Research:
    """The crew."""

    @agent
    def researcher(self) -> Agent:
        return Agent(config=self.agents_config["researcher"])
