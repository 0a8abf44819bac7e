"""The parameters of a tool: of its function's signature, or of a JSON Schema. Pure.

`Parameters` is what a `Tool` needs of them. Arguments of a signature are validated and coerced by a
model. Those of a schema stay the JSON values that they are: first the schema decides, then defaults
are filled in, then the author's own check.
"""

import inspect
import typing
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import pydantic
import pydantic_core
from pydantic import BaseModel, ConfigDict, PydanticUserError, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticSerializationError

from sayso.agents.codec import (
    annotated,
    excluded,
    in_stable_order,
    is_same,
    secret_in,
    to_json,
    with_secrets_in_clear,
)
from sayso.base import jsonvalue
from sayso.base.errors import DeclarationError, NotRecordable, SaysoError
from sayso.base.texts import to_utf8_safe_deep
from sayso.schemas.errors import SchemaViolation
from sayso.schemas.schema import Schema, compile_schema
from sayso.schemas.times import Published
from sayso.schemas.typed import errors_of


class ArgumentsMisfit(SaysoError, ValueError):
    """Arguments of a call that its tool's JSON Schema refuses, or its `check`; nothing was sent.

    `violations` says what is wrong at which member, without the values.
    """

    def __init__(self, tool: str, violations: Sequence[SchemaViolation]) -> None:
        said = "; ".join(f"{pointer or 'they'} {message}" for pointer, message in violations)
        super().__init__(f"the arguments of tool {tool!r} do not fit: {said}")
        self.tool = tool
        self.violations: tuple[SchemaViolation, ...] = tuple(violations)


CheckArguments: TypeAlias = Callable[[dict[str, Any]], Sequence[SchemaViolation]]
"""Looks at arguments that fit their schema, and lists what is wrong with them all the same."""
MISFITS = (ValidationError, ArgumentsMisfit)
"""The errors for arguments that do not fit."""


class TurnMarker:
    """The base of `Turn`, as far as a tool's signature has to know it."""


class Parameters(Protocol):
    """The parameters of a tool: what fits, what is published, and how its function gets it."""

    schema: dict[str, Any]
    """Published: a JSON Schema of an object."""
    names: tuple[str, ...]
    """The arguments that rules and texts may name."""
    secret: str | None
    """A part of them whose type hides it, as in "a Secret at '/pin'"; None without one."""

    @property
    def takes_turn(self) -> bool:
        """True for a part of the turn: its function gets that as well."""

    def effective(self, decoded: Mapping[str, Any]) -> bytes:
        """The arguments as JSON, as they are proposed, approved and run.

        Raises:
            ValidationError: (pydantic's) arguments that do not fit a signature.
            ArgumentsMisfit: arguments that do not fit a JSON Schema.
            NotRecordable: an argument that would come back from JSON as another value.
        """

    def decode(self, arguments: bytes) -> dict[str, Any]:
        """The values of effective arguments, as the function gets them.

        Raises:
            ValidationError: (pydantic's) recorded arguments that do not fit a signature any more.
            ArgumentsMisfit: those that do not fit a JSON Schema any more.
        """

    def violations(self, arguments: Any) -> tuple[SchemaViolation, ...]:
        """List the problems of proposed arguments, each at its member."""

    def passed(self, values: dict[str, Any], turn: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The positional and named arguments of a call of the function, with its turn."""

    def by_name(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Turn arguments as for the function into arguments by name.

        Raises:
            TypeError: an argument that the function does not take, or that is given twice.
        """


def check_digits(tool: str, written: bytes) -> None:
    """Refuse arguments that a person would be shown rounded.

    Raises:
        NotRecordable: an integer beyond 64 bits.
    """
    if jsonvalue.loses_digits(written):
        raise NotRecordable(
            f"an argument of tool {tool!r} is an integer beyond 64 bits, which readers of "
            "JSON round: declare it as str, or as Decimal"
        )


class SignatureParameters:
    """The parameters of a function, but for the one that takes the turn.

    `model` validates the arguments; `turn` is the name of the parameter for the `Turn`.
    """

    def __init__(
        self, tool: str, fn: Callable[..., Any], model: type[BaseModel], turn: str | None
    ) -> None:
        self.model = model
        self.turn = turn
        self.names: tuple[str, ...] = tuple(model.model_fields)
        self.schema: dict[str, Any] = model.model_json_schema(schema_generator=Published)
        self.schema.pop("title", None)
        self.secret: str | None = secret_in(model.__pydantic_core_schema__)
        self._tool, self._fn = tool, fn

    @property
    def takes_turn(self) -> bool:
        """True for a part of the turn."""
        return self.turn is not None

    def effective(self, decoded: Mapping[str, Any]) -> bytes:
        """Validated, coerced, with defaults filled in."""
        try:
            model = self.model.model_validate(decoded)
            written = self._json(model)
        except (ValidationError, NotRecordable):
            fitted = to_utf8_safe_deep(decoded)  # a model may have written half a character
            if fitted == decoded:
                raise
            model = self.model.model_validate(fitted)
            written = self._json(model)
        check_digits(self._tool, written)
        if lost := self._lost(model, written):
            raise NotRecordable(
                f"tool {self._tool!r} would get another value than it was called with: argument "
                f"{', '.join(map(repr, lost))} is not the same after it was written as JSON and "
                "read again; give it a type whose JSON says all of it"
            )
        return in_stable_order(model, written)

    def decode(self, arguments: bytes) -> dict[str, Any]:
        """The Python values of effective arguments."""
        values = self.model.model_validate_json(arguments).__dict__
        return {name: values[name] for name in self.names}

    def violations(self, arguments: Any) -> tuple[SchemaViolation, ...]:
        """List the problems of proposed arguments, each at its member."""
        try:
            model = self.model.model_validate_json(jsonvalue.encode(arguments))
            lost = self._lost(model, self._json(model))
        except ValidationError as error:
            return errors_of(error, arguments)
        except NotRecordable as error:
            return (SchemaViolation("", str(error)),)
        return tuple(
            SchemaViolation(
                jsonvalue.pointer((name,)),
                "is another value after it was written as JSON and read again",
            )
            for name in lost
        )

    def passed(self, values: dict[str, Any], turn: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """All of them by name."""
        return (), values if self.turn is None else {**values, self.turn: turn}

    def by_name(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Bind positional arguments as Python would, without the turn."""
        signature = inspect.signature(self._fn)
        taken = [parameter for name, parameter in signature.parameters.items() if name != self.turn]
        try:
            bound = signature.replace(parameters=taken).bind_partial(*args)
        except TypeError as error:
            raise TypeError(f"tool {self._tool!r}: {error}") from None
        if twice := [name for name in bound.arguments if name in kwargs]:
            raise TypeError(f"tool {self._tool!r} is given {', '.join(map(repr, twice))} twice")
        return {**bound.arguments, **kwargs}

    def _json(self, model: BaseModel) -> bytes:
        try:
            written = model.model_dump_json(by_alias=True).encode()
            if self.secret is None:
                return written
            return with_secrets_in_clear(model, written, self.schema)
        except PydanticSerializationError as error:
            raise NotRecordable(
                f"an argument of tool {self._tool!r} has no JSON form: {error}"
            ) from None

    def _lost(self, model: BaseModel, written: bytes) -> list[str]:
        """The arguments that do not come back from their JSON as they were given."""
        try:
            read = self.model.model_validate_json(written).__dict__
        except ValidationError as error:
            places = [item["loc"][0] for item in error.errors(include_input=False) if item["loc"]]
            return list(dict.fromkeys(map(str, places))) or list(self.names)
        values = model.__dict__
        return [name for name in self.names if not is_same(values[name], read[name])]


class SchemaParameters:
    """The members that a JSON Schema of an object declares; compiled once, here.

    Raises:
        DeclarationError: a schema that cannot be compiled, or is not one of an object.
    """

    def __init__(
        self, tool: str, schema: Mapping[str, Any], check: CheckArguments | None, *, part: bool
    ) -> None:
        declared: dict[str, Any] = {"type": "object", "properties": {}, **schema}
        if declared["type"] != "object" or not isinstance(declared["properties"], dict):
            raise DeclarationError(
                f"tool {tool!r}: parameters= is the JSON Schema of an object, whose properties "
                "are the arguments"
            )
        try:
            self._compiled: Schema = compile_schema(declared)
        except DeclarationError as error:
            raise DeclarationError(f"tool {tool!r}: parameters=: {error}") from None
        self.schema: dict[str, Any] = self._compiled.source
        self.names: tuple[str, ...] = tuple(self.schema["properties"])
        self.secret: str | None = None
        self.takes_turn: bool = part
        self._tool, self._check = tool, check
        self._defaults: dict[str, Any] = {
            name: member["default"]
            for name, member in self.schema["properties"].items()
            if isinstance(member, dict) and "default" in member
        }

    def effective(self, decoded: Mapping[str, Any]) -> bytes:
        """Held against the schema, with defaults filled in; nothing is coerced."""
        mended = to_utf8_safe_deep(dict(decoded))  # a model may have written half a character
        written = to_json(mended, f"an argument of tool {self._tool!r}")
        arguments: dict[str, Any] = jsonvalue.decode(written)
        if not is_same(mended, arguments):
            raise NotRecordable(
                f"tool {self._tool!r} takes JSON values, and would get others than it was called "
                "with: pass texts, numbers, lists and mappings alone"
            )
        if wrong := self._compiled.errors(arguments):
            raise ArgumentsMisfit(self._tool, wrong)
        filled = self._filled(arguments)
        written = jsonvalue.encode(filled)
        if wrong := self._checked(filled):
            raise ArgumentsMisfit(self._tool, wrong)
        return written

    def decode(self, arguments: bytes) -> dict[str, Any]:
        """The arguments, if they still fit."""
        values: dict[str, Any] = jsonvalue.decode(arguments)
        if wrong := self._compiled.errors(values):
            raise ArgumentsMisfit(self._tool, wrong)
        return values

    def violations(self, arguments: Any) -> tuple[SchemaViolation, ...]:
        """List what the schema refuses, else what the author's check does."""
        wrong = self._compiled.errors(arguments)
        if wrong or not isinstance(arguments, dict):
            return wrong
        try:
            check_digits(self._tool, jsonvalue.encode(arguments))
        except NotRecordable as error:
            return (SchemaViolation("", str(error)),)
        filled: dict[str, Any] = jsonvalue.decode(jsonvalue.encode(self._filled(arguments)))
        return self._checked(filled)

    def passed(self, values: dict[str, Any], turn: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """One mapping, behind the turn if the function takes that."""
        return ((turn, values) if self.takes_turn else (values,)), {}

    def by_name(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """There is no signature: positional arguments have no names."""
        raise TypeError(
            f"tool {self._tool!r} has a JSON Schema and no signature: pass its arguments by name, "
            "or as one mapping"
        )

    def _filled(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments with the defaults of those that are missing, as far as that still fits.

        Schemas that others wrote have defaults that do not fit, such as null for a text.
        """
        missing = {n: default for n, default in self._defaults.items() if n not in arguments}
        if not missing:
            return arguments
        filled = {**arguments, **missing}
        if self._compiled.is_valid(filled):
            return filled
        filled = arguments
        for name, default in missing.items():
            further = {**filled, name: default}
            if self._compiled.is_valid(further):
                filled = further
        return filled

    def _checked(self, arguments: dict[str, Any]) -> tuple[SchemaViolation, ...]:
        if self._check is None:
            return ()
        return tuple(SchemaViolation(*violation) for violation in self._check(arguments))


def _field(tool: str, parameter: inspect.Parameter, hint: Any) -> tuple[Any, Any]:
    """The type and the default of one argument; None as a default makes None a value of it."""
    default = parameter.default
    if isinstance(default, FieldInfo):
        raise DeclarationError(
            f"tool {tool!r}: Field(…) of parameter {parameter.name!r} belongs into its annotation: "
            f"{parameter.name}: Annotated[…, Field(…)], with a default of its own behind it"
        )
    if default is parameter.empty:
        return hint, ...
    if default is None:
        return hint | None, None
    try:
        TypeAdapter(hint).validate_python(default)
    except ValidationError as error:
        raise DeclarationError(
            f"tool {tool!r}: the default of parameter {parameter.name!r} does not fit its "
            f"annotation ({error.errors(include_url=False)[0]['msg']})"
        ) from None
    except PydanticUserError as error:
        raise DeclarationError(f"tool {tool!r}: {error}") from None
    return hint, default


def parameters_of(fn: Callable[..., Any], name: str) -> SignatureParameters:
    """Read a function's parameters.

    Raises:
        DeclarationError: a parameter that cannot be passed by name, or has no JSON form.
    """
    try:
        hints = typing.get_type_hints(annotated(fn), include_extras=True)
    except NameError as error:
        raise DeclarationError(
            f"tool {name!r}: {error}; declare the tool where its annotations can be resolved"
        ) from None
    fields: dict[str, Any] = {}
    turn: str | None = None
    for parameter in inspect.signature(fn).parameters.values():
        if parameter.kind in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
            parameter.POSITIONAL_ONLY,
        ):
            raise DeclarationError(
                f"tool {name!r}: parameter {parameter.name!r} cannot be passed by name; tools take "
                "named parameters only"
            )
        if parameter.name.startswith("_") or parameter.name == "model_config":
            raise DeclarationError(
                f"tool {name!r}: parameter {parameter.name!r} has a name that pydantic keeps for "
                "itself; give it another one"
            )
        hint = hints.get(parameter.name)
        if isinstance(hint, type) and issubclass(hint, TurnMarker):
            if turn is not None:
                raise DeclarationError(f"tool {name!r} takes the turn twice: once is enough")
            turn = parameter.name
            continue
        fields[parameter.name] = _field(name, parameter, hints.get(parameter.name, Any))
    # An error goes to logs, and says nothing of a value: it may be a secret.
    config = ConfigDict(
        extra="forbid",
        arbitrary_types_allowed=False,
        protected_namespaces=(),
        hide_input_in_errors=True,
    )
    try:
        with warnings.catch_warnings():
            # A parameter may be called `json` or `copy`: nobody reads those off this model.
            warnings.simplefilter("ignore", UserWarning)
            model = pydantic.create_model(f"{name}_arguments", __config__=config, **fields)
    except (PydanticUserError, pydantic_core.SchemaError, NameError) as error:
        raise DeclarationError(f"tool {name!r}: {error}") from None
    if (lost := excluded(model.__pydantic_core_schema__)) is not None:
        raise DeclarationError(
            f"tool {name!r} takes {lost}: what is proposed, approved and run is JSON, so the tool "
            "would never get it"
        )
    return SignatureParameters(name, fn, model, turn)
