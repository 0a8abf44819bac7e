"""`Secret[T]`: a value that no text shows, and that is kept apart from what it belongs to."""

from typing import Any, Final, TypeVar, cast

import pydantic
from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema

T = TypeVar("T")

_MARK: Final = "sayso_secret"


class Secret(pydantic.Secret[T]):
    """A value that nobody sees but the code that calls `reveal()`, in the answer to a question.

        class Login(BaseModel):
            user: str
            password: Secret[str]

        login = await turn.interrupt("input_required", "Who?", schema=Login)
        login.value.password.reveal()

    `repr`, `str`, f-strings and JSON have stars for it. Forms hide what is typed: its schema is
    that of `T` with `writeOnly`, and `format: "password"` for a text. It is stored apart from the
    answer, under the keys of the app's `codec=`, until its turn is over; an app without one is
    refused.
    """

    def reveal(self) -> T:
        """The value itself."""
        return self.get_secret_value()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema: Any = super().__get_pydantic_core_schema__(source, handler)
        schema["metadata"] = {_MARK: True, "pydantic_js_functions": [_marked]}
        return cast("CoreSchema", schema)


def holds_secrets(schema: Any) -> bool:
    """True if a core schema of pydantic has a `Secret` anywhere."""
    if isinstance(schema, list | tuple):
        return any(map(holds_secrets, schema))
    if not isinstance(schema, dict):
        return False
    return is_secret(schema) or any(map(holds_secrets, schema.values()))


def is_secret(schema: dict[str, Any]) -> bool:
    """True if a core schema is that of a `Secret` itself."""
    metadata = schema.get("metadata")
    return isinstance(metadata, dict) and _MARK in metadata


def _marked(schema: CoreSchema, handler: Any) -> dict[str, Any]:
    described: dict[str, Any] = handler(schema)
    named = handler.resolve_ref_schema(described)
    marks: dict[str, Any] = {"writeOnly": True}
    if named.get("type") == "string":
        marks["format"] = "password"
    # What `T` is called elsewhere is no secret there.
    return {**described, **marks}
