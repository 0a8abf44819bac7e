"""Large integers past clients that read numbers as doubles: by value."""

from typing import Any

import pytest

from sayso.base.digits import (
    cuts_digits,
    exact_integers,
    lost_digits,
    restore_integers,
    rounded,
    unrounded,
)

BIG = 2**53 + 1
ROUNDED = 2**53


def test_only_integers_that_a_double_does_not_hold_are_spelt_out_at_their_pointers() -> None:
    value = {"a/b": [2**53 - 1, BIG], "~": {"n": -(2**63)}, "f": 1e300, "t": "9007199254740993"}
    assert exact_integers(value, ("metadata",)) == {
        "/metadata/a~1b/1": "9007199254740993",
        "/metadata/~0/n": "-9223372036854775808",
    }


def test_the_digits_take_the_place_of_the_rounded_number() -> None:
    sent = {"ids": [ROUNDED, 5], "same": ROUNDED}
    assert restore_integers(sent, {"/ids/0": str(BIG)}) == ({"ids": [BIG, 5], "same": ROUNDED}, {})
    assert restore_integers(float(ROUNDED), {"": str(BIG)}) == (BIG, {})


@pytest.mark.parametrize(
    ("at", "text"),
    [
        ("/a", 2**53),
        ("/a", "9007199254740993.0"),
        ("/a", "09007199254740993"),
        ("/a", " 9007199254740993"),
        ("/a", "9" * 30),
        ("/a", str(2**64)),
        ("/a", str(2**53 + 4)),
        ("/b", str(BIG)),
        ("/t", str(BIG)),
        ("", str(BIG)),
        ("a", str(BIG)),
    ],
)
def test_digits_that_are_no_integer_or_belong_to_no_such_number_are_wrong(
    at: str, text: Any
) -> None:
    """Taken, they would be a second answer beside the payload."""
    sent = {"a": ROUNDED, "t": True}
    value, wrong = restore_integers(sent, {at: text})
    assert (value, list(wrong)) == (sent, [at])


def test_a_number_that_may_be_an_integer_of_the_question_rounded_is_found() -> None:
    payload = {"a": ROUNDED, "b": [BIG, 5], "c": ROUNDED, "t": True}
    assert rounded(payload, [BIG, 7], frozenset({"/c"})) == {"/a": BIG}
    assert rounded({"a": float(ROUNDED)}, [BIG], frozenset()) == {"/a": BIG}
    assert rounded({"a": 7}, [BIG, 7], frozenset()) == {}


@pytest.mark.parametrize(
    ("sent", "kept", "meant"),
    [
        ({"id": ROUNDED, "n": 2}, {"id": BIG, "n": 1}, {"id": BIG, "n": 2}),
        ([ROUNDED], [BIG], [BIG]),
        ([1, ROUNDED], [BIG], [1, BIG]),
        ({"chosen": ROUNDED}, {"all": [BIG]}, {"chosen": BIG}),
        ({"chosen": ROUNDED}, {"all": [BIG, ROUNDED]}, {"chosen": ROUNDED}),
        ({"f": 1}, {"f": 1.0}, {"f": 1.0}),
        ({"f": 10**16}, {"f": 1e16}, {"f": 1e16}),
        ({"t": True}, {"t": 1}, {"t": True}),
        ({"id": str(BIG)}, {"id": BIG}, {"id": str(BIG)}),
        (18446744073709552000.0, 2**64 - 1, 2**64 - 1),
        ({}, {"id": BIG}, {}),
    ],
)
def test_a_state_comes_back_with_the_digits_of_the_one_that_it_was_made_from(
    sent: Any, kept: Any, meant: Any
) -> None:
    found = unrounded(sent, kept)
    assert (found, repr(found)) == (meant, repr(meant))


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"a": [18446744073709551617]}', ["/a/0"]),
        ('{"a/b": -9223372036854775809, "t": "18446744073709551617"}', ["/a~1b"]),
        ('{"a": 18446744073709551615, "b": -9223372036854775808}', []),
        # What `JSON.stringify` writes of doubles, and what Python writes of round numbers.
        ("[100000000000000000000, 123456789012345680000, 1e300, 36893488147419103000]", []),
        ("[10000000000000000000000000000000, 18446744073709551616.5]", []),
        ("1" * 400, [""]),
        (r'["\"18446744073709551617", "\\", 18446744073709551617]', ["/2"]),
    ],
)
def test_integers_that_would_be_rounded_are_found_where_they_stand(
    text: str, where: list[str]
) -> None:
    assert lost_digits(text.encode()) == where


@pytest.mark.parametrize(
    ("text", "is_cut"),
    [
        ("0.1", False),
        ("0.10", False),
        ("1e3", False),
        ("9007199254740993", False),
        ("18446744073709551617", True),
        ("0.12345678901234567890123", True),
        ('{"a": [1e400]}', True),
        ('"0.12345678901234567890123"', False),
        ("no JSON", False),
    ],
)
def test_a_number_that_was_typed_too_long_is_not_cut_in_silence(text: str, is_cut: bool) -> None:
    assert cuts_digits(text) is is_cut
