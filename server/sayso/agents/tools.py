"""A tool: a function with a parameter schema, an approval policy and effect options.

Pure: describes and validates, never runs anything. The arguments that the policy sees, that the
reviewer is shown and that the function gets are the same validated, coerced, defaulted ones (J3).
"""

import inspect
import logging
import typing
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sized
from math import inf, isnan
from typing import (
    Any,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
)

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError

from sayso.agents.approval import never
from sayso.agents.briefing import Impact, Said, Wording, in_bounds
from sayso.agents.codec import Codec, annotated, in_stable_order, is_same, return_codec
from sayso.agents.parameters import TurnMarker, parameters_of
from sayso.agents.policy import Effect, Policy, ProposedCall
from sayso.base import jsonvalue, redaction
from sayso.base.approvers import OWNER, Approvers
from sayso.base.errors import DeclarationError, NotRecordable
from sayso.base.options import DEFAULT, Default, FallbackAnswer, OnExpire, check_lifetime
from sayso.base.records import Principal
from sayso.base.texts import to_utf8_safe_deep
from sayso.schemas.errors import SchemaViolation
from sayso.schemas.remember import Remember
from sayso.schemas.responses import approval_schema
from sayso.schemas.schema import Schema, compile_approval
from sayso.schemas.times import Published
from sayso.schemas.typed import errors_of

_log = logging.getLogger("sayso.agents.tools")


class Happened(typing.NamedTuple):
    """A `verify=` hook found that the effect took place; `value` is its result."""

    value: Any = None


class DidNotHappen(typing.NamedTuple):
    """A `verify=` hook found that the effect did not take place; it may run again."""


Verify = Callable[[str], Awaitable[Happened | DidNotHappen]]
"""Asked with the call's key after a crash between started and done."""


OnError = Literal["type", "text", "fail", "ask"]
"""An error becomes a result that gives its type, or its text; fails the turn; or is shown to a
person: retry, skip or stop."""

Scale = str | Callable[..., float]
"""The number of things a call touches: an argument that says or holds them, or a function."""


class ToolOptions(TypedDict, total=False):
    """The options of a tool, by name; see `Sayso.tool`."""

    name: str | None
    description: str | None
    approval: Policy
    editable: bool
    idempotent: bool
    timeout: float | None
    verify: Verify | None
    expires_in: float | Default | None
    on_expire: OnExpire | Default
    effect: Effect
    scale: Scale | None
    permission: str | None
    complete: bool
    on_error: OnError | None
    approvers: Approvers | None
    title: Said | None
    why: Said | None
    impact: Impact | None


P = ParamSpec("P")
R = TypeVar("R")
H = TypeVar("H", bound=TurnMarker)


class Tool(Generic[P, R]):
    """A function that agents may call; call it through `Turn.call`, or plainly as `.fn`.

    Type checkers know it by the function's parameters, except its turn, and by its result.
    """

    # A type checker takes the first that fits: the order counts, as in `ToolDecorator`.
    @overload
    def __init__(
        self, fn: Callable[Concatenate[H, P], Awaitable[R]], **options: Unpack[ToolOptions]
    ) -> None: ...
    @overload
    def __init__(
        self: "Tool[P, str]",
        fn: Callable[P, AsyncIterator[str]],
        **options: Unpack[ToolOptions],
    ) -> None: ...
    @overload
    def __init__(self, fn: Callable[P, Awaitable[R]], **options: Unpack[ToolOptions]) -> None: ...
    @overload
    def __init__(self, fn: Callable[P, R], **options: Unpack[ToolOptions]) -> None: ...
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
        effect: Effect = "write",
        scale: Scale | None = None,
        permission: str | None = None,
        complete: bool = False,
        on_error: OnError | None = None,
        approvers: Approvers | None = None,
        title: Said | None = None,
        why: Said | None = None,
        impact: Impact | None = None,
    ) -> None:
        own = getattr(fn, "__name__", type(fn).__name__)
        if not isinstance(approval, Policy):
            raise DeclarationError(
                f"approval of tool {own!r} must be a policy, such as approval.never, "
                f"approval.always or approval.when(...), not {approval!r}"
            )
        if effect not in typing.get_args(Effect):
            raise DeclarationError(
                f"effect of tool {own!r} is 'read', 'write' or 'irreversible', not {effect!r}"
            )
        if approvers is not None and not isinstance(approvers, Approvers):
            raise DeclarationError(f"approvers of tool {own!r} is an Approvers, not {approvers!r}")
        if timeout is not None and not timeout > 0:
            raise DeclarationError(f"timeout of tool {own!r} must be seconds above zero")
        if on_error not in (None, *typing.get_args(OnError)):
            raise DeclarationError(
                f"on_error of tool {own!r} is 'type', 'text', 'fail' or 'ask', not {on_error!r}"
            )
        self.fn = fn
        self.name: str | Any = name or own
        self.complete = complete
        self.on_error = on_error
        self.description: str = description or inspect.getdoc(fn) or ""
        self.editable = editable
        self.effect = effect
        self.permission = permission
        self.idempotent = idempotent
        self.timeout = timeout
        self.verify = verify
        self.is_async: bool = inspect.iscoroutinefunction(fn)
        parameters = parameters_of(fn, self.name)
        self.model: type[BaseModel] = parameters.model
        self.turn: str | None = parameters.turn
        self.streams: bool = inspect.isasyncgenfunction(annotated(fn))
        self._fields = tuple(self.model.model_fields)
        names = frozenset(self._fields)
        self.approval: Policy = approval.for_tool(self.name, names)
        if editable and self.approval.kind == "never":
            raise DeclarationError(
                f"tool {self.name!r} is editable, but nobody is ever asked about it: give it an "
                "approval=, or leave out editable=True"
            )
        self.approvers: Approvers = approvers or OWNER
        """The people who decide about a run that failed, or may have happened, if no rule asked."""
        self.asked: tuple[Approvers, ...] = (
            *self.approval.approvers,
            *([approvers] if approvers else []),
        )
        """The people that questions about its calls may wait for, besides the owners of threads."""
        self._words = tuple(
            wording
            for name, words in (("title", title), ("why", why), ("impact", impact))
            if (wording := Wording.of(words, name, self.name, self._fields)) is not None
        )
        self.any_call: ProposedCall = ProposedCall(tool=self.name, arguments={}, effect=effect)
        """A call that no rule has to look at: what holds of all."""
        self._scale = scale
        self._scaled_by = _scaled_by(scale, self.name, names)
        self.parameters: dict[str, Any] = self.model.model_json_schema(schema_generator=Published)
        self.parameters.pop("title", None)
        self._has_secrets = redaction.marks_secrets(jsonvalue.encode(self.parameters))
        self.result: Codec = Codec(str) if self.streams else return_codec(fn)
        self._check_kind()
        self.expires_in = expires_in
        self.on_expire = on_expire
        answers = compile_approval(jsonvalue.encode(approval_schema(self.parameters)))
        self._answers: dict[Any, bytes] = {}
        if expires_in is not DEFAULT:
            check_lifetime(expires_in, f"expires_in of tool {self.name!r}")
        if on_expire is not DEFAULT:
            _check_on_expire(on_expire, self.name, answers)
        if on_expire == "approve" and any(
            people.approvals != 1 or people.not_by for people in self.asked
        ):
            raise DeclarationError(
                f"on_expire='approve' of tool {self.name!r}: silence cannot count as a yes of "
                "several people, or of anybody but the requester; choose another on_expire="
            )

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Refuse a direct call: it would bypass approval and record nothing."""
        raise TypeError(
            f"tool {self.name!r} was called directly; use `await turn.call({self.name}, ...)` "
            f"inside an agent, or `{self.name}.fn(...)` for the plain function"
        )

    def by_name(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Turn arguments as for the function into arguments by name.

        Raises:
            TypeError: an argument that the function does not take, or that is given twice.
        """
        signature = inspect.signature(self.fn)
        taken = [parameter for name, parameter in signature.parameters.items() if name != self.turn]
        try:
            bound = signature.replace(parameters=taken).bind_partial(*args)
        except TypeError as error:
            raise TypeError(f"tool {self.name!r}: {error}") from None
        if twice := [name for name in bound.arguments if name in kwargs]:
            raise TypeError(f"tool {self.name!r} is given {', '.join(map(repr, twice))} twice")
        return {**bound.arguments, **kwargs}

    def _check_kind(self) -> None:
        """Refuse options that a tool of this kind cannot have."""
        if inspect.isgeneratorfunction(annotated(self.fn)):
            raise DeclarationError(
                f"tool {self.name!r} is a plain generator: a tool that streams is an "
                "`async def` with `yield`"
            )
        if self.turn is None:
            return
        if self.streams or not self.is_async:
            raise DeclarationError(
                f"tool {self.name!r} takes the turn, so it has to be an `async def` without yield"
            )
        effect_only = {
            "timeout": self.timeout is not None,
            "idempotent": self.idempotent,
            "verify": self.verify is not None,
            "on_error='ask'": self.on_error == "ask",
        }
        wrong = [option for option, is_set in effect_only.items() if is_set]
        if wrong:
            raise DeclarationError(
                f"tool {self.name!r} takes the turn, so it is not an effect itself: give "
                f"{', '.join(wrong)} to its steps and calls"
            )

    @property
    def scaled(self) -> bool:
        """True if a call says how many things it touches."""
        return self._scale is not None

    def approval_schema(self, remember: Remember | None) -> bytes:
        """The schema of an answer to a gated call, as JSON; made once for each way to remember."""
        ways = remember and (tuple(remember.arguments), tuple(remember.scopes), remember.expires_in)
        schema_bytes = self._answers.get(ways)
        if schema_bytes is None:
            editable = self.parameters if self.editable else None
            schema = approval_schema(editable, remember, self.parameters["properties"])
            schema_bytes = self._answers[ways] = jsonvalue.encode(schema)
        return schema_bytes

    def missing(self, arguments: Mapping[str, Any]) -> list[str]:
        """Required arguments that are not given."""
        return [name for name in self.parameters.get("required", ()) if name not in arguments]

    def arguments(self, decoded: dict[str, Any]) -> bytes:
        """The effective arguments as JSON: validated, coerced, defaults filled in.

        Raises:
            ValidationError: (pydantic's) arguments that do not fit.
            NotRecordable: an integer that a person would be shown rounded, or an argument that
                comes back from JSON as another value.
        """
        try:
            model = self.model.model_validate(decoded)
            written = self._json(model)
        except (ValidationError, NotRecordable):
            fitted = to_utf8_safe_deep(decoded)  # a model may have written half a character
            if fitted == decoded:
                raise
            model = self.model.model_validate(fitted)
            written = self._json(model)
        if jsonvalue.loses_digits(written):
            raise NotRecordable(
                f"an argument of tool {self.name!r} is an integer beyond 64 bits, which readers of "
                "JSON round: declare it as str, or as Decimal"
            )
        if lost := self._lost(model, written):
            raise NotRecordable(
                f"tool {self.name!r} would get another value than it was called with: argument "
                f"{', '.join(map(repr, lost))} is not the same after it was written as JSON and "
                "read again; give it a type whose JSON says all of it"
            )
        return in_stable_order(model, written)

    def _json(self, model: BaseModel) -> bytes:
        try:
            return model.model_dump_json(by_alias=True).encode()
        except PydanticSerializationError as error:
            raise NotRecordable(
                f"an argument of tool {self.name!r} has no JSON form: {error}"
            ) from None

    def _lost(self, model: BaseModel, written: bytes) -> list[str]:
        """The arguments that do not come back from their JSON as they were given."""
        try:
            read = self.model.model_validate_json(written).__dict__
        except ValidationError as error:
            places = [item["loc"][0] for item in error.errors(include_input=False) if item["loc"]]
            return list(dict.fromkeys(map(str, places))) or list(self._fields)
        values = model.__dict__
        return [name for name in self._fields if not is_same(values[name], read[name])]

    def decode_arguments(self, arguments: bytes) -> dict[str, Any]:
        """The Python values of effective arguments, as the function gets them."""
        model = self.model.model_validate_json(arguments)
        values = model.__dict__
        return {name: values[name] for name in self._fields}

    def proposed(
        self, arguments: bytes, caller: Principal, thread_id: str, request: str = ""
    ) -> ProposedCall:
        """A call with effective arguments, as the rules see it."""
        values = self.decode_arguments(arguments)
        return ProposedCall(
            tool=self.name,
            arguments=values,
            effect=self.effect,
            scale=None if self._scale is None else self._measured(values),
            scale_of=self._scale if isinstance(self._scale, str) else None,
            permission=self.permission,
            caller=caller,
            thread_id=thread_id,
            request=request,
        )

    def shown(self, plain: dict[str, Any]) -> dict[str, Any]:
        """The effective arguments that a text may show: without those marked as secret."""
        if not self._has_secrets:
            return plain
        shown: dict[str, Any] = redaction.redacted(plain, self.parameters)
        return shown

    def briefing(
        self, arguments: bytes, shown: Mapping[str, Any], why: str | None = None
    ) -> dict[str, Any]:
        """Describe a call for a person: `title`, `why` and `impact`, as far as given.

        `why` is the agent's reason for this very call, instead of the tool's own.
        """
        said: dict[str, Any] = {} if why is None or not why.strip() else {"why": why}
        if not said and not self._words:
            return said
        for word in self._words:
            if word.name not in said:
                said[word.name] = word.about(lambda: self.decode_arguments(arguments), shown)
        texts = ((name, in_bounds(name, said.get(name))) for name in ("title", "why", "impact"))
        return {name: text for name, text in texts if text}

    def _measured(self, values: dict[str, Any]) -> float:
        """The number of things a call touches; infinity if that cannot be determined."""
        try:
            if callable(self._scale):
                scaled = {name: values[name] for name in self._scaled_by}
                count: Any = self._scale(**scaled)
            else:
                count = values[self._scaled_by[0]]
            counted = isinstance(count, Sized) and not isinstance(count, str | bytes)
            scale = float(len(count) if counted else count)
            return inf if isnan(scale) else scale
        except Exception:
            _log.exception("the scale of a call of tool %r cannot be told", self.name)
            return inf

    def argument_errors(self, arguments: Any) -> tuple[SchemaViolation, ...]:
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


class ToolDecorator(Protocol):
    """The decorator `@app.tool(…)`, for functions of each kind."""

    @overload
    def __call__(self, fn: Callable[Concatenate[H, P], Awaitable[R]], /) -> Tool[P, R]: ...
    @overload
    def __call__(self, fn: Callable[P, AsyncIterator[str]], /) -> Tool[P, str]: ...
    @overload
    def __call__(self, fn: Callable[P, Awaitable[R]], /) -> Tool[P, R]: ...
    @overload
    def __call__(self, fn: Callable[P, R], /) -> Tool[P, R]: ...


def _check_on_expire(rule: Any, name: str, answers: Schema) -> None:
    """Check the `on_expire` of an approval; a yes is spelled out as `approve`."""
    where = f"on_expire of tool {name!r}"
    if isinstance(rule, FallbackAnswer):
        wrong = answers.errors(rule.payload)
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
            f"{where} must be 'expire', 'hold', 'deny', 'cancel', 'approve' or a FallbackAnswer, "
            f"not {rule!r}"
        )


def _scaled_by(scale: Any, tool: str, names: frozenset[str]) -> tuple[str, ...]:
    """The arguments that say how many things a call touches."""
    scale_names: tuple[str, ...] = ()
    if isinstance(scale, str):
        scale_names = (scale,)
    elif callable(scale):
        scale_names = tuple(inspect.signature(scale).parameters)
    elif scale is not None:
        raise DeclarationError(
            f"scale of tool {tool!r} is the name of an argument, or a function of arguments, "
            f"not {scale!r}"
        )
    missing = [name for name in scale_names if name not in names]
    if missing:
        raise DeclarationError(
            f"scale of tool {tool!r} names {', '.join(missing)}, but the tool takes "
            f"{', '.join(sorted(names)) or 'no arguments'}"
        )
    return scale_names
