"""The journal as a pure thing: places, fingerprints, what rides with which commit (design 3)."""

from typing import Any

import pytest

from sayso import ReplayMismatch
from sayso.base.records import Entry
from sayso.turns.journal.journal import Journal, ended, fingerprint, numbered, without_last_failures


def entry(
    place: str,
    status: Any = "done",
    *,
    kind: str = "step",
    name: str = "f",
    data: bytes = b"{}",
    mark: str = "step f",
) -> Entry:
    return Entry(place=place, kind=kind, name=name, fingerprint=mark, status=status, data=data)


def test_a_fingerprint_is_kind_name_and_arguments() -> None:
    """Rule 3: never message text; equal JSON values give one fingerprint."""
    assert fingerprint("step", "f") == "step f"
    assert fingerprint("message", "") == "message"
    assert fingerprint("step", "f", [1, {"a": 1, "b": 2.0}]) == fingerprint(
        "step", "f", [1.0, {"b": 2, "a": 1}]
    )
    values: list[Any] = [[], [None], [0], [False], {}, [[]]]
    marks = [fingerprint("step", "f", value) for value in values]
    assert len(set(marks)) == len(marks)


def test_what_is_recorded_is_found_at_its_place_and_nowhere_else() -> None:
    """Rule 3: entries match by place."""
    journal = Journal([entry("0"), entry("a#0/0")])
    assert journal.find("0", "step f") == entry("0")
    assert journal.find("1", "step f") is None
    assert journal.find("a#0/0", "step f") == entry("a#0/0")


def test_another_call_at_a_recorded_place_is_a_mismatch_that_names_all_three() -> None:
    """Rule 9."""
    journal = Journal([entry("0")])
    with pytest.raises(ReplayMismatch) as caught:
        journal.find("0", "step g")
    assert (caught.value.place, caught.value.recorded, caught.value.asked) == (
        "0",
        "step f",
        "step g",
    )


def test_what_is_written_rides_once_and_is_found_at_once() -> None:
    """Rule 10: riding with the next commit; the newest of a place goes."""
    journal = Journal()
    journal.write(entry("0", "started"))
    journal.write(entry("0"))
    journal.write(entry("1"))
    assert journal.find("0", "step f") == entry("0")
    assert journal.take(asked=False) == (entry("0"), entry("1"))
    assert journal.take(asked=False) == ()


def test_a_question_rides_only_with_a_suspension() -> None:
    """An asked entry is stored with its interrupt, or not at all."""
    journal = Journal([entry("0", "started")])
    journal.write(entry("0", "asked"))
    journal.write(entry("1"))
    assert journal.take(asked=False) == (entry("1"),)
    assert journal.find("0", "step f") == entry("0", "asked")
    assert journal.take(asked=True) == (entry("0", "asked"),)


@pytest.mark.parametrize(
    ("status", "forgotten"), [("asked", True), ("started", True), ("done", False)]
)
def test_a_question_or_an_open_effect_that_nobody_came_for_is_forgotten(
    status: Any, forgotten: bool
) -> None:
    """Rule 9: the code ended without what was asked, or with an effect left unsure."""
    journal = Journal([entry("0", status), entry("1", status)])
    journal.find("0", "step f")
    assert journal.forgotten() == (entry("1", status) if forgotten else None)
    journal.find("1", "step f")
    assert journal.forgotten() is None


def test_what_this_execution_wrote_is_never_forgotten() -> None:
    """Only the past can be forgotten."""
    journal = Journal([entry("0")])
    journal.write(entry("1", "started"))
    assert journal.forgotten() is None


def test_recorded_values_are_seen_to_ride() -> None:
    """Before a repeatable effect they are committed, so that its arguments survive."""
    journal = Journal()
    assert not journal.rides("value")
    journal.write(entry("0", kind="value"))
    assert journal.rides("value")
    journal.take(asked=False)
    assert not journal.rides("value")


def test_an_end_is_read_from_the_data_that_it_numbers() -> None:
    """The order in which effects ended is part of their records."""
    data = numbered(12, b'"value":{"end":5}')
    assert data == b'{"end":12,"value":{"end":5}}'
    assert ended(entry("0", data=data)) == 12
    assert ended(entry("0", data=b'{"value":1}')) is None
    assert ended(entry("0", "started", data=data)) is None
    assert sorted(Journal([entry("0", data=data), entry("1")]).ends()) == [12]


FAILED = b'{"end":3,"error":{"type":"E","message":"m"},"again":true}'
FINAL = b'{"end":3,"error":{"type":"E","message":"m"}}'


def test_a_retry_leaves_out_the_last_repeatable_failure_of_each_branch() -> None:
    """B1: idempotent steps and streams are tried again; what succeeded before them stays."""
    kept = without_last_failures(
        [
            entry("0"),
            entry("1", data=FAILED),
            entry("a#0/0", data=FAILED),
            entry("a#0/1"),
            entry("b#0/9"),
            entry("b#0/10", kind="stream", data=FAILED),
            entry("pause:0", kind="pause"),
        ]
    )
    assert [e.place for e in kept] == ["0", "a#0/0", "a#0/1", "b#0/9", "pause:0"]


@pytest.mark.parametrize(
    "last",
    [
        entry("1", data=FINAL),
        entry("1", "started", data=FAILED),
        entry("1", "asked", data=FAILED),
        entry("1", kind="call", data=FAILED),
    ],
)
def test_a_retry_keeps_what_may_not_run_twice(last: Entry) -> None:
    """B1: a failure that had its effect fails again, without a second one."""
    assert without_last_failures([entry("0"), last]) == [entry("0"), last]
