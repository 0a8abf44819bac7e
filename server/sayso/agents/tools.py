"""A tool: a function with a parameter schema, an approval policy and effect options.

Pure: describes and validates, never runs anything. The arguments that the policy sees, that the
reviewer is shown and that the function gets are the same validated, coerced, defaulted ones (J3).
"""

import inspect
import logging
import typing
from collections.abc import Awaitable, Callable, Mapping, Sized
from math import inf, isnan
from typing import Any, Literal

from pydantic import ValidationError

from sayso import jsonvalue
from sayso.agents.approval import never
from sayso.agents.asking import Remember
from sayso.agents.codec import Codec, annotated, return_codec, stable
from sayso.agents.parameters import parameters_of
from sayso.agents.policy import Effect, Policy, Proposed
from sayso.errors import DeclarationError, NotRecordable
from sayso.options import DEFAULT, Default, GivenAnswer, OnExpire, check_lifetime
from sayso.records import Principal
from sayso.schemas.forms import approval_schema
from sayso.schemas.schema import Fault, Schema, compile_schema
from sayso.schemas.typed import faults_of

__all__ = ["DidNotHappen", "Happened", "OnError", "Scale", "Tool", "Verify"]

_log = logging.getLogger("sayso.agents.tools")


class Happened(typing.NamedTuple):
    """A `verify=` hook found that the effect took place; `value` is its result."""

    value: Any = None


class DidNotHappen(typing.NamedTuple):
    """A `verify=` hook found that the effect did not take place; it may run again."""


Verify = Callable[[str], Awaitable[Happened | DidNotHappen]]
"""Asked with the call's key after a crash between started and done."""


OnError = Literal["text", "fail", "ask"]
"""An error becomes result text, fails the turn, or is put to a person: retry, skip or stop."""

Scale = str | Callable[..., float]
"""How many things a call touches: the argument that says or holds them, or a function of some."""


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
        effect: Effect = "write",
        scale: Scale | None = None,
        permission: str | None = None,
        complete: bool = False,
        on_error: OnError | None = None,
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
        if timeout is not None and timeout <= 0:
            raise DeclarationError(f"timeout of tool {own!r} must be seconds above zero")
        if on_error not in (None, *typing.get_args(OnError)):
            raise DeclarationError(
                f"on_error of tool {own!r} is 'text', 'fail' or 'ask', not {on_error!r}"
            )
        self.fn = fn
        self.name = name or own
        self.complete = complete
        self.on_error = on_error
        self.description = description or inspect.getdoc(fn) or ""
        self.editable = editable
        self.effect = effect
        self.permission = permission
        self.idempotent = idempotent
        self.timeout = timeout
        self.verify = verify
        self.is_async = inspect.iscoroutinefunction(fn)
        parameters = parameters_of(fn, self.name)
        self.model = parameters.model
        self.turn = parameters.turn
        self.streams = inspect.isasyncgenfunction(annotated(fn))
        self._fields = tuple(self.model.model_fields)
        names = frozenset(self._fields)
        self.approval = approval.concerning(self.name, names)
        if editable and self.approval.kind == "never":
            raise DeclarationError(
                f"tool {self.name!r} is editable, but nobody is ever asked about it: give it an "
                "approval=, or leave out editable=True"
            )
        self._scale = scale
        self._scaled_by = _scaled_by(scale, self.name, names)
        self.parameters: dict[str, Any] = self.model.model_json_schema()
        self.parameters.pop("title", None)
        self.result: Codec = Codec(str) if self.streams else return_codec(fn)
        self._check_kind()
        self.expires_in = expires_in
        self.on_expire = on_expire
        answers = compile_schema(approval_schema(self.parameters))
        self._answers: dict[Any, bytes] = {}
        if expires_in is not DEFAULT:
            check_lifetime(expires_in, f"expires_in of tool {self.name!r}")
        if on_expire is not DEFAULT:
            _check_on_expire(on_expire, self.name, answers)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Refuse: a direct call would bypass approval and record nothing."""
        raise TypeError(
            f"tool {self.name!r} was called directly; use `await turn.call({self.name}, ...)` "
            f"inside an agent, or `{self.name}.fn(...)` for the plain function"
        )

    def _check_kind(self) -> None:
        """Refuse what a tool of this kind cannot do."""
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
        wrong = [option for option, given in effect_only.items() if given]
        if wrong:
            raise DeclarationError(
                f"tool {self.name!r} takes the turn, so it is no effect itself: give "
                f"{', '.join(wrong)} to its steps and calls"
            )

    @property
    def scaled(self) -> bool:
        """Whether a call says how many things it touches."""
        return self._scale is not None

    def answers(self, remember: Remember | None) -> bytes:
        """JSON of the schema of what answers a gated call, made once for each way to remember."""
        ways = remember and (tuple(remember.arguments), tuple(remember.scopes), remember.expires_in)
        found = self._answers.get(ways)
        if found is None:
            editable = self.parameters if self.editable else None
            schema = approval_schema(editable, remember, self.parameters["properties"])
            found = self._answers[ways] = jsonvalue.encode(schema)
        return found

    def missing(self, given: Mapping[str, Any]) -> list[str]:
        """Required arguments that are not given."""
        return [name for name in self.parameters.get("required", ()) if name not in given]

    def arguments(self, given: dict[str, Any]) -> bytes:
        """The effective arguments as JSON: validated, coerced, defaults filled in.

        Raises pydantic's `ValidationError` for arguments that do not fit, `NotRecordable` for an
        integer of which a person would be shown a rounded one.
        """
        model = self.model.model_validate(given)
        written = model.model_dump_json(by_alias=True).encode()
        if jsonvalue.rounds(written):
            raise NotRecordable(
                f"an argument of tool {self.name!r} is an integer beyond 64 bits, which readers of "
                "JSON round: declare it as str, or as Decimal"
            )
        return stable(model, written)

    def values(self, arguments: bytes) -> dict[str, Any]:
        """The Python values of effective arguments, as the function gets them."""
        model = self.model.model_validate_json(arguments)
        given = model.__dict__
        return {name: given[name] for name in self._fields}

    def proposed(
        self, arguments: bytes, caller: Principal, thread_id: str, request: str = ""
    ) -> Proposed:
        """A call with effective arguments as the rules see it."""
        values = self.values(arguments)
        return Proposed(
            tool=self.name,
            arguments=values,
            effect=self.effect,
            scale=None if self._scale is None else self._measured(values),
            permission=self.permission,
            caller=caller,
            thread_id=thread_id,
            request=request,
        )

    def _measured(self, values: dict[str, Any]) -> float:
        """How many things a call touches; more than any number where that cannot be said."""
        try:
            if callable(self._scale):
                given = {name: values[name] for name in self._scaled_by}
                found: Any = self._scale(**given)
            else:
                found = values[self._scaled_by[0]]
            counted = isinstance(found, Sized) and not isinstance(found, str | bytes)
            scale = float(len(found) if counted else found)
            return inf if isnan(scale) else scale
        except Exception:
            _log.exception("the scale of a call of tool %r cannot be told", self.name)
            return inf

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


def _scaled_by(scale: Any, tool: str, names: frozenset[str]) -> tuple[str, ...]:
    """The arguments that tell how many things a call touches."""
    wanted: tuple[str, ...] = ()
    if isinstance(scale, str):
        wanted = (scale,)
    elif callable(scale):
        wanted = tuple(inspect.signature(scale).parameters)
    elif scale is not None:
        raise DeclarationError(
            f"scale of tool {tool!r} is the name of an argument, or a function of arguments, "
            f"not {scale!r}"
        )
    missing = [name for name in wanted if name not in names]
    if missing:
        raise DeclarationError(
            f"scale of tool {tool!r} names {', '.join(missing)}, but the tool takes "
            f"{', '.join(sorted(names)) or 'no arguments'}"
        )
    return wanted
