"""Services, and commands before and after each trial, beside real candidates."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateval.candidates.isolation.isolation_level import ResourceLimits
from gateval.candidates.team import Candidates
from gateval.domain.manifests.playground import Ready, ServiceSpec
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.trial import Answer, Cause, NoAnswer, Side
from tests.helpers.beside import PYTHON, STORE, STORE_SERVICE, TELL, beside
from tests.helpers.candidates import World, ask, command_agent, ended, no_survivors
from tests.helpers.isolation import isolated_world
from tests.helpers.serving import HTTP, server, warnings
from tests.helpers.users import SAME_USER_TOO

SMALL = ResourceLimits(memory_mib=256, disk_mib=16, files=200, processes=60)
ADD = TELL + "print('seen', tell('add orders'))"
CLEAR = TELL + "tell('clear')"
BOT = command_agent((*PYTHON, "agent.py"))
SERVED = server(command=(*PYTHON, "agent.py", "{port}"))
ADD_SERVED = (
    HTTP
    + TELL
    + """
class Mine(Handler):
    def answer(self, body): self.say(200, {"reply": "seen " + tell("add orders")})
serve(Mine)
"""
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    world.write("store.py", STORE)
    yield world
    assert no_survivors(world.context.run)
    assert world.leftovers() == []


@pytest.fixture(params=["own users", SAME_USER_TOO])
def walled(request: pytest.FixtureRequest) -> Iterator[World]:
    own = request.param == "own users"
    if own and os.geteuid() != 0:
        pytest.skip("users of their own take root")
    with isolated_world(SMALL, own_users=own) as world:
        world.write("store.py", STORE)
        yield world
        assert no_survivors(world.context.run)
        assert world.leftovers() == []


def run(
    world: World, agent: AgentDefinition, trials: int = 1, *, side_by_side: bool = True
) -> list[Answer | NoAnswer]:
    async def main() -> list[Answer | NoAnswer]:
        async with world.http, Candidates(world.context) as candidates:
            if side_by_side:
                asked = (candidates.answer(agent, ask()) for _ in range(trials))
                return list(await asyncio.gather(*asked))
            return [await candidates.answer(agent, ask()) for _ in range(trials)]

    return asyncio.run(main())


def said(results: list[Answer | NoAnswer]) -> list[str]:
    return [one.output if isinstance(one, Answer) else one.reason for one in results]


@pytest.mark.parametrize(("agent", "program"), [(BOT, ADD), (SERVED, ADD_SERVED)])
def test_trials_share_a_service_that_before_resets(
    walled: World, agent: AgentDefinition, program: str
) -> None:
    walled.write("agent.py", program)
    walled.write("clear.py", CLEAR)
    shared = beside(agent, STORE_SERVICE)
    assert sorted(said(run(walled, shared, 3))) == ["seen 1", "seen 2", "seen 3"]
    reset = beside(agent, STORE_SERVICE, before=["clear.py"])
    assert said(run(walled, reset, 3)) == ["seen 1"] * 3


def test_what_resets_shared_services_keeps_trials_apart(world: World) -> None:
    world.write(
        "agent.py",
        TELL + "import time; tell('add o'); time.sleep(0.3); print('seen', tell('add o'))",
    )
    world.write("clear.py", CLEAR)
    agent = beside(BOT, STORE_SERVICE, after=["clear.py"])
    assert said(run(world, agent, 3)) == ["seen 2"] * 3


def test_a_trial_and_what_runs_around_it_share_its_home(walled: World) -> None:
    walled.write(
        "before.py",
        """
        import os, pathlib
        home = pathlib.Path(os.environ["HOME"])
        (home / "data").mkdir()
        (home / "data/db").write_text("fresh")
        assert list(pathlib.Path(os.environ["TMPDIR"]).iterdir()) == []
        """,
    )
    walled.write(
        "agent.py",
        """
        import os, pathlib
        home = pathlib.Path(os.environ["HOME"])
        db = home / "data/db"
        print(db.read_text(), oct(home.parent.stat().st_mode & 0o777))
        db.write_text("used")
        (home / "own").write_text("mine")
        """,
    )
    walled.write(
        "after.py",
        """
        import os, pathlib
        home = pathlib.Path(os.environ["HOME"])
        assert (home / "data/db").read_text() == "used"
        assert (home / "own").read_text() == "mine"
        (home / "data/db").unlink()
        """,
    )
    agent = beside(BOT, before=["before.py"], after=["after.py"])
    assert said(run(walled, agent, 2)) == ["fresh 0o700"] * 2
    assert warnings(walled) == []


def test_another_candidate_cannot_look_into_what_before_made(walled: World) -> None:
    """The folders that a user gave back are closed again before the next one gets them."""
    walled.write("before.py", "import os; open(os.environ['HOME'] + '/db', 'w').write('x')")
    walled.write(
        "agent.py", "import os; print(oct(os.stat(os.path.dirname(os.environ['HOME'])).st_mode))"
    )
    assert said(run(walled, beside(BOT, before=["before.py"]))) == ["0o40700"]


def test_it_cannot_have_a_folder_of_the_gate_closed_or_lent(walled: World) -> None:
    """Attack: `before` puts a link in the place of HOME, to a folder that is the gate's."""
    victim = walled.export / "victim"
    victim.mkdir(mode=0o755)
    (victim / "file").write_text("the gate's")
    walled.write(
        "before.py",
        f"""
        import os
        os.rmdir(os.environ["HOME"])
        os.symlink({str(victim)!r}, os.environ["HOME"])
        """,
    )
    walled.write("agent.py", "print('ran')")
    run(walled, beside(BOT, before=["before.py"], after=["before.py"]))
    assert victim.stat().st_mode & 0o777 == 0o755
    assert (victim.stat().st_uid, (victim / "file").stat().st_uid) == (os.getuid(), os.getuid())


FAILED = "`before` ended with exit code 3. The agent was not asked."


@pytest.mark.parametrize("agent", [BOT, SERVED])
def test_a_before_that_fails_is_the_candidates_failure(
    world: World, agent: AgentDefinition
) -> None:
    world.write("agent.py", HTTP + "serve()" if agent is SERVED else "print('asked')")
    world.write("reset.py", "print('no such table'); raise SystemExit(3)")
    (result,) = run(world, beside(agent, before=["reset.py"]))
    assert isinstance(result, NoAnswer)
    assert (result.reason, result.cause) == (FAILED, Cause.CANDIDATE)
    assert "no such table" in result.detail


def test_a_before_that_is_not_there(world: World) -> None:
    world.write("agent.py", "print('asked')")
    runtime = BOT.runtime.model_copy(update={"before": ("no-such-program",)})
    (result,) = run(world, BOT.model_copy(update={"runtime": runtime}))
    assert isinstance(result, NoAnswer)
    assert result.reason.startswith("`before` could not be run. `no-such-program` was not found.")


@pytest.mark.parametrize(("agent", "program"), [(BOT, ADD), (SERVED, ADD_SERVED)])
def test_an_after_that_fails_is_told_and_nothing_is_carried_on(
    world: World, agent: AgentDefinition, program: str
) -> None:
    """The answer came before it and counts; the services are started anew, so nothing is left."""
    world.write("agent.py", program)
    world.write("clean.py", "import sys; sys.exit('cannot clean up')")
    results = run(world, beside(agent, STORE_SERVICE, after=["clean.py"]), 3, side_by_side=False)
    assert said(results) == ["seen 1"] * 3
    first, count = warnings(world)
    assert first.startswith(
        "`after` ended with exit code 1. It printed: cannot clean up The answer"
    )
    assert count == "`after` failed 3 times."


@pytest.mark.parametrize(("agent", "program"), [(BOT, ADD), (SERVED, ADD_SERVED)])
def test_a_service_that_is_lost_in_a_trial_takes_its_answer_along(
    world: World, agent: AgentDefinition, program: str
) -> None:
    world.write(
        "agent.py",
        program.replace("tell('add orders')", "tell('die 7')").replace(
            'tell("add orders")', 'tell("die 7")'
        ),
    )
    results = run(world, beside(agent, STORE_SERVICE), 7, side_by_side=False)
    assert {getattr(one, "cause", one) for one in results} == {Cause.CANDIDATE}, said(results)
    reasons = said(results)
    assert reasons[0] == "The service `store` ended with exit code 7 while the agent was asked."
    assert reasons[4] == reasons[0]
    assert reasons[5].startswith("Services were lost 5 times without a trial that went well")


def test_a_service_that_is_lost_between_trials_is_replaced(world: World) -> None:
    world.write("agent.py", ADD)
    dying = "import os, signal\nsignal.signal(signal.SIGUSR1, lambda *_: os._exit(4))\n"
    told = "open('pid', 'w').write(str(os.getpid()))\n"
    world.write("store.py", dying + told + STORE)

    async def main() -> list[Answer | NoAnswer]:
        agent = beside(BOT, STORE_SERVICE)
        async with world.http, Candidates(world.context) as candidates:
            first = await candidates.answer(agent, ask())
            os.kill(pid := int((world.export / "pid").read_text()), signal.SIGUSR1)
            await ended(pid)
            return [first, await candidates.answer(agent, ask())]

    assert said(asyncio.run(main())) == ["seen 1", "seen 1"]
    assert warnings(world) == [
        "The service `store` ended with exit code 4 between two trials; the services are started anew."
    ]


def test_a_service_that_does_not_start_says_why(world: World) -> None:
    world.write("agent.py", "print('asked')")
    world.write("store.py", "raise SystemExit('no disk')")
    (result,) = run(world, beside(BOT, STORE_SERVICE))
    assert isinstance(result, NoAnswer)
    assert result.reason == "The service `store` ended with exit code 1 before it was ready."
    assert result.detail[-1] == "no disk"


def test_a_service_that_never_listens_is_told_of_its_port(world: World) -> None:
    world.write("agent.py", "print('asked')")
    world.write("store.py", "import time; time.sleep(60)")
    service = ServiceSpec(
        name="store", command=(*PYTHON, "store.py"), ready=Ready(timeout_seconds=0.3)
    )
    (result,) = run(world, beside(BOT, service))
    assert isinstance(result, NoAnswer)
    assert "hand it over as `{port}` in runtime.services[0].command" in result.reason


def test_addresses_stand_where_they_are_named(world: World) -> None:
    world.write(
        "second.py",
        STORE.replace(
            "import os",
            "import os\nassert os.environ['FIRST'] == os.environ['GATEVAL_SERVICE_STORE']\nimport os",
        ),
    )
    world.write(
        "agent.py",
        "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ['WHERE'], os.environ['GATEVAL_SERVICE_STORE'], os.environ['GATEVAL_SERVICE_OTHER_ONE']]))",
    )
    second = ServiceSpec(
        name="other-one",
        command=(*PYTHON, "second.py", "{port}", "{services.store.port}"),
        env={"FIRST": "{services.store}"},
    )
    agent = beside(command_agent(
        (*PYTHON, "agent.py", "{services.store.host}", "{services.other-one.port}", "{{ prompt }}"),
        env={"WHERE": "redis://{services.store}/0"},
    ), STORE_SERVICE, second)  # fmt: skip

    async def main() -> Answer | NoAnswer:
        async with world.http, Candidates(world.context) as candidates:
            return await candidates.answer(agent, ask("{services.store.port}"))

    (text,) = said([asyncio.run(main())])
    (host, port, prompt), where, first, other = json.loads(text)
    assert (host, f"127.0.0.1:{port}") == ("127.0.0.1", other)
    assert where == f"redis://{first}/0"
    assert prompt == "{services.store.port}"  # what a fixture says is no address


def test_a_service_gets_no_way_to_models_and_no_secret(tmp_path: Path) -> None:
    from tests.helpers.candidates import Door

    door = Door()
    world = World(tmp_path, door=door, environ={"PATH": os.environ["PATH"], "DB_PASSWORD": "x"})
    world.write(
        "store.py",
        "import os; open(os.environ['HOME'] + '/env', 'w').write('\\n'.join(os.environ))\n"
        + STORE.replace('"ok"', "open(os.environ['HOME'] + '/env').read().replace(chr(10), ' ')"),
    )
    world.write("agent.py", TELL + "print(tell('list'))")
    (result,) = run(world, beside(BOT, STORE_SERVICE))
    assert isinstance(result, Answer), result
    assert not {"OPENAI_API_KEY", "DB_PASSWORD"} & set(result.output.split())
    assert len(door.opened) == 1


def test_services_of_one_side_end_before_the_other_sides_start(world: World) -> None:
    world.write("agent.py", ADD)

    async def main() -> list[str]:
        async with world.http, Candidates(world.context) as candidates:
            told = []
            for side in (Side.BASE, Side.HEAD, Side.BASE):
                agent = beside(BOT, STORE_SERVICE).model_copy(update={"side": side})
                told += said([await candidates.answer(agent, ask(side=side))])
                await candidates.rest(side)
                assert no_survivors(world.context.run)
            return told

    assert asyncio.run(main()) == ["seen 1"] * 3


def test_egress_lets_a_candidate_reach_its_services_and_nothing_else() -> None:
    from tests.helpers.isolation import held_here

    held_here()
    with isolated_world(SMALL, own_users=os.geteuid() == 0, ports=[]) as world:
        world.write("store.py", STORE)
        world.write("clear.py", CLEAR)
        world.write("agent.py", TELL + """
import socket
stranger = socket.socket()
stranger.bind(("127.0.0.1", 0)); stranger.listen()
try:
    socket.create_connection(stranger.getsockname(), 2)
    print("out")
except PermissionError:
    print("seen", tell("add orders"))
""")  # fmt: skip
        agent = beside(BOT, STORE_SERVICE, before=["clear.py"])
        assert said(run(world, agent, 2)) == ["seen 1"] * 2
