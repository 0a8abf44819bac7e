"""Texts that go from one key to another, and how many are left under which."""

from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from sayso.base.errors import DeclarationError, StoreUnavailable
from sayso.stores.aesgcm import AesGcm, key_id
from sayso.stores.sealing import Seals, bytes_of

REKEYED_ROWS = 200
"""Rows that are looked at in one transaction at most."""
CLEAR = ""
"""Stands for the key of what is not encrypted."""


@dataclass(slots=True)
class Rekeyed:
    """The outcome of a batch of texts, or of several.

    `encrypted` is how many were written under the first key. `under` counts all that were looked
    at by the id of their key, as it is now; "" is none. `broken` says which did not open, and why.
    `next` is where the next batch begins, None behind the last one.
    """

    encrypted: int = 0
    under: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    next: str | None = None

    def add(self, batch: "Rekeyed") -> None:
        """Add what became of a further batch, and go on where it ends."""
        self.encrypted += batch.encrypted
        self.under += batch.under
        self.broken += batch.broken
        self.next = batch.next


class Rekeying:
    """Brings texts under the first key of a codec, and counts them."""

    def __init__(self, codec: AesGcm | None, *, accept_plain: bool, look: bool) -> None:
        """`accept_plain`: clear texts are encrypted, too. `look`: nothing is, all is counted."""
        if codec is None:
            raise DeclarationError("a store without keys has nothing to encrypt; give it a codec")
        reading = copy(codec)
        reading.accept_plain = accept_plain
        self._seals = Seals(reading)
        self._first = codec.ids[0]
        self._look = look
        self.batch: Rekeyed = Rekeyed()

    def attempt(self) -> "Rekeying":
        """The same with a count of its own, for what may have to be done again."""
        other = copy(self)
        other.batch = Rekeyed()
        return other

    def renewed(
        self, scope: str, thread_id: str, row: str, columns: Sequence[str], texts: Sequence[Any]
    ) -> list[Any] | None:
        """The texts of a row (columns are `table.column`) as they are to be; None if they are."""
        fresh = [
            self._text(scope, thread_id, column, row, text)
            for column, text in zip(columns, texts, strict=True)
        ]
        return None if fresh == list(texts) else fresh

    def _text(self, scope: str, thread_id: str, column: str, row: str, text: Any) -> Any:
        if text is None:
            return None
        key = key_id(bytes_of(text) if isinstance(text, str) else text) or CLEAR
        if key == self._first or self._look:
            self.batch.under[key] += 1
            return text
        try:
            clear = self._seals.out_of(scope, thread_id).one(column, row, text)
        except StoreUnavailable as error:
            self.batch.under[key] += 1
            self.batch.broken.append(str(error))
            return text
        self.batch.under[self._first] += 1
        self.batch.encrypted += 1
        return self._seals.into(scope, thread_id).one(column, row, clear)
