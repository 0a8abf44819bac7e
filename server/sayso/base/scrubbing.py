"""Texts without the credentials that are in them: of errors, logs and the audit trail.

Built in are passwords in URLs, bearer tokens and `Authorization` headers, JSON Web Tokens, private
keys. Each of our own patterns reads a text once, however long it is and whoever wrote it.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from sayso.base import jsonvalue
from sayso.base.errors import DeclarationError

SCRUBBED: Final = "[scrubbed]"
"""What stands for a credential."""

Scrubbing = Callable[[str], str]
"""Gives a text without what nobody may see."""

_TOKEN: Final = r"[A-Za-z0-9._~+/-]"  # noqa: S105 - the characters of one
_CREDENTIALS: Final = (
    # What is left of the last @ of an authority.
    (re.compile(r"(?<=://)[^\s/?#\\\"'<>]+(?=@)"), SCRUBBED),
    (re.compile(rf"(?i)\b(bearer\s++)(?:{_TOKEN}{{8,}}+=*+)"), rf"\1{SCRUBBED}"),
    (
        re.compile(
            r"(?i)\b(authorization(?:[\"']\s*+,|[\"']?\s*+[:=])\s*+(?:b(?=[\"']))?+[\"']?+)"
            r"(?!bearer\b)(?:[a-z]++[ \t]++)?[^\s\"',;]+"
        ),
        rf"\1{SCRUBBED}",
    ),
    (
        re.compile(
            r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{5,}+\.[A-Za-z0-9_-]{5,}+(?:\.[A-Za-z0-9_-]*+){0,3}"
        ),
        SCRUBBED,
    ),
    (
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:[\s\S]*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[\s\S]*)"
        ),
        SCRUBBED,
    ),
)


def _compiled(pattern: str | re.Pattern[str]) -> re.Pattern[str]:
    try:
        compiled: re.Pattern[Any] = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise DeclarationError(f"Scrub: {pattern!r} is no pattern: {error}") from None
    if not isinstance(compiled.pattern, str):
        raise DeclarationError(f"Scrub: {pattern!r} is a pattern of bytes, and texts are scrubbed")
    if compiled.search("") is not None:
        raise DeclarationError(f"Scrub: {pattern!r} fits an empty text, and so everything")
    return compiled


class Scrub:
    """Takes credentials out of texts, `[scrubbed]` standing for each: `Scrub(["sk_live_[a-z]+"])`.

    `patterns` are regular expressions of your own beside those that are built in; they read texts
    that models and strangers wrote, so none may take more than linear time.

    Raises:
        DeclarationError: for what is no pattern, and for one that fits an empty text.
    """

    def __init__(self, patterns: Iterable[str | re.Pattern[str]] = ()) -> None:
        if isinstance(patterns, str):
            raise DeclarationError("Scrub takes a list of patterns, not one text")
        self._own: tuple[re.Pattern[str], ...] = tuple(map(_compiled, patterns))

    def __call__(self, text: str) -> str:
        """Give the text without credentials; the same text if it has none."""
        for pattern in self._own:
            text = pattern.sub(SCRUBBED, text)
        for pattern, instead in _CREDENTIALS:
            text = pattern.sub(instead, text)
        return text


BUILT_IN: Final = Scrub()
"""Knows what is built in, and nothing else."""


def scrub_deep(value: Any, scrub: Scrubbing) -> Any:
    """Give a JSON value with all its texts scrubbed; names of members stay."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, Mapping):
        return {name: scrub_deep(item, scrub) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [scrub_deep(item, scrub) for item in value]
    return value


def as_it_is(text: str) -> str:
    """Leave a text as it is, where nobody asked for anything else."""
    return text


def is_scrubbed_form(scrubbed: Any, value: Any) -> bool:
    """True if a JSON value became the other one by scrubbing, whichever patterns did it."""
    if isinstance(scrubbed, str) and isinstance(value, str):
        return _fits(scrubbed.split(SCRUBBED), value)
    if isinstance(scrubbed, dict) and isinstance(value, dict):
        same = scrubbed.keys() == value.keys()
        return same and all(is_scrubbed_form(part, value[name]) for name, part in scrubbed.items())
    if isinstance(scrubbed, list) and isinstance(value, list):
        return len(scrubbed) == len(value) and all(map(is_scrubbed_form, scrubbed, value))
    return jsonvalue.equal(scrubbed, value)


def _fits(pieces: list[str], text: str) -> bool:
    """True if the pieces stand in the text, in order, with anything between them."""
    first, *middle = pieces
    if not middle:
        return first == text
    last = middle.pop()
    begin, end = len(first), len(text) - len(last)
    if begin > end or not (text.startswith(first) and text.endswith(last)):
        return False
    for piece in middle:
        place = text.find(piece, begin, end)
        if place < 0:
            return False
        begin = place + len(piece)
    return True
