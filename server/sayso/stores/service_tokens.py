"""Tokens of services as every store keeps them: their text, which a codec seals.

Each is sealed for its scope and id, and counts for its own digest alone: who may write rows can
make no token, and gives none a role.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from sayso.base.service_tokens import ServiceToken, from_json, to_json
from sayso.stores.sealing import Damaged, Seals, those_that_open

_log = logging.getLogger("sayso.store")

COLUMN: Final = "service_token.body"

Source = TypeVar("Source")


def to_text(token: ServiceToken, seals: Seals) -> bytes:
    """A token as it is kept: one line."""
    line = to_json(token).decode()
    return seals.into(token.scope, "").one(COLUMN, token.id, line).encode()


def from_text(text: bytes, scope: str, token_id: str, seals: Seals) -> ServiceToken:
    """The token that is kept under an id.

    Raises:
        StoreUnavailable: its key is not here; `Damaged`, if somebody has put it there.
    """
    line = seals.out_of(scope, "").one(COLUMN, token_id, text.decode())
    return from_json(line.encode())


def of_digest(make: Callable[[], ServiceToken], digest: str) -> ServiceToken | None:
    """The token that a digest leads to; None for one that is damaged, or another's.

    Raises:
        StoreUnavailable: its key is not here.
    """
    try:
        token = make()
    except Damaged as error:
        _log.warning("a token of a service counts no longer: %s", error)
        return None
    return token if token.digest == digest else None


def in_order(
    make: Callable[[Source], ServiceToken], sources: Iterable[Source]
) -> tuple[ServiceToken, ...]:
    """Those of a scope that are not damaged, the oldest first."""
    tokens = those_that_open(make, sources, some=False)
    return tuple(sorted(tokens, key=lambda token: (token.added_at, token.id)))
