from pydantic import BaseModel


class Passenger(BaseModel):
    name: str | None = None
    handed_on: bool = False
