"""The parameters of a tool, read off its function's signature: a validating model. Pure."""

import inspect
import typing
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pydantic
import pydantic_core
from pydantic import BaseModel, ConfigDict, PydanticUserError, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from sayso.agents.codec import annotated, left_out
from sayso.base.errors import DeclarationError


class TurnMarker:
    """The base of `Turn`, as far as a tool's signature has to know it."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """The model of a tool's arguments, and the parameter that takes the `Turn`, if one does."""

    model: type[BaseModel]
    turn: str | None = None


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


def parameters_of(fn: Callable[..., Any], name: str) -> Parameters:
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
    config = ConfigDict(extra="forbid", arbitrary_types_allowed=False, protected_namespaces=())
    try:
        with warnings.catch_warnings():
            # A parameter may be called `json` or `copy`: nobody reads those off this model.
            warnings.simplefilter("ignore", UserWarning)
            model = pydantic.create_model(f"{name}_arguments", __config__=config, **fields)
    except (PydanticUserError, pydantic_core.SchemaError, NameError) as error:
        raise DeclarationError(f"tool {name!r}: {error}") from None
    if (lost := left_out(model.__pydantic_core_schema__)) is not None:
        raise DeclarationError(
            f"tool {name!r} takes {lost}: what is proposed, approved and run is JSON, so the tool "
            "would never get it. Take secrets inside the function, from where they are kept"
        )
    return Parameters(model, turn)
