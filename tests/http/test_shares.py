"""Shares of a server: of one user's requests that take long, one goes on at a time."""

import asyncio
from itertools import count
from typing import Any

import pytest

from sayso import Principal, Sayso, ServerOptions
from sayso.http import shares as module
from tests.asgi import call


class Machine:
    """Each of its steps takes a second; nobody sleeps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.slept: list[float] = []
        looks = count(step=1.0)
        monkeypatch.setattr(module, "monotonic", lambda: next(looks))
        monkeypatch.setattr(module, "sleep", self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


async def steps(number: int, said: list[str], name: str = "") -> None:
    """Work in so many steps."""
    for _ in range(number):
        ready = asyncio.get_running_loop().create_future()
        ready.get_loop().call_soon(ready.set_result, None)
        await ready
        said.append(name)


async def test_requests_of_one_user_that_take_long_go_on_one_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each step is followed by a rest as long; another user's has a turn of its own."""
    machine, shares, said = Machine(monkeypatch), module.Shares(), list[str]()
    users = {"a": "ann", "b": "ann", "c": "bob"}
    await asyncio.gather(
        *(shares.paced(user, steps(4, said, name)) for name, user in users.items())
    )
    assert machine.slept == [1.0] * 12
    assert [name for name in said if name != "c"] == ["a"] * 4 + ["b"] * 4
    assert said.index("c") < said.index("b")


async def test_requests_that_take_no_time_wait_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, shares, said = Machine(monkeypatch), module.Shares(), list[str]()
    monkeypatch.setattr(module, "monotonic", lambda: 0.0)
    await asyncio.gather(*(shares.paced("ann", steps(2, said, name)) for name in ("a", "b")))
    assert (said, machine.slept) == (["a", "b"] * 2, [])


async def test_what_work_raises_and_what_ends_it_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the turn with it, from whoever has it and from whoever waits for it."""
    Machine(monkeypatch)
    shares, said, ended = module.Shares(), list[str](), list[str]()

    async def failing() -> None:
        await steps(3, said)
        raise ValueError("no")

    async def endless(name: str) -> None:
        try:
            while True:
                await steps(1, said)
        finally:
            ended.append(name)

    with pytest.raises(ValueError, match="no"):
        await shares.paced("ann", failing())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            both = (shares.paced("ann", endless(name)) for name in ("has it", "waits"))
            await asyncio.gather(*both)
    assert sorted(ended) == ["has it", "waits"]
    await shares.paced("ann", steps(2, said))


@pytest.mark.parametrize(
    ("path", "method", "shared"),
    [
        ("/audit/t", "GET", True),
        ("/threads/t/state", "GET", True),
        ("/threads/t/stop", "POST", True),
        ("/audit/export", "GET", False),
        ("/agents/a/connect", "POST", False),
        ("/agents/a", "POST", False),
    ],
)
async def test_reads_have_a_share_where_users_are_told_apart(
    monkeypatch: pytest.MonkeyPatch, path: str, method: str, shared: bool
) -> None:
    users: list[Any] = []
    pace = module.Shares.paced

    def seen(shares: module.Shares, user: Any, work: Any) -> Any:
        users.append(user)
        return pace(shares, user, work)

    async def who(_: Any) -> Principal:
        return Principal(subject="ann")

    monkeypatch.setattr(module.Shares, "paced", seen)
    for authenticate in (who, None):
        server = ServerOptions(console=False)
        app = Sayso(store="memory:", authenticate=authenticate, server=server)
        async with app.lifespan():
            await call(app, method, path)
    assert users == ([("default", "ann")] if shared else [])


async def test_who_leaves_while_their_work_waits_for_its_turn_ends_what_it_had_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a task that is cancelled ends what it waits for."""
    Machine(monkeypatch)
    shares, ended = module.Shares(), list[str]()
    begun = asyncio.Event()

    async def child() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("child")

    async def work() -> None:
        await asyncio.gather(child())

    async def request() -> None:
        await shares.paced("ann", work())

    async with shares.turn("ann"):
        task = asyncio.create_task(request())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0)
        assert ended == ["child"]
