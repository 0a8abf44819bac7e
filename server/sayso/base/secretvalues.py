"""Values that a schema marks as secret, kept apart from the answer or call that has them. Pure.

In their place stands `{"secret": id}`. The id is an HMAC of the value under a key of the scope and
the owner of the thread: equal values have equal ids, so that answers and calls are compared without
them, and nobody else can try out, neither by the key nor by calls of their own, what a value may
be. The schema decides where values are, never what stands there.
"""

import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from sayso.base import jsonvalue
from sayso.base.errors import DeclarationError
from sayso.base.fastrecords import fast
from sayso.base.redaction import NOT_SHOWN, Json, Path, replaced

_PLACE: Final = "secret"
_SPELLED: Final = re.compile(rb'\{\\*"secret\\*":\\*"')
"""An id as JSON has it, also where that is a text within JSON, as in what a model has replied."""


@fast
@dataclass(frozen=True, slots=True, kw_only=True)
class SecretValue:
    """A value that is kept apart from what it belongs to, as JSON; its id stands there instead."""

    id: str
    body: bytes


class Vault:
    """Takes values out of what belongs to an owner, under the key of a scope, and puts them back.

    `stored` are those that are kept for the thread, by id; `kept` are all that it took itself.
    """

    def __init__(
        self, key: bytes, owner: str, stored: Mapping[str, bytes] = MappingProxyType({})
    ) -> None:
        self._key = hmac.digest(key, owner.encode(), "sha256")
        self._stored = stored
        self._kept: dict[str, SecretValue] = {}

    def __repr__(self) -> str:
        return f"Vault(<{len(self._kept)} values>)"

    @property
    def kept(self) -> tuple[SecretValue, ...]:
        """The values that it took, each once."""
        return tuple(self._kept.values())

    def take(self, payload: Any, schema: Json, left: Mapping[str, Any] | None = None) -> Any:
        """The payload with an id in place of each value that its schema marks as secret.

        `left`: what such a payload was made of, without its secrets. Whoever leaves one of these as
        it is shown means the value that stands there.

        Raises:
            ValueError, TypeError, RecursionError: it is no JSON value.
        """
        before = {} if left is None else secret_places(left, schema)
        ids = set(before.values())

        def apart(value: Any, path: Path) -> Any:
            if secret_id(value) in ids:
                return value
            # What moved within a list would get the value of another.
            if value == NOT_SHOWN and path in before and all(type(x) is str for x in path):
                return {_PLACE: before[path]}
            return self._apart(value)

        return replaced(payload, schema, apart)

    def put_back(self, payload: Any, schema: Json) -> Any:
        """The payload with the values that were taken out of it, but for those that are gone."""

        def whole(place: Any, _: Path) -> Any:
            name = secret_id(place)
            body = None if name is None else self._body(name)
            return place if body is None else jsonvalue.decode(body)

        return replaced(payload, schema, whole)

    def _body(self, name: str) -> bytes | None:
        taken = self._kept.get(name)
        return self._stored.get(name) if taken is None else taken.body

    def _apart(self, value: Any) -> Any:
        body = jsonvalue.canonical(value)
        name = hmac.digest(self._key, body, "sha256").hex()
        self._kept[name] = SecretValue(id=name, body=jsonvalue.encode(value))
        return {_PLACE: name}


def with_secrets(payload: Any, schema: bytes, secrets: Mapping[str, bytes]) -> Any:
    """The payload with the values that were taken out of it, by their ids.

    Raises:
        LookupError: one of them is gone.
    """

    def put_back(place: Any, _: Path) -> Any:
        name = secret_id(place)
        # An answer that the author gave ahead never went through a vault.
        return place if name is None else jsonvalue.decode(secrets[name])

    return replaced(payload, jsonvalue.decode(schema), put_back)


def secret_id(place: Any) -> str | None:
    """The id that stands in place of a value; None for anything else."""
    name = place.get(_PLACE) if isinstance(place, dict) and len(place) == 1 else None
    return name if isinstance(name, str) else None


def secret_places(payload: Any, schema: Json) -> dict[Path, str]:
    """The ids that stand in a payload, by the paths to them."""
    places: dict[Path, str] = {}

    def note(place: Any, path: Path) -> Any:
        if (name := secret_id(place)) is not None:
            places[path] = name
        return place

    replaced(payload, schema, note)
    return places


def may_hold_secrets(text: bytes) -> bool:
    """True if a JSON text may have an id in place of a value."""
    return _SPELLED.search(text) is not None


def check_kept(*, sealed: bool, by: str = "") -> None:
    """DeclarationError where secrets would be kept in a store that does not encrypt them.

    `by` is who would have them kept, as the beginning of a sentence.
    """
    if not sealed:
        raise DeclarationError(
            f"{by}secrets are kept in an encrypted store alone: give it a codec, as in "
            'Sayso(codec=AesGcm.from_file("sayso.key")); `sayso key new sayso.key` makes the file'
        )
