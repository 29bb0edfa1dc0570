"""The task: replace it with a call of your agent."""


def shout(text: str) -> str:
    return text.upper()
