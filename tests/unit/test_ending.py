"""Endings: kept as JSON, told as frames."""

from typing import Any

import orjson
import pytest

from sayso.streams.ending import Ending
from tests.bodies import NEW
from tests.contract.requirements import requirement
from tests.judge import model_faults
from tests.stream_checker import events_of

INTERRUPT = b'{"id":"int_1","reason":"confirmation","message":"Go on?"}'


@pytest.mark.parametrize(
    "ending",
    [
        Ending(type="success"),
        Ending(type="success", result=b'{"a":[null,1.5]}'),
        Ending(type="interrupt", interrupts=(INTERRUPT, b'{"id":"int_2","reason":"x:y"}')),
        Ending(type="cancelled"),
        Ending(type="error", code="agent_error", message="It failed.", details={"x": [1]}),
        Ending(type="error", message="It failed."),
    ],
)
def test_an_ending_is_kept_as_json_and_comes_back_equal(ending: Ending) -> None:
    """A replay ends as the run did (design 4, Replay)."""
    kept = ending.to_json()
    assert orjson.loads(kept)["type"] == ending.type
    assert Ending.from_json(kept) == ending
    found = events_of(ending.last_frames("t", "r", NEW))
    assert model_faults(found) == []


@requirement("OU-04", "OU-06", "OU-08")
@pytest.mark.parametrize(
    "members",
    [
        {"type": "interrupt"},
        {"type": "success", "interrupts": (INTERRUPT,)},
        {"type": "cancelled", "result": b"1"},
        {"type": "interrupt", "interrupts": (INTERRUPT,), "result": b"1"},
        {"type": "error"},
    ],
)
def test_an_ending_that_the_protocol_has_no_words_for_cannot_be_made(
    members: dict[str, Any],
) -> None:
    """Better here than at the client (OU-04, OU-06)."""
    with pytest.raises(ValueError, match=r"^(an|only) "):
        Ending(**members)
