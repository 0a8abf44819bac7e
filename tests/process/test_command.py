"""The command line: what it says of itself, and what it says when something is wrong."""

from pathlib import Path

import pytest

from sayso.ops.binding import local_hostnames
from tests.process.conftest import Sayso

ANYWHERE = "0.0.0.0"  # noqa: S104 - to be refused, not to be bound
OPTIONS = (
    *("--host", "--port", "--store", "--data", "--expires-in", "--keepalive", "--cors"),
    *("--no-open", "--insecure-no-auth"),
)


@pytest.mark.parametrize("ask", ["--help", "-h"])
def test_help_names_every_option(sayso: Sayso, ask: str) -> None:
    """Design 9: the flags of `sayso demo`, each with a sentence."""
    told = sayso("demo", ask)
    assert told.code == 0
    assert [option for option in OPTIONS if option not in told.out] == []


def test_the_command_alone_says_what_there_is(sayso: Sayso) -> None:
    """A stranger's first try."""
    told = sayso()
    assert told.code == 0
    assert "demo" in told.out


def test_the_version_is_the_packages(sayso: Sayso) -> None:
    """One line for reports of faults."""
    told = sayso("--version")
    assert told.code == 0
    assert told.out.startswith("sayso")
    assert told.out.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--port", "many"], "--port"),
        (["--port", "70000"], "65535"),
        (["--port", "-1"], "--port"),
        (["--host", "192.0.2.1"], "--insecure-no-auth"),
        (["--host", ANYWHERE], "--insecure-no-auth"),
        (["--host", "::"], "--insecure-no-auth"),
        (["--host", "192.0.2.1", "--insecure-no-auth"], "not an address of this machine"),
        (["--host", "no.such.name.invalid"], "not an address of this machine"),
        (["--host", ""], "--host"),
        (["--store", "nowhere"], "sqlite:///"),
        (["--store", ""], "sqlite:///"),
        (["--store", "mysql://user:secret@localhost"], "memory:"),
        (["--store", "sqlite:///no/such/folder/a.db", "--data", "d"], "no folder"),
        (["--data", "taken"], "--data"),
        (["--expires-in", "0"], "0.1"),
        (["--expires-in", "-5"], "0.1"),
        (["--expires-in", "nan"], "0.1"),
        (["--expires-in", "inf"], "0.1"),
        (["--keepalive", "0"], "0.1"),
        (["--cors", "example.org"], "https://app.example.org"),
        (["--cors", "https://example.org/path"], "https://app.example.org"),
        (["--cors", "https://user@example.org"], "https://app.example.org"),
        (["--verbose"], "--verbose"),
        (["stray"], "stray"),
    ],
    ids=" ".join,
)
def test_what_is_wrong_is_said_in_one_line(
    sayso: Sayso, tmp_path: Path, arguments: list[str], said: str
) -> None:
    """What to do about it, exit code 2, no traceback, no secret, and no server."""
    (tmp_path / "taken").write_text("a file")
    told = sayso("demo", "--no-open", "--port", "0", *arguments)
    assert told.code == 2
    assert told.out == ""
    assert told.err.startswith("sayso: ")
    assert told.err.count("\n") == 1
    assert said in told.err
    assert "secret" not in told.err


def test_an_unknown_command_is_one_line_too(sayso: Sayso) -> None:
    """Exit code 2, as for every wrong use."""
    told = sayso("server")
    assert told.code == 2
    assert "server" in told.err
    assert told.err.count("\n") == 1


@pytest.mark.parametrize(
    ("host", "names"),
    [("127.0.0.1", ()), ("::1", ()), ("192.0.2.7", ("192.0.2.7",)), ("box", ("box",))],
)
def test_the_host_that_was_asked_for_is_served(host: str, names: tuple[str, ...]) -> None:
    """Design 7: loopback is served anyway; another host by the name it was given."""
    assert local_hostnames(host) == names


def test_all_addresses_are_served_by_the_names_of_this_machine() -> None:
    """Never by any name: a page that points its own name here must not get in."""
    names = local_hostnames(ANYWHERE)
    assert names
    assert "*" not in names
    assert ANYWHERE not in names
