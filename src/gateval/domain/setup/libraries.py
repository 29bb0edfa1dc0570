"""Which framework and which models a program names, by its text."""

from __future__ import annotations

import re
import sys
from collections.abc import Container, Iterator

from gateval.domain.setup.import_graph import python_modules
from gateval.domain.setup.node_imports import node_packages

PYTHON = {
    "agents": "OpenAI Agents",
    "pydantic_ai": "Pydantic AI",
    "langgraph": "LangGraph",
    "crewai": "CrewAI",
    "smolagents": "smolagents",
    "claude_agent_sdk": "Claude Agent SDK",
    "google.adk": "Google ADK",
    "strands": "Strands Agents",
    "agno": "Agno",
    "autogen_agentchat": "AutoGen",
    "agent_framework": "Microsoft Agent Framework",
    "semantic_kernel": "Semantic Kernel",
    "llama_index": "LlamaIndex",
    "workflows": "LlamaIndex",
    "haystack": "Haystack",
    "dspy": "DSPy",
    "deepagents": "LangChain",
    "langchain": "LangChain",
    "google.genai": "Google GenAI",
    "google.generativeai": "Google GenAI",
    "litellm": "LiteLLM",
    "anthropic": "Anthropic SDK",
    "openai": "OpenAI SDK",
    "langfuse.openai": "OpenAI SDK",
    "autogen_core": "AutoGen Core",
    "autogen_ext": "AutoGen Core",
    "autogen.beta": "AG2",
    "autogen.a2a": "AG2",
    "autogen.ag_ui": "AG2",
    "autogen": "AutoGen 0.2",
    "ag2": "AG2",
    "beeai_framework": "BeeAI",
    "marvin": "Marvin",
    "mirascope": "Mirascope",
    "instructor": "Instructor",
    "phi": "Agno",
    "azure.ai.agents": "Azure AI Agents",
    "azure.ai.projects": "Azure AI Agents",
    "azure.ai.inference": "Azure AI Inference",
    "ollama": "Ollama",
    "mistralai": "Mistral SDK",
    "groq": "Groq SDK",
    "cohere": "Cohere SDK",
    "huggingface_hub.InferenceClient": "Hugging Face Hub",
    "a2a.server": "A2A",
    "genkit": "Genkit",
    "langroid": "Langroid",
    "camel": "CAMEL",
    "dapr_agents": "Dapr Agents",
    "mcp_use": "mcp-use",
    "mcp_agent": "mcp-agent",
    "swarm": "Swarm",
    "letta_client": "Letta",
    "vertexai": "Vertex AI",
    "ibm_watsonx_ai": "watsonx.ai",
    "together": "Together SDK",
    "cerebras": "Cerebras SDK",
    "azure.ai.agentserver": "Microsoft Foundry",
    "fast_agent": "fast-agent",
    "griptape": "Griptape",
    "atomic_agents": "Atomic Agents",
    "agentscope": "AgentScope",
    "metagpt": "MetaGPT",
    "taskweaver": "TaskWeaver",
    "agency_swarm": "Agency Swarm",
    "praisonaiagents": "PraisonAI",
    "upsonic": "Upsonic",
    "portia": "Portia",
    "controlflow": "ControlFlow",
    "julep": "Julep",
    "letta": "Letta",
    "browser_use": "Browser Use",
    "stagehand": "Stagehand",
    "gpt_researcher": "GPT Researcher",
    "qwen_agent": "Qwen-Agent",
    "lagent": "Lagent",
    "kani": "kani",
    "parlant": "Parlant",
    "burr": "Burr",
    "txtai": "txtai",
    "interpreter": "Open Interpreter",
    "nemoguardrails": "NeMo Guardrails",
    "embedchain": "Embedchain",
    "promptflow": "Prompt flow",
    "swarms": "Swarms",
    "restack_ai": "Restack",
    "llama_stack_client": "Llama Stack",
    "magentic": "magentic",
    "ell": "ell",
    "aisuite": "aisuite",
    "fireworks": "Fireworks SDK",
    "replicate": "Replicate SDK",
    "xai_sdk": "xAI SDK",
    "dashscope": "DashScope SDK",
    "zhipuai": "Zhipu SDK",
    "ai21": "AI21 SDK",
    "writerai": "Writer SDK",
    "portkey_ai": "Portkey",
    "oci.generative_ai_inference": "OCI SDK",
    "oci.generative_ai_agent_runtime": "OCI SDK",
}
"""Modules of Python, the more telling ones first, and what people call them."""

PLAIN_NAMES = (
    *("agents", "workflows", "camel", "swarm", "together", "portia", "letta", "interpreter"),
    *("swarms", "ell", "burr", "kani", "replicate", "fireworks", "promptflow", "julep"),
)
"""Those of them that packages of a repository's own are often called."""

_MODELS_ALONE = re.compile(
    r"Google GenAI|LiteLLM|Ollama|Instructor|Hugging Face Hub|Azure AI Inference|A2A|Vertex AI"
    r"|watsonx\.ai|Amazon Bedrock|aisuite|Portkey|Llama Stack|Microsoft Foundry|.* SDK"
)
"""Libraries that hand on to models, and bring no agent of their own."""

_BRIDGED = frozenset(
    {
        *("OpenAI Agents", "Pydantic AI", "LangGraph", "LangChain", "CrewAI", "smolagents"),
        *("Claude Agent SDK", "Google ADK", "Strands Agents", "Agno", "LlamaIndex"),
        *("Microsoft Agent Framework", "AutoGen"),
    }
)
"""Frameworks whose agents a bridge of ours drives."""

_OF_AGENTS = re.compile(
    r"(?:\w+_)?(?:agents?|agentic|crews?|llms?|gpt|assistants?|chatbots?|copilot|swarms?|ai)(?:_\w+)?"
)
"""How a package is called that is of agents, by one of its words."""

_AGENT_CLASS = re.compile(r"(?!\w*User)(?:[A-Z]\w*)?(?:Agent|Crew|Swarm|Assistant|Cha[tT][bB]ot)")
"""How a class is called that is an agent, or a part of one."""

NODE = {
    "@openai/agents": "OpenAI Agents",
    "@anthropic-ai/claude-agent-sdk": "Claude Agent SDK",
    "@mastra/": "Mastra",
    "@langchain/": "LangChain",
    "langchain": "LangChain",
    "llamaindex": "LlamaIndex",
    "@llamaindex/": "LlamaIndex",
    "genkit": "Genkit",
    "@voltagent/": "VoltAgent",
    "ai": "Vercel AI SDK",
    "@google/genai": "Google GenAI",
    "@anthropic-ai/sdk": "Anthropic SDK",
    "openai": "OpenAI SDK",
    "openai-edge": "OpenAI SDK",
    "@strands-agents/sdk": "Strands Agents",
    "@google/adk": "Google ADK",
    "@inngest/agent-kit": "AgentKit",
    "@google/generative-ai": "Google GenAI",
    "@mistralai/mistralai": "Mistral SDK",
    "groq-sdk": "Groq SDK",
    "cohere-ai": "Cohere SDK",
    "ollama": "Ollama",
    "@a2a-js/sdk/server": "A2A",
    "@copilotkit/runtime": "CopilotKit",
    "@cloudflare/ai-chat": "Cloudflare Agents",
    "@cloudflare/think": "Cloudflare Agents",
    "@aws-sdk/client-bedrock-agent-runtime": "Amazon Bedrock",
    "@aws-sdk/client-bedrock-agentcore": "Amazon Bedrock",
    "@aws-sdk/client-bedrock-runtime": "Amazon Bedrock",
    "bedrock-agentcore": "Amazon Bedrock",
    "beeai-framework": "BeeAI",
    "@openai/codex-sdk": "OpenAI Codex",
    "@github/copilot-sdk": "GitHub Copilot SDK",
    "@browserbasehq/stagehand": "Stagehand",
    "@tanstack/ai": "TanStack AI",
    "@ax-llm/ax": "Ax",
    "@coinbase/agentkit": "Coinbase AgentKit",
    "kaibanjs": "KaibanJS",
    "mcp-use": "mcp-use",
    "modelfusion": "ModelFusion",
    "langbase": "Langbase",
    "@letta-ai/letta-client": "Letta",
    "@anthropic-ai/bedrock-sdk": "Anthropic SDK",
    "@anthropic-ai/vertex-sdk": "Anthropic SDK",
    "@azure/openai": "OpenAI SDK",
    "@azure/ai-agents": "Azure AI Agents",
    "@azure/ai-projects": "Azure AI Agents",
    "@azure-rest/ai-inference": "Azure AI Inference",
    "@google-cloud/vertexai": "Vertex AI",
    "@huggingface/inference": "Hugging Face Hub",
    "@ibm-cloud/watsonx-ai": "watsonx.ai",
    "@openrouter/sdk": "OpenRouter SDK",
    "@cerebras/cerebras_cloud_sdk": "Cerebras SDK",
    "together-ai": "Together SDK",
    "replicate": "Replicate",
    "portkey-ai": "Portkey",
    "oci-generativeaiinference": "OCI SDK",
    "oci-generativeaiagentruntime": "OCI SDK",
}
"""Packages of Node, the more telling ones first, and what people call them."""

_FOR_PAGES = ("ai/rsc", "ai/react")
"""Parts of the AI SDK that draw what a model said, and ask none by themselves."""

_CLIENTS = (
    "@langchain/langgraph-sdk",
    "@langchain/react",
    "@voltagent/sdk",
    "@mastra/client-js",
    "genkit/client",
    "genkit/beta/client",
)
"""Packages of Node that ask an agent that is deployed, whose family is known."""

_NO_AGENTS = re.compile(
    r"\w*(?:useragents?|user_agents?)|transformers|torch|mcp|a2a|ag_ui|copilotkit|opentelemetry|langfuse"
    r"|gymnasium|gym|rl\w*|\w+_rl|pfrl|tf_agents|mlagents\w*|stable_baselines3|tensorforce|grid2op|mesa"
    r"|spade|pade|chatterbot|pyswarms|llama_cpp|google|azure|boto3|botocore|pydantic|twisted|paramiko|docker"
    r"|homeassistant|(?:monitor\w*|ssh|snmp|zabbix|datadog|elastic|acapy)_agents?|ai_edge_\w+"
)
"""Packages that are called so, or have such classes, and answer no question."""

_MODEL = re.compile(
    r"""["'](?:(openrouter/(?:openai|anthropic|google)|openai|anthropic|google-gla|google|gemini|azure"""
    r"""|openrouter|ollama)[:/])?((?:gpt-|o[134](?:-|["'])|claude-|gemini-|text-(?:multilingual-)?embedding-)"""
    r"""[\w.-]*)["']"""
)
_OF_GOOGLE = re.compile(r"text-(?:multilingual-embedding-|embedding-(?:\d{3}$|gecko))")
"""Embeddings of Google's, which are called as OpenAI's are but for their numbers."""

_OF_OTHERS = re.compile(r"text-embedding-v\d")
"""Embeddings of Alibaba's, which the gate asks nowhere."""

_OPENROUTER = re.compile(
    r"\bopenrouter\.ai/api\b|[\"']@openrouter/|\b\w*openrouter\w*\("
    r"|\bprovider\s*[=:]\s*[\"']openrouter[\"']",
    re.I,
)
_MAKERS = {
    "gpt": "openai",
    "text": "openai",
    "o": "openai",
    "claude": "anthropic",
    "gemini": "gemini",
}
_MADE_BY = ("openai", "anthropic", "google")
"""Makers whose models OpenRouter serves, under their names."""

_SPELLINGS = {"google-gla": "gemini", "google": "gemini"}


GO = {
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

_GO_IMPORT = re.compile(r'^\s*(?:import\s+)?(?:[\w.]+\s+)?"([\w-]+\.[\w.-]+/[^"\s]+)"', re.M)

_ASKS_OTHERS = ("agent_framework.a2a",)
"""Parts of libraries that ask agents elsewhere, and no model."""

OVER_HTTP = "a model's HTTP API"
_NAMES = frozenset({*PYTHON.values(), *NODE.values(), *GO.values(), "Amazon Bedrock", OVER_HTTP})
_CLIENT = re.compile(r"\.get_open_?ai_client\(")
"""How a client of the OpenAI SDK is made by another one's."""

_BEDROCK = re.compile(
    r"\.client\(\s*(?:service_name\s*=\s*)?[\"']bedrock-(?:agent-)?(?:runtime|agentcore)[\"']"
)
_SENDS = re.compile(r"\b(?:requests|httpx|aiohttp|urllib\.request|fetch|axios|got)\b")
_PROVIDER = re.compile(
    r"https://(?:api\.openai\.com/v1|api\.anthropic\.com/v1|openrouter\.ai/api"
    r"|generativelanguage\.googleapis\.com|api\.(?:groq|mistral|deepseek|together|x)\.\w+)"
)


def _asks_ollama(text: str) -> bool:
    """Whether a file asks Ollama by the path of its API."""
    return "llama" in text and bool(re.search(r"/api/(?:generate|chat)[\"']", text))


def framework_of(path: str, text: str, own: Container[str] = ()) -> str:
    """Return what people call the most telling library that a file imports, "" for none.

    `own` are modules of such a name that are the repository's own.
    """
    if path.endswith(".go"):
        return _library_of(text)
    if path.endswith(".py"):
        modules = {
            one
            for one in python_modules(text)
            if one.partition(".")[0] not in own and not one.startswith(_ASKS_OTHERS)
        }
        names = (PYTHON[key] for key in PYTHON if any(_is(module, key) for module in modules))
    else:
        packages = {one for one in node_packages(text) if not one.startswith(_CLIENTS)}
        if all(one.startswith(_FOR_PAGES) for one in packages if is_known(one)):
            packages = set()
        names = (NODE[key] for key in NODE if any(_is_package(one, key) for one in packages))
    asked = _PROVIDER.search(text) or (path.endswith(".py") and _asks_ollama(text))
    plain = OVER_HTTP if asked and _SENDS.search(text) else ""
    plain = plain or ("OpenAI SDK" if _CLIENT.search(text) else "")
    return next(names, "Amazon Bedrock" if _BEDROCK.search(text) else plain)


def unknown_library(text: str, own: Container[str]) -> str:
    """Return the package of agents that a Python file imports, by the names of packages and of
    what is imported from them, "" for none. `own` are the names of the repository's own files.
    """
    for module in sorted(python_modules(text)):
        package, _, rest = module.partition(".")
        if not package or package in own or package in sys.stdlib_module_names:
            continue
        if module.startswith(_ASKS_OTHERS):
            continue
        named = _OF_AGENTS.fullmatch(package) or _AGENT_CLASS.fullmatch(rest.rpartition(".")[2])
        if named and not _NO_AGENTS.fullmatch(package):
            return package
    return ""


def is_named(framework: str) -> bool:
    """Whether a framework is one that is known, and no package that is only called so."""
    return framework in _NAMES


def is_bridged(framework: str) -> bool:
    """Whether a bridge of ours drives the agents of a framework."""
    return framework in _BRIDGED


def is_unbridged(framework: str) -> bool:
    """Whether a library answers by agents of its own, which no bridge of ours drives."""
    alone = _MODELS_ALONE.fullmatch(framework)
    return bool(framework) and framework not in _BRIDGED and framework != OVER_HTTP and not alone


_COMMENT = re.compile(r"^[ \t]*(?:#|//)[^\n]*", re.M)


def models_in(text: str) -> tuple[str, ...]:
    """Return the models that a text names, as `provider/model-id`, in their order."""
    found = []
    for provider, model in _MODEL.findall(_COMMENT.sub("", text)):
        name = model.rstrip("\"'")
        maker = re.split(r"[-\d]", name, maxsplit=1)[0]
        made = "gemini" if _OF_GOOGLE.match(name) else _MAKERS[maker]
        known = _SPELLINGS.get(provider, provider) or made
        if provider in _MADE_BY and _OPENROUTER.search(text):
            known = f"openrouter/{provider}"
        if not (_OF_OTHERS.match(name) or name.endswith("-")):  # which only begins names
            found.append(f"{known}/{name}")
    return tuple(dict.fromkeys(found))


def spelled_models(text: str) -> Iterator[str]:
    """Yield the models that a text names, as it spells them."""
    yield from (one[0].strip("\"'") for one in _MODEL.finditer(text))


def _is(module: str, key: str) -> bool:
    return module == key or module.startswith((f"{key}.", f"{key}_"))


def _is_package(package: str, key: str) -> bool:
    return package == key or package.startswith(f"{key.rstrip('/')}/")


def is_known(package: str) -> bool:
    """Whether a package of Node is a library of models or agents that is known."""
    return any(_is_package(package, key) for key in NODE)


def _library_of(text: str) -> str:
    """Return what people call the most telling library that a file imports, "" for none."""
    imported = _GO_IMPORT.findall(text)
    names = (
        name
        for module, name in GO.items()
        if any(one == module or one.startswith(f"{module}/") for one in imported)
    )
    return next(names, "")
