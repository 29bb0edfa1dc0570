from __future__ import annotations

from gateval.adapters.git.run import clean_environment, global_options


def test_only_harmless_variables_reach_git() -> None:
    given = {
        "PATH": "/bin",
        "HOME": "/home/ada",
        "GIT_CEILING_DIRECTORIES": "/home",
        "GIT_DIR": "/elsewhere/.git",
        "GIT_WORK_TREE": "/elsewhere",
        "GIT_INDEX_FILE": "/elsewhere/index",
        "GIT_OBJECT_DIRECTORY": "/elsewhere/objects",
        "GIT_CONFIG_PARAMETERS": "'core.fsmonitor'='evil'",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_GLOBAL": "/elsewhere/config",
        "GIT_EXTERNAL_DIFF": "evil",
        "GIT_EXEC_PATH": "/elsewhere/libexec",
        "GIT_TRACE": "/elsewhere/trace",
        "LC_ALL": "de_DE.UTF-8",
        "LD_PRELOAD": "evil.so",
        "OPENAI_API_KEY": "secret",
    }
    seen = clean_environment(given)
    assert {name: value for name, value in seen.items() if given.get(name) == value} == {
        "PATH": "/bin",
        "HOME": "/home/ada",
        "GIT_CEILING_DIRECTORIES": "/home",
    }
    assert seen["LC_ALL"] == "C"
    assert seen["GIT_OPTIONAL_LOCKS"] == "0"
    assert seen["GIT_TERMINAL_PROMPT"] == "0"
    assert seen["GIT_NO_REPLACE_OBJECTS"] == "1"


def test_options_for_every_command_disable_hooks_and_monitors() -> None:
    options = global_options()
    assert options[::2] == ["-c"] * (len(options) // 2)
    assert "core.hooksPath=/dev/null" in options
    assert "core.fsmonitor=" in options
