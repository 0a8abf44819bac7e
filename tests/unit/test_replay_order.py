"""The order in which results are released in a replay (design 3, rules 3 and 4)."""

import asyncio
import logging

import pytest

from sayso.turns.replay.replay_order import ReplayOrder
from tests.patience import PATIENCE
from tests.turns.driver import ticks


async def test_recorded_ends_come_out_in_their_order_whoever_comes_first() -> None:
    """The later one waits for the earlier."""
    order = ReplayOrder("turn_1", [0, 1, 2])
    out: list[int] = []

    async def comes(end: int, late: int) -> None:
        await ticks(late)
        await order.wait_turn(end)
        out.append(end)

    await asyncio.gather(comes(2, 0), comes(1, 3), comes(0, 9))
    assert out == [0, 1, 2]


async def test_code_gets_turns_of_the_loop_between_two_results() -> None:
    """What the first result leads to has happened before the second comes out."""
    order = ReplayOrder("turn_1", [0, 1])
    seen: list[str] = []

    async def first() -> None:
        await order.wait_turn(0)
        await ticks(5)
        seen.append("acted on")

    async def second() -> None:
        await order.wait_turn(1)
        seen.append("second")

    await asyncio.gather(second(), first())
    assert seen == ["acted on", "second"]


async def test_live_effects_wait_for_the_whole_past_and_for_nothing_else() -> None:
    """Then they begin at once."""
    order = ReplayOrder("turn_1", [0, 4])
    live = asyncio.create_task(order.wait_for_past())
    await ticks(30)
    assert not live.done()
    await order.wait_turn(0)
    await order.wait_turn(4)
    await asyncio.wait_for(live, PATIENCE)
    assert order.end() == 5
    await asyncio.wait_for(order.wait_for_past(), PATIENCE)
    await asyncio.wait_for(ReplayOrder("turn_2", []).wait_for_past(), PATIENCE)


async def test_new_ends_are_numbered_on_and_come_out_in_order() -> None:
    """Live as well: what was committed together comes out one after another."""
    order = ReplayOrder("turn_1", [7])
    await order.wait_turn(7)
    assert order.next_number == 8
    first, second = order.end(), order.end()
    assert (first, second) == (8, 9)
    later = asyncio.create_task(order.wait_turn(second))
    await ticks(50)
    assert not later.done()
    await order.wait_turn(first)
    await asyncio.wait_for(later, PATIENCE)


async def test_an_answer_comes_after_all_that_had_ended_before_its_pause() -> None:
    """`before` waits and does not count as an end."""
    order = ReplayOrder("turn_1", [0, 1, 2])
    answer = asyncio.create_task(order.wait_for_all_before(2))
    await order.wait_turn(0)
    await ticks(30)
    assert not answer.done()
    await order.wait_turn(1)
    await asyncio.wait_for(answer, PATIENCE)
    await asyncio.wait_for(order.wait_turn(2), PATIENCE)


async def test_what_nobody_comes_for_holds_up_nobody_for_long(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Code whose own timing differs: after some stalls the order is given up, and said so once."""
    monkeypatch.setattr("sayso.turns.replay.replay_order.STALL_TIMEOUT_S", 0.005)
    order = ReplayOrder("turn_1", range(0, 40))
    with caplog.at_level(logging.WARNING, "sayso.turn"):
        for end in range(1, 40, 2):
            await asyncio.wait_for(order.wait_turn(end), PATIENCE)
    assert caplog.text.count("in another order") == 1


async def test_a_waiter_that_is_cancelled_holds_up_nobody() -> None:
    """It counts as come out."""
    order = ReplayOrder("turn_1", [0, 1, 2])
    second = asyncio.create_task(order.wait_turn(1))
    third = asyncio.create_task(order.wait_turn(2))
    await ticks(5)
    second.cancel()
    await asyncio.wait([second])
    await order.wait_turn(0)
    await asyncio.wait_for(third, PATIENCE)


async def test_disorder_lets_everything_out() -> None:
    """After author code let go of a call, order has no meaning any more."""
    order = ReplayOrder("turn_1", [0, 1, 2])
    waiting = [asyncio.create_task(order.wait_turn(end)) for end in (2, 1)]
    await ticks(5)
    order.give_up_order()
    await asyncio.wait_for(asyncio.gather(*waiting), PATIENCE)
    first, second = order.end(), order.end()
    await asyncio.wait_for(order.wait_turn(second), PATIENCE)
    await asyncio.wait_for(order.wait_turn(first), PATIENCE)
