"""Code of an author that outlives its turn (design 3, rule 1)."""

import asyncio

import pytest

from sayso.turns.replay.branch import Abandoned, Branches
from tests.patience import PATIENCE


async def test_code_that_outlives_its_own_destruction_is_let_go_of_in_any_thread() -> None:
    """Garbage is collected where it is noticed: a store's thread must not loop for ever."""
    root = Branches(lambda _: None).root
    tired = False

    async def tenacious() -> None:
        while not tired:
            try:
                if root.destroyed:
                    await Abandoned()
                await root.park()
            except BaseException:  # noqa: S110 - the habit under test
                pass

    code = tenacious()
    code.send(None)
    with pytest.raises(RuntimeError, match="ignored GeneratorExit"):
        await asyncio.wait_for(asyncio.to_thread(code.close), PATIENCE)
    tired = True
    code.close()
