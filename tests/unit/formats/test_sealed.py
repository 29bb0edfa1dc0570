"""Sealed files: with the right key they are manifests; whatever else they are is told plainly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateval.adapters.age import new_identity, opener, seal
from gateval.app.readers import registries
from gateval.domain.manifests.evaluation import SEALED_PROBLEM, with_first_line
from gateval.errors import UsageError
from gateval.formats.base import Parsed, Registries
from gateval.formats.sealed import read_sealed
from gateval.ports.repository import CannotOpen
from tests.helpers.manifests import REGISTRIES

PATH = "evals/held.yaml.age"
SALT = "0123456789abcdef" * 2
(PRIVATE, PUBLIC), (OTHER, OTHER_PUBLIC) = new_identity(), new_identity()
FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: greets}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  assertions: [{type: contains, value: ZANZIBAR}]
"""


def sealed(text: str, path: str = PATH, to: str = PUBLIC) -> bytes:
    return seal(with_first_line(path, SALT, text.encode()), [to])


def read(
    data: bytes, key: str = PRIVATE, path: str = PATH, known: Registries = REGISTRIES
) -> Parsed:
    return read_sealed(path, data, replace(known, unseal=opener({"GATEVAL_IDENTITY": key})))


def told(parsed: Parsed) -> str:
    (problem,) = parsed.problems
    assert parsed.manifests == ()
    assert [one.problem for one in parsed.broken] == [problem]
    return str(problem)


def test_with_the_key_it_is_a_file_of_manifests() -> None:
    parsed = read(sealed(FIXTURE))
    assert parsed.problems == ()
    assert [one.name for one in parsed.manifests] == ["greets"]
    assert parsed.manifests[0].place.line == 3, "as in the plain file"
    assert parsed.salt == SALT
    both = seal(with_first_line(PATH, SALT, FIXTURE.encode()), [OTHER_PUBLIC, PUBLIC])
    assert read(both, OTHER).manifests == read(both).manifests == parsed.manifests


def test_without_a_key_it_is_locked_and_not_wrong() -> None:
    parsed = read_sealed(PATH, sealed(FIXTURE), REGISTRIES)
    assert parsed.locked
    assert (parsed.manifests, parsed.problems) == ((), ())
    assert not parsed.empty, "so that it is known as a file of manifests, and no candidate gets it"


def test_a_wrong_key() -> None:
    assert "is sealed for others" in told(read(sealed(FIXTURE, to=OTHER_PUBLIC)))


def test_another_file_under_its_name() -> None:
    other = sealed(FIXTURE, path="evals/easy.yaml.age")
    assert "was sealed as evals/easy.yaml.age" in told(read(other))


def test_a_file_that_does_not_say_which_it_is() -> None:
    assert "Seal it with `gateval seal`" in told(read(seal(FIXTURE.encode(), [PUBLIC])))


def test_every_cut_and_every_changed_byte_is_told() -> None:
    data = sealed(FIXTURE)
    for length in range(0, len(data) - 30, 7):
        assert "is damaged" in told(read(data[:length])), length
    for at in range(60, len(data) - 60, 11):
        byte = b"A" if data[at : at + 1] != b"A" else b"B"
        said = told(read(data[:at] + byte + data[at + 1 :]))
        assert "is damaged" in said or "is sealed for others" in said, at


@pytest.mark.parametrize("data", [b"", b"\0" * 100, b"age-encryption.org/v1\n", b"not sealed"])
def test_what_is_no_sealed_file(data: bytes) -> None:
    assert "is damaged" in told(read(data))


def test_what_is_wrong_inside_is_told_without_its_words() -> None:
    wrong = FIXTURE.replace("contains, value", "ZANZIBAR, quokka")
    parsed = read(sealed(wrong))
    for text in (told(parsed), str(parsed.broken)):
        assert "ZANZIBAR" not in text
        assert "quokka" not in text
    assert told(parsed) == f"{PATH}:6:23: {SEALED_PROBLEM}"


AGENT = "apiVersion: gateval/v1\nkind: Agent\nmetadata: {name: a}\nspec: {models: [openai/a]}\n"
FILE = "messages: [{role: user, content: [{type: file, path: PATH}]}]"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (AGENT, "this Agent belongs outside"),
        (
            FIXTURE.replace("payload: {prompt: Hello}", FILE.replace("PATH", "../secret.txt")),
            "beside or below it only",
        ),
        (FIXTURE.replace("spec:", "spec:\n  cases: {file: a.csv}"), "Cases of a file"),
        ("a: 1\n", "no manifest in what is sealed"),
    ],
)
def test_what_may_not_be_sealed(text: str, why: str) -> None:
    assert why in told(read(sealed(text)))


def test_a_file_below_may_be_named() -> None:
    text = FIXTURE.replace("payload: {prompt: Hello}", FILE.replace("PATH", "files/a.txt"))
    assert read(sealed(text)).problems == ()


def test_keys_that_are_none() -> None:
    assert opener({}) is None
    assert opener({"GATEVAL_IDENTITY": " "}) is None
    with pytest.raises(UsageError, match="holds no key"):
        opener({"GATEVAL_IDENTITY": PUBLIC})
    with pytest.raises(UsageError, match="check sum is wrong"):
        opener({"GATEVAL_IDENTITY": PRIVATE[:-1] + ("Q" if PRIVATE[-1] != "Q" else "P")})
    with pytest.raises(UsageError, match="no public key"):
        seal(b"", [PUBLIC[:-1] + ("q" if PUBLIC[-1] != "q" else "p")])


def test_several_keys_each_open_their_own() -> None:
    unseal = opener({"GATEVAL_IDENTITY": f"# mine\n{OTHER}\n{PRIVATE}\n"})
    assert unseal is not None
    assert unseal(seal(b"one", [PUBLIC])) == b"one"
    assert unseal(seal(b"two", [OTHER_PUBLIC])) == b"two"
    stranger = new_identity()[1]
    with pytest.raises(CannotOpen, match="sealed for others"):
        unseal(seal(b"three", [stranger]))


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("[sh]", False),
        ("[python3, -]", False),
        ('[python3, -m, pytest, -q, "{playground}/tests"]', False),
        ("[node, app.js, --strict]", False),
        ('[sh, -c, "grep ZANZIBAR out.txt"]', True),
        ("[grep, -q, ZANZIBAR, out.txt]", True),
        ("[curl, --data=ZANZIBAR]", True),
        ("[python3, -c, print(42)]", True),
    ],
)
def test_words_of_a_command_that_others_could_see(command: str, told: bool) -> None:
    asked = f"{{type: commandResult, command: {command}}}"
    text = FIXTURE.replace("{type: contains, value: ZANZIBAR}", asked)
    text = text.replace("spec:\n", "spec:\n  playground: {}\n")
    parsed = read(sealed(text), known=registries())
    assert [one.name for one in parsed.manifests] == ([] if told else ["greets"])
    said = [str(one) for one in parsed.problems]
    assert all("stand in the list of processes" in one for one in said), said
    assert bool(said) is told
    nested = text.replace(asked, f"{{type: not, assertions: [{asked}]}}")
    assert bool(read(sealed(nested), known=registries()).problems) is told
