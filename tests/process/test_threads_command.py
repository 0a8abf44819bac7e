"""Threads from a terminal: listed, shown, stopped, begun anew, against a store or an app."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from sayso import Sayso as App
from sayso import ServerOptions, Turn
from sayso.base.records import Principal
from sayso.cli.output import colour, plain
from sayso.protocol.runinput import read_run_input
from sayso.stores.sqlite.store import SqliteStore
from tests.process.conftest import Sayso
from tests.stores.backends import opened

AGENTS = '''
from sayso import Breakpoints, Sayso, ServerOptions, Turn, approval

app = Sayso(store="sqlite:///desk.db", server=ServerOptions(console=False))
quiet = Sayso(store="memory:", server=ServerOptions(console=False))

@app.tool(approval=approval.always)
async def pay(amount: float) -> str:
    """Pay."""
    return "paid"

@app.tool()
async def look() -> str:
    """Look."""
    return "seen"

@app.agent("clerk", version="2", breakpoints=Breakpoints(before=["wire"], after=["end"]))
async def clerk(turn: Turn) -> None:
    """Pays, and asks before.

    More.
    """
    await turn.call(look)
    await turn.call(pay, amount=7.0)
'''


async def old_clerk(turn: Turn) -> None:
    """The code that began the threads, which is not what is deployed now."""
    await turn.set("/seen", True)
    await turn.step.options(name="peek")(lambda: "seen")
    await turn.interrupt("confirmation", "Pay \x1b[31mnow\x1b[0m?", expires_in=3600)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with agents, and a store with two threads."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("SAYSO_STORE", raising=False)
    monkeypatch.delitem(sys.modules, "desk_app", raising=False)  # of another folder
    (tmp_path / "desk_app.py").write_text(AGENTS)
    return tmp_path


def began(folder: Path, *threads: str) -> None:
    """Let threads of ann's wait, as another process has left them."""
    asyncio.run(_begin(folder, threads))


async def _begin(folder: Path, threads: tuple[str, ...]) -> None:
    app = App(store=f"sqlite:///{folder / 'desk.db'}", server=ServerOptions(console=False))
    app.agent("clerk")(old_clerk)
    async with app.lifespan():
        for thread in threads:
            body = {"threadId": thread, "runId": "r", "messages": [_said("go")]}
            request = read_run_input(body, app.server.limits)
            reader = await app._engine.requests.run("clerk", request, Principal(subject="ann"))
            while await reader.next_chunk() is not None:
                pass


def _said(text: str) -> dict[str, Any]:
    return {"id": f"m-{text}", "role": "user", "content": text}


async def _decided(folder: Path, interrupt_id: str) -> tuple[str | None, str | None]:
    async with opened(SqliteStore(folder / "desk.db")) as store:
        found = await store.interrupt("default", interrupt_id)
    assert found is not None
    return found.interrupt.decided_by, found.interrupt.channel


STORE = ("--store", "sqlite:///desk.db")


def test_threads_are_listed_in_columns_and_as_json(sayso: Sayso, folder: Path) -> None:
    """All owners of a scope; a plain pipe has no colours."""
    began(folder, "t-1", "t-2")
    told = sayso("threads", *STORE)
    assert told.code == 0
    head, *rows = told.out.splitlines()
    assert head.split() == ["THREAD", "AGENT", "STATUS", "OPEN", "OWNER", "ACTIVE"]
    assert {tuple(row.split()[:5]) for row in rows} == {
        ("t-1", "clerk", "suspended", "1", "ann"),
        ("t-2", "clerk", "suspended", "1", "ann"),
    }
    assert "\x1b" not in told.out
    page = json.loads(sayso("threads", *STORE, "--json", "--limit", "1").out)
    (first,) = page["items"]
    rest = json.loads(sayso("threads", *STORE, "--json", "--cursor", page["nextCursor"]).out)
    assert {first["threadId"], rest["items"][0]["threadId"]} == {"t-1", "t-2"}
    for more, scope in (
        (("--status", "finished"), "default"),
        (("--owner", "bob"), "default"),
        (("--scope", "other"), "other"),
    ):
        none = sayso("threads", *STORE, *more).out
        assert none == f"No threads in scope '{scope}'; --scope names that of another tenant.\n"


def test_one_thread_is_shown_with_what_it_waits_for(sayso: Sayso, folder: Path) -> None:
    """State, journal, questions; what a stranger wrote moves no cursor."""
    began(folder, "t-1")
    told = sayso("show", "t-1", *STORE)
    assert told.code == 0
    for line in ("thread   t-1, of ann", "agent    clerk, version 1", "status   suspended"):
        assert line in told.out
    assert 'state    {"seen":true}' in told.out
    assert "Pay \\u001b[31mnow\\u001b[0m?" in told.out
    assert "\x1b" not in told.out
    assert "peek" in told.out
    shown = json.loads(sayso("show", "t-1", *STORE, "--json").out)
    assert (shown["owner"], shown["values"]) == ("ann", {"seen": True})
    assert shown["interrupts"][0]["message"] == "Pay \x1b[31mnow\x1b[0m?"


def test_a_thread_is_stopped_by_who_sits_at_the_terminal(sayso: Sayso, folder: Path) -> None:
    """Design 9: against a store; a second time there is nothing to stop, which is no success."""
    began(folder, "t-1")
    (asked,) = json.loads(sayso("show", "t-1", *STORE, "--json").out)["interrupts"]
    told = sayso("stop", "t-1", *STORE)
    assert (told.code, told.out) == (0, "Stopped t-1.\n")
    again = sayso("stop", "t-1", *STORE)
    assert (again.code, again.out) == (1, "t-1 does nothing that could be stopped.\n")
    assert '"cancelled"' in sayso("show", "t-1", *STORE, "--json").out
    by, channel = asyncio.run(_decided(folder, asked["id"]))
    assert channel == "terminal"
    assert by not in (None, "ann")


def test_what_is_old_is_purged_by_who_sits_at_the_terminal(sayso: Sayso, folder: Path) -> None:
    """What waits stays, and so does what was active since; the trail says who did it."""
    began(folder, "t-1", "t-2")
    sayso("stop", "t-1", *STORE)
    assert json.loads(sayso("purge", "--before", "2020-01-01", *STORE, "--json").out) == {
        "removed": 0,
        "erased": 0,
    }
    told = sayso("purge", "--before", "2999-12-31", *STORE)
    assert (told.code, told.out) == (0, "Threads and approvals removed: 1. Trails emptied: 1.\n")
    (left,) = json.loads(sayso("threads", *STORE, "--json").out)["items"]
    assert left["threadId"] == "t-2"
    rows = json.loads(sayso("audit", "t-1", *STORE, "--json").out)
    assert rows["intact"] is True
    listed = [(row["kind"], row.get("erased", False)) for row in rows["items"]]
    gone = ["asked", "stopped", "cancelled", "deleted"]
    assert listed == [*((kind, True) for kind in gone), ("erased", False)]


def test_what_belongs_to_no_thread_is_printed(sayso: Sayso, folder: Path) -> None:
    """Once something has been noted: who exported the trail, by the command as well."""
    began(folder, "t-1")
    assert sayso("audit", "--tenant", *STORE).out == "Nothing is noted yet.\n"
    sayso("audit", "--follow", str(folder / "trail.jsonl"), "--once", *STORE)
    told = sayso("audit", "--tenant", *STORE)
    assert told.code == 0
    assert "exported" in told.out
    assert "sayso:command, by command" in told.out
    assert "1 rows, intact" in told.out
    assert sayso("audit", *STORE).code == 2
    assert sayso("audit", "t-1", "--tenant", *STORE).code == 2


def test_a_turn_is_begun_anew_with_the_code_of_now(sayso: Sayso, folder: Path) -> None:
    """Design 3 rule 9: what it had run is named first, and repeated only when that is wanted."""
    began(folder, "t-1")
    refused = sayso("restart", "t-1", "--app", "desk_app:app")
    assert refused.code == 2
    assert "has run peek, and may run it again: add --yes" in refused.err
    told = sayso("restart", "t-1", "--app", "desk_app:app", "--yes")
    assert (told.code, told.out) == (0, "Restarted t-1: it waits for 1 answer.\n")
    shown = json.loads(sayso("show", "t-1", "--app", "desk_app:app", "--json").out)
    assert (shown["metadata"]["version"], shown["next"]) == ("2", ["pay"])
    assert [i["metadata"]["sayso"]["tool"] for i in shown["interrupts"]] == ["pay"]


def test_agents_are_those_of_an_app_or_of_a_store(sayso: Sayso, folder: Path) -> None:
    """With their tools; or how many threads they have, and how many of those wait."""
    began(folder, "t-1", "t-2")
    told = sayso("agents", "desk_app:app")
    assert told.out.splitlines()[1].split() == [
        *("clerk", "2", "pay", "look", "before", "wire,", "after", "end"),
        *("Pays,", "and", "asks", "before."),
    ]
    (declared,) = json.loads(sayso("agents", "desk_app:app", "--json").out)["items"]
    assert [tool["name"] for tool in declared["tools"]] == ["pay", "look"]
    assert sayso("agents", *STORE).out.splitlines()[1].split() == ["clerk", "2", "2", "0"]
    stored = json.loads(sayso("agents", *STORE, "--json").out)
    assert stored == {"items": [{"name": "clerk", "threads": 2, "waiting": 2, "running": 0}]}


def test_the_store_may_come_from_the_surroundings(
    sayso: Sayso, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SAYSO_STORE, or an app's own."""
    began(folder, "t-1")
    monkeypatch.setenv("SAYSO_STORE", "sqlite:///desk.db")
    assert "t-1" in sayso("threads").out
    monkeypatch.delenv("SAYSO_STORE")
    assert "t-1" in sayso("threads", "--app", "desk_app:app").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["threads"], "there is no store 'sayso.db'"),
        (["threads", "--store", "sqlite:///nope.db"], "there is no store 'nope.db'"),
        (["threads", "--store", "memory:"], "cannot be seen from outside"),
        (["threads", "--store", "mongo://x"], "there is no store for mongo:"),
        (["threads", "--app", "desk_app:quiet"], "keeps its threads in memory"),
        (["threads", *STORE, "--status", "odd"], "must be one of running"),
        (["threads", *STORE, "--cursor", "odd"], "--cursor"),
        (["threads", *STORE, "--limit", "0"], "--limit"),
        (["show"], "Missing argument"),
        (["show", "nobody", *STORE], "there is no thread 'nobody'"),
        (["stop", "nobody", *STORE], "there is no thread 'nobody'"),
        (["restart", "t-1", *STORE], "Missing option '--app'"),
        (["restart", "nobody", "--app", "desk_app:app"], "there is no thread 'nobody'"),
        (["agents", "desk_app:nothing"], "there is no 'nothing'"),
    ],
    ids=" ".join,
)
def test_what_is_wrong_is_said_in_one_line(
    sayso: Sayso, folder: Path, arguments: list[str], said: str
) -> None:
    """Exit code 2, no traceback, and no store is made by looking for one."""
    began(folder, "t-1")
    told = sayso(*arguments)
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith("sayso: ")
    assert told.err.count("\n") == 1
    assert said in told.err
    assert not (folder / "sayso.db").exists()
    assert not (folder / "nope.db").exists()


def test_what_a_terminal_would_obey_is_spelled_out() -> None:
    """Colours, cursors, line ends, and characters that turn the direction of a text."""
    assert plain("a\x1b[2Jb\nc\u202ed\x07") == "a\\u001b[2Jb c\\u202ed\\u0007"
    assert plain("ü 漢 🎉") == "ü 漢 🎉"
    assert plain("x" * 50, 10) == "x" * 9 + "…"


@pytest.mark.parametrize(
    ("surroundings", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_colours_are_for_terminals_that_want_them(
    monkeypatch: pytest.MonkeyPatch, surroundings: dict[str, str], coloured: bool
) -> None:
    """NO_COLOR, a dumb terminal, and a pipe have none."""
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in surroundings.items():
        monkeypatch.setenv(name, value)

    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    assert (colour("failed") != "failed") is coloured
