"""Go programs: what they import, how they take a question, and how they are built.

A set-up builds the program, so that trials start a file and need neither compiler nor network.
"""

from __future__ import annotations

import re
from collections.abc import Container
from posixpath import dirname, join, relpath

from gateval.domain.setup.programs.found import Invocation, SetUp

LIBRARIES = {
    "google.golang.org/adk": "Google ADK",
    "github.com/cloudwego/eino": "Eino",
    "github.com/firebase/genkit": "Genkit",
    "github.com/tmc/langchaingo": "LangChain",
    "google.golang.org/genai": "Google GenAI",
    "github.com/anthropics/anthropic-sdk-go": "Anthropic SDK",
    "github.com/openai/openai-go": "OpenAI SDK",
    "github.com/sashabaranov/go-openai": "OpenAI SDK",
}
"""Modules by which a Go program shows that it is an agent, the more telling ones first."""

BUILT = ".build/agent"

_IMPORT = re.compile(r'^\s*(?:import\s+)?(?:[\w.]+\s+)?"([\w-]+\.[\w.-]+/[^"\s]+)"', re.M)
_PACKAGE, _MAIN = re.compile(r"^package main\b", re.M), re.compile(r"^func main\(\)", re.M)
_ROUTE = re.compile(r'\.HandleFunc\(\s*"(?:POST )?(/[^"]*)"')
_FIELD = re.compile(r'\bstring\s+`json:"(\w+)')
_ANSWER = re.compile(r'map\[string\](?:string|any|interface\{\})\{\s*"(\w+)"')
_QUESTION = "prompt|question|message|query|input|text|ask|task"
_OPTION = re.compile(rf'flag\.String(?:Var)?\((?:&\w+,\s*)?"({_QUESTION})"')
_POSITIONAL = re.compile(r"os\.Args\[1|flag\.Arg\(0\)")
_JSON_KEY = re.compile(rf'`json:"({_QUESTION})\b')


def library_of(text: str) -> str:
    """Return what people call the most telling library that a file imports, "" for none."""
    imported = _IMPORT.findall(text)
    names = (
        name
        for module, name in LIBRARIES.items()
        if any(one == module or one.startswith(f"{module}/") for one in imported)
    )
    return next(names, "")


def is_go_entry(text: str) -> bool:
    """Whether a file holds the `main` of a program."""
    return bool(_PACKAGE.search(text) and _MAIN.search(text))


def go_invocation(text: str, prompt: str) -> Invocation:
    """Return how the program is asked, as far as its text tells; `prompt` is the template."""
    if (route := _ROUTE.search(text)) and "ListenAndServe" in text:
        field, answer = _FIELD.search(text), _ANSWER.search(text)
        return Invocation(
            route=route[1],
            field=field[1] if field else "message",
            answer=answer[1] if answer else "",
            sure=field is not None,
        )
    if option := _OPTION.search(text):
        return Invocation(words=(f"-{option[1]}", prompt), stdin="")
    if _POSITIONAL.search(text):
        return Invocation(words=(prompt,), stdin="")
    if "json.NewDecoder(os.Stdin)" in text:
        key = _JSON_KEY.search(text)
        name = key[1] if key else "prompt"
        asked = f'{{"{name}": {{{{ prompt | tojson }}}}}}'
        return Invocation(stdin=None if name == "prompt" else asked, sure=key is not None)
    return Invocation(stdin=prompt, sure="os.Stdin" in text)


def go_set_up(path: str, root: str, files: Container[str]) -> SetUp:
    """Return what builds the program whose `main` is in the file `path`, in the module `root`."""
    folder = relpath(dirname(path) or ".", root or ".")
    package = "." if folder == "." else f"./{folder}"
    sums = ("go.sum",) if join(root, "go.sum") in files else ()
    inputs = ("**/go.mod", *sums, "**/*.go")  # a module may stand in for another, in a folder
    return SetUp(("go", "build", "-o", BUILT, package), inputs, (dirname(BUILT),))
