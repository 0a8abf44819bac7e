"""Texts without the credentials in them, and how they are known again (pure)."""

import logging
import re
import time
from typing import Any

import pytest

from sayso import DeclarationError, Scrub
from sayso.base.logs import JsonLines, ScrubbedLogs, TextLines
from sayso.base.scrubbing import is_scrubbed_form, scrub_deep

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl-_"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        ("postgresql://svc:hunter2@10.0.0.5/prod", "postgresql://[scrubbed]@10.0.0.5/prod"),
        ("at 'https://a:b@c@host/x?y=z@w'", "at 'https://[scrubbed]@host/x?y=z@w'"),
        ("Authorization: Bearer abc.def-ghi", "Authorization: Bearer [scrubbed]"),
        ("{'authorization': 'Basic dXNlcjpw'}", "{'authorization': '[scrubbed]'}"),
        ("[(b'authorization', b'Token abc')]", "[(b'authorization', b'[scrubbed]')]"),
        (f"token={JWT};", "token=[scrubbed];"),
        (f"key: {PEM} and more", "key: [scrubbed] and more"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE", "[scrubbed]"),
    ],
)
def test_a_credential_is_taken_out_of_a_text(text: str, scrubbed: str) -> None:
    """Once and for all: what is scrubbed stays as it is."""
    assert Scrub()(text) == scrubbed == Scrub()(scrubbed)


@pytest.mark.parametrize(
    "text",
    ["", "ann@example.org", "https://example.org/@ann", "no authorization, sorry", "eyJ.a.b"],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert Scrub()(text) == text


def test_patterns_of_an_author_are_scrubbed_as_well() -> None:
    scrub = Scrub(["sk_live_[a-z]+", re.compile("hunter[0-9]")])
    assert scrub("sk_live_abc hunter2") == "[scrubbed] [scrubbed]"


@pytest.mark.parametrize("patterns", ["sk_.*", ["("], [b"bytes"], [re.compile(b"x")], [5], [""]])
def test_what_is_no_pattern_is_refused(patterns: Any) -> None:
    with pytest.raises(DeclarationError, match=r"^Scrub"):
        Scrub(patterns)


@pytest.mark.parametrize(
    "piece",
    [
        *("://", "://a@", "@", "bearer ", "bearer a", "eyJ", "eyJaaaaaa.", "-eyJ", "-----END "),
        *("authorization= ", "authorization:a a", "-----BEGIN PRIVATE KEY-----"),
    ],
)
def test_no_pattern_of_ours_reads_a_text_again_and_again(piece: str) -> None:
    """Four times the text takes four times as long, not sixteen; strangers write such texts."""

    def spent(size: int) -> float:
        text = "https://x:" + piece * (size // len(piece))
        began = time.process_time()
        Scrub()(text)
        return time.process_time() - began

    assert min(spent(96_000) for _ in range(3)) < 10 * max(spent(24_000), 0.004)


def test_a_scrubbed_value_is_known_again_whichever_patterns_did_it() -> None:
    """Only what was scrubbed may be anything; all else is what it was."""
    value = {"a": ["x https://u:p@h y", 5], "b": {"c": "Bearer abcdefgh", "d": None}}
    scrubbed = scrub_deep(value, Scrub())
    assert scrubbed != value
    assert is_scrubbed_form(scrubbed, value)
    assert is_scrubbed_form(value, value)
    for changed in (
        {**value, "a": ["x https://u:p@h z", 5]},
        {**value, "a": ["x https://u:p@h y"]},
        {**value, "a": ["x https://u:p@h y", 6]},
        {"a": value["a"]},
        {**value, "b": {"c": "bearer abcdefgh", "d": None}},
        {**value, "b": {"c": "Bearer abcdefgh", "d": 1}},
    ):
        assert not is_scrubbed_form(scrubbed, changed)
    assert is_scrubbed_form("a[scrubbed]b[scrubbed]c", "a-b-b-c")
    assert not is_scrubbed_form("a[scrubbed]b[scrubbed]c", "a-c-b")
    assert not is_scrubbed_form("ab[scrubbed]bc", "abc")


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("postgresql://svc:hunter2@h")


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("postgresql://svc:hunter2@h")


@pytest.mark.parametrize("lines", [TextLines(), JsonLines(), logging.Formatter()])
def test_logs_are_scrubbed_wherever_they_go(lines: logging.Formatter) -> None:
    """Message, arguments, tracebacks, causes; a handler of any kind, until the app has ended."""
    written: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(self.format(record))

    logger, handler = logging.getLogger("httpx.test_scrubbing"), Kept()
    handler.setFormatter(lines)
    logger.addHandler(handler)
    logs = ScrubbedLogs(Scrub())
    logs.begin()
    try:
        logger.warning("at https://u:hunter2@h")
        logger.warning("%s for %d at %r", "Bearer hunter2hunter2", 5, {"u": "https://u:hunter2@h"})
        logger.warning("%(at)s", {"at": "https://u:hunter2@h"})
        logger.warning("it is %r", Hostile())
        try:
            try:
                raise ValueError("https://u:hunter2@h")
            except ValueError as error:
                raise Mute from error
        except Mute:
            logger.exception("failed", stack_info=True)
        assert len(written) == 5
        assert "hunter2" not in repr(written)
        assert "Bearer [scrubbed] for 5 at" in written[1]
        assert "Traceback" in written[-1] and "https://[scrubbed]@h" in written[-1]
    finally:
        logs.end()
        logger.removeHandler(handler)
    assert handler.filters == []
