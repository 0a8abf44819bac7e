"""Rows of the audit trail in words, as the terminal prints them."""

from typing import Any

import pytest

from sayso.cli.admin.audit import who

AT = "2026-01-01T00:00:00.000Z"
MOMENT = 1_767_225_600_000


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, ""),
        ({"interruptId": "int_1"}, ""),
        ({"by": "ann"}, "ann"),
        (
            {
                "by": "lea",
                "roles": ["lead", "finance"],
                "channel": "inbox",
                "proof": {"issuer": "https://login.example/realm", "authTime": MOMENT - 250_000},
            },
            "lea, as lead, finance, signed in 4 minutes before by login.example, by inbox",
        ),
        (
            {"by": "ci", "proof": {"kind": "service", "issuer": "acme"}},
            "ci, a service, signed in by acme",
        ),
        ({"by": "ann", "proof": {"authTime": MOMENT + 5}}, "ann, signed in 0 seconds before"),
        ({"by": "ann", "proof": {"authTime": MOMENT - 86_400_000}}, "ann, signed in 1 day before"),
        (
            {"answer": {"by": "lea"}, "agreed": [{"by": "leo", "roles": ["lead"]}, 7]},
            "lea; leo, as lead",
        ),
        (
            {"by": "ann", "proof": {"issuer": "http://[", "authTime": "x"}},
            "ann, signed in by http://[",
        ),
    ],
)
def test_people_are_said_with_what_shows_that_it_was_they(content: Any, words: str) -> None:
    """Whatever a store holds: what is not as it should be is left out."""
    assert who({"at": AT, "content": content}) == words
