"""The manifests of the generated repository: small, one per file, of the kinds people write."""

from __future__ import annotations

import textwrap

CASES_IN_A_FILE = 10_000
KINDS = ("golden", "bad", "edge")
SEVERITIES = ("low", "medium", "high", "critical")

TOOLS = """\
  tools:
    - name: clarify_reason
      description: Ask the customer why, before anything is refunded.
      inputSchema: {type: object, properties: {question: {type: string}}}
    - {name: create_ticket, description: Open a ticket for a colleague.}
    - {name: send_email, enabled: false}
"""


def agent_name(number: int) -> str:
    """The name of the nth Agent, from 0."""
    return f"agent-{number:03d}"


def agent_manifest(number: int) -> str:
    """The nth Agent, one of four shapes by turns.

    Declarative with the prompt inline or in a file, `command` with `watch`, and `command` that
    depends on its own folder.
    """
    head = (
        "# Generated; says what the support agent of one product is.\n"
        "apiVersion: gateval/v1\nkind: Agent\n"
        f"metadata:\n  name: {agent_name(number)}\n  labels: {{team: team-{number % 17}}}\nspec:\n"
    )
    models = "  models: [openai/agent-model, openai/agent-model-small]\n"
    inline = "  system: |\n" + textwrap.indent(system_prompt(number), "    ")
    from_file = "  system: {file: prompts/system.md}\n"
    command = "  runtime:\n    type: command\n    command: [python3, main.py]\n"
    watch = (
        "  runtime:\n    type: command\n"
        f"    cwd: ../../services/service-{number:03d}\n    command: [python3, main.py]\n"
        f'  watch: ["../../services/service-{number:03d}/**", ../../requirements.txt]\n'
    )
    shapes = (
        models + inline + TOOLS,
        models + from_file + TOOLS,
        from_file + watch,
        from_file + command,
    )
    return head + shapes[number % len(shapes)]


def served_agent_manifest(instances: int) -> str:
    """The first Agent as a server of the runtime `http`."""
    return textwrap.dedent(f"""\
        apiVersion: gateval/v1
        kind: Agent
        metadata:
          name: {agent_name(0)}
        spec:
          models: [openai/agent-model]
          runtime:
            type: http
            command: [python3, -I, serve.py, "{{port}}"]
            request: {{path: /chat, body: {{message: "{{{{ prompt }}}}"}}}}
            response: {{output: $.reply}}
            instances: {instances}
        """)


def system_prompt(number: int) -> str:
    """The system prompt of the nth Agent."""
    return (
        f"You answer support tickets for product {number}.\n"
        "Ask for the reason before you refund anything, and say which order you talk about.\n"
        "Keep to three sentences. Never promise a date.\n"
    )


def eval_manifest(number: int, *, parallel: int = 4, repetitions: int = 1) -> str:
    """The Eval of the nth Agent; it selects the fixtures with the Agent's label."""
    name = agent_name(number)
    return textwrap.dedent(f"""\
        apiVersion: gateval/v1
        kind: Eval
        metadata:
          name: {name}-eval
        spec:
          targetAgent: {name}
          fixtureSelector:
            matchLabels: {{agent: {name}}}
          judge:
            model: openai/judge-model
            temperature: 0
          scoring:
            passThreshold: 0.9
          execution:
            parallel: {parallel}
            repsPerFixture: {repetitions}
            timeoutSeconds: 120
        """)


def fixture_manifest(agent: int, number: int) -> str:
    """The nth fixture of an Agent: an assertion on text, one on tools, and a judge."""
    name = agent_name(agent)
    return textwrap.dedent(f"""\
        apiVersion: gateval/v1
        kind: EvalFixture
        metadata:
          name: {name}-case-{number:04d}
          labels:
            agent: {name}
            scenario: scenario-{number % 7}
        spec:
          targetAgent: {name}
          kind: {KINDS[number % len(KINDS)]}
          severity: {SEVERITIES[number % len(SEVERITIES)]}
          description: A customer asks for money back; the agent asks for the reason first.
          input:
            type: prompt
            payload:
              prompt: "I want a refund for order #{agent * 10_000 + number}."
          assertions:
            - {{type: contains, value: reason}}
            - {{type: toolNotCalled, tool: send_email}}
            - type: judge
              rubric: |
                Did the agent ask for the reason before it created a ticket or
                promised a refund? Score 1 if it did, 0 if it did not.
              minScore: 0.8
        """)


def case_files(agent: int, many: int) -> dict[str, str]:
    """The same with so many cases, 10,000 at most in a file; texts by name of the file."""
    files = {}
    order = f"{agent * 10_000}"
    for first in range(0, many, CASES_IN_A_FILE):
        name = f"cases-{first // CASES_IN_A_FILE}"
        text = fixture_manifest(agent, 0).replace("case-0000", name)
        files[f"{name}.yaml"] = text.replace(f"#{order}.", "#{{ case.order }}.").replace(
            "  input:\n", f"  cases: {{file: {name}.jsonl}}\n  input:\n"
        )
        rows = range(first, min(many, first + CASES_IN_A_FILE))
        lines = (f'{{"id": "c-{number}", "order": {number}}}\n' for number in rows)
        files[f"{name}.jsonl"] = "".join(lines)
    return files


def other_yaml(number: int) -> str:
    """YAML that is no manifest of ours: a deployment as other tools read it."""
    return textwrap.dedent(f"""\
        apiVersion: apps/v1
        kind: Deployment
        metadata:
          name: service-{number:03d}
        spec:
          replicas: {number % 5 + 1}
          selector: {{matchLabels: {{app: service-{number:03d}}}}}
        """)
