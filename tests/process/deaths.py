"""Processes that are killed at a commit of a store, and begun again.

Each is forked from one that has Sayso loaded: `kill -9` between what it has written and the commit,
and right behind that.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any, Literal
from unittest.mock import patch

import pytest

from sayso.stores.redis import lists, threads
from sayso.stores.redis import store as redis_store
from sayso.stores.redis.client import Command, RedisClient, Script
from sayso.stores.sql.store import SqlStore
from tests.patience import PATIENCE
from tests.share import plays_all
from tests.stores.backends import NETWORKED, SHARED

__all__ = ["FEWEST", "FORKS", "at_each_commit", "killed_at", "until_it_ends"]

Where = Literal["inside", "behind"]
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [__name__, "sayso.cli.main", "tests.contract.server", "tests.stores.full_threads"]
)
FEWEST = 4
"""Deaths of each that dies at one commit later each time, or it would not be what it was."""
READING_SCRIPTS = (lists._GATHER, redis_store._LOAD, threads._READ)
WRITING_COMMANDS = {"BGREWRITEAOF", "DEL", "HDEL", "HSETNX", "INCR", "SET", "ZADD"}

ONE_AFTER_THE_OTHER = None
DEATHS = [("sqlite", ONE_AFTER_THE_OTHER), *((kind, 3) for kind in NETWORKED)]
if plays_all():
    DEATHS = [(kind, first) for kind in SHARED for first in (ONE_AFTER_THE_OTHER, *range(2, 13))]

at_each_commit = pytest.mark.parametrize(("kind", "first"), DEATHS)
"""One death after the other, or one at the commit of that number; few but in `schedules`."""


def killed_at(number: int, where: Where) -> None:
    """Let this process die at its commit of that number, before or behind it."""
    commits = count(1)
    killed_at_transaction(commits, number, where)
    killed_at_script(commits, number, where)


def killed_at_transaction(commits: Iterator[int], number: int, where: Where) -> None:
    """Do so in a store over SQL; "inside" is within the open transaction."""
    write = SqlStore._write

    async def counted(self: Any, key: str, work: Callable[[Any], Any]) -> Any:
        is_last = next(commits) == number

        def inside(db: Any) -> Any:
            done = work(db)
            if is_last and where == "inside":
                die()
            return done

        done = await write(self, key, inside)
        if is_last:
            die()
        return done

    patch.object(SqlStore, "_write", counted).start()


def killed_at_script(commits: Iterator[int], number: int, where: Where) -> None:
    """Do so in Redis, where a script is a commit; "inside" is with half of it sent."""
    run = RedisClient._all

    async def counted(
        self: Any, packed: bytes, commands: Sequence[Command], script: Script | None
    ) -> list[Any]:
        names = {command[0] for command in commands}
        writes = script is not None or not names.isdisjoint(WRITING_COMMANDS)
        is_last = writes and script not in READING_SCRIPTS and next(commits) == number
        if is_last and where == "inside":
            (await self._way()).send(packed[: len(packed) // 2], len(commands))
            die()
        answers = await run(self, packed, commands, script)
        if is_last:
            die()
        return answers

    patch.object(RedisClient, "_all", counted).start()


def die() -> None:
    """End as by `kill -9`."""
    os.kill(os.getpid(), signal.SIGKILL)


def until_it_ends(
    first: int | None, target: Callable[..., None], *arguments: Any, each: Any = None
) -> int:
    """Let it die at its first commit, at its second, …, until it ends by itself; how often it did.

    Or at the commit of that number alone, inside and behind. `each` is called in between.
    """
    every = (deaths // 2 + 1 for deaths in count())
    numbers = every if first is None else iter((first, first, 0))
    for deaths, number in enumerate(numbers):
        given = [argument() if callable(argument) else argument for argument in arguments]
        where = ("inside", "behind")[deaths % 2]
        process = FORKS.Process(target=target, args=(number, where, *given))
        process.start()
        process.join(PATIENCE)
        if process.exitcode == 0:
            return deaths
        assert process.exitcode == -signal.SIGKILL
        if each is not None:
            each()
    raise AssertionError
