"""Text of strangers as it may stand on a terminal or in a log: nothing that either would obey.

Characters that hide in a text, change how it reads or pass for others are spelt out:

Zero-width and ignorable characters, tags, marks and overrides of direction, controls other than
tabs and line ends. Parts of one picture stay: joiners and a selector inside an emoji sequence, the
tags of a region's flag. In the name of a host, letters that look like Latin ones are spelt out if
nothing else in their part of the name tells them apart.
"""

import re
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from sayso.base.unseen_table import LOOKALIKES, PICTURES, UNSEEN

_JOINING = frozenset("\u200d\ufe0f") | frozenset(map(chr, range(0xE0030, 0xE0080)))
"""Joiners and tags of pictures; `unseen` spells out those outside a picture."""


def line(text: str) -> str:
    """Text on one line; control characters and all that would hide are spelled out."""
    seen = spelt(text, _spelled)
    return "".join(
        character if character.isprintable() or character in _JOINING else _spelled(character)
        for character in seen
    )


def lines(text: str) -> str:
    """A text of several lines, printable, with the ends of its lines."""
    return "\n".join(map(line, text.split("\n")))


def address(url: str) -> str:
    """A URL as it may stand on a screen: without who signs in by it."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _spelled(character: str) -> str:
    if character in "\n\r\t":
        return " "
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"


_PICTURE: Final = rf"[{PICTURES}](?:\ufe0f|[\U0001f3fb-\U0001f3ff])?"
_FLAG: Final = r"\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f"
_KEYCAP: Final = r"[0-9#*]\ufe0f\u20e3"
_FOUND: Final = re.compile(
    rf"(?P<whole>{_FLAG}|{_KEYCAP}|{_PICTURE}(?:\u200d{_PICTURE})*)|(?P<unseen>[{UNSEEN}])"
)
_LOOKALIKE: Final = re.compile(f"[{LOOKALIKES}]")
_DOTS: Final = ".\u3002\uff0e\uff61"
_HOST: Final = re.compile(rf"(?P<said>://|@)?(?P<host>[\w-]+(?:[{_DOTS}][\w-]+)*)")
_LABEL: Final = re.compile(rf"[^{_DOTS}]+")


def spelt(text: str, spell: Callable[[str], str]) -> str:
    """A text with each character that hides, or poses as another in a host, spelt by `spell`."""
    if text.isascii() and text.isprintable():
        return text
    if _LOOKALIKE.search(text):
        text = _HOST.sub(lambda match: _host(match, spell), text)
    return _FOUND.sub(lambda match: match["whole"] or spell(match["unseen"]), text)


def _host(match: re.Match[str], spell: Callable[[str], str]) -> str:
    """A host with its disguised letters spelt; other words, and names of files, as they are."""
    host = match["host"]
    certain = match["said"] is not None
    if not certain and not any(dot in host for dot in _DOTS):
        return match[0]
    if not any(character.isascii() and character.isalpha() for character in host):
        return match[0]

    def poses(character: str) -> bool:
        # Who reads a host reads it in small letters; a word in capitals is just a word.
        return _LOOKALIKE.match(character if certain else character.lower()) is not None

    def label(part: re.Match[str]) -> str:
        letters = [character for character in part[0] if character.isalpha()]
        if not all(character.isascii() or poses(character) for character in letters):
            return part[0]
        return "".join(
            spell(character) if not character.isascii() and character.isalpha() else character
            for character in part[0]
        )

    return (match["said"] or "") + _LABEL.sub(label, host)


def escaped(text: str) -> str:
    r"""A text with each character that hides as JSON escapes it: `\u200b`, `\udb40\udc41`."""
    return spelt(text, _escape)


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(
        f"\\u{units[index]:02x}{units[index + 1]:02x}" for index in range(0, len(units), 2)
    )
