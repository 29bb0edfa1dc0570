"""What a README has people do and have before its program answers."""

from __future__ import annotations

import pytest

from gateval.domain.setup.prerequisites import told_before
from gateval.domain.setup.starter import said_of
from tests.unit.domain.test_programs_of_strangers import found

LIST = """# Desk

## 📋 **Prerequisites**

- Python 3.10+ and [uv](https://docs.astral.sh/uv/)
- **Docker** (to run Qdrant)
* A [Tavily API key](https://tavily.com)
1. Node.js 18
- OpenAI API key
- [ ] An `AWS` account with _Bedrock_ access; see DESK_MODE_ID
- LangGraph
- LangSmith account (optional)

## Use

- Ask it something
"""


def test_what_a_readme_lists_as_needed_is_told_but_for_what_a_set_up_and_the_gate_have() -> None:
    assert told_before(LIST) == (
        "Docker (to run Qdrant)",
        "A Tavily API key",
        "An AWS account with Bedrock access; see DESK_MODE_ID",
    )


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("docker compose up -d qdrant", "`docker compose up -d qdrant`"),
        ("$ ollama pull llama3.2  # once", "`ollama pull llama3.2`"),
        ("docker run -p 6333:6333 \\\n  -v x:/y qdrant/qdrant", "`docker run … qdrant/qdrant`"),
        ("npx playwright install chromium", "`npx playwright install chromium`"),
        ("npm run build", None),
        ("npx prisma migrate dev", "`npx prisma migrate dev`"),
        ("aws configure", "`aws configure`"),
        ("docker compose up --build", None),
        ("docker run --env-file .env desk-agent", None),
        ("pip install -r requirements.txt", None),
        ("python examples/01_skills_loader.py", None),
        ("python scripts/deploy.py", None),
        ("npm create voltagent-app@latest", None),
        ("git clone https://github.com/x/setup", None),
    ],
)
def test_commands_that_prepare_are_told(line: str, told: str | None) -> None:
    readme = f"# Desk\n\n```bash\n{line}\n```\n\n```python\nollama pull x\n```\n"
    assert told_before(readme) == ((told,) if told else ())


def test_the_nearest_readme_says_what_is_wanted_but_for_keys_that_are_named_anyway() -> None:
    program = (
        "import openai, os\nKEY = os.environ['TAVILY_API_KEY']\nprint(openai.x(input('> ')))\n"
    )
    items = "".join(f"- Thing {number}\n" for number in range(5))
    files = {
        "desk/main.py": program,
        "desk/README.md": f"# Desk\n\n## Requirements\n- A Tavily API key\n- openai - its client\n{items}\n```\npython main.py\n```\n",
        "README.md": "# All\n\n## Requirements\n- Kubernetes\n",
    }
    (first,) = found(files)
    assert first.wants == tuple(f"Thing {number}" for number in range(5))
    said = " ".join(said_of(first))
    assert "Its README wants before it: Thing 0; Thing 1; Thing 2; Thing 3; …" in said
    (first,) = found({**files, "desk/README.md": "# Desk\n"})
    assert first.wants == ()


def test_what_a_readme_says_is_cut_between_words_and_shows_no_marks_of_control() -> None:
    (one,) = told_before(f"## Requirements\n- A\u202e \x1b[31m{'word ' * 40}\n")
    assert (one.isprintable(), one.endswith("…"), len(one) <= 71) == (True, True, True)
