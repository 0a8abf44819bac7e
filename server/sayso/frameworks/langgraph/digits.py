"""Integers beyond 64 bits, of which LangGraph's serializer has no form, in a form that it has.

Models write them in arguments of calls. They are kept with all digits; no tool is called with one.
"""

import io
import pickle
from decimal import Decimal
from typing import Any, Final

_LEAST: Final = -(2**63)
_MOST: Final = 2**64 - 1


class Digits(Decimal):
    """Stands for such an integer while it is written; to make one of its digits is to read it."""

    def __new__(cls, digits: str) -> int:  # type: ignore[misc]  # a reader wants the integer itself
        """The integer of these digits."""
        return int(Decimal(digits))  # of any length, which int() is not


class _Pickler(pickle.Pickler):
    def persistent_id(self, value: Any) -> int | None:
        """The integer itself, if it has to be replaced."""
        return value if type(value) is int and not _LEAST <= value <= _MOST else None


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, integer: int) -> Digits:
        """Its stand-in."""
        return Decimal.__new__(Digits, integer)


def with_digits(value: Any) -> Any:
    """A copy of a value in which `Digits` stand for integers beyond 64 bits, however deep.

    The copy is made by pickling, in memory alone.

    Raises:
        Exception: the value cannot be copied.
    """
    copied = io.BytesIO()
    _Pickler(copied).dump(value)
    copied.seek(0)
    return _Unpickler(copied).load()


def reading_digits(serde: Any) -> Any:
    """A serializer that may read `Digits` also where it reads no types but those it knows."""
    allow = getattr(serde, "with_msgpack_allowlist", None)
    return serde if allow is None else allow([Digits])
