import os

from llama_index.llms.openai import OpenAI


def model() -> OpenAI:
    return OpenAI(model=os.getenv("DESK_MODEL", "gpt-4.1-mini"))
