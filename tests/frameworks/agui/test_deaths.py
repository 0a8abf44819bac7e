"""This server dies at every commit, before and after it: no effect happens twice, none is lost."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from sayso import Sayso, agui
from sayso.testing import Conversation
from tests.frameworks.agui import producers as far
from tests.frameworks.agui.scripted import REFUND
from tests.frameworks.agui.test_remote import EFFECTS, Way, payer

__all__ = ["EFFECTS"]


def refunds(given: far.Given) -> Iterator[Any]:
    """Looks up and refunds by itself, in runs of its own, after a yes."""
    if given.resume:
        EFFECTS.append("refund")
        yield from far.text("m2", "Refunded.")
        return
    EFFECTS.append("look")
    yield from far.call("c1", "lookup", {"order": "A-17"})
    yield far.result("c1", "A-17 is paid")
    yield far.StateSnapshotEvent(snapshot={"order": "A-17"})
    yield from far.text("m1", "Let me see.")
    yield far.asks(
        {"id": "i1", "reason": "shop:refund", "message": "Refund it?", "response_schema": REFUND}
    )


def local() -> Sayso:
    """An agent of this process that has effects, which nobody may repeat."""
    app = Sayso(store="memory:")
    agui.mount_events(app, "shop", far.agent(refunds))
    return app


def remote() -> Sayso:
    """A server elsewhere, to which everything may be sent again."""
    app = Sayso(store="memory:")
    http = httpx.AsyncClient(transport=Way(payer()))
    agui.mount_remote(app, "near", "http://127.0.0.1/agents/far", http=http, again=True)
    return app


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("made", "effects"), [(local, ["look", "refund"]), (remote, ["pay 7"])])
def test_a_death_at_any_commit_repeats_nothing(
    made: Callable[[], Sayso], effects: list[str], when: str
) -> None:
    for number in range(1, 40):
        EFFECTS.clear()
        with Conversation(made(), errors="return", replays=False) as talk:
            died = _life(talk, number, when)
        assert len(EFFECTS) == len(set(EFFECTS)), (number, EFFECTS)
        # A look that a careful person skips ends the turn without its question.
        assert effects[: len(EFFECTS)] == EFFECTS, number
        if not died:
            assert number > 4
            assert effects == EFFECTS
            return
    raise AssertionError("the conversation never ended")


def _life(talk: Conversation, number: int, when: str) -> bool:
    """One conversation that dies at that commit; False where there is no such commit."""
    world = talk._world
    assert world is not None
    window = world._window
    fault = window.fail("commit", n=number, when=when, hook=window.disconnect)  # type: ignore[arg-type]  # a parameter
    talk.say("go")
    for _ in range(12):
        if world.dead:
            talk.restart()
            talk.advance(30)
            if talk.status is None:
                talk.say("go")
        elif talk.questions:
            for question in list(talk.questions):
                question.answer(_careful(question))
        else:
            break
    return fault.fired > 0


def _careful(question: Any) -> dict[str, Any]:
    """The answer of somebody who looks whether an unclear run has happened."""
    if question.reason != "sayso:decision":
        return {"approved": True}
    effect = "refund" if "resolved" in question.message else "look"
    return {"action": "skip" if effect in EFFECTS else "run_again"}
