"""Options as they are declared: what is refused, and what an agent overrides."""

from dataclasses import fields
from typing import Any, get_type_hints

import pytest

from sayso import ServerOptions
from sayso.base.default import DEFAULT
from sayso.base.errors import DeclarationError
from sayso.base.options import (
    AgentOptions,
    FallbackAnswer,
    Legacy,
    OptionValues,
    check_lifetime,
    options_for_agent,
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
        {"unattended_timeout": None},
        {"max_consecutive_expiries": None},
        {"max_consecutive_expiries": 1},
        {"legacy": Legacy(emission="both")},
    ],
)
def test_an_agent_overrides_one_option_and_keeps_the_rest(change: Any) -> None:
    """Design 3: set on the server, overridable per agent."""
    server = AgentOptions(expires_in=60.0, refusals="error", unattended_timeout=5)
    mine = options_for_agent(server, change, "a")
    ((name, value),) = change.items()
    assert getattr(mine, name) == value
    others = [field.name for field in fields(AgentOptions) if field.name != name]
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
        ({"on_expire": FallbackAnswer(True)}, "spelled out for one tool"),
        ({"on_expire": ["deny"]}, "one of"),
        ({"expires_in": 0}, "above zero"),
        ({"expires_in": True}, "above zero"),
        ({"expires_in": "60"}, "above zero"),
        ({"expires_in": float("inf")}, "above zero"),
        ({"expires_in": float("nan")}, "above zero"),
        ({"unattended_timeout": -1}, "above zero"),
        ({"remind_at": 0}, "between 0 and 1"),
        ({"remind_at": 1}, "between 0 and 1"),
        ({"remind_at": "0.8"}, "between 0 and 1"),
        ({"on_reminder": print}, "async def"),
        ({"max_consecutive_expiries": 0}, "whole number from 1"),
        ({"max_consecutive_expiries": 2.0}, "whole number from 1"),
        ({"legacy": "both"}, "legacy is Legacy(emission=…, value=…, answers=…)"),
        ({"max_unattended": 3}, "no option 'max_unattended'"),
        ({"refusal": "recover"}, "no option 'refusal'"),
    ],
)
def test_what_is_no_option_is_refused_with_what_there_is(change: Any, said: str) -> None:
    """A declaration that cannot work fails where it stands, and says where that is."""
    with pytest.raises(DeclarationError) as caught:
        options_for_agent(AgentOptions(), change, "a")
    assert said in str(caught.value)
    assert "agent 'a'" in str(caught.value)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"emission": "none"}, "emission of Legacy must be one of 'standard', 'legacy', 'both'"),
        ({"value": True}, "value of Legacy must be one of 'interrupt', 'message'"),
        ({"answers": "no"}, "answers of Legacy is True or False"),
    ],
)
def test_the_older_dialect_has_three_options(values: Any, said: str) -> None:
    """Each is checked where it is written."""
    with pytest.raises(DeclarationError, match=said):
        Legacy(**values)


@pytest.mark.parametrize("number", [0, None, True, 1.5])
def test_a_server_counts_what_continues_without_a_client(number: Any) -> None:
    """It counts over all agents of a process, so no agent has it."""
    assert ServerOptions(max_unattended=1).max_unattended == 1
    with pytest.raises(DeclarationError, match="max_unattended"):
        ServerOptions(max_unattended=number)


def test_keyword_arguments_name_all_options_with_their_types() -> None:
    """The two spellings of the options cannot drift apart."""
    hints = get_type_hints(AgentOptions)
    assert get_type_hints(OptionValues) == {f.name: hints[f.name] for f in fields(AgentOptions)}


def test_a_lifetime_of_a_question_is_checked_alike() -> None:
    """Seconds, or None for ever; the default is something else than None."""
    check_lifetime(None, "expires_in")
    check_lifetime(1, "expires_in")
    with pytest.raises(DeclarationError):
        check_lifetime(DEFAULT, "expires_in")


def test_a_misspelt_option_is_told_the_nearest_name() -> None:
    """Of those that an agent has."""
    with pytest.raises(DeclarationError, match=r"'expires'; did you mean 'expires_in'\?"):
        options_for_agent(AgentOptions(), {"expires": 3}, "a")  # type: ignore[typeddict-unknown-key]  # likewise
    with pytest.raises(DeclarationError, match=r"no option 'zzz': The options are"):
        options_for_agent(AgentOptions(), {"zzz": 3}, "a")  # type: ignore[typeddict-unknown-key]  # likewise
