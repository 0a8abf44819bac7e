"""Options as they are declared: what is refused, and what an agent overrides."""

from dataclasses import fields
from typing import Any, get_type_hints

import pytest

from sayso.errors import DeclarationError
from sayso.options import (
    DEFAULT,
    GivenAnswer,
    Options,
    OptionValues,
    check_lifetime,
    declared,
    overridden,
)


async def remind(_: Any) -> None: ...


@pytest.mark.parametrize(
    "change",
    [
        {"refusals": "recover"},
        {"unknown_entries": "ignore"},
        {"partial": "accumulate"},
        {"on_message": "answer"},
        {"on_message": "cancel"},
        {"on_disconnect": "cancel"},
        {"expires_in": 0.5},
        {"expires_in": None},
        {"on_expire": "hold"},
        {"on_expire": "deny"},
        {"on_expire": "cancel"},
        {"remind_at": 0.5},
        {"remind_at": None},
        {"on_reminder": remind},
        {"detached_for": None},
        {"expiries_in_a_row": None},
        {"expiries_in_a_row": 1},
    ],
)
def test_an_agent_overrides_one_option_and_keeps_the_rest(change: Any) -> None:
    """Design 3: set on the server, overridable per agent."""
    server = Options(expires_in=60.0, refusals="error", detached_for=5)
    mine = overridden(server, change, "a")
    ((name, value),) = change.items()
    assert getattr(mine, name) == value
    others = [field.name for field in fields(Options) if field.name != name]
    assert [getattr(mine, o) for o in others] == [getattr(server, o) for o in others]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"refusals": "recovered"}, "'error', 'recover'"),
        ({"refusals": True}, "not True"),
        ({"unknown_entries": "drop"}, "'refuse', 'ignore'"),
        ({"partial": None}, "'refuse', 'accumulate'"),
        ({"on_message": "steer"}, "'refuse', 'answer', 'cancel'"),
        ({"on_disconnect": "stop"}, "'finish', 'cancel'"),
        ({"on_expire": "approve"}, "spelled out for one tool"),
        ({"on_expire": GivenAnswer(True)}, "spelled out for one tool"),
        ({"on_expire": ["deny"]}, "one of"),
        ({"expires_in": 0}, "above zero"),
        ({"expires_in": True}, "above zero"),
        ({"expires_in": "60"}, "above zero"),
        ({"expires_in": float("inf")}, "above zero"),
        ({"expires_in": float("nan")}, "above zero"),
        ({"detached_for": -1}, "above zero"),
        ({"remind_at": 0}, "between 0 and 1"),
        ({"remind_at": 1}, "between 0 and 1"),
        ({"remind_at": "0.8"}, "between 0 and 1"),
        ({"on_reminder": print}, "async def"),
        ({"expiries_in_a_row": 0}, "whole number from 1"),
        ({"expiries_in_a_row": 2.0}, "whole number from 1"),
        ({"detached_at_once": 3}, "set it on Sayso, not on"),
        ({"refusal": "recover"}, "no option 'refusal'"),
    ],
)
def test_what_is_no_option_is_refused_with_what_there_is(change: Any, said: str) -> None:
    """A declaration that cannot work fails where it stands, and says where that is."""
    with pytest.raises(DeclarationError) as caught:
        overridden(Options(), change, "a")
    assert said in str(caught.value)
    assert "agent 'a'" in str(caught.value)


def test_the_server_has_one_option_of_its_own() -> None:
    """It counts over all agents of a process."""
    assert declared({"detached_at_once": 1}).detached_at_once == 1
    wrong: list[Any] = [{"detached_at_once": n} for n in (0, None, True)]
    for changes in (*wrong, {"refusal": "recover"}, {"on_expire": "approve"}):
        with pytest.raises(DeclarationError, match="Sayso"):
            declared(changes)


def test_keyword_arguments_name_all_options_with_their_types() -> None:
    """The two spellings of the options cannot drift apart."""
    hints = get_type_hints(Options)
    assert get_type_hints(OptionValues) == {f.name: hints[f.name] for f in fields(Options)}


def test_a_lifetime_of_a_question_is_checked_alike() -> None:
    """Seconds, or None for ever; the default is something else than None."""
    check_lifetime(None, "expires_in")
    check_lifetime(1, "expires_in")
    with pytest.raises(DeclarationError):
        check_lifetime(DEFAULT, "expires_in")
