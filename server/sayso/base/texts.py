"""Texts of authors, models and errors, as UTF-8 can carry them. Pure.

Python makes lone surrogates by itself (names of files), and models write halves of an emoji. Nobody
may lose a turn, or what happened in it, over one: halves that meet are joined, a lone one is
replaced.
"""

import logging
from typing import Any, Final

_log = logging.getLogger("sayso.base.texts")

_FIRST_HALVES: Final = ("\ud800", "\udbff")


def to_utf8_safe(text: str) -> str:
    """The text with halves of a character joined, and U+FFFD for a lone one, which is logged."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        pass
    else:
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if joined.count("\ufffd") > text.count("\ufffd"):
        _log.warning("a text holds half a character (a lone surrogate): U+FFFD stands for it")
    return joined


def to_utf8_safe_deep(value: Any) -> Any:
    """Make all texts in a value fit, keys too; anything but JSON containers stays as it is."""
    if isinstance(value, str):
        return to_utf8_safe(value)
    if isinstance(value, dict):
        return {to_utf8_safe_deep(key): to_utf8_safe_deep(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_utf8_safe_deep(item) for item in value]
    return value


def split_surrogate(text: str) -> tuple[str, str]:
    """Split text into what is whole, and half a character that the next piece completes."""
    if text and _FIRST_HALVES[0] <= text[-1] <= _FIRST_HALVES[1]:
        return to_utf8_safe(text[:-1]), text[-1]
    return to_utf8_safe(text), ""


def error_text(error: BaseException) -> str:
    """Read the text of an error, fit to be stored; some cannot say it."""
    try:
        return to_utf8_safe(str(error))
    except Exception:
        return "(what it says cannot be read)"
