"""The shop with an Agent that is a program in JavaScript, for what is about processes."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.github_shop import GitHubShop
from tests.servers.github.server import GitHubServer
from tests.servers.github.state.pull import Pull

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: support}
spec:
  runtime: {type: command, command: [node, agent.js]}
"""
FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: greets, labels: {agent: support}}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  assertions:
    - {type: contains, value: Hello}
    - {type: contains, value: secret kept}
"""
PROGRAM = """\
let seen = 'kept'
try { seen = require('node:fs').readFileSync('SECRET', 'utf8') } catch {}
const answer = `Hello, I am user ${process.getuid()}, secret ${seen}.`
setTimeout(() => console.log(answer), 0)
"""
SLOWLY = (", 0)", ", 60_000)")
RUDELY = ("Hello, I am", "What? I am")


class ProgramShop(GitHubShop):
    """`secret` is a file that the Agent tries to read; its answer says whether it could."""

    def __init__(self, server: GitHubServer, folder: Path, secret: Path) -> None:
        super().__init__(server, folder)
        self._program = PROGRAM.replace("SECRET", str(secret))
        self.work.delete("agents/prompts")
        self.work.write("agents/agent.js", self._program)
        self.work.write("agents/support.yaml", AGENT)
        self.work.write("evals/fixtures.yaml", FIXTURE)
        self.work.commit()
        self.push("main")

    def change(self, edit: tuple[str, str] = ("\n", "\n\n")) -> Pull:
        """Open a pull request in which one text of the program is another; by default a blank line."""
        self.work.branch("change", "main")
        assert edit[0] in self._program
        self.work.write("agents/agent.js", self._program.replace(*edit))
        self.work.commit()
        self.push()
        return self.repo.open_pull("change", by=self.ada)
