"""The libraries by which a program shows that it is an agent, and the models that it names."""

from __future__ import annotations

import re

from gateval.domain.setup.programs.golang import library_of

PYTHON = {
    "agents": "OpenAI Agents",
    "pydantic_ai": "Pydantic AI",
    "langgraph": "LangGraph",
    "crewai": "CrewAI",
    "smolagents": "smolagents",
    "langchain": "LangChain",
    "google.genai": "Google GenAI",
    "litellm": "LiteLLM",
    "anthropic": "Anthropic SDK",
    "openai": "OpenAI SDK",
}
"""Modules of Python, the more telling ones first, and what people call them."""

NODE = {
    "@openai/agents": "OpenAI Agents",
    "@langchain/": "LangChain",
    "ai": "Vercel AI SDK",
    "@anthropic-ai/sdk": "Anthropic SDK",
    "openai": "OpenAI SDK",
}

_PYTHON_IMPORT = re.compile(
    r"^[ \t]*(?:from|import)[ \t]+([\w.]+)(?:[ \t]+import[ \t]+(\w+))?", re.M
)
_NODE_IMPORT = re.compile(
    r"""(?:\bfrom|\bimport|\brequire\(|\bimport\()\s*["']([@\w][\w./@-]*)["']"""
)
_MODEL = re.compile(
    r"""["'](?:(openai|anthropic|google-gla|google|gemini|azure|openrouter|ollama)[:/])?"""
    r"""((?:gpt-|o[134](?:-|["'])|claude-|gemini-)[\w.-]*)["']"""
)
_MAKERS = {"gpt": "openai", "o": "openai", "claude": "anthropic", "gemini": "gemini"}
_SPELLINGS = {"google-gla": "gemini", "google": "gemini"}


def python_modules(text: str) -> set[str]:
    """Return the modules that a Python file imports, `a.b` for `from a import b` as well as `a`."""
    found: set[str] = set()
    for module, name in _PYTHON_IMPORT.findall(text):
        found |= {module, f"{module}.{name}"} if name else {module}
    return found


def node_packages(text: str) -> set[str]:
    """Return the packages that a JavaScript or TypeScript file imports."""
    return set(_NODE_IMPORT.findall(text))


def framework_of(path: str, text: str) -> str:
    """Return what people call the most telling library that a file imports, "" for none."""
    if path.endswith(".go"):
        return library_of(text)
    if path.endswith(".py"):
        modules = python_modules(text)
        names = (PYTHON[key] for key in PYTHON if any(_is(module, key) for module in modules))
    else:
        packages = node_packages(text)
        names = (NODE[key] for key in NODE if any(_is_package(one, key) for one in packages))
    return next(names, "")


def models_in(text: str) -> tuple[str, ...]:
    """Return the models that a text names, as `provider/model-id`, in their order."""
    found = []
    for provider, model in _MODEL.findall(text):
        name = model.rstrip("\"'")
        maker = re.split(r"[-\d]", name, maxsplit=1)[0]
        known = _SPELLINGS.get(provider, provider) or _MAKERS[maker]
        found.append(f"{known}/{name}")
    return tuple(dict.fromkeys(found))


def _is(module: str, key: str) -> bool:
    return module == key or module.startswith((f"{key}.", f"{key}_"))


def _is_package(package: str, key: str) -> bool:
    return package == key or package.startswith(f"{key.rstrip('/')}/")
