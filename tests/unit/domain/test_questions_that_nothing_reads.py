"""Answers that never come, questions that nothing reads, and inputs that stand elsewhere."""

from __future__ import annotations

import json

import pytest

from gateval.domain.setup.crews import NOT_GIVEN
from gateval.domain.setup.platforms import PLATFORM, SANDBOX
from tests.unit.domain.test_handlers import ASK
from tests.unit.domain.test_programs_of_strangers import found
from tests.unit.domain.test_request_models import TOP

SERVER = f"import openai, asyncio\n{TOP}{ASK}"
BEGUN = "@app.post('/ask')\nasync def f(ask: Ask, tasks: BackgroundTasks):\n"


@pytest.mark.parametrize(
    "body",
    [
        "    tasks.add_task(go, ask.question)\n    return {'success': True}\n",
        "    async def go(): ...\n    asyncio.create_task(go())\n    return Begun(job_id=1)\n",
        "    job = go.delay(ask.question)\n    said = {'task_id': job.id, 'message': f'began {job.id}'}\n    return JSONResponse(content=said)\n",
        "    threading.Thread(target=go).start()\n    return jsonify({'status': 'queued'}), 202\n",
    ],
    ids=["task", "coroutine", "job", "thread"],
)
def test_a_route_that_answers_only_that_it_began_is_refused_by_its_file_and_path(body: str) -> None:
    model = "class Begun(BaseModel):\n    job_id: int\n"
    (program,) = found({"main.py": SERVER + model + BEGUN + body})
    assert program.refused
    assert program.refused.why.startswith("takes the question at `/ask` (main.py) and answers only")
    other = "@app.post('/chat')\ndef g(ask: Ask):\n    return {'answer': run(ask.question)}\n"
    (program,) = found({"main.py": SERVER + model + BEGUN + body + other})
    assert (program.invocation.route, program.refused) == ("/chat", None)


@pytest.mark.parametrize(
    "body",
    [
        "    said = await go(ask.question)\n    tasks.add_task(log)\n    return {'message': said}\n",
        "    work = asyncio.create_task(go())\n    return {'status': 'ok', 'answer': await work}\n",
        "    said = await asyncio.create_task(go())\n    return said\n",
    ],
)
def test_a_route_that_waits_for_its_answer_is_asked(body: str) -> None:
    (program,) = found({"main.py": SERVER + BEGUN + body})
    assert (program.invocation.route, program.refused) == ("/ask", None)


GRAPH = """from langgraph.graph import StateGraph
from langchain_core.messages import AIMessage
{imports}
class Health(BaseModel):
    messages: list
    reading: dict
def look(state: Health):
    return {{'reading': measure({read})}}
def make_graph():
    graph = StateGraph(Health)
    graph.add_node("look", look)
    return graph.compile()
"""
PAGE = "import gradio as gr\n{}\ndef draw(): ...\n"


def test_a_graph_whose_nodes_read_no_question_is_refused_as_the_page_that_fills_its_state() -> None:
    silent = GRAPH.format(imports="import gradio as gr", read="state.reading")
    (program,) = found({"desk.py": silent})
    assert (program.path, program.target) == ("desk.py", "")
    assert program.refused
    assert "draws a page with Gradio" in program.refused.why
    files = {
        "graph.py": silent.replace("import gradio as gr", ""),
        "page.py": PAGE.format("import graph"),
    }
    program = found(files)[0]
    assert program.refused
    assert (program.path, "a page with Gradio" in program.refused.why) == ("page.py", True)
    for read in ("state.messages[-1]", "state['messages']", "ask(state)"):
        (program,) = found({"graph.py": GRAPH.format(imports="", read=read)})
        assert (program.target, program.refused) == ("graph.py:make_graph()", None)


FLOW = """from crewai.flow.flow import Flow, start
class Kept(BaseModel):
    topic: str = ""
    audience: str = ""
    post: str = "none"
class Post(Flow[Kept]):
    @start()
    def begin(self):
{body}
"""


@pytest.mark.parametrize(
    ("body", "inputs", "more", "refused"),
    [
        ("        self.state.topic = 'cars'\n        self.state.post = go(self.state.topic)", (), (), NOT_GIVEN),
        ("        return go(self.state.topic)", ("topic",), (), None),
        ("        return go(self.state.audience)", ("audience",), (), None),
        ("        return go(self.state.topic, self.state.audience)", ("topic",), (("audience", '"gateval"'),), None),
        ("        return go(self.state)", (), (), None),
        ("        return go(1)\n    def __init__(self):\n        super().__init__()", (), (), NOT_GIVEN),
        ("        said = \"\"\"\nAll that\n\"\"\"\n        return go(said, self.state.topic)", ("topic",), (), None),
    ],
    ids=["writes its own", "reads one", "reads another", "reads two", "hands on", "makes itself", "at the left"],
)  # fmt: skip
def test_a_flow_is_given_what_its_steps_read_of_its_state_and_refused_where_that_is_nothing(
    body: str, inputs: tuple[str, ...], more: tuple[tuple[str, str], ...], refused: object
) -> None:
    crew = CREW.replace("Plan", "Part")
    flow = FLOW.format(body=body).replace("Flow, start", "Flow, start\nfrom crew import Part")
    program, *others = found({"main.py": flow, "crew.py": crew})
    assert not (refused and others)
    assert (program.inputs, program.more, program.refused) == (inputs, more, refused)


CREW = "from crewai import Crew\nfrom crewai.project import CrewBase\n@CrewBase\nclass Plan:\n    def crew(self):\n        return Crew()\n"
BEGIN = "from desk.crew import Plan, Other\nOther().crew().kickoff(inputs={'other': 'x'})\nPlan().crew().kickoff(inputs={'domain': 'shop.example', 'topic': x})\n"


def test_a_crew_is_given_what_a_program_elsewhere_gives_and_all_that_its_own_files_name() -> None:
    files = {"src/desk/crews/plan/crew.py": CREW, "src/desk/main.py": BEGIN}
    program = next(one for one in found(files) if one.target)
    assert {name: json.loads(said) for name, said in program.more} == {"domain": "shop.example"}
    config = {
        "src/desk/crews/plan/config/tasks.yaml": "a:\n  description: About {topic} in {year} for {domain}.\n"
    }
    program = next(one for one in found({**files, **config}) if one.target)
    more = {name: json.loads(said) for name, said in program.more}
    assert more == {"domain": "shop.example", "year": "2026"}


def test_a_crew_of_tasks_with_texts_of_their_own_is_given_what_they_name() -> None:
    text = "from crewai import Agent, Crew, Task\nwriter = Agent(goal='Write for {audience}')\nwork = Task(description='About {topic}', agent=writer)\ncrew = Crew(agents=[writer], tasks=[work])\ndef main():\n    crew.kickoff(inputs={'topic': 'AI', 'audience': 'all'})\nif __name__ == '__main__':\n    main()\n"
    program = next(one for one in found({"main.py": text}) if one.target)
    assert (program.target, program.more) == ("main.py:crew", (("audience", '"all"'),))
    alone = text.replace("'Write for {audience}'", "f'Write for {audience}'")
    assert next(one for one in found({"main.py": alone}) if one.target).more == ()


SCRIPT = """from crewai import Agent, Crew, Task
about = "cars"
writer = Agent(role="writer", goal="Write", backstory="Wrote much")
{text}
work = Task(description={told}, expected_output="A text", agent=writer)
crew = Crew(agents=[writer], tasks=[work])
{begin}
"""
READ = "tasks = yaml.safe_load(open('config/tasks.yaml'))"


@pytest.mark.parametrize(
    ("text", "told", "config"),
    [
        ("", "'Write about cars'", ""),
        ("", "f'Write about {about}'", ""),
        ("TOLD = 'Write ' 'about cars'", "TOLD", ""),
        (READ, "tasks['work']['description']", "work:\n  description: About {{about}}\n"),
    ],
    ids=["constant", "filled in", "by name", "file"],
)
@pytest.mark.parametrize(
    ("begin", "why"),
    [
        ("result = crew.kickoff()\nprint(result)", "runs its crew while it is imported, and its"),
        ("print(crew.kickoff())", "runs its crew while it is imported, and its"),
        ("if __name__ == '__main__':\n    crew.kickoff()", "has a crew whose"),
    ],
)
def test_a_crew_whose_texts_have_no_place_for_a_question_is_refused(
    text: str, told: str, config: str, begin: str, why: str
) -> None:
    script = SCRIPT.format(text=text, told=told, begin=begin)
    (program,) = found({"write.py": script, **({"config/tasks.yaml": config} if config else {})})
    assert program.refused
    assert program.refused.why.startswith(f"{why} question is written into it")


@pytest.mark.parametrize(
    ("text", "told", "begin", "inputs", "more"),
    [
        ("", "'Write about {topic}'", "crew.kickoff(inputs={'topic': 'cars'})", ("topic",), {}),
        ("", "'Write about {topic} for {who}'", "crew.kickoff(inputs={'topic': 'cars', 'who': 'all'})", ("topic",), {"who": "all"}),
        (READ, "tasks['work']['description']", "crew.kickoff(inputs={'topic': 'cars', 'who': 'all'})", ("topic",), {"who": "all"}),
        ("from told import TOLD", "TOLD", "crew.kickoff()", (), {}),
        ("", "'Write about {topic}'", "if __name__ == '__main__':\n    crew.kickoff(inputs={'topic': 'cars'})", (), {}),
        ("", "f'Write {about} on {{topic}}'", "if __name__ == '__main__':\n    crew.kickoff(inputs={'topic': 'cars'})", (), {}),
    ],
    ids=["one", "two", "file", "elsewhere", "later", "doubled"],
)  # fmt: skip
def test_a_crew_of_a_script_is_given_what_its_texts_have_places_for(
    text: str, told: str, begin: str, inputs: tuple[str, ...], more: dict[str, str]
) -> None:
    config = "work:\n  description: About {topic} for {who}\n"
    files = {"config/tasks.yaml": config} if text == READ else {}
    script = SCRIPT.format(text=text, told=told, begin=begin)
    program = next(one for one in found({"write.py": script, **files}) if one.target)
    assert (program.target, program.inputs, program.refused) == ("write.py:crew", inputs, None)
    assert {name: json.loads(said) for name, said in program.more} == more


def test_a_crew_without_a_place_comes_after_a_program_that_is_asked() -> None:
    script = SCRIPT.format(text="", told="'Write about cars'", begin="")
    ask = f"import openai\n{TOP}{ASK}@app.post('/ask')\ndef f(ask: Ask):\n    return {{'answer': 1}}\n"
    program = found({"write.py": script, "main.py": ask})[0]
    assert (program.path, program.refused) == ("main.py", None)
    asked = SCRIPT.format(
        text="about = input()", told="f'Write about {about}'", begin="crew.kickoff()"
    )
    program = found({"write.py": asked})[0]
    assert (program.path, program.refused) == ("write.py", None)


def test_of_several_files_of_a_platform_the_one_that_asks_a_model_is_named() -> None:
    files = {
        "work/a-stream.ts": "import { streams } from '@trigger.dev/sdk';\nexport const a = streams.define({});\n",
        "work/task.ts": "import { query } from '@anthropic-ai/claude-agent-sdk';\nimport { task } from '@trigger.dev/sdk';\nexport const b = task({ run: async ({ question }) => query({ prompt: question }) });\n",
        "package.json": "{}",
    }
    (program,) = found(files)
    assert program.refused
    assert (program.path, "Trigger.dev" in program.refused.why) == ("work/task.ts", True)


def test_a_server_that_is_written_for_a_newer_python_is_read() -> None:
    body = '@app.post("/ask")\ndef f(ask: Ask):\n    print(f"{ask.question["a"]} {{x}} {"\\n".join(y)}")\n    return {"answer": go(ask.question)}\n'
    (program,) = found({"main.py": f"{SERVER}type Some = int\n{body}"})
    assert (program.invocation.route, program.invocation.answer) == ("/ask", "answer")


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        ('--"What now?"', ("--{{ prompt }}",)),
        ('--ask="What now?" --fast', ("--ask={{ prompt }}", "--fast")),
        ('"What now?"', ("{{ prompt }}",)),
    ],
)
def test_a_question_behind_an_option_is_asked_behind_it(shown: str, words: tuple[str, ...]) -> None:
    text = "import openai, sys\ndef main():\n    go(sys.argv)\nif __name__ == '__main__':\n    main()\n"
    (program,) = found({"main.py": text, "README.md": f"    python main.py {shown}\n"})
    assert program.invocation.words == words


def test_a_command_that_takes_a_sentence_comes_before_equal_agents_of_its_file() -> None:
    text = "import click\nfrom strands import Agent\nreader = Agent(tools=[])\nwriter = Agent(tools=[])\n@click.group()\ndef cli(): ...\n@cli.command()\n@click.argument('query')\ndef explain(query):\n    writer(reader(query))\nif __name__ == '__main__':\n    cli()\n"
    readme = {"README.md": "    uv run main.py explain 'SELECT 1 FROM a WHERE b > 2' > out.txt\n"}
    assert found({"main.py": text})[0].target
    first, *_ = found({"main.py": text, **readme})
    assert first.command[-3:] == ("main.py", "explain", "{{ prompt }}")


def test_events_of_ag_ui_that_a_handler_writes_itself_are_read_as_that() -> None:
    body = "@app.post('/go')\nasync def f(request: Request):\n    body = await request.json()\n    said, run = body['messages'][-1]['content'], body.get('runId', 'r')\n    def tell():\n        yield sse({'type': '%s', 'delta': go(said)})\n    return StreamingResponse(tell(), media_type='text/event-stream')\n"
    for kind, preset in (("TEXT_MESSAGE_CHUNK", "ag-ui"), ("said", "")):
        (program,) = found({"main.py": SERVER + body % kind})
        assert (program.invocation.route, program.invocation.preset) == ("/go", preset)


def test_an_agent_that_a_program_gives_a_sandbox_is_asked_by_that_program() -> None:
    text = "from agents.sandbox import SandboxAgent\ndef build_agent():\n    return SandboxAgent(name='desk', tools=[])\n"
    loop = "def main():\n    while True:\n        go(build_agent(), input('> '))\nif __name__ == '__main__':\n    main()\n"
    (alone,) = found({"agent.py": text})
    assert alone.refused == SANDBOX
    first = found({"agent.py": text + loop})[0]
    assert (first.target, first.refused) == ("", None)


@pytest.mark.parametrize(
    ("asks", "typed"),
    [
        ("input('Base URL (press Enter for x): ')\n    input('Ask: ')", "\n{{ prompt }}"),
        ("input('Enter a session ID: ')\n    input('Ask: ')", "gateval\n{{ prompt }}"),
        ("input('Your name: ')\n    while input('Ask: ') != 'quit': ...", "gateval\n{{ prompt }}\nquit\n"),
        ("input('Your name: ')", "{{ prompt }}"),
        ("input('Ask: ')\n    json.loads(raw)", "{{ prompt }}"),
        ("input('Use it? (y/n, default y): ')\n    input('Ask: ')", "y\n{{ prompt }}\n"),
    ],
)  # fmt: skip
def test_a_line_that_may_be_empty_or_says_who_asks_is_not_the_question(
    asks: str, typed: str
) -> None:
    text = f"import openai\ndef main():\n    {asks}\nif __name__ == '__main__':\n    main()\n"
    (program,) = found({"main.py": text})
    assert program.invocation.stdin == typed


def test_a_question_that_stands_behind_two_dashes_is_asked_so() -> None:
    text = "import openai, sys\ndef main():\n    for arg in sys.argv[1:]:\n        if arg.startswith('--'):\n            task = arg[2:]\n    go(task)\nif __name__ == '__main__':\n    main()\n"
    (program,) = found({"main.py": text})
    assert program.invocation.words == ("--{{ prompt }}",)


def test_a_function_of_appwrite_is_a_platforms_handler() -> None:
    text = "from openai import OpenAI\ndef main(context):\n    said = OpenAI().ask(context.req.body)\n    return context.res.json(said)\n"
    (program,) = found({"src/main.py": text})
    assert program.refused == PLATFORM


def test_an_agent_that_keeps_its_steps_in_restate_is_a_service_of_it() -> None:
    text = "import restate\nfrom langchain.agents import create_agent\nagent = create_agent(middleware=[restate.x()])\n"
    (program,) = found({"desk.py": text})
    assert program.refused
    assert "a service of Restate" in program.refused.why


def test_a_client_of_an_agent_elsewhere_is_none_though_a_library_of_agents_has_it() -> None:
    text = "from a2a.client import A2ACardResolver\nfrom agent_framework.a2a import A2AAgent\ndef main():\n    go(input('> '))\nif __name__ == '__main__':\n    main()\n"
    (program,) = found({"main.py": text})
    assert program.refused
    assert "speaks A2A and runs elsewhere" in program.refused.why


@pytest.mark.parametrize(
    ("second", "words"),
    [("run_id = sys.argv[2]", ()), ("question = sys.argv[2]", ("{{ prompt }}",))],
)
def test_a_program_that_demands_two_numbers_takes_no_question(
    second: str, words: tuple[str, ...]
) -> None:
    text = f"import openai, sys\ndef main():\n    if len(sys.argv) < 3: sys.exit(1)\n    job = sys.argv[1]\n    {second}\nif __name__ == '__main__':\n    main()\n"
    (program,) = found({"main.py": text.replace("job = sys", "question = sys") if words else text})
    why = program.refused.why if program.refused else ""
    assert (program.invocation.words, why[:18]) == (words, "" if words else "takes no question:")


@pytest.mark.parametrize(
    "name", ["DataIngestionFlow", "KnowledgeIndexer", "UploadCrew", "DocumentLoader", "SeedingFlow"]
)
def test_what_is_called_after_a_job_on_data_is_no_agent(name: str) -> None:
    flow = FLOW.format(body="        return go(self.state.topic)").replace("Post", name)
    assert not any(one.target for one in found({"main.py": flow}))
    other = flow.replace(name, "TrainingPlan")
    assert [one.target for one in found({"main.py": other})] == ["main.py:TrainingPlan"]


def test_a_crew_that_is_given_its_model_as_it_is_made_is_asked_by_no_bridge() -> None:
    made = CREW.replace(
        "    def crew(self)",
        "    def __init__(self, llm, **more):\n        self.llm = llm\n    def crew(self)",
    )
    assert not any(one.target for one in found({"crew.py": made}))
    assert any(one.target for one in found({"crew.py": made.replace("llm,", "llm=None,")}))


def test_a_chat_that_a_graph_leads_round_is_left_by_its_word() -> None:
    text = "import openai\ndef main():\n    said = input('You: ')\n    if said == 'exit':\n        return None\n    return answer(said)\nflow = Flow(main, again=main)\nif __name__ == '__main__':\n    flow.run()\n"
    (program,) = found({"main.py": text})
    assert program.invocation.stdin == "{{ prompt }}\nexit\n"
