"""How a program is asked by the words of its command, or on its input, by its text. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import NamedTuple

from gateval.domain.setup.invocation import PROMPT, QUESTION, Invocation
from gateval.domain.setup.node_text import without_comments
from gateval.domain.setup.protocols import starts_itself

SOMEBODY = "gateval"
"""What is typed where a program asks who somebody is."""

_DECORATED = re.compile(r"^@(\w+)\.command\(\s*(?:name=)?(?:[\"']([\w-]+)[\"'])?", re.M)
_FUNCTION = re.compile(r"^(?:async )?def (\w+)", re.M)
_PARSER = re.compile(r"(?:^|\s)(\w+)\s*=\s*\w+\.add_parser\(\s*[\"']([\w-]+)[\"']")
_OF_NODE = re.compile(r"\.command\(\s*[\"'`]([a-z][\w-]*)((?:\s+[<\[][\w.]+[>\]])*)[\"'`]")
_ASKING = re.compile(r"ask|chat|answer|query|prompt|question|talk|run")
_MANAGES = re.compile(
    r"(?i)version|config\w*|init|setup|doctor|serve|server|start|list|ls|show|info|status|health|login"
    r"|logout|auth|install|update|upgrade|clean|clear|reset|delete|remove|add|set|get|export|import"
    r"|migrate|ingest|index|seed|inspect|validate|test|models|tools|plugins|completion|help|demo|\w+-picker"
)
"""How commands are called that look after a program, and are no question to it."""

_TAKES = re.compile(
    rf"\b(?:{QUESTION})\b\s*:|[\"'](?:--)?(?:{QUESTION})[\"']|[<\[](?:{QUESTION})[>\]]"
)


class Subcommand(NamedTuple):
    """A command by the word that calls it, "" where none of them takes a question; `text` is its
    own part of the program. `sure` is False where nothing says that it takes a question.
    """

    name: str
    text: str
    sure: bool = True


def subcommand_of(path: str, text: str) -> Subcommand | None:
    """Return the command that takes a question; None where the program has just one, unnamed."""
    python = path.endswith(".py")
    every = (
        [*_of_decorators(text), *_of_argparse(text)]
        if python
        else [*_of_node(text), *_by_hand(text)]
    )
    found = [one for one in every if not _MANAGES.fullmatch(one.name) or _TAKES.search(one.text)]
    named = [one for one in found if _ASKING.fullmatch(one.name)]
    taking = [one for one in found if _TAKES.search(one.text)]
    if not found:
        return Subcommand("", "", sure=False) if every else None
    return [*named, *taking, found[0]._replace(sure=False)][0]


_SERVING = re.compile(r"serve\w*|start\w*|run\w*|api|web|http")


def starting_command(path: str, text: str) -> Subcommand | None:
    """Return the command of a Python program that starts its server; None where none has to."""
    if not starts_itself(path, text):
        return None
    own = [one for one in _of_decorators(text) if starts_itself(path, one.text)]
    parsed = [one for one in _of_argparse(text) if _SERVING.fullmatch(one.name)]
    return next(iter([*own, *parsed]), None)


def _of_decorators(text: str) -> Iterator[Subcommand]:
    """Those of Typer and Click, whose words matter where there are several, or a group."""
    starts = list(_DECORATED.finditer(text))
    counts = Counter(one[1] for one in starts)
    places = [*(one.start() for one in starts), len(text)]
    for start, (begin, end) in zip(starts, pairwise(places), strict=True):
        owner, part = start[1], text[begin:end]
        group = f"@{owner}.callback(" in text or (f"def {owner}(" in text and ".group(" in text)
        function = _FUNCTION.search(part)
        if owner != "click" and function and (counts[owner] > 1 or group):
            yield Subcommand(start[2] or function[1].replace("_", "-"), part)


def _of_node(text: str) -> Iterator[Subcommand]:
    """Those of commander and yargs, whose arguments may stand behind the name."""
    starts = list(_OF_NODE.finditer(text))
    places = [*(one.start() for one in starts), len(text)]
    for start, (_, end) in zip(starts, pairwise(places), strict=True):
        inline = f".argument('{start[2].strip()}')" if start[2] else ""
        yield Subcommand(start[1], inline + text[start.end() : end])


_WORD = re.compile(
    r"\b(?:const|let|var)\s+(?:(\w+)\s*=\s*process\.argv\[2\]"
    r"|\[\s*(\w+)[^\]\n]*\]\s*=\s*process\.argv\.slice\(2\))"
)
"""How a program of Node keeps its first word."""


def _by_hand(text: str) -> Iterator[Subcommand]:
    """Those of Node that a program tells by its first word itself; what it keeps of the others
    under the name of a question is one.
    """
    kept = _WORD.search(text)
    name = next(filter(None, kept.groups())) if kept else ""
    starts = (
        list(re.finditer(rf"\b{name}\s*===?\s*[\"'`]([a-z][\w-]*)[\"'`]", text)) if name else []
    )
    starts += list(re.finditer(r"\bcase\s+[\"'`]([a-z][\w-]*)[\"'`]\s*:", text)) if name else []
    if len({one[1] for one in starts}) < 2:
        return
    places = [*(one.start() for one in starts), len(text)]
    for start, (_, end) in zip(starts, pairwise(places), strict=True):
        part = text[start.end() : end]
        asked = re.search(rf"\b({QUESTION})\s*=[^=;\n]*(?:\bargs?\b|\brest\b|\bargv\b)", part)
        yield Subcommand(start[1], f".argument('<{asked[1]}>')" if asked else "")


def _of_argparse(text: str) -> Iterator[Subcommand]:
    for variable, name in _PARSER.findall(text):
        own = (line for line in text.splitlines() if f"{variable}.add_argument(" in line)
        yield Subcommand(name, "\n".join(own))


_ASKED_OPTION = re.compile(
    rf"(?:add_argument|@click\.option|typer\.Option|\.(?:requiredOption|option)|\bget\w*Arg)\([^)]{{0,2000}}?"
    rf"[\"'`\s](--(?:{QUESTION}))\b(?!-(?:file\w*|path|dir\w*|folder|json|csv|pdf|template|length)\b)"
)
_PARSED = re.compile(rf"\bparseArgs\([^;]{{0,2000}}?\b({QUESTION}):\s*\{{\s*type:\s*[\"']string")
_NAMED = re.compile(
    r"add_argument\(\s*[\"']([a-z]\w*)[\"'](?![^)]{0,400}\bchoices\s*=)|@click\.argument\(\s*[\"'](\w+)"
    r"|@\w+\.command\([^)]*\)\s*(?:async )?def \w+\(\s*(\w+):(?!\s*bool\b)"
    r"|\.argument\(\s*[\"'`][<\[](\w+)"
)
_PLACED = re.compile(
    r"typer\.Argument\(|sys\.argv\[1|process\.argv\[2\]|process\.argv\.slice\(2\)|\.argv\._\["
)
_ARGUMENT = re.compile(
    r"^[ \t]+(\w+)[ \t]*:[^=\n]{0,200}(?:=[ \t]*|\bAnnotated\[[^\n]{0,200})typer\.Argument\(", re.M
)


_KEPT_AS = re.compile(
    r"^[ \t]*(?:const |let )?[\"']?(\w+)(?:[\"'][ \t]*:|[ \t]*(?::[^=\n]+)?=)[ \t]*(?:[\w.]*\()?"
    r"(?:sys\.argv\[1\]|process\.argv\[2\])",
    re.M,
)
"""The name under which the first argument is kept."""


def arguments_of(path: str, text: str) -> list[str]:
    """Return the names of the arguments of a program, or of the command of it that is asked."""
    chosen = subcommand_of(path, text)
    part = chosen.text if chosen else text
    named = [one[one.lastindex or 0] for one in _NAMED.finditer(part)]
    return [*_ARGUMENT.findall(part), *named, *_KEPT_AS.findall(part)]


_SEVERAL = re.compile(r"\blen\(sys\.argv\)\s*(?:<|!=)\s*[3-9]\b|\blen\(sys\.argv\)\s*<=\s*[2-9]\b")
"""How a program demands more than one argument."""

_READS_JSON = re.compile(
    r"json\.loads?\(\s*(?:sys\.)?(?:stdin|input\(|raw\b|line\b)|\.(?:model_)?validate_json\("
    r"|JSON\.parse\(\s*(?:(?:fs\.)?readFileSync\(\s*(?:0|[\"']/dev/stdin)"
    r"|(?:await )?\w*(?:stdin|input|raw|chunks|line|body)\b)",
    re.IGNORECASE,
)
_READS = re.compile(
    r"(?:(?<![\w.])|(?:[cC]onsole(?:\([^()\n]{0,80}\))?|\bbuiltins)\.)input\((?![^)\n]{0,300}(?i:y/n|yes/no))|\.a?cli_app\(|\.to_cli(?:_sync)?\(|\bPrompt\.ask\(|\bPromptSession\(|(?:click|typer)\.prompt\(|sys\.stdin|readFileSync\(\s*(?:0|[\"']/dev/stdin)|process\.stdin"
    r"|[\"'](?:node:)?readline(?:/promises)?[\"']|[\"'](?:@?inquirer(?:/\w+)?|@clack/prompts)[\"']|\bfileinput\b"
)
_LOOPS = tuple(
    (re.compile(rf"^[ \t]*(?:from|import) (?:{library})\b", re.M), re.compile(loop), end)
    for library, loop, end in (
        ("agents|swarm", r"\brun_demo_loop\(", "quit"),
        ("kani", r"\bchat_in_terminal(?:_async)?\(", "!stop"),
        (r"fast_agent|mcp_agent", r"\.interactive\(", "STOP"),
        ("agency_swarm", r"\.(?:terminal_demo|run_demo)\(", "/exit"),
        ("langroid", r"task\w*\.run(?:_async)?\(\s*\)", "x"),
        ("autogen_agentchat", r"\binput_func\s*=\s*input\b", "exit"),
        ("autogen|ag2", r"\bhuman_input_mode\s*=\s*[\"']ALWAYS[\"']", "exit"),
    )
)
"""Loops that libraries have, which read what a person types, and the word that ends each."""


def loop_of(text: str) -> str:
    """Return the word that ends the loop of a library which a file starts; "" for none."""
    found = (end for library, loop, end in _LOOPS if library.search(text) and loop.search(text))
    return next(found, "")


_ASKS_ALOUD = re.compile(r"(?<![\w.])input\(\s*[fr]?[\"']")
"""How a program asks a person, who types no JSON."""

_ASKED_KEY = re.compile(rf"[\[.][\"']?({QUESTION})\b(?![\"']?\]?[.\[][\"']?content\b)")
"""A key of what is read; `.message.content` is that of a reply."""


_MODE = re.compile(r"\b(?:const|let)\s+(\w+)\s*=\s*\(*\s*process\.argv\[2\][^;\n]{0,200}")
_WORDS = re.compile(r"\b(?:const|let)\s+(\w+)\s*=\s*process\.argv\.slice\(2\)\s*(?:;|\n)")
_DASHED_QUESTION = re.compile(rf"[\"'`]--?(?:{QUESTION})[\"'`]")
_QUESTIONS = re.compile(r"\.question\((?P<said>[^;]{0,300}?\)\s*(?:;|,|$))", re.M)
_YES_OR_NO = re.compile(r"(?i)\by/n\b|\byes/no\b")
_FROM_PERSON = re.compile(r"[\"'](?:node:)?readline(?:/promises)?[\"']|\bprocess\.stdin\b")


@lru_cache(maxsize=1_024)
def without_choices(text: str) -> str:
    """Return the text of a program of Node without what it reads that no question can be: a first
    argument that it does nothing with but compare it, options of other names, and a yes or a no.
    """
    for one in _MODE.finditer(text):
        rest = without_comments(text[: one.start()] + text[one.end() :])
        used = len(re.findall(rf"(?<![\w.\"'`-]){one[1]}\b(?!\s*:)", rest))
        compared = rf"(?<![\w.]){one[1]}\s*[!=]==?\s*[\"'`]|\bswitch\s*\(\s*{one[1]}\s*\)"
        if used and used == len(re.findall(compared, rest)):
            text = rest
            break
    for one in _WORDS.finditer(text):
        rest = without_comments(text[: one.start()] + text[one.end() :])
        options = rf"\b{one[1]}(?:\.(?:findIndex|indexOf|includes|some)\(|\[\w+\s*\+\s*1\])"
        used = len(re.findall(rf"\b{one[1]}\b", rest))
        if used and used == len(re.findall(options, rest)) and not _DASHED_QUESTION.search(rest):
            text = rest
            break
    asks = [one["said"] for one in _QUESTIONS.finditer(text)]
    confirms = bool(asks) and all(map(_YES_OR_NO.search, asks))
    return _FROM_PERSON.sub("", text) if confirms else text


def reads_arguments(text: str) -> bool:
    """Whether a file's text reads the arguments or the standard input of its program."""
    text = without_choices(text)
    wanted = (_PLACED, _NAMED, _PARSED, _ASKED_OPTION, _READS)
    return any(pattern.search(text) for pattern in wanted) or bool(loop_of(text))


def reads_input(text: str) -> bool:
    """Whether a file's text reads standard input or asks for a line."""
    return bool(_READS.search(without_choices(text)) or loop_of(text))


_OF_ENVIRONMENT = re.compile(
    r"(?:(?:os\.getenv|os\.environ\.get)\(\s*[\"']|os\.environ\[\s*[\"']|\bprocess\.env\.)"
    r"((?:(?:USER|AGENT|RESEARCH)_)?(?:TASK|PROMPT|QUERY|QUESTION|TOPIC|GOAL))\b"
)


def variable_asked(text: str) -> str:
    """Return the variable of its environment that holds a program's question, "" for none."""
    names = {one[1] for one in _OF_ENVIRONMENT.finditer(text)}
    return names.pop() if len(names) == 1 and not reads_arguments(text) else ""


def asked_by_words(path: str, text: str) -> Invocation:
    """Return how a program that is no server is asked."""
    text = text if path.endswith(".py") else without_choices(text)
    chosen = subcommand_of(path, text)
    if chosen is None:
        return _asked_in(text)
    asked = _asked_in(chosen.text)
    if chosen.name and not (chosen.sure or asked.words or _READS.search(text)):
        return asked._replace(sure=False)  # a command of another kind, which takes no question
    sure = chosen.sure and (asked.sure or bool(_READS.search(text)))
    words = (*filter(None, [chosen.name]), *asked.words)
    return asked._replace(words=words, sure=sure and bool(chosen.name))


def _asked_in(text: str) -> Invocation:
    for pattern in (_ASKED_OPTION, _PARSED):
        if option := pattern.search(text):
            return Invocation(words=(f"--{option[1].lstrip('-')}", PROMPT), stdin="")
    if _DASHED.search(text) and "add_argument(" not in text:
        return Invocation(words=(f"--{PROMPT}",), stdin="")
    named = list(_NAMED.finditer(text))
    names = [one[one.lastindex or 0] for one in named]
    if named and not (_ASKS.search(text) and not any(re.search(QUESTION, one) for one in names)):
        sure = len(named) == 1 and bool(re.fullmatch(QUESTION, names[0]))
        return Invocation(words=(PROMPT,), stdin="", sure=sure)
    otherwise = [one for one in _KEPT_AS.findall(text) if not re.search(QUESTION, one)]
    if _SEVERAL.search(text) and otherwise == _KEPT_AS.findall(text) and not _READS.search(text):
        return Invocation(sure=False)
    chosen = any(re.search(rf"\b{one}\s*===\s*[\"'`]\w", text) for one in otherwise)  # a mode
    if _PLACED.search(text) and not (otherwise and (chosen or _ASKS.search(text))):
        return Invocation(words=(PROMPT,), stdin="")
    if _READS_JSON.search(text) and _READS.search(text) and not _ASKS_ALOUD.search(text):
        key = _ASKED_KEY.search(text)
        name = key[1] if key else "prompt"
        asked = f'{{"{name}": {{{{ prompt | tojson }}}}}}'
        return Invocation(stdin=None if name == "prompt" else asked, sure=key is not None)
    sure = reads_input(text) and not named and not _confirms(text)
    return Invocation(stdin=_typed(text), sure=sure)


_ASKS = re.compile(
    r"(?<![\w.])input\((?![^\n]{0,200}(?i:y/n|yes/no))|\bconsole\.input\("
    r"|\bPrompt\.ask\((?![^\n]{0,200}(?i:\(y/n\)))|(?:click|typer)\.prompt\("
)
_GOES_ON = re.compile(r"^[ \t]+while\b|^while\b", re.M)
_QUITS = re.compile(r"[\"'](exit|quit|bye|/exit|/quit)[\"']")
_MOST_LINES = 6
_DASHED = re.compile(
    r"\bfor (\w+) in sys\.argv\[1:\][^\n]*\n\s*if \1\.startswith\(\s*[\"']--[\"']\s*\)[^\n]*\n"
    r"\s*\w+\s*=\s*\1\[2:\]"
)
"""How a program takes what stands behind two dashes as its question."""

_LEFT = re.compile(
    r"(?i)press enter (?:for|to (?:use|keep|accept|skip))|leave (?:it )?(?:blank|empty)"
    r"|\(?optional\b|\bor (?:press )?enter\b"
    r"|\b(?:blank|empty|enter) (?:line )?to (?:quit|exit|end|stop|finish|leave|skip)\b"
)
"""What a program says of a line that may stay empty."""

_EMPTY_LEAVES = re.compile(
    r"^[ \t]+if not \w+(?:\.strip\(\))?:\s*(?:print\([^\n]*\)\s*)?(?:break|return)\b", re.M
)
"""How an empty line leaves a loop."""

_LATER = re.compile(
    r"(?i)follow[- ]?up|anything else|\b(?:another|next) (?:question|query|message)\b"
)
"""What a program says of a line that comes after the first answer."""

_SAYS_WHO = re.compile(
    r"(?i)\b(?:session|user|thread|customer|conversation)[ _-]?(?:id|name)\b|\byour name\b"
)
"""What it says of one that names who asks."""


def _confirms(text: str) -> bool:
    """Whether all that a program reads is a yes or a no, or may stay empty."""
    asked = [text[one.end() : one.end() + 200].partition(")")[0] for one in _ASKS.finditer(text)]
    lone = len(_READS.findall(text)) == len(asked)
    return lone and bool(_DECIDES.search(text)) and all(map(_LEFT.search, asked))


_KEPT = re.compile(r"\b(\w+)\s*(?::[^=\n]+)?=\s*\Z")


def _is_number(asks: re.Match[str], text: str) -> bool:
    """Whether a line is read as a number: where it stands, or where its name is used."""
    before = text[max(0, asks.start() - 100) : asks.start()]
    kept = _KEPT.search(before)
    return before.endswith(("int(", "float(")) or bool(
        kept and re.search(rf"\b(?:int|float)\(\s*{kept[1]}\s*\)", text)
    )


def _lines(text: str) -> list[str]:
    """Return what is typed at each place that asks up to the first answer: nothing where that will
    do, a number or some name where it asks for one, else the question.
    """
    lines: list[str] = []
    for one in _ASKS.finditer(text):
        said = text[one.end() : one.end() + 200].partition(")")[0]
        if PROMPT in lines and _LATER.search(said):
            return [*lines, ""] if _EMPTY_LEAVES.search(text) else lines
        who = SOMEBODY if _SAYS_WHO.search(said) else PROMPT
        lines.append("" if _LEFT.search(said) else "1" if _is_number(one, text) else who)
    lines = lines if PROMPT in lines else [PROMPT] * len(lines)
    return lines[:_MOST_LINES]


_LOOP_OF_AGNO = re.compile(r"\.a?cli_app\((?:[^#]{0,600}?\bexit_on\s*=\s*\[([^\]]*)\])?")
"""The loop of Agno, which reads the question itself after all that a program asks before."""


def _who(text: str, one: re.Match[str]) -> str:
    """Return what is typed where a program asks for what is no question: nothing if it may."""
    return "" if _LEFT.search(text[one.end() : one.end() + 200].partition(")")[0]) else SOMEBODY


_FUNCTIONS = re.compile(r"^[ \t]*(?:async )?def ", re.M)
_DECIDES = re.compile(
    r"(?<![\w.])(?:console\.)?input\([^\n]{0,200}((?i:\by/n\b|yes/no)[^\n\"']{0,20})"
)


_USUALLY = re.compile(r"Y/n|(?i:[^\n]*\bdefaults?:? (?:to )?y)")
"""That a yes is usual: the capital, or in words."""

_MENU = re.compile(
    r"\b(\w+)\s*=\s*\(?\s*(?:await\s+)?[\w.]*(?:input|question|ask|prompt)\(\s*f?[\"'`]([^\"'`\n]{0,200})"
)
_CHOOSES = re.compile(r"(?i)\b(?:choose|select|choice|mode|option|number|menu)\b")
_LITERAL = re.compile(r"[\"'`]([^\"'`\n]{1,30})[\"'`]")
_TO_CHAT = r"(?i:chat|ask|interactive|question|talk|conversation)"


_TO_LEAVE = r"(?i:exit|quit|leave|goodbye|end)"


class _Menu(NamedTuple):
    """What is typed at a menu to be asked a question there, how many lines that reads, where it is
    told, and what is typed to leave, "" where the menu comes once or nothing is known to do so.
    """

    chosen: str
    asks: int
    leaves: str


def _menus(text: str) -> Iterator[_Menu]:
    """Yield the menus that a program begins with."""
    for found in _MENU.finditer(text):
        name, said = found.groups()
        held = rf"\b{name}\b(?:\.\w+\(\))*\s*(?:={{2,3}}|in)\s*([^:\n]{{1,200}})"
        known = [one for asked in re.findall(held, text) for one in _LITERAL.findall(asked)]
        if not _CHOOSES.search(said) or len(known) < 2:
            continue
        chosen = _listed(known, _TO_CHAT, text)
        if chosen:
            begun = text[: found.start()]
            inside = begun.rpartition("\n")[2]
            loops = re.findall(r"^([ \t]*)while\b", begun, re.M)
            alone = inside.strip() in {"", "const", "let", "var"}
            again = bool(loops) and alone and len(loops[-1]) < len(inside) - len(inside.lstrip())
            leaves = _listed(known, _TO_LEAVE, text) if again else ""
            yield _Menu(chosen, _asks_there(name, chosen, text), leaves)


def _listed(known: Sequence[str], meant: str, text: str) -> str:
    """Return which of the answers that a menu knows means this, "" if none does."""
    words = (one for one in known if re.fullmatch(meant, one))
    listed = rf"[.):\]][^\n\"'`]{{0,80}}\b{meant}\b"
    numbers = (one for one in known if one.isdigit() and re.search(rf"\b{one}{listed}", text))
    return next(words, "") or next(numbers, "")


_NODE_ASKS = re.compile(r"\.question\(|\b(?:ask|prompt|question)\(\s*[\"'`]")


def _asks_there(name: str, chosen: str, text: str) -> int:
    """Return how many lines the branch reads that an answer to a menu leads to, by how far it is
    indented.
    """
    said = rf"[\"'`]{re.escape(chosen)}[\"'`]"
    tested = rf"(?:\}} else |el(?:se )?)?if\b[^\n]*\b{name}\b[^\n]*{said}[^\n]*"
    begins = rf"^([ \t]*)(?:{tested}|case\s+{said}\s*)[:{{][ \t]*\n"
    branch = re.search(begins, text, re.M)
    if not branch:
        return 0
    ends = re.compile(rf"^[ \t]{{0,{len(branch[1])}}}\S", re.M).search(text, branch.end())
    inside = text[branch.end() : ends.start() if ends else len(text)]
    return len(_ASKS.findall(inside)) or len(_NODE_ASKS.findall(inside))


_NODE_SAYS = re.compile(
    r"(?:\.question|\b(?:ask|prompt|question)\w*)\(\s*[\"'`]([^\"'`]{0,200})[\"'`]"
)
_NUMBERED = re.compile(r"(?i)\b(?:choose|select|choice|option|mode|number)\b[^?]*\d ?[-/] ?\d")


def _chosen_first(text: str) -> list[str]:
    """Return what is typed for the numbers that a program of Node asks for before its question."""
    said = [one[1] for one in _NODE_SAYS.finditer(text)]
    numbered = [*takewhile(_NUMBERED.search, said)]
    return ["1"] * len(numbered) if len(numbered) < len(said) else []


def _typed(text: str) -> str:
    """Return what is typed for a program: a line for each that it asks for, and its word to end."""
    asks = len(_ASKS.findall(text))
    if not asks and (last := loop_of(text)):
        return f"{PROMPT}\n{last}\n"
    end = _QUITS.search(text)
    if menus := list(_menus(text)):
        leaves = next((one.leaves for one in menus if one.leaves), "")
        ends = [end[1]] if end and _GOES_ON.search(text) else []
        left = sum(one.asks for one in menus) if leaves else asks - len(menus)
        lines = [PROMPT] * min(max(1, left), _MOST_LINES)
        return "\n".join(
            [*(one.chosen for one in menus), *lines, *([leaves] if leaves else ends), ""]
        )
    first = _ASKS.search(text)
    before = _FUNCTIONS.split(text[: first.start()])[-1] if first else ""
    decided = _DECIDES.findall(before)
    if decided:  # each asks for a yes or a no before the question
        ends = [end[1]] if end and _GOES_ON.search(text) else []
        chosen = ["y" if _USUALLY.match(one) else "n" for one in decided]
        return "\n".join([*chosen, *_lines(text), *ends, ""])
    if first and (begun := _LOOP_OF_AGNO.search(text, first.end())):
        word = next(iter(_LITERAL.findall(begun[1] or "")), "exit")
        return "\n".join([*(_who(text, one) for one in _ASKS.finditer(text)), PROMPT, word, ""])
    if asks == 1 and end:  # a loop may be one of a graph, and a line too much is read by nobody
        return f"{PROMPT}\n{end[1]}\n"
    if asks == 1 and _GOES_ON.search(text) and _EMPTY_LEAVES.search(text):
        return f"{PROMPT}\n\n"
    lines = _lines(text)
    more = {*lines} > {PROMPT} or len(lines) < asks
    if end and _GOES_ON.search(text) and more and asks <= _MOST_LINES:
        return "\n".join([*lines, end[1], ""])
    if 1 < asks <= _MOST_LINES:
        return "\n".join(lines)
    return PROMPT if asks else "\n".join([*_chosen_first(text), PROMPT])
