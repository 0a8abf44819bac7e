"""The Python client against every stream of the protocol's conformance suite, by name."""

from pathlib import Path
from typing import Any

import pytest

from sayso.client import ProtocolViolation
from tests.client.agent import Agent
from tests.client.conformance import FACTS, NOT_BINDING, UNTOLD

STREAMS = (Path(__file__).parent / "conformance" / "streams.txt").read_text("utf-8").split()
ABSENT: Any = object()


def value_at(value: Any, pointer: str) -> Any:
    """The value at a JSON Pointer, or ABSENT."""
    for token in pointer.split("/")[1:]:
        if isinstance(value, list):
            value = value[int(token)]
        elif token in value:
            value = value[token]
        else:
            return ABSENT
    return value


def test_each_stream_of_the_suite_has_a_fact_or_a_reason() -> None:
    assert len(STREAMS) == len(set(STREAMS))
    assert sorted(STREAMS) == sorted([*FACTS, *NOT_BINDING])


@pytest.mark.parametrize("name", FACTS)
async def test_the_client_makes_of_a_stream_what_the_suite_asks_for(name: str) -> None:
    fact = FACTS[name]
    agent = Agent()
    agent.says(*fact.stream)
    asked: dict[str, Any] = {"messages": fact.messages} if fact.messages else {"text": "go"}
    heard = []
    violation = ""
    try:
        async for event in agent.client.run(**asked):
            heard.append(event)  # noqa: PERF401 - what came before a violation counts too
    except ProtocolViolation as error:
        violation = str(error)

    assert (fact.rejected is not None) == bool(violation), violation
    assert (fact.rejected or "") in violation
    if fact.rejected is not None:
        return
    assert len(agent.warnings) == (fact.warned is not None), agent.warnings
    assert (fact.warned or "") in "".join(agent.warnings)
    if fact.types is not None:
        assert [event["type"] for event in heard] == fact.types
    assert {pointer: value_at(heard, pointer) for pointer in fact.at} == fact.at
    assert [pointer for pointer in fact.gone if value_at(heard, pointer) is not ABSENT] == []
    if fact.told is not None:
        for message, members in zip(agent.told, fact.told, strict=True):
            assert {**message, **members} == message
    if fact.state is not UNTOLD:
        assert agent.client.state == fact.state
    assert agent.client.outcome == fact.outcome
    assert (agent.client.error or {}).get("message") == fact.error
    (request,) = agent.requests()
    assert {member: request[member] for member in fact.asked} == fact.asked
