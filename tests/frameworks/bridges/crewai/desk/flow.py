from crewai.flow.flow import Flow, listen, start
from pydantic import BaseModel

from desk.crew import Desk


class State(BaseModel):
    question: str = ""


class DeskFlow(Flow[State]):
    @start()
    def asked(self) -> str:
        return self.state.question

    @listen(asked)
    def answered(self, question: str) -> str:
        return Desk().crew().kickoff(inputs={"question": question, "shop": "ours"}).raw
