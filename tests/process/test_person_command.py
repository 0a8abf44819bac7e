"""A person from a terminal: all that is kept of it printed, and erased."""

import asyncio
import json
from pathlib import Path

import pytest

from sayso.base.records import Hold
from sayso.stores.sqlite.store import SqliteStore
from tests.process.conftest import Sayso
from tests.process.test_threads_command import STORE, began
from tests.process.test_threads_command import folder as folder
from tests.stores.backends import opened


@pytest.fixture
def desk(folder: Path) -> Path:
    """A store with two threads of ann's that wait."""
    began(folder, "t-1", "t-2")
    return folder


def test_all_that_is_kept_of_a_person_is_printed(sayso: Sayso, desk: Path) -> None:
    """And noted, once there is something."""
    told = json.loads(sayso("export", "ann", *STORE).out)
    assert (told["subject"], told["scope"]) == ("ann", "default")
    assert {thread["threadId"] for thread in told["threads"]} == {"t-1", "t-2"}
    (thread, _) = told["threads"]
    assert [message["content"] for message in thread["messages"]][:1] == ["go"]
    assert [item["status"] for item in thread["interrupts"]] == ["open"]
    assert (told["questions"], told["approvals"], told["sessions"]) == ([], [], [])
    assert [row["kind"] for row in told["trail"]] == ["asked", "asked", "exported"]
    assert told["trail"][-1]["content"]["for"] == "ann"
    nobody = json.loads(sayso("export", "nobody", *STORE).out)
    assert [nobody[part] for part in ("threads", "trail")] == [[], []]
    assert "nobody" not in sayso("audit", "--tenant", *STORE).out


def test_a_person_is_erased_by_a_keeper(sayso: Sayso, desk: Path) -> None:
    """After a look that changes nothing; it is told what is not reached from there."""
    given = ("erase", "ann", "--by", "kay", *STORE)
    assert sayso("erase", "ann", "--by", "ann", *STORE).code == 2
    looked = sayso(*given, "--dry-run")
    assert looked.code == 0
    assert looked.out.startswith("Would go: threads: 2, trails: 2, approvals: 0, sessions: 0, ")
    assert len(json.loads(sayso("threads", *STORE, "--json").out)["items"]) == 2
    told = sayso(*given, "--json")
    assert told.code == 0
    assert json.loads(told.out) == {
        "dryRun": False,
        "whole": True,
        "gone": {"thread": 2, "trail": 2, "approval": 0, "session": 0, "renamed": 0},
        "stays": [],
    }
    assert "No threads" in sayso("threads", *STORE).out
    assert "in place of the name" in sayso(*given).out
    assert "not reached from here" in sayso(*given).out


def test_what_is_on_hold_is_told_and_left(sayso: Sayso, desk: Path) -> None:
    """With the exit code of what was not done; a look at the thread says who holds it."""
    hold(desk, "t-1")
    assert "on hold  by kay since " in sayso("show", "t-1", *STORE).out
    told = sayso("erase", "ann", "--by", "kay", *STORE)
    assert told.code == 1
    assert "Stays: thread t-1 is on hold: a keeper has to lift that first." in told.out
    assert "The name stays until nothing of it is on hold or in use" in told.out
    (left,) = json.loads(sayso("threads", *STORE, "--json").out)["items"]
    assert (left["threadId"], left["owner"]) == ("t-1", "ann")


def hold(folder: Path, thread: str) -> None:
    """Put a thread on hold, as a server does for a keeper."""
    asyncio.run(_hold(folder, thread))


async def _hold(folder: Path, thread: str) -> None:
    async with opened(SqliteStore(folder / "desk.db")) as store:
        view = await store.load("default", thread)
        assert view is not None
        word = Hold(by="kay", reason="case 7", said_at=1)
        await store.set_hold("default", thread, view.thread.revision, word)
