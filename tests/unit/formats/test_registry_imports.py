"""`plan` imports the registry of formats in every repository: few hold files of other tools."""

from __future__ import annotations

import subprocess
import sys


def test_the_readers_of_other_formats_load_when_they_read() -> None:
    program = (
        "import sys; import gateval.formats.registry;"
        "others = ('agentv.', 'native.experiments.', 'native.kinds.benchmark.');"
        "names = tuple(f'gateval.formats.{one}' for one in others);"
        "print(sorted(m for m in sys.modules if m.startswith(names)))"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert printed.stdout.strip() == b"['gateval.formats.agentv.recognition']"
