"""What starts and asks an agent of Node in our place, and packages of npm that no bridge drives.

Each is a line: how its package is called, and what a program that imports it is. What a program
says is read, never run. Pure.
"""

from __future__ import annotations

import re

from gateval.domain.setup.libraries import is_known
from gateval.domain.setup.node_imports import node_packages
from gateval.domain.setup.other_work import Refusal

_HOSTS = (
    (
        r"@temporalio/(?:worker|client|workflow|activity)",
        "a worker of Temporal, which its server gives work",
    ),
    (r"@restatedev/restate-sdk[\w-]*", "a service of Restate, which its server asks"),
    (r"@trigger\.dev/sdk", "a task of Trigger.dev, whose server alone starts it"),
    (r"@hatchet-dev/typescript-sdk", "a task of Hatchet, whose server alone starts it"),
    (r"@upstash/workflow", "a workflow of Upstash, whose QStash alone calls its steps"),
    (r"workflow|@workflow/[\w-]+", "a workflow of the Workflow SDK, which its own build runs"),
    (r"@convex-dev/agent|convex/server", "a function of Convex, which its deployment runs"),
    (
        r"agents(?!/mcp)|@cloudflare/ai-chat|@cloudflare/think|@cloudflare/agents",
        "an agent of Cloudflare, which Workers keep as a Durable Object and a page asks",
    ),
    (r"apify", "an Actor of Apify, which takes its input from that platform"),
    (
        r"@elizaos/core",
        "a project of elizaOS, whose program `elizaos` starts it and whose channels ask it",
    ),
    (r"@xmtp/(?:agent|node)-sdk", "an agent of XMTP, which messages of that network ask"),
    (
        r"@botpress/(?:sdk|runtime|cognitive|client|llmz)|llmz",
        "a bot of Botpress, which its cloud or its channels ask",
    ),
    (r"botkit", "a bot of Botkit, which its channels ask"),
    (
        r"@microsoft/agents-(?!copilotstudio|activity)[\w-]+",
        "an agent of the Microsoft 365 Agents SDK, which its channels send activities",
    ),
    (r"@microsoft/spark\.\w+", "an app of Teams AI, which its channels send activities"),
    (
        r"firebase-functions(?:/[\w/]+)?",
        "a function of Firebase, which its emulator or its cloud starts",
    ),
    (
        r"@google-cloud/functions-framework",
        "a function of Google Cloud, which its own program starts",
    ),
    (
        r"@netlify/(?:functions|edge-functions)",
        "a function of Netlify, which its own program starts",
    ),
    (
        r"@twilio/runtime-handler|@twilio-labs/serverless-runtime-types",
        "a function of Twilio, which its own runtime starts",
    ),
    (r"sst", "a function of SST, which its platform starts"),
    (r"n8n-workflow", "a node of n8n, which its workflows ask"),
    (r"eve", "an agent of Eve, which its program `eve` starts and its channels ask"),
    (r"@agentuity/runtime", "an agent of Agentuity, which its own program `agentuity` starts"),
    (r"@tanstack/(?:react|solid)-start", "a route of TanStack Start, which its own build serves"),
    (r"mcp-use/server", "a server of MCP, which gives tools to agents"),
    (r"@databricks/appkit", "an app of Databricks AppKit, which starts with its platform's stores"),
    (r"@flue/[\w-]+", "an agent of Flue, which its own program starts"),
)
"""Packages, and what a program is that imports one: it is started and asked elsewhere."""

_BESIDE = (
    (r"genkit/(?:beta/)?client", "a client of flows of Genkit that run elsewhere"),
    (r"@a2a-js/sdk/client", "a client of an A2A agent that runs elsewhere"),
    (
        r"@langchain/langgraph-sdk|langgraph-nextjs-api-passthrough",
        "a client of a LangGraph server that runs elsewhere",
    ),
    (
        r"@aws-sdk/client-bedrock-agent-runtime|@aws-sdk/client-bedrock-agentcore",
        "a client of an agent that runs in Amazon Bedrock",
    ),
    (
        r"@google-cloud/dialogflow[\w-]*",
        "a client of an agent of Dialogflow that runs in its cloud",
    ),
    (
        r"@microsoft/agents-copilotstudio-client",
        "a client of an agent of Copilot Studio that runs in its cloud",
    ),
    (
        r"@apollo/server|graphql-yoga|@nestjs/graphql",
        "a server of GraphQL, whose queries `init` does not write",
    ),
    (r"@trpc/server", "a server of tRPC, whose calls `init` does not write"),
    (
        r"agents/mcp|@modelcontextprotocol/sdk/server[\w/.-]*|@modelcontextprotocol/server|fastmcp",
        "a server of MCP, which gives tools to agents",
    ),
    (
        r"@assistant-ui/react-(?:opencode|langgraph|a2a|ag-ui|google-adk)|@opencode-ai/sdk",
        "a page of an agent that runs elsewhere",
    ),
    (r"@hashbrownai/[\w-]+", "a page of hashbrown, which a person types into"),
    (
        r"@e2b/code-interpreter|e2b|@vercel/sandbox|@daytonaio/sdk",
        "a program that works in a sandbox of a cloud",
    ),
)
"""The same of programs that ask others or work for them, where nothing else says more."""

_HINT = (
    "Name a function that takes the question and asks the model, `gateval init FILE:FUNCTION` "
    "(docs/guides/bridges.md); or write the Agent by hand: a command (`runtime: {type: command}`), "
    "a server (`{type: http}`) or a bridge of your own (`runtime.framework`) starts it."
)

_UNKNOWN = re.compile(
    r"(?:^|[/@-])(?:agents?|agent-?kit|agentic|llms?|genai|ai|gpt|(?:chat|ai)-?bots?|bots?"
    r"|assistants?)(?:[/-]|$)"
)
_OF_PAGES = re.compile(
    r"^@ai-sdk/(?:vue|svelte|ui-utils|rsc|provider\b)|^@assistant-ui/|^ai/rsc|^agents/client"
    r"|ui(?:$|/)|react|[/-](?:css|icons|types?)$"
)


_DRAWS = re.compile(r"/(?:react|vue|svelte|solid)(?:/|$)")
"""How the part of a package is called that pages import."""

_EXTENSION = re.compile(r"\b(?:chrome|browser)\.runtime\.\w+")


def host_of(text: str, *, beside: bool = False) -> Refusal | None:
    """Return why a program of this text is asked elsewhere, by what it imports; `beside` also why
    one is no agent that asks others, or that works for them.
    """
    packages = sorted(node_packages(text))
    page = "react" in packages or "className=" in text
    drawn = {one for one in packages if _DRAWS.search(one) or (page and "react" not in one)}
    rows = [(name, what, False) for name, what in _HOSTS]
    if beside:
        rows += [(name, what, True) for name, what in _BESIDE]
        rows += [(name, "a page of an agent that runs elsewhere", True) for name, _ in _HOSTS]
    for name, what, drawing in rows:
        kind = re.compile(rf"(?:{name})(?:/[\w./-]+)?")
        found = next(
            (one for one in packages if kind.fullmatch(one) and drawing >= (one in drawn)), ""
        )
        if found:
            return Refusal(f"is {what} (it imports `{found}`), and nothing here asks it.", _HINT)
    if own := _EXTENSION.search(text):
        return Refusal(
            f"is a part of an extension of a browser (`{own[0]}`), which its pages ask.", _HINT
        )
    return None


_ASKS_ELSEWHERE = re.compile(
    r"\b(?:apiUrl|runtimeUrl|deploymentUrl|agentUrl|baseU(?:rl|RL)|api|url|endpoint)\b\s*[=:]\s*\{?\s*"
    r"(?:[\"'`](?P<url>https?://[^\"'`\s]{1,100})|[\"'`]?(?:\$\{)?process\.env\.(?P<env>\w{1,60}))"
    r"|\b(?:fetch|EventSource|axios\.post)\(\s*[\"'`](?:\$\{)?"
    r"(?:(?P<fetched>https?://[^\"'`\s]{1,100})|process\.env\.(?P<held>\w{1,60}))"
)
_OF_AN_AGENT = re.compile(
    r"chat|agent|assistant|(?<![a-z])ask|quer|complet|copilot|flow|invoke", re.I
)


def client_in(text: str) -> Refusal | None:
    """Return why a program or a page cannot be asked that asks an agent at an address elsewhere."""
    for one in _ASKS_ELSEWHERE.finditer(text):
        place = next(filter(None, one.groups()))
        if _OF_AN_AGENT.search(place):
            return Refusal(
                f"asks an agent that runs elsewhere (`{place}`), and none here calls a model.",
                "Call `gateval init` in the repository of that agent; or write the Agent by hand, "
                "with the command that starts it here (`runtime: {type: http}`).",
            )
    return None


_HANDS_ON = re.compile(r"^export\s+(?:async\s+function|const)\s+POST\b", re.M)
_FETCHES = re.compile(r"\b(?:fetch|axios\.post)\(\s*(?![\"'`]/)[\w`\"'$]")
_TAKES = re.compile(r"\b(?:messages?|prompt|question|query)\b")


def hands_on(text: str) -> Refusal | None:
    """Return why a route cannot be asked that gives the question to a server elsewhere."""
    if not (_HANDS_ON.search(text) and _FETCHES.search(text) and _TAKES.search(text)):
        return None
    return Refusal(
        "hands the question on to a server elsewhere (`fetch`), and none here calls a model.",
        "Call `gateval init` in the repository of that server; or write the Agent by hand, with "
        "the command that starts it here (`runtime: {type: http}`).",
    )


def unknown_in(text: str) -> Refusal | None:
    """Return why nothing tells how a program is asked that imports an unknown library of agents."""
    packages = sorted(one for one in node_packages(text) if not _OF_PAGES.search(one))
    found = next((one for one in packages if _UNKNOWN.search(one) and not is_known(one)), "")
    return (
        Refusal(
            f"imports `{found}`, for which there is no bridge, and no route or input known here "
            "takes a question to it.",
            _HINT,
        )
        if found
        else None
    )


_CHAT_PAGE = re.compile(
    r"(?:@assistant-ui/react|@copilotkit/react-[\w-]+|@ai-sdk/(?:react|vue|svelte))(?:/.*)?"
)


def page_in(text: str) -> Refusal | None:
    """Return why a page of a chat cannot be asked where nothing else here answers it."""
    drawn = (one for one in sorted(node_packages(text)) if _CHAT_PAGE.fullmatch(one))
    found = next(drawn, "")
    return (
        Refusal(
            f"is a page of a chat (it imports `{found}`), and nothing here answers what a person "
            "types there: no route, no model.",
            "Call `gateval init` in the repository of what answers it. " + _HINT,
        )
        if found
        else None
    )


_OF_A_PAGE = re.compile(
    r"\bfrom\s+[\"'](?:react|vue|svelte|preact)[\"']|\brequire\([\"']react[\"']\)"
)
_POSTS_AWAY = re.compile(
    r"\b(?:fetch|axios(?:\.post)?)\(\s*(?:[\"'`](https?://[^\"'`\s$]+)"
    r"|([A-Z][A-Z0-9_]{3,}|(?:process|import\.meta)\.env\.\w+)\b)"
)


def posts_away(text: str) -> Refusal | None:
    """Return why a page cannot be asked that sends what a person types to a server elsewhere."""
    found = _POSTS_AWAY.search(text) if _OF_A_PAGE.search(text) else None
    if not found or "POST" not in text[found.end() : found.end() + 200] + found[0].upper():
        return None
    return Refusal(
        f"is a page that sends what a person types to `{(found[1] or found[2])[:80]}`, and nothing "
        "here is what answers there.",
        "Call `gateval init` in the repository of what answers it. " + _HINT,
    )
