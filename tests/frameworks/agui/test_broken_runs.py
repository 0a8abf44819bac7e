"""Runs of an agent that break off: unsure, begun again where they may, and never told twice."""

from collections.abc import Iterator
from typing import Any

import pytest

from sayso import DidNotHappen, Happened, Sayso, agui
from sayso.testing import Conversation
from tests.frameworks.agui import producers as far
from tests.frameworks.agui.scripted import Agent


def breaks(given: far.Given) -> Iterator[Any]:
    """Says something, and breaks the first time."""
    yield from far.text("m1", "Half.")
    if not EFFECTS:
        EFFECTS.append(given.run_id)
        raise OSError("connection reset")
    EFFECTS.append(given.run_id)


EFFECTS: list[str] = []


@pytest.fixture(autouse=True)
def fresh() -> None:
    """Nothing has happened yet."""
    EFFECTS.clear()


@pytest.mark.parametrize(
    ("action", "outcome", "runs"),
    [("run_again", "success", 2), ("skip", "success", 1), ("stop", "cancelled", 1)],
)
def test_a_run_that_breaks_off_is_unsure(action: str, outcome: str, runs: int) -> None:
    with Conversation(Agent(breaks).app()) as talk:
        run = talk.say("go")
        assert run.outcome == "interrupt"
        assert "OSError" in talk.question.message
        assert "connection reset" not in talk.question.message  # of that the log has the text
        talk.restart()
        assert talk.question.answer({"action": action}).outcome == outcome
        assert len(EFFECTS) == runs
        assert len(set(EFFECTS)) == 1
        assert talk.texts == ["Half."]


def test_what_a_broken_run_has_said_is_not_sent_twice() -> None:
    agent = Agent(breaks)
    with Conversation(agent.app()) as talk:
        talk.say("go")
        talk.question.answer({"action": "run_again"})
        talk.say("on")
        assert agent.told() == ["user: go", "assistant: Half.", "user: on"]


@pytest.mark.parametrize(
    ("broken", "outcome"), [(1, "success"), (2, "success"), (3, "agent_error")]
)
def test_one_that_may_begin_again_does_so_a_few_times(
    broken: int, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def at_once(seconds: float) -> None:
        assert seconds <= 60

    def script(given: far.Given) -> Iterator[Any]:
        yield from far.thought("r1", "Hm.")
        yield from far.text("m1", "Half.")
        EFFECTS.append(given.run_id)
        if len(EFFECTS) <= broken:
            raise OSError("connection reset")

    monkeypatch.setattr("sayso.frameworks.agui.rounds.sleep", at_once)
    with Conversation(Agent(script).app(again=True), errors="return") as talk:
        run = talk.say("go")
        assert run.outcome == outcome
        assert (len(EFFECTS), len(set(EFFECTS))) == (min(broken + 1, 3), 1)
        assert talk.texts == ["Half."]
        assert sum(e["type"] == "REASONING_MESSAGE_START" for e in run.events) == 1


def test_a_server_that_still_ends_another_run_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def at_once(seconds: float) -> None:
        assert seconds <= 60

    def script(given: far.Given) -> Iterator[Any]:
        EFFECTS.append(given.run_id)
        if len(EFFECTS) == 1 or given.messages[-1].content == "never":
            yield far.fails("This thread is running.", "thread_busy")
        yield from far.text("m1", "Done.")

    monkeypatch.setattr("sayso.frameworks.agui.rounds.sleep", at_once)
    with Conversation(Agent(script).app(), errors="return") as talk:
        assert talk.say("go").text == "Done."
        run = talk.say("never")
        assert run.outcome == "agent_error"
        assert "This thread is running." in run.events[-1]["message"]
        assert len(EFFECTS) == 2 + 3


@pytest.mark.parametrize("code", ["shutting_down", "store_unavailable", "lease_lost"])
def test_a_server_that_tells_no_more_of_a_run_has_not_ended_it(code: str) -> None:
    def script(given: far.Given) -> Iterator[Any]:
        if not EFFECTS:
            EFFECTS.append(given.run_id)
            yield far.fails("It goes on elsewhere.", code)
        yield from far.text("m1", "Done.")

    with Conversation(Agent(script).app()) as talk:
        assert talk.say("go").outcome == "interrupt"
        assert "It goes on elsewhere." in talk.question.message
        assert talk.question.answer({"action": "run_again"}).text == "Done."


@pytest.mark.parametrize("happened", [True, False])
def test_a_hook_can_look_whether_it_happened(happened: bool) -> None:
    async def verify(request: dict[str, Any]) -> Happened | DidNotHappen:
        assert request["messages"][-1]["content"] == "go"
        return Happened({"type": "success"}) if happened else DidNotHappen()

    with Conversation(Agent(breaks).app(verify=verify)) as talk:
        assert talk.say("go").outcome == "success"
        assert len(EFFECTS) == (1 if happened else 2)


@pytest.mark.parametrize(
    "events",
    [
        [],
        [{"type": "TEXT_MESSAGE_END", "messageId": "x"}],
        [{"type": "CUSTOM"}],
        [{"type": "RUN_STARTED", "threadId": "t", "runId": "r"}],
    ],
)
def test_a_stream_that_breaks_the_protocol_did_not_end(events: list[dict[str, Any]]) -> None:
    class Plain:
        def __init__(self, members: dict[str, Any]) -> None:
            self.members = members

        def model_dump(self, **_: Any) -> dict[str, Any]:
            return self.members

    Plain.model_fields = {}  # type: ignore[attr-defined]

    async def produce(given: Any) -> Any:
        for event in events:
            yield Plain(event)

    app = Sayso(store="memory:")
    agui.mount_events(app, "shop", produce)
    with Conversation(app) as talk:
        assert talk.say("go").outcome == "interrupt"
        assert talk.question.reason == "sayso:decision"
