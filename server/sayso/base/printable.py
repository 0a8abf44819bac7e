"""Text of strangers as it may stand on a terminal or in a log: nothing that either would obey."""

from urllib.parse import urlsplit

from sayso.base import unseen

_JOINING = frozenset("\u200d\ufe0f") | frozenset(map(chr, range(0xE0030, 0xE0080)))
"""What is left of these stands inside a picture."""


def line(text: str) -> str:
    """Text on one line; control characters and all that would hide are spelled out."""
    seen = unseen.spelt(text, _spelled)
    return "".join(
        character if character.isprintable() or character in _JOINING else _spelled(character)
        for character in seen
    )


def lines(text: str) -> str:
    """The same with the ends of its lines."""
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
