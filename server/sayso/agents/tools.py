"""A tool: a function with a parameter schema, an approval policy and effect options.

Pure: describes and validates, never runs anything. The arguments that the policy sees, that the
reviewer is shown and that the function gets are the same validated, coerced, defaulted ones (J3).
"""

import inspect
import typing
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import pydantic
import pydantic_core
from pydantic import BaseModel, ConfigDict, PydanticUserError, TypeAdapter, ValidationError

from sayso import jsonvalue
from sayso.agents.approval import Policy, check_parameters, never
from sayso.agents.codec import Codec, annotated, return_codec, stable
from sayso.errors import DeclarationError
from sayso.options import DEFAULT, Default, GivenAnswer, OnExpire, check_lifetime
from sayso.schemas.forms import approval_schema
from sayso.schemas.schema import Fault, Schema, compile_schema
from sayso.schemas.typed import faults_of

__all__ = ["DidNotHappen", "Happened", "Tool", "Verify"]


class Happened(typing.NamedTuple):
    """A `verify=` hook found that the effect took place; `value` is its result."""

    value: Any = None


class DidNotHappen(typing.NamedTuple):
    """A `verify=` hook found that the effect did not take place; it may run again."""


Verify = Callable[[str], Awaitable[Happened | DidNotHappen]]
"""Asked with the call's key after a crash between started and done."""


class Tool:
    """What `@app.tool` makes of a function; call it through `Turn.call`, or plainly as `.fn`."""

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        approval: Policy = never,
        editable: bool = False,
        idempotent: bool = False,
        timeout: float | None = None,
        verify: Verify | None = None,
        expires_in: float | Default | None = DEFAULT,
        on_expire: OnExpire | Default = DEFAULT,
    ) -> None:
        own = getattr(fn, "__name__", type(fn).__name__)
        if not isinstance(approval, Policy):
            raise DeclarationError(
                f"approval of tool {own!r} must be approval.never, approval.always or "
                f"approval.when(...), not {approval!r}"
            )
        if timeout is not None and timeout <= 0:
            raise DeclarationError(f"timeout of tool {own!r} must be seconds above zero")
        self.fn = fn
        self.name = name or own
        self.description = description or inspect.getdoc(fn) or ""
        self.approval = approval
        self.editable = editable
        self.idempotent = idempotent
        self.timeout = timeout
        self.verify = verify
        self.is_async = inspect.iscoroutinefunction(fn)
        self.model = _arguments_model(fn, self.name)
        self.parameters: dict[str, Any] = self.model.model_json_schema()
        self.parameters.pop("title", None)
        self.result: Codec = return_codec(fn)
        self.expires_in = expires_in
        self.on_expire = on_expire
        answers = compile_schema(approval_schema(self.parameters))
        if expires_in is not DEFAULT:
            check_lifetime(expires_in, f"expires_in of tool {self.name!r}")
        if on_expire is not DEFAULT:
            _check_on_expire(on_expire, self.name, answers)
        check_parameters(approval, self.name, frozenset(self.model.model_fields))

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Refuse: a direct call would bypass approval and record nothing."""
        raise TypeError(
            f"tool {self.name!r} was called directly; use `await turn.call({self.name}, ...)` "
            f"inside an agent, or `{self.name}.fn(...)` for the plain function"
        )

    def arguments(self, given: dict[str, Any]) -> bytes:
        """The effective arguments as JSON: validated, coerced, defaults filled in.

        Raises pydantic's `ValidationError` for arguments that do not fit.
        """
        model = self.model.model_validate(given)
        written = model.model_dump_json(by_alias=True).encode()
        return stable(model, written)

    def values(self, arguments: bytes) -> dict[str, Any]:
        """The Python values of effective arguments, as the function gets them."""
        model = self.model.model_validate_json(arguments)
        return {name: model.__dict__[name] for name in self.model.model_fields}

    def problems(self, arguments: Any) -> tuple[Fault, ...]:
        """What is wrong with proposed arguments, each at its member; empty if nothing."""
        try:
            self.model.model_validate_json(jsonvalue.encode(arguments))
        except ValidationError as error:
            return faults_of(error, arguments)
        return ()


def _check_on_expire(rule: Any, name: str, answers: Schema) -> None:
    """What may become of an approval that nobody gave; a yes is spelled out as `approve`."""
    where = f"on_expire of tool {name!r}"
    if isinstance(rule, GivenAnswer):
        wrong = answers.problems(rule.payload)
        if wrong:
            raise DeclarationError(
                f"{where}: {wrong[0].pointer or 'the answer'} {wrong[0].message}"
            )
        if rule.payload["approved"] is True:
            raise DeclarationError(f"{where}: spell it out as on_expire='approve'")
        if "editedArgs" in rule.payload:
            raise DeclarationError(f"{where}: a denied call has no arguments to edit")
    elif rule not in ("expire", "hold", "deny", "cancel", "approve"):
        raise DeclarationError(
            f"{where} must be 'expire', 'hold', 'deny', 'cancel', 'approve' or a GivenAnswer, "
            f"not {rule!r}"
        )


def _field(tool: str, parameter: inspect.Parameter, hint: Any) -> tuple[Any, Any]:
    """The type and the default of one argument; None as a default makes None a value of it."""
    default = parameter.default
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


def _arguments_model(fn: Callable[..., Any], name: str) -> type[BaseModel]:
    try:
        hints = typing.get_type_hints(annotated(fn), include_extras=True)
    except NameError as error:
        raise DeclarationError(
            f"tool {name!r}: {error}; declare the tool where its annotations can be resolved"
        ) from None
    fields: dict[str, Any] = {}
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
        fields[parameter.name] = _field(name, parameter, hints.get(parameter.name, Any))
    config = ConfigDict(extra="forbid", arbitrary_types_allowed=False, protected_namespaces=())
    try:
        with warnings.catch_warnings():
            # A parameter may be called `json` or `copy`: nobody reads those off this model.
            warnings.simplefilter("ignore", UserWarning)
            return pydantic.create_model(f"{name}_arguments", __config__=config, **fields)
    except (PydanticUserError, pydantic_core.SchemaError, NameError) as error:
        raise DeclarationError(f"tool {name!r}: {error}") from None
