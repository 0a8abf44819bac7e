"""The one loop in which a thread is changed: read, decide, write, and read again if it lost."""

import pytest

from sayso.base.codes import Code
from sayso.base.errors import Conflict, Problem
from sayso.turns.services import MAX_ATTEMPTS, fresh


class Revisions:
    """A thread whose revision grows with each look at it."""

    def __init__(self) -> None:
        self.read = 0

    async def load(self) -> int:
        self.read += 1
        return self.read


async def test_what_is_written_at_once_is_read_once() -> None:
    """Nothing is paid for a conflict that does not happen."""
    thread = Revisions()

    async def act(revision: int) -> str:
        return f"written at {revision}"

    assert await fresh(thread.load, act) == "written at 1"
    assert thread.read == 1


async def test_a_write_that_lost_is_decided_again_over_what_there_is_then() -> None:
    """Each attempt is given what was read for it."""
    thread = Revisions()
    given = []

    async def act(revision: int) -> int:
        given.append(revision)
        if revision < 3:
            raise Conflict("changed meanwhile")
        return revision

    assert await fresh(thread.load, act) == 3
    assert given == [1, 2, 3]


async def test_a_thread_that_changes_all_the_time_is_busy() -> None:
    """The end of a loop that says no other is a Problem to be sent again for."""
    thread = Revisions()

    async def act(_: int) -> None:
        raise Conflict("changed meanwhile")

    with pytest.raises(Problem, match="changes too fast") as raised:
        await fresh(thread.load, act)
    assert raised.value.code is Code.THREAD_BUSY
    assert thread.read == MAX_ATTEMPTS


async def test_a_loop_may_have_an_end_of_its_own() -> None:
    """It is given what was read last."""
    thread = Revisions()

    async def act(_: int) -> int | None:
        raise Conflict("changed meanwhile")

    async def exhausted(revision: int) -> int | None:
        return -revision

    assert await fresh(thread.load, act, exhausted=exhausted) == -MAX_ATTEMPTS


async def test_other_errors_end_it_at_once() -> None:
    """Only the lost compare-and-set is worth another look."""
    thread = Revisions()

    async def act(_: int) -> None:
        raise Problem(Code.NOT_WAITING, "This thread waits for nobody.")

    with pytest.raises(Problem) as raised:
        await fresh(thread.load, act)
    assert raised.value.code is Code.NOT_WAITING
    assert thread.read == 1
