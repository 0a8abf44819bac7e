"""The keep-alive of a silent stream (EN-06). Pure."""

from dataclasses import dataclass
from typing import Any, Final

from sayso.base.errors import DeclarationError

_MAX_SIZE_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """A comment after `seconds` of silence on an open stream, of at least `size` bytes.

    The size is for proxies that hold back short chunks, whatever the headers say: what was sent
    before such a comment comes through with it (M3).

    Raises:
        DeclarationError: an invalid time or size (65,536 bytes at most).
    """

    seconds: float = 15.0
    size: int = 0

    def __post_init__(self) -> None:
        if type(self.seconds) not in (int, float) or not self.seconds > 0:
            raise DeclarationError(
                f"keep_alive must be seconds above zero, or None for never, not {self.seconds!r}"
            )
        if type(self.size) is not int or not 0 <= self.size <= _MAX_SIZE_BYTES:
            raise DeclarationError(
                f"size of KeepAlive is a number of bytes from 0 to {_MAX_SIZE_BYTES}, not "
                f"{self.size!r}"
            )


def keep_alive_of(option: Any) -> KeepAlive | None:
    """The option as it was written: seconds, a `KeepAlive`, or None for never."""
    return option if option is None or isinstance(option, KeepAlive) else KeepAlive(option)
