"""A tool: a function with a parameter schema, an approval policy and effect options.

Pure: describes and validates, never runs anything. The arguments that the policy sees, that the
reviewer is shown and that the function gets are the same validated, defaulted ones (J3).
"""

import inspect
import logging
import typing
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sized
from copy import copy
from dataclasses import replace
from math import inf, isnan
from typing import (
    Annotated,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    TypeVar,
    Unpack,
    overload,
)

from pydantic import AfterValidator

from sayso.agents.briefing import Impact, Said, Wording, in_bounds
from sayso.agents.codec import Codec, annotated, codec_of, return_codec
from sayso.agents.parameters import (
    CheckArguments,
    Parameters,
    SchemaParameters,
    TurnMarker,
    parameters_of,
)
from sayso.agents.policy import Effect, Policy, ProposedCall
from sayso.agents.told import Told, value_of, value_type
from sayso.agents.tooloptions import CallOptions, OnError, Scale, ToolOptions, Verify
from sayso.base import jsonvalue, redaction
from sayso.base.approvers import OWNER, Approvers
from sayso.base.default import DEFAULT, Default
from sayso.base.errors import DeclarationError, NotRecordable
from sayso.base.options import FallbackAnswer, OnExpire, check_lifetime
from sayso.base.records import Principal
from sayso.base.secretvalues import Vault, check_kept
from sayso.schemas.errors import SchemaViolation
from sayso.schemas.remember import Remember
from sayso.schemas.responses import approval_schema
from sayso.schemas.schema import Schema, compile_approval

_log = logging.getLogger("sayso.agents.tools")


P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
H = TypeVar("H", bound=TurnMarker)


class Tool(Generic[P, R]):
    """A function that agents may call; call it through `Turn.call`, or plainly as `.fn`.

    Type checkers know it by the function's parameters, except its turn, and by its result.
    """

    # A type checker takes the first that fits: the order counts, as in `ToolDecorator`.
    @overload
    def __init__(
        self, fn: Callable[Concatenate[H, P], Awaitable[Told[R]]], **options: Unpack[ToolOptions]
    ) -> None: ...
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
    def __init__(
        self, fn: Callable[P, Awaitable[Told[R]]], **options: Unpack[ToolOptions]
    ) -> None: ...
    @overload
    def __init__(self, fn: Callable[P, Awaitable[R]], **options: Unpack[ToolOptions]) -> None: ...
    @overload
    def __init__(self, fn: Callable[P, Told[R]], **options: Unpack[ToolOptions]) -> None: ...
    @overload
    def __init__(self, fn: Callable[P, R], **options: Unpack[ToolOptions]) -> None: ...
    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        **options: Unpack[CallOptions],
    ) -> None:
        own = getattr(fn, "__name__", type(fn).__name__)
        self._declare(
            name or own,
            description or inspect.getdoc(fn) or "",
            fn,
            parameters_of(fn, name or own),
            _streamed_or(fn, lambda: return_codec(fn, value_type)),
            **options,
        )

    @overload
    @classmethod
    def of(
        cls,
        name: str,
        *,
        description: str = "",
        parameters: Mapping[str, Any],
        call: Callable[..., Any],
        check: CheckArguments | None = None,
        part: bool = False,
        result: type[T],
        from_person: Callable[[Any], T] | None = None,
        **options: Unpack[CallOptions],
    ) -> "Tool[..., T]": ...
    @overload
    @classmethod
    def of(
        cls,
        name: str,
        *,
        description: str = "",
        parameters: Mapping[str, Any],
        call: Callable[..., Any],
        check: CheckArguments | None = None,
        part: bool = False,
        result: Any = Any,
        from_person: Callable[[Any], Any] | None = None,
        **options: Unpack[CallOptions],
    ) -> "Tool[..., Any]": ...
    @classmethod
    def of(
        cls,
        name: str,
        *,
        description: str = "",
        parameters: Mapping[str, Any],
        call: Callable[..., Any],
        check: CheckArguments | None = None,
        part: bool = False,
        result: Any = Any,
        from_person: Callable[[Any], Any] | None = None,
        **options: Unpack[CallOptions],
    ) -> "Tool[..., Any]":
        """Make a tool of a JSON Schema: of a protocol, of a framework, of a file.

        - `parameters`: the JSON Schema of an object; arguments fit it and are not coerced. Then
          defaults of its properties are filled in. Rules and texts may name its properties, and
          get None for one that is missing.
        - `call`: gets the arguments as one mapping.
        - `check`: looks at arguments that fit, and returns what is wrong with them all the same.
        - `part`: `call` gets the turn and the arguments, and may ask and record.
        - `result`: the type of what `call` returns; by default any JSON value.
        - `from_person`: makes a result of what a person gives for one. Its annotation is the type
          that the person is asked for.
        - `options`: as for `Sayso.tool`.

        Arguments that do not fit raise `ArgumentsMisfit` before anything is sent.

        Raises:
            DeclarationError: a schema that cannot be compiled, or an option that cannot work.
        """
        named: object = name
        if not isinstance(named, str) or not named:
            raise DeclarationError(f"a tool of a JSON Schema has a name, a text, not {name!r}")
        for what, function in (("call", call), ("check", check), ("from_person", from_person)):
            if not callable(function) and (what == "call" or function is not None):
                raise DeclarationError(f"{what}= of tool {name!r} is a function, not {function!r}")
        tool: Tool[..., Any] = cls.__new__(cls)
        tool._declare(
            name,
            description,
            call,
            SchemaParameters(name, parameters, check, part=part),
            _streamed_or(call, lambda: codec_of(value_type(result), f"tool {name!r}")),
            from_person=from_person,
            **options,
        )
        return tool

    def _declare(
        self,
        name: str,
        description: str,
        fn: Callable[..., Any],
        parameters: Parameters,
        result: Codec,
        *,
        from_person: Callable[[Any], Any] | None = None,
        approval: Policy | None = None,
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
        scrub: bool = False,
        reveal: bool = False,
        approvers: Approvers | None = None,
        title: Said | None = None,
        why: Said | None = None,
        impact: Impact | None = None,
    ) -> None:
        if not (approval is None or isinstance(approval, Policy)):
            raise DeclarationError(
                f"approval of tool {name!r} must be a policy, such as approval.never, "
                f"approval.always or approval.when(...), not {approval!r}"
            )
        if effect not in typing.get_args(Effect):
            raise DeclarationError(
                f"effect of tool {name!r} is 'read', 'write' or 'irreversible', not {effect!r}"
            )
        if approvers is not None and not isinstance(approvers, Approvers):
            raise DeclarationError(f"approvers of tool {name!r} is an Approvers, not {approvers!r}")
        if timeout is not None and not timeout > 0:
            raise DeclarationError(f"timeout of tool {name!r} must be seconds above zero")
        if on_error not in (None, *typing.get_args(OnError)):
            raise DeclarationError(
                f"on_error of tool {name!r} is 'type', 'text', 'fail' or 'ask', not {on_error!r}"
            )
        if scrub and inspect.isasyncgenfunction(annotated(fn)):
            raise DeclarationError(
                f"scrub of tool {name!r}: what it streams has left before it is whole. Have it "
                "return its result"
            )
        self.fn = fn
        self.origin: Tool[..., Any] = self
        """The tool that this one is a copy of, under another policy; else itself."""
        self.declared_under: Policy | None = None
        """The default of the app that has declared it: another app that serves it may ask more."""
        self.name: str | Any = name
        self.complete = complete
        self.on_error = on_error
        self.scrubs = scrub
        self.reveals = reveal
        self.description: str = description
        self.editable = editable
        self.effect = effect
        self.permission = permission
        self.idempotent = idempotent
        self.timeout = timeout
        self.verify = verify
        self.is_async: bool = inspect.iscoroutinefunction(fn)
        self._parameters = parameters
        self.parameters: dict[str, Any] = parameters.schema
        self.is_part: bool = parameters.takes_turn
        """True for a tool that takes the turn: it is a part of it, and no effect itself."""
        self.streams: bool = inspect.isasyncgenfunction(annotated(fn))
        self.approvers: Approvers = approvers or OWNER
        """The people who decide about a run that failed, or may have happened, if no rule asked."""
        self.on_expire = on_expire
        self._words = tuple(
            wording
            for label, words in (("title", title), ("why", why), ("impact", impact))
            if (wording := Wording.of(words, label, self.name, parameters.names)) is not None
        )
        self.any_call: ProposedCall = ProposedCall(tool=self.name, arguments={}, effect=effect)
        """A call that no rule has to look at: what holds of all."""
        self._scale = scale
        self._scaled_by = _scaled_by(scale, self.name, frozenset(parameters.names))
        self.has_secrets: bool = redaction.marks_secrets(jsonvalue.encode(self.parameters))
        """True if its parameters may mark an argument, or a part of one, as secret."""
        self._secret = parameters.secret
        self.result: Codec = result
        self.given: Codec = result if from_person is None else _made(from_person, result, name)
        """Reads what a person gives for a result."""
        self._check_kind()
        self.expires_in = expires_in
        answers = compile_approval(jsonvalue.encode(approval_schema(self.parameters)))
        self._answers: dict[Any, bytes] = {}
        if expires_in is not DEFAULT:
            check_lifetime(expires_in, f"expires_in of tool {self.name!r}")
        if on_expire is not DEFAULT:
            _check_on_expire(on_expire, self.name, answers)
        self._decide_by(approval)

    def _decide_by(self, approval: Policy | None) -> None:
        """Put its calls under a policy, or leave them to that of the app."""
        self.approval: Policy | None = None if approval is None else self.fitted(approval)
        """Its own policy; None where it has none, and that of the app counts."""
        if self.approval is not None:
            self.check_editable(self.approval)

    def under(self, approval: Policy | None, *, editable: bool | None = None) -> "Tool[P, R]":
        """Copy it for an agent that has another policy; `editable` is by default the tool's own.

        Where an agent has the copy (`add_tools(…, agent=)`), a call of this tool is one of it.

        Raises:
            DeclarationError: a policy that cannot work here.
        """
        tool = copy(self)
        tool.origin = self.origin
        tool.editable = self.editable if editable is None else editable
        tool._decide_by(approval)
        return tool

    def fitted(self, policy: Policy, *, four_eyes: bool = False) -> Policy:
        """The rules of a policy that can speak about this tool, in an app with `four_eyes` or not.

        Raises:
            DeclarationError: a rule takes other arguments, or cannot go with `on_expire`.
        """
        fitting = policy.for_tool(self.name, frozenset(self._parameters.names))
        if four_eyes:
            fitting = fitting.under(four_eyes=True)
        approvers = (*fitting.approvers, self.approvers.under(four_eyes=four_eyes))
        if self.on_expire == "approve" and not all(who.plain for who in approvers):
            raise DeclarationError(
                f"on_expire='approve' of tool {self.name!r}: silence cannot count as a yes of "
                "several people, or of anybody but the requester; choose another on_expire="
            )
        return fitting

    def check_editable(self, policy: Policy) -> None:
        """Refuse to offer edits to nobody.

        Raises:
            DeclarationError: it is editable, and the policy never asks.
        """
        if self.editable and policy.kind == "never":
            raise DeclarationError(
                f"tool {self.name!r} is editable, but nobody is ever asked about it: give it an "
                "approval=, or leave out editable=True"
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
        return self._parameters.by_name(args, kwargs)

    def _check_kind(self) -> None:
        """Refuse options that a tool of this kind cannot have."""
        if inspect.isgeneratorfunction(annotated(self.fn)):
            raise DeclarationError(
                f"tool {self.name!r} is a plain generator: a tool that streams is an "
                "`async def` with `yield`"
            )
        if not self.is_part:
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

    def approval_schema(self, remember: Remember | None, *, editable: bool | None = None) -> bytes:
        """The schema of an answer to a gated call, as JSON; made once for each way to answer.

        `editable`: arguments may be edited, by default as the tool says.
        """
        editable = self.editable if editable is None else editable
        ways = remember and (tuple(remember.arguments), tuple(remember.scopes), remember.expires_in)
        schema_bytes = self._answers.get((ways, editable))
        if schema_bytes is None:
            arguments = self.parameters if editable else None
            schema = approval_schema(arguments, remember, self.parameters["properties"])
            schema_bytes = self._answers[ways, editable] = jsonvalue.encode(schema)
        return schema_bytes

    def missing(self, arguments: Mapping[str, Any]) -> list[str]:
        """Required arguments that are not given."""
        return [name for name in self.parameters.get("required", ()) if name not in arguments]

    def arguments(self, decoded: Mapping[str, Any]) -> bytes:
        """The effective arguments as JSON: validated, defaults filled in.

        Those of a function are coerced to its annotations.

        Raises:
            ValidationError: (pydantic's) arguments that do not fit a function.
            ArgumentsMisfit: arguments that do not fit a JSON Schema.
            NotRecordable: an integer that a person would be shown rounded, or an argument that
                comes back from JSON as another value.
        """
        return self._parameters.effective(decoded)

    def check_kept(self, *, sealed: bool) -> None:
        """Refuse to take what only an encrypted store keeps, where it is not `sealed`.

        Raises:
            DeclarationError: it takes a type that hides its value.
        """
        if self._secret is not None:
            check_kept(sealed=sealed, by=f"tool {self.name!r} takes {self._secret}: ")

    def apart(self, arguments: bytes, vault: Vault) -> bytes:
        """Effective arguments with an id in place of each value that is marked as secret."""
        return jsonvalue.encode(vault.take(jsonvalue.decode(arguments), self.parameters))

    def whole(self, arguments: Mapping[str, Any], vault: Vault) -> dict[str, Any]:
        """Arguments with the values that were kept apart from them."""
        put_back: dict[str, Any] = vault.put_back(arguments, self.parameters)
        return put_back

    def decode_arguments(self, arguments: bytes) -> dict[str, Any]:
        """The values of effective arguments, as the function gets them."""
        return self._parameters.decode(arguments)

    def passed(
        self, values: dict[str, Any], turn: Any = None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The positional and named arguments of a call with these values."""
        return self._parameters.passed(values, turn)

    def _values(self, arguments: bytes) -> dict[str, Any]:
        """The values that rules and texts may name; None for one that may be left out, and is."""
        return {**dict.fromkeys(self._parameters.names), **self.decode_arguments(arguments)}

    def proposed(
        self, arguments: bytes, caller: Principal, thread_id: str, request: str
    ) -> ProposedCall:
        """A call with effective arguments, as the rules see it; all of it who asks has to give."""
        values = self._values(arguments)
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
        if not self.has_secrets:
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
        named = {**dict.fromkeys(self._parameters.names), **shown}
        for word in self._words:
            if word.name not in said:
                said[word.name] = word.about(lambda: self._values(arguments), named)
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
        return self._parameters.violations(arguments)


class ToolDecorator(Protocol):
    """The decorator `@app.tool(…)`, for functions of each kind."""

    @overload
    def __call__(self, fn: Callable[Concatenate[H, P], Awaitable[Told[R]]], /) -> Tool[P, R]: ...
    @overload
    def __call__(self, fn: Callable[Concatenate[H, P], Awaitable[R]], /) -> Tool[P, R]: ...
    @overload
    def __call__(self, fn: Callable[P, AsyncIterator[str]], /) -> Tool[P, str]: ...
    @overload
    def __call__(self, fn: Callable[P, Awaitable[Told[R]]], /) -> Tool[P, R]: ...
    @overload
    def __call__(self, fn: Callable[P, Awaitable[R]], /) -> Tool[P, R]: ...
    @overload
    def __call__(self, fn: Callable[P, Told[R]], /) -> Tool[P, R]: ...
    @overload
    def __call__(self, fn: Callable[P, R], /) -> Tool[P, R]: ...


def _streamed_or(fn: Callable[..., Any], codec: Callable[[], Codec]) -> Codec:
    """The codec of a tool's result: the text of one that streams, else that which is given."""
    return Codec(str) if inspect.isasyncgenfunction(annotated(fn)) else codec()


def _made(from_person: Callable[[Any], Any], result: Codec, tool: str) -> Codec:
    """Reads a value that a person gives, and makes a result of the tool of it."""
    what = f"what from_person= of tool {tool!r} made"

    def make(value: Any) -> Any:
        made = from_person(value)
        try:
            own = result.decode(result.encode(value_of(made), what), what)
        except NotRecordable as error:
            raise ValueError(str(error)) from None
        return replace(made, value=own) if isinstance(made, Told) else own

    try:
        hints = list(typing.get_type_hints(annotated(from_person)).items())
    except (NameError, TypeError):
        hints = []
    taken = next((hint for name, hint in hints if name != "return"), Any)
    return codec_of(Annotated[taken, AfterValidator(make)], f"tool {tool!r}")


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
