"""Agents that their frameworks declare: in files that name them, as classes, as objects of modules.

What a program says is read, never run. Each can be the target of a bridge (docs/guides/bridges.md).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from posixpath import basename, dirname, join, normpath, relpath, splitext
from typing import NamedTuple

from gateval.domain.setup.crews import (
    Given,
    given_to_crew,
    given_to_flow,
    given_to_object,
    is_crew_file,
)
from gateval.domain.setup.factories import gives_agent
from gateval.domain.setup.framework_routes import question_of_flow
from gateval.domain.setup.graph_states import (
    demanded,
    given_beside,
    other_texts,
    state_of,
    states_of,
    who_asks,
)
from gateval.domain.setup.import_graph import explained_lines, importing_names
from gateval.domain.setup.libraries import OVER_HTTP
from gateval.domain.setup.mastra_agents import Mastras, OfMastra
from gateval.domain.setup.node_hosts import host_of
from gateval.domain.setup.node_protocols import BY_EVENT
from gateval.domain.setup.node_text import braced, parts
from gateval.domain.setup.other_work import Refusal, acts, is_aside, writes_data
from gateval.domain.setup.platforms import (
    DEPENDENCIES,
    FIELDS,
    SANDBOX,
    asks_a_model,
)
from gateval.domain.setup.python_text import NEXT, statement
from gateval.domain.setup.route_files import route_file

DECLARING = ("langgraph.json", "root_agent.yaml")
"""Files that name agents."""

LEAST = 7
"""The score of a declared agent is no less, if a bridge can drive it as it is; that of a program
which nothing declares always is.
"""


class DeclaredAgent(NamedTuple):
    """An agent: the file that declares it, the one that makes it, and its name there.

    `names` are what it is called, the best first. `score` grows with how much speaks for it.
    `inputs` are fields beside the prompt that it reads the question from, `more` those that it
    demands, with values as JSON. `refused` says why it cannot be asked.
    """

    path: str
    file: str
    found: str
    framework: str
    names: tuple[str, ...]
    score: int
    inputs: tuple[str, ...] = ()
    refused: Refusal | None = None
    more: tuple[tuple[str, str], ...] = ()

    def target(self, root: str) -> str:
        """Return what `runtime.target` says of it in a manifest whose `cwd` is `root`."""
        place = relpath(self.path, root or ".")
        return f"{place}:{self.found}" if self.found else place


_TARGET = re.compile(r"[\w.(\[+][\w./@()\[\]+-]*(?::[\w.$-]+(?:\(\))?)?")
_TYPES = r"(?:\[[^\n(]*\]|<[^\n(]*>)?\("
_PYTHON_CALL = re.compile(
    rf"^(\w+)(?:[ \t]*:[^=\n]+)?[ \t]*=[ \t]*(?:await )?([\w.]+){_TYPES}", re.M
)
_NODE_CALL = re.compile(
    r"^(?:export )?(?:const|let|default)\s+"
    rf"(?:(\w+)(?:\s*:[^=\n]+)?\s*=\s*)?((?:new )?[\w.]+){_TYPES}",
    re.M,
)
_GRAPH = re.compile(
    r"^(?:export const )?(\w+)\s*=\s*\(?\s*(?:new )?(StateGraph|WorkflowBuilder)\(", re.M
)
_FINISHED = {"StateGraph": ".compile(", "WorkflowBuilder": ".build("}
_MAKERS: Mapping[str, str] = {
    "OpenAI Agents": r"(?:new )?(?:Sandbox)?Agent|Agent\.create",
    "Pydantic AI": r"Agent",
    "LangGraph": r"(?!re\.)\w+\.compile|create_(?:\w+_)?agent|create_(?:supervisor|swarm)"
    r"|create(?:React)?Agent|createSupervisor",
    "LangChain": r"(?!re\.)\w+\.compile|create_(?:\w+_)?agent|AgentExecutor|create(?:React)?Agent",
    "smolagents": r"ToolCallingAgent|CodeAgent",
    "CrewAI": r"Crew",
    "LlamaIndex": r"(?:Function|ReAct|CodeAct)Agent|AgentWorkflow(?:\.\w+)?|\w+\.as_chat_engine",
    "Claude Agent SDK": r"ClaudeAgentOptions",
    "Microsoft Agent Framework": r"(?:Chat)?Agent|\w+\.(?:create|as)_agent",
    "Agno": r"Agent|Team|Workflow",
    "Strands Agents": r"Agent|Swarm|\w+\.build",
    "AutoGen": r"AssistantAgent|SocietyOfMindAgent|\w+GroupChat|Swarm|GraphFlow",
    "Mastra": r"new Agent",
    "Google ADK": r"new (?:Llm|Sequential|Parallel|Loop)?Agent",
    "Vercel AI SDK": r"new (?:Experimental_)?(?:ToolLoop)?Agent",
}
"""What a module calls to make an agent of each framework."""

_NODE_MAKERS: Mapping[str, str] = {
    **_MAKERS,
    "AgentKit": r"create(?:Agent|Network)",
    "BeeAI": r"new (?:\w+Agent|AgentWorkflow)",
    "LlamaIndex": r"agent|multiAgent|new AgentWorkflow|AgentWorkflow\.fromTools",
    "Strands Agents": r"new (?:Agent|Swarm|Graph)",
}

_FACTORY = re.compile(
    r"^(?:async )?def (\w*(?:agent|graph|crew|workflow|team)\w*)\(([^()]*)\)", re.M | re.I
)
_INSTANCE = re.compile(r"^(\w+)[ \t]*(?::[^=\n]+)?=[ \t]*([A-Z]\w*)\([ \t]*\)", re.M)
_ANSWERING = re.compile(
    r"^[ \t]+(?:async )?def (ask|chat|query|run|answer|respond|reply|invoke)\(\s*self,\s*"
    r"(?!self\b)\w+\s*(?::\s*str\b|[,)])",
    re.M,
)
_CREW_BASE = re.compile(r"^@(?:\w+\.)?CrewBase\b[^\n]*\n(?:@[^\n]*\n)*class (\w+)", re.M)
_FLOW = re.compile(r"^class (\w+)\((?:\w+\.)?Flow\b", re.M)
_WORKFLOW = re.compile(r"^class (\w+)\((?:\w+\.)?Workflow\)", re.M)
_BASES = re.compile(r"^class \w+\(([^)]*)\)", re.M)
_ROOT_AGENT = re.compile(r"^(root_agent)[ \t]*(?::[^=\n]+)?=[ \t]*(\w+)", re.M)
_NAMED = re.compile(r"\b(?:name\s*[=:]|id\s*:)\s*[\"']([^\"'\n]{1,80})[\"']")
_NODES = re.compile(r"\.add_node\([^()\n]*?\b(\w+)\s*\)")
_HANDS_ON = re.compile(
    r"(?:\b(?:handoffs|sub_agents|subAgents|managed_agents|agents|members|participants|steps)\s*[=:]"
    r"|\b(?:\w+GroupChat|Swarm)\()\s*[\[{]([^\]}]*)"
)
_TOOLS = re.compile(r"\btools\s*=\s*\[([^\]]*)")
_FUNCTION = re.compile(r"^(?:async )?def (\w+)", re.M)
_STEP = re.compile(r"\bStep\([^()]*?\b(?:agent|team)\s*=\s*(\w+)")
"""A step of a workflow of Agno, and who does it."""

_AS_TOOL = re.compile(r"\b(\w+)\.as_?[tT]ool\(|AgentTool\(\s*(?:\{?\s*agent\s*[=:]\s*)?(\w+)")
_HELPS = re.compile(
    r"(?i)_?(?:title|summar|guard|moderat|judge|evaluat|critic|verif|suggest|rewrit)"
)
"""How an agent is called that looks after what another one says."""

_USUAL = re.compile(
    r"(?i)agent|graph|app|main\w*|root\w*|\w*(?:triage|orchestrat|supervis|coordinat|rout(?:er|ing))\w*"
)
_TOOL = re.compile(r"^@(\w+)\.tool(?:_plain)?\b", re.M)
_RUNS = re.compile(r"\b(\w+)\.run(?:_sync|_stream)?\(")
_NEEDS = re.compile(r"\bdeps_type\s*=\s*(?!None\b|str\b|dict\b)")
_F_STRING = re.compile(
    r"\bf(?:\"\"\"|''\'|\"[^\"\n]*\{|'[^'\n]*\{)|\.format\(|_PROMPT\b|\bprompt\s*="
)
_OF_CHATKIT = re.compile(r"^from chatkit\.agents import[^#]{0,300}?\bAgentContext\b", re.M)
"""How a module's tools show what they do on the page of a ChatKit server: without it they fail."""

_READS_AT_IMPORT = re.compile(
    r"^(?!def |async |class |if |[ \t#@)\]}\"'])[^#\n]*"
    r"(?:\binput\(|sys\.argv\[|parse_args\(\)|\.launch\(|\buvicorn\.run\(|\.mainloop\()",
    re.M,
)
"""How a module asks or serves while it is imported: it is a program, and its objects no agents."""


def declared_agents(
    texts: Mapping[str, str],
    declaring: Mapping[str, str],
    framework_of: Callable[[str], str],
    reached: Callable[[str], str],
    behind: Callable[[str], str],
) -> Iterator[DeclaredAgent]:
    """Yield what the files declare, in no order.

    `texts` are programs by path, `declaring` the files of `DECLARING`. `framework_of` tells which
    framework a program imports, `reached` which one it or a file behind it does, and `behind` the
    texts of those.
    """
    told = [one for path, text in declaring.items() for one in _named(path, text, texts)]
    bodies: dict[DeclaredAgent, str] = {}
    states = states_of(texts)
    served = any(map(_SERVES_FLOWS.search, texts.values()))
    bases = {
        one
        for text in texts.values()
        for names in _BASES.findall(text)
        for one in re.findall(r"\w+", names)
    }
    for path, text in texts.items():
        framework = framework_of(path)
        if path.endswith(".py"):
            made = [one for one in _classes(path, text, framework) if one.found not in bases]
            crews = {*_CREW_BASE.findall(text)} if framework == "CrewAI" else ()
            flows = {*_FLOW.findall(text)} if framework == "CrewAI" else ()
            told += (
                _given(one, texts, declaring) if one.found in {*crews, *flows} else one
                for one in made
            )
            found = _objects(path, text, framework, _PYTHON_CALL, states, texts)
            bodies |= _crews(found, texts, declaring) if framework == "CrewAI" else found
        elif not path.endswith(".go"):
            told += _routes(path, text, texts, reached)
            told += _flows(path, text) if framework == "Genkit" and not served else ()
            bodies |= _objects(path, text, framework, _NODE_CALL, {}, {})
    mastras = Mastras(texts)
    graphs = {(one.file, one.names[1]) for one in told if one.path.endswith(".json")}
    bodies = {one: body for one, body in bodies.items() if (one.file, one.found) not in graphs}
    told += [*_ranked(bodies, texts), *_mastras(mastras)]
    first, through = mastras.first(), mastras.through()
    roots = {dirname(one.path) for one in told if one.found == "root_agent"}
    for one in told:
        within = any(one.path.startswith(f"{root}/") for root in roots if root != dirname(one.path))
        if _TARGET.fullmatch(one.target("")) and not _works_on_data(one, texts, behind):
            score = one.score - 2 * is_aside(one.file) + (one.found in first)
            scored = one._replace(score=max(LEAST, one.score - 10) if within else score)
            yield _through(scored, through)


def _works_on_data(
    agent: DeclaredAgent, texts: Mapping[str, str], behind: Callable[[str], str]
) -> bool:
    """Whether an agent is called after a job on data and may do one: it only answers where nothing
    in its file, and in those that it imports, does more. Of flows and workflows nothing is told.
    """
    if writes_data(splitext(agent.file)[0]):
        return True
    if not any(map(writes_data, (agent.found, agent.names[0]))):
        return False
    text = texts.get(agent.file, "")
    flow = re.search(rf"\bclass {re.escape(agent.found)}\b[^\n]*Flow\b", text)
    program = bool(flow) or agent.framework == "LangGraph"
    return not text or program or acts(f"{text}\n{behind(agent.file)}")


def _named(path: str, text: str, texts: Mapping[str, str]) -> Iterator[DeclaredAgent]:
    """Yield what a file of `DECLARING` names."""
    folder = dirname(path)
    if is_crew_file(path):
        return
    if not path.endswith(".json"):
        name = re.search(r"^name:\s*[\"']?([\w -]+)", text, re.M)
        names = (*([name[1]] if name else []), basename(folder))
        yield DeclaredAgent(path, join(folder, "agent.py"), "", "Google ADK", names, 40)
        return
    try:
        graphs = json.loads(text)["graphs"].items()
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return
    for name, told in graphs:
        where, _, found = str(told.get("path") if isinstance(told, dict) else told).partition(":")
        dotted = where.replace(".", "/")
        module = (f"{dotted}.py", f"{dotted}/__init__.py")
        places = [normpath(join(folder, one)) for one in (where, *module)]
        ends = tuple(f"/{one}" for one in module)
        packaged = (one for one in sorted(texts) if one.endswith(ends) and _is_in(one, folder))
        for file in (one for one in (*places, *packaged) if one in texts):
            named = "" if len(graphs) == 1 else name
            own = texts[file]
            beside = {**dict(given_beside(own, own, texts)), **dict(demanded(own, texts))}
            alone = sum(f"{where}:" in str(other) for _, other in graphs) == 1
            more = tuple(beside.items()) if alone else ()
            yield DeclaredAgent(path, file, named, "LangGraph", (name, found), 40, more=more)
            break


def _is_in(path: str, folder: str) -> bool:
    return not folder or path.startswith(f"{folder}/")


def _classes(path: str, text: str, framework: str) -> Iterator[DeclaredAgent]:
    """Yield root agents, flows, crews and workflows of Python."""
    package = basename(dirname(path))
    if framework == "Google ADK":
        for one in _ROOT_AGENT.finditer(text):
            own = re.search(rf"^{one[2]}\s*=", text, re.M)
            name = _NAMED.search(statement(text, own.start() if own else one.start()))
            called = (name[1] if name else "", package)
            yield DeclaredAgent(path, path, one[1], framework, called, 40)
            return
    kinds = {"CrewAI": ((_FLOW, 36), (_CREW_BASE, 34)), "LlamaIndex": ((_WORKFLOW, 22),)}
    for pattern, score in kinds.get(framework, ()):
        for one in pattern.finditer(text):
            body = statement(text, text.rfind("class ", 0, one.start(1)))
            if not _is_given(body) and not (pattern is _WORKFLOW and _lacks_model(body)):
                yield DeclaredAgent(path, path, one[1], framework, (one[1], package), score)


def _given(
    agent: DeclaredAgent, texts: Mapping[str, str], configs: Mapping[str, str]
) -> DeclaredAgent:
    """Return a crew or a flow with what it is given beside the prompt."""
    text = texts[agent.file]
    flow = re.search(rf"^class {agent.found}\((?:\w+\.)?Flow\b", text, re.M)
    given = (
        given_to_flow(text, flow.start(), texts)
        if flow
        else given_to_crew(agent.found, agent.file, texts, configs)
    )
    return agent._replace(inputs=given.inputs, more=given.more, refused=given.refused)


def _crews(
    found: Mapping[DeclaredAgent, str], texts: Mapping[str, str], configs: Mapping[str, str]
) -> dict[DeclaredAgent, str]:
    """Return crews that modules make with what they are given; one that reads no question is the
    last.
    """
    made = {}
    for one, body in found.items():
        method = "." in one.found  # of an object of its own
        given = Given() if method else given_to_object(one.found, one.file, texts, configs)
        score = LEAST - 12 if given.refused else one.score
        told = one._replace(inputs=given.inputs, more=given.more, refused=given.refused)
        made[told._replace(score=score)] = body
    return made


_MADE = re.compile(r"^[ \t]+def __init__\(\s*self\s*,?([^)]{0,2000})\)", re.M)


def _is_given(body: str) -> bool:
    """Whether a class has to be given something when an object of it is made."""
    made = _MADE.search(body)
    wanted = re.sub(r"#[^\n]*|\[[^\]]*\]", "", made[1]).split(",") if made else []
    return any("=" not in one and one.strip()[:1] not in {"", "*", "/"} for one in wanted)


_OPTIONAL = re.compile(r"\b(llm|model|client|agent|chat_model)\b[^=,]*=\s*None\s*(?:,|$)")


def _lacks_model(body: str) -> bool:
    """Whether what answers is none where a class is not given it, which keeps it as it is."""
    made = _MADE.search(body)
    left = _OPTIONAL.findall(made[1]) if made else []
    return any(re.search(rf"\bself\.\w+\s*=\s*{one}[ \t]*$", body, re.M) for one in left)


def _routes(
    path: str, text: str, texts: Mapping[str, str], reached: Callable[[str], str]
) -> Iterator[DeclaredAgent]:
    """Yield the route that a file is, if it asks a model."""
    found = route_file(path, text, texts)
    queued = found and found.refused and found.refused.why.startswith(BY_EVENT)
    plain = OVER_HTTP if queued or asks_a_model(text) else ""
    framework = found and (reached(path) or plain)
    if found and framework and (found.refused or framework != "CopilotKit"):  # which asks others
        yield DeclaredAgent(
            path,
            path,
            "",
            framework,
            found.names or (basename(dirname(path)),),
            found.score,
            found.inputs,
            found.refused,
            found.more,
        )


def _through(agent: DeclaredAgent, mastras: Mapping[str, OfMastra]) -> DeclaredAgent:
    """Return an agent of a Mastra that it needs as what is asked through that."""
    of = mastras.get(agent.found) if agent.framework == "Mastra" else None
    return agent._replace(path=of.path, found=of.found) if of else agent


def _mastras(found: Mastras) -> Iterator[DeclaredAgent]:
    """Yield each Mastra with one agent."""
    for one in found.alone():
        yield DeclaredAgent(one.path, one.path, one.mastra, "Mastra", (one.key,), 30)


_NODE_FLOW = re.compile(r"^export const (\w+)\s*=\s*(?:\w+\.)?defineFlow\(", re.M)
_MOST_FLOWS = 50
_SERVES_FLOWS = re.compile(r"\b(?:startFlowServer|expressHandler|onCallGenkit|fetchHandlers?)\(")
_NO_TEXT = re.compile(r"\b(?:file|path|url|image|pdf|index|document)", re.I)


def _flows(path: str, text: str) -> Iterator[DeclaredAgent]:
    """Yield the flows of Genkit that a module exports and that take a question."""
    for one in islice(_NODE_FLOW.finditer(text), _MOST_FLOWS):
        about = next(parts(braced(text, one.end())), "")
        asked = question_of_flow(about, text)
        field = (asked.field.partition(".")[2] if asked else "") or "text"
        named = re.search(r"\bname\s*:\s*[\"'`]([^\"'`\n]+)", about)
        called = f"{one[1]} {named[1] if named else ''}"
        if asked and not (writes_data(one[1]) or _NO_TEXT.search(f"{called} {about}")):
            inputs = () if field in {"text", "prompt"} else (field,)
            score = 22 + bool(re.search(r"(?i)chat|agent|ask|qa|answer|question", called))
            yield DeclaredAgent(path, path, one[1], "Genkit", (one[1],), score, inputs)


def _objects(
    path: str,
    text: str,
    framework: str,
    call: re.Pattern[str],
    states: Mapping[str, str],
    texts: Mapping[str, str],
) -> dict[DeclaredAgent, str]:
    """Return what the module makes by a call at its top, or a function that takes nothing makes,
    with the text that makes it. `states` are what graphs keep, with the classes that say so, and
    `texts` are all files.
    """
    makers = (_MAKERS if path.endswith(".py") else _NODE_MAKERS).get(framework)
    found: dict[DeclaredAgent, str] = {}
    if makers is None or (path.endswith(".py") and _READS_AT_IMPORT.search(text)):
        return found
    for one in [*call.finditer(text), *_GRAPH.finditer(text)]:
        name = one[1] or "default"
        body = statement(text, one.start(), node=not path.endswith(".py"))
        body += "".join(_delegations(name, text))
        body += _compiled(one[2], text) if one[2].endswith("compile") else ""
        body += f"\nagents=[{_STEP.findall(text)}" if one[2] == "Workflow" else ""
        kind = one[2].removeprefix("new ")
        made = re.fullmatch(makers, one[2]) or (kind in _FINISHED and _FINISHED[kind] in body)
        elsewhere = made and (
            text.count("\n", 0, one.start()) + 1 in explained_lines(text)
            if path.endswith(".py")
            else _is_of_host(kind, text)
        )
        if made and not elsewhere and _is_exported(path, name, one[0], text):
            agent = _object(path, name, framework, body, 20)
            found[agent._replace(found=_exported_as(path, name, one[0], text))] = body
    for one in _FACTORY.finditer(text) if path.endswith(".py") and not found else ():
        body = statement(text, one.start())
        makes = re.search(rf"\b(?:{makers})[(\[]", body) and gives_agent(body, makers)
        if makes and not _wants(one[2]):
            agent = _object(path, f"{one[1]}()", framework, body, 14)
            worded = _is_filled_in(one[1], text)
            found[agent._replace(score=LEAST - 6) if worded else agent] = body
    found = {
        _unasked(one, others)
        if (others := other_texts(body, text, states, texts)) is not None
        else one._replace(more=(*one.more, *_beside(body, text, states, texts))): body
        for one, body in found.items()
    }
    if _OF_CHATKIT.search(text):
        found = {
            one if _HANDS_ON.search(body) else one._replace(score=LEAST - 6): body
            for one, body in found.items()
        }
    return found or (_instances(path, text, framework) if path.endswith(".py") else {})


def _compiled(call: str, text: str) -> str:
    """Return what is compiled, with the nodes of it."""
    builder = re.escape(call.rpartition(".")[0])
    begun = re.search(rf"^{builder}[ \t]*(?::[^=\n]+)?=[^\n]*\bStateGraph\(", text, re.M)
    made = f"\n{statement(text, begun.start())}" if begun else ""
    return f"{made}\nnodes {_NODES.findall(text)}"


def _beside(
    body: str, text: str, states: Mapping[str, str], texts: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield what a graph is given beside the question."""
    if state := state_of(body, text, states):
        found = {**dict(who_asks(state, text)), **dict(given_beside(body, text, texts))}
        yield from found.items()


def _is_filled_in(factory: str, text: str) -> bool:
    """Whether a command line asks the agent that a function of its own makes, in its own words."""
    used = re.search(rf"(?<!def )\b{factory}\(", text)
    return bool(used and "add_argument(" in text and _F_STRING.search(text))


def _unasked(agent: DeclaredAgent, texts: int) -> DeclaredAgent:
    """Return the agent as the last; it is refused unless one text alone could be the question."""
    return agent._replace(score=LEAST - 6, refused=None if texts == 1 else FIELDS)


def _wants(parameters: str) -> bool:
    """Whether a function has to be given something."""
    return any("=" not in one for one in parameters.split(",") if one.strip())


def _instances(path: str, text: str, framework: str) -> dict[DeclaredAgent, str]:
    """Return methods that take a question, of objects at the module's top of its own classes."""
    found: dict[DeclaredAgent, str] = {}
    for one in _INSTANCE.finditer(text):
        own = re.search(rf"^class {one[2]}\b", text, re.M)
        method = _ANSWERING.search(statement(text, own.start())) if own else None
        if method:
            target = f"{one[1]}.{method[1]}"
            found[DeclaredAgent(path, path, target, framework, (one[1], one[2]), 12)] = ""
    return found


def _delegations(name: str, text: str) -> Iterator[str]:
    """Yield, as hand-overs, the agents that the tools of one run, which Pydantic AI adds to it."""
    for tool in _TOOL.finditer(text):
        if tool[1] == name:
            end = NEXT.search(text, text.find("def ", tool.start()))
            part = text[tool.start() : end.start() if end else len(text)]
            yield f"\ntools, agents=[{', '.join(_RUNS.findall(part))}]"


def _object(path: str, name: str, framework: str, body: str, score: int) -> DeclaredAgent:
    called = _NAMED.search(body)
    needs = framework == "Pydantic AI" and _NEEDS.search(body)
    boxed = re.search(r"\bSandboxAgent\(", body)
    if needs or boxed or (_HELPS.match(name) and not _HANDS_ON.search(body)):
        score = LEAST - 6
    else:
        score += leads(name) + ("tools" in body)
    plain = re.sub(r"^(?:build|create|get|make)_|\(\)$", "", name)
    names = (called[1] if called else "", plain)
    refused = DEPENDENCIES if needs else SANDBOX if boxed else None
    return DeclaredAgent(path, path, name, framework, names, score, refused=refused)


def leads(name: str) -> bool:
    """Whether an object is called as one that leads a program."""
    return bool(_USUAL.fullmatch(name))


def _is_exported(path: str, name: str, line: str, text: str) -> bool:
    if path.endswith(".py") or line.startswith("export"):
        return True
    exported = rf"export\s+(?:default\s+{name}\b|\{{[^}}]*\b{name}\b)"
    old = rf"(?:module\.)?exports(?:\.\w+)?\s*=\s*(?:{name}\b|\{{[^}}]*\b{name}\b)"
    return bool(re.search(rf"^(?:{exported}|{old})", text, re.M))


def _exported_as(path: str, name: str, line: str, text: str) -> str:
    """Return by which name an object is exported."""
    if path.endswith(".py") or line.startswith("export"):
        return name
    alone = rf"^(?:export\s+default|module\.exports\s*=)\s+{name}\s*;?\s*$"
    named = rf"^export\s*\{{[^}}]*\b{name}\b"
    by_default = re.search(alone, text, re.M) and not re.search(named, text, re.M)
    return "default" if by_default else name


def _is_of_host(maker: str, text: str) -> bool:
    """Whether what a module calls to make an agent is imported from what starts agents itself."""
    named = rf"^import\s*\{{[^}}]*(?<![\w.]){re.escape(maker)}\s*[,}}][^\"']*[\"'][^\"'\n]+[\"']"
    found = re.search(named, text, re.M)
    return bool(found and host_of(found[0]))


def _ranked(
    bodies: Mapping[DeclaredAgent, str], texts: Mapping[str, str]
) -> Iterator[DeclaredAgent]:
    """Yield the agents, those that hand on to others first, those that are handed to last.

    One has those as tools whose functions it imports from their files, among `texts`, as its tools.
    """
    functions = {one.path: set(_FUNCTION.findall(texts[one.path])) for one in bodies}
    helping: dict[DeclaredAgent, set[str]] = {}
    for one, body in bodies.items():
        tools = set(re.findall(r"\w+", " ".join(_TOOLS.findall(body)))) - functions[one.path]
        tools &= importing_names(texts[one.path]) if tools else tools
        helping[one] = {path for path, own in functions.items() if own & tools}
    helpers = set().union(*helping.values())
    asked = {
        word
        for body in bodies.values()
        for listed in _HANDS_ON.findall(body)
        for word in re.findall(r"\w+", listed)
    }
    asked |= {name for body in bodies.values() for pair in _AS_TOOL.findall(body) for name in pair}
    nodes = {one for body in bodies.values() for one in re.findall(r"\w+", _nodes_of(body))}
    started = {path: _started(texts[path], bodies) for path in {one.path for one in bodies}}
    for one, body in bodies.items():
        hands_on = any(listed.strip() for listed in _HANDS_ON.findall(body))
        score = one.score + 4 * hands_on - 6 * (one.found in asked and not hands_on)
        score -= 6 * (one.found in nodes and not _nodes_of(body))
        score += 4 * bool(helping[one]) - 6 * (one.path in helpers and not helping[one])
        score += 5 * (started.get(one.path) == one.found)
        yield one._replace(score=score)


_GUARD = re.compile(r"^if __name__ ==", re.M)


def _started(text: str, agents: Iterable[DeclaredAgent]) -> str:
    """Return the one of the agents that a file asks where it is started by itself, "" for none or
    several.
    """
    guard = _GUARD.search(text)
    named = set(re.findall(r"\b(\w+)\.\w+\(", text[guard.end() :])) if guard else set()
    asked = named & {one.found for one in agents}
    return asked.pop() if len(asked) == 1 else ""


def _nodes_of(body: str) -> str:
    """Return the names of what stands in a graph of others, as `_objects` lists them."""
    return body.rpartition("\nnodes ")[2] if "\nnodes " in body else ""
