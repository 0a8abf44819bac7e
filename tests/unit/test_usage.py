"""Usage: what is counted, what is left out, and that nothing of it can break an ending."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sayso.protocol.client_profile import ClientProfile
from sayso.protocol.usage import Usage
from sayso.streams.ending import Ending
from tests.contract.requirements import requirement
from tests.spec.judge import schema_faults
from tests.stream_checker import events_of

SAFE = 2**53 - 1


@requirement("US-01")
def test_one_entry_for_each_provider_and_model() -> None:
    """US-01: sums, in the order in which the models were first used."""
    usage = Usage("run")
    for provider, model, tokens in (("a", "x", 1), ("a", "y", 2), ("a", "x", 4), (None, None, 8)):
        usage.add(provider, model, {"input_tokens": tokens})
    assert list(usage.entries()) == [
        {"provider": "a", "model": "x", "inputTokens": 5},
        {"provider": "a", "model": "y", "inputTokens": 2},
        {"inputTokens": 8},
    ]


@requirement("US-02")
@pytest.mark.parametrize("count", [-1, 1.5, float("nan"), float("inf"), "3", True, [], SAFE + 1])
def test_what_is_no_count_is_left_out_and_said_in_the_log(
    count: object, caplog: pytest.LogCaptureFixture
) -> None:
    """US-02: one bad number would cost every client the ending, interrupts included."""
    usage = Usage("run")
    usage.add("p", "m", {"input_tokens": count, "output_tokens": 2})
    assert list(usage.entries()) == [{"provider": "p", "model": "m", "outputTokens": 2}]
    assert "input_tokens is no count" in caplog.text


@requirement("US-03")
def test_what_was_not_reported_is_left_out_and_a_reported_zero_stays() -> None:
    """US-03: zero is a claim."""
    usage = Usage("run")
    usage.add("p", "m", {"input_tokens": None, "output_tokens": 0})
    usage.add("q", "n", {"input_tokens": None})
    assert list(usage.entries()) == [{"provider": "p", "model": "m", "outputTokens": 0}]


@requirement("US-04")
def test_totals_include_their_parts() -> None:
    """US-04: a part above its total is left out; the total of all is input and output."""
    usage = Usage("run")
    usage.add(
        "p",
        "m",
        {
            "input_tokens": 100,
            "output_tokens": 40,
            "cached_input_tokens": 60,
            "cache_write_input_tokens": 101,
            "reasoning_tokens": 40,
        },
    )
    assert list(usage.entries()) == [
        {
            "provider": "p",
            "model": "m",
            "inputTokens": 100,
            "outputTokens": 40,
            "reasoningTokens": 40,
            "cachedInputTokens": 60,
            "totalTokens": 140,
        }
    ]
    usage = Usage("run")
    usage.add("p", "m", {"cached_input_tokens": 9})
    usage.add("p", "m", {"input_tokens": 5})
    assert list(usage.entries()) == [{"provider": "p", "model": "m", "inputTokens": 5}]


@requirement("US-06")
@pytest.mark.parametrize("name", ["x" * 201, "two\nlines", "", 5, {"id": "u"}])
def test_names_of_models_are_names_and_nothing_else(name: object) -> None:
    """US-06: no content and no ids, whoever puts them there."""
    usage = Usage("run")
    usage.add(name, name, {"input_tokens": 1})
    assert list(usage.entries()) == [{"inputTokens": 1}]


@requirement("US-05")
def test_sums_are_gone_on_from_where_they_stood() -> None:
    """US-05: a run that another process takes over reports what the first one spent as well."""
    usage = Usage("run")
    usage.add("p", None, {"input_tokens": 1})
    again = Usage.from_json("run", usage.to_json())
    again.add("p", None, {"input_tokens": 2, "output_tokens": 3})
    (entry,) = again.entries()
    assert entry == {"provider": "p", "inputTokens": 3, "outputTokens": 3, "totalTokens": 6}
    (entry,) = usage.entries()
    assert entry == {"provider": "p", "inputTokens": 1}


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
NAMES = [
    "input_tokens",
    "output_tokens",
    "reasoning_tokens",
    "cached_input_tokens",
    "cache_write_input_tokens",
    "content",
]
COUNTS = st.dictionaries(st.sampled_from(NAMES), ANYTHING)


@requirement("US-02", "TR-34")
@settings(deadline=None)
@given(st.lists(st.tuples(ANYTHING, ANYTHING, COUNTS), max_size=5))
def test_no_report_breaks_an_ending(
    reports: list[tuple[object, object, dict[str, object]]],
) -> None:
    """TR-34: whatever an author hands over, every ending is one that the schema takes."""
    usage = Usage("run")
    for provider, model, counts in reports:
        usage.add(provider, model, counts)
    for ending in (
        Ending(type="success", usage=usage.entries()),
        Ending(type="interrupt", interrupts=(b'{"id":"i","reason":"r"}',), usage=usage.entries()),
        Ending(type="error", message="m", usage=usage.entries()),
        Ending(type="cancelled", usage=usage.entries()),
    ):
        for versioned in (True, False):
            frame = ending.last_frames("t", "r", ClientProfile(speaks_v1=versioned))
            assert schema_faults(events_of(frame)) == []
