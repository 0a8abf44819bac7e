"""Recorded steps and values: what a turn does once, and finds again on every replay."""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, ParamSpec, TypedDict, TypeVar, Unpack, overload

from sayso.agents.asking import AskTerms
from sayso.agents.briefing import display
from sayso.agents.codec import Codec, codec_of, in_stable_order, return_codec, to_json
from sayso.agents.codec import recorded as to_recorded
from sayso.agents.tooloptions import Happened, Verify
from sayso.base import jsonvalue
from sayso.base.approvers import OWNER, Approvers
from sayso.base.errors import NotRecordable, OutcomeUnknown, StepFailed, TurnError
from sayso.base.jsonpatch import Operation
from sayso.base.records import Entry
from sayso.base.texts import error_text, to_utf8_safe
from sayso.turns.ask import breakpoints
from sayso.turns.ask.breakpoints import Ended, Named
from sayso.turns.calls.indeterminate import ask_indeterminate, verdict, verified
from sayso.turns.journal.journal import numbered
from sayso.turns.journal.state import Written
from sayso.turns.replay.branch import Branch
from sayso.turns.replay.effects import (
    CallInfo,
    EffectScope,
    EffectTimedOut,
    LeaseGone,
    current_effect,
    unknown_end,
    was_cancelled,
)
from sayso.turns.replay.execution import Execution, Place
from sayso.turns.replay.mistakes import awaited, written_as
from sayso.turns.replay.protection import uncancellable
from sayso.turns.replay.recorded import Recorded, recorded

_log = logging.getLogger("sayso.step")

P = ParamSpec("P")
R = TypeVar("R")

_VALUE = b'"value":'


def success(end: int, value: bytes) -> bytes:
    """Entry data of an effect that returned; the value is kept as its own JSON bytes."""
    return numbered(end, _VALUE + value)


def failure(end: int, error_type: str, message: str, *, again: bool = False) -> bytes:
    """Entry data of an effect that raised; `again`: a retry of the failed turn may repeat it."""
    members = b'"error":' + jsonvalue.encode({"type": error_type, "message": message})
    return numbered(end, members + b',"again":true' if again else members)


def result(name: str, data: bytes, codec: Codec) -> Any:
    """The result of a recorded step; `StepFailed` if it raised. The same live and on replay."""
    members = data.index(b",") + 1
    if data.startswith(_VALUE, members):
        return codec.decode(data[members + len(_VALUE) : -1], f"the result of step {name!r}")
    error = jsonvalue.decode(data)["error"]
    raise StepFailed(name, error["type"], error["message"])


@dataclass(frozen=True, slots=True)
class Seen:
    """The part of a step that people see if its outcome is unclear, as its author has meant.

    `shown` is what it does, in words; `look` where to see whether it was done.
    """

    shown: str | None = None
    arguments: dict[str, Any] | None = None
    look: str | None = None

    @classmethod
    def of(cls, options: "StepOptions") -> "Seen":
        """Checked: TypeError for what is no text, `NotRecordable` for what has no JSON form."""
        shown, look = options.get("shown"), options.get("look")
        arguments = options.get("arguments")
        for name, text in (("shown", shown), ("look", look)):
            if not isinstance(text, str | None):
                raise TypeError(f"{name}= of a step is a text, not {text!r}")
        if arguments is None:
            return cls(shown, None, look)
        plain = jsonvalue.decode(to_json(arguments, "arguments= of a step"))
        if not isinstance(plain, dict):
            raise TypeError(f"arguments= of a step is a mapping, not {arguments!r}")
        return cls(shown, plain, look)

    def named(self, label: str) -> str:
        """The step as a person reads it."""
        if self.shown is not None:
            return self.shown
        return f"Step {display(label, self.arguments)}" if self.arguments else f"Step {label!r}"


class StepOptions(TypedDict, total=False):
    """The options of a step, by name; see `Stepper.options`."""

    name: str | None
    idempotent: bool
    timeout: float | None
    verify: Verify | None
    shown: str | None
    arguments: Mapping[str, Any] | None
    look: str | None
    returns: Any


@dataclass(frozen=True, slots=True)
class Stepper:
    """The type of `turn.step`: call it with a function and its arguments.

    Synchronous functions run in a thread. It returns the recorded result. Raises `StepFailed` when
    the function raised, `NotRecordable` for arguments without a JSON form.
    """

    _execution: Execution
    _options: StepOptions = field(default_factory=StepOptions)

    def options(self, **options: Unpack[StepOptions]) -> "Stepper":
        """`turn.step` with options beside those that it has: `turn.step.options(…)(fn, …)`.

        `name` stands for the function's own. `idempotent` saves one write, runs again after a
        crash and is cut off by a stop, as a model call may be; nothing else is, whatever it says
        meanwhile. `timeout` is in seconds; `verify` says after a crash whether it happened.
        Else a person is asked, who sees what it does (`shown`), which values matter (`arguments`)
        and where to see whether it was done (`look`): nobody else's arguments are shown. `returns`
        is the type of the result, and so of what that person may give for it, by default the
        function's own. TypeError for an unknown option and for a value of another kind, ValueError
        for no time at all.
        """
        if unknown := options.keys() - _OPTIONS:
            raise TypeError(
                f"turn.step.options() takes {', '.join(sorted(_OPTIONS))}, not "
                f"{', '.join(sorted(unknown))}"
            )
        _check_values(**options)
        return Stepper(self._execution, {**self._options, **options})

    @overload
    async def __call__(
        self, fn: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs
    ) -> R: ...

    @overload
    async def __call__(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @awaited
    @written_as("Turn.step")
    async def __call__(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Run a function once in the life of the turn."""
        step = _step(self._execution, fn, args, kwargs, self._options)
        return await recorded(self._execution, step)


_OPTIONS = frozenset(StepOptions.__annotations__)
_SHOWING = ("shown", "arguments", "look")
_UNSEEN = Seen()


async def recorded_value(execution: Execution, name: str, make: Callable[[], Any]) -> Any:
    """A value that is made once and found again: the hour, an id, a random number."""
    return await recorded(execution, _Value(name, make))


async def repeatable_step(
    execution: Execution, name: str, fn: Callable[[], Awaitable[Any]], returns: Codec
) -> Any:
    """Run a step that may run again, whatever it is called with; returns the recorded result."""
    options = StepOptions(name=name, idempotent=True)
    step = _Step(to_utf8_safe(name), None, fn, (), {}, returns, _UNSEEN, options)
    return await recorded(execution, step)


class _Value(Recorded[Any]):
    """A value that is made once."""

    kind = "value"

    def __init__(self, name: str, make: Callable[[], Any]) -> None:
        self.name = name
        self._make = make

    async def run(self, place: Place) -> Entry:
        """Make it."""
        return place.record("done", jsonvalue.encode({"value": self._make()}))

    def read(self, place: Place, entry: Entry | None) -> Any:
        """The value."""
        assert entry is not None  # noqa: S101 - `run` gives one
        return jsonvalue.decode(entry.data)["value"]


def _step(
    execution: Execution,
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    options: StepOptions,
) -> "_Step":
    """The call of a function, checked; raises what its author did wrong."""
    seen = _UNSEEN if options.keys().isdisjoint(_SHOWING) else Seen.of(options)
    if not callable(fn):
        raise _no_function(fn)
    if kwargs:
        _check_options(fn, kwargs)
    label = to_utf8_safe(options.get("name") or str(getattr(fn, "__qualname__", type(fn).__name__)))
    arguments = None
    with execution.making("step", label):
        if args or kwargs:
            passed = [args, kwargs]
            written = to_recorded(passed, f"an argument of step {label!r}")
            arguments = jsonvalue.decode(in_stable_order(passed, written))
        codec = (
            codec_of(options["returns"], f"returns= of step {label!r}")
            if "returns" in options
            else return_codec(fn)
        )
    return _Step(label, arguments, fn, args, kwargs, codec, seen, options)


def _told(data: bytes, texts: bool) -> dict[str, Any]:
    """The outcome of a step, as a breakpoint shows it; `texts`: with the text of an error.

    Without them only its type is shown: the text was written for the agent and the log.
    """
    members = jsonvalue.decode(data)
    if "error" in members:
        kind, text = members["error"]["type"], members["error"]["message"]
        return {"error": f"{kind}: {text}" if texts else kind}
    return {"result": members.get("value")}


def _status(entry: Entry) -> str:
    """The outcome of a step, in one word."""
    if entry.status != "done":
        return "unknown"
    return "failed" if "error" in jsonvalue.decode(entry.data) else "executed"


def _deciders(execution: Execution) -> Approvers:
    """Who decides about the call that this code is part of: what came of it is theirs to say."""
    around = current_effect()
    if around is None or around.execution is not execution:
        return OWNER
    return around.info.deciders


def _named(label: str) -> Named:
    """A step as a breakpoint knows it."""
    return Named("step", label, f"step {label!r}")


class _Step(Recorded[Any]):
    """One step on its way from nothing to done."""

    kind = "step"
    place: Place
    _unknown: str | None = None
    """What the function saw of an outcome that nobody knows."""

    def __init__(
        self,
        name: str,
        arguments: Any,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        codec: Codec,
        seen: Seen,
        options: StepOptions,
    ) -> None:
        self.name, self.arguments = name, arguments
        self.fn = fn
        self.args = args
        self.kwargs = kwargs
        self.codec = codec
        self.seen = seen
        self.options = options

    @property
    def execution(self) -> Execution:
        """The execution that it is made in."""
        return self.place.execution

    @property
    def idempotent(self) -> bool:
        """True if it may run again after a crash."""
        return self.options.get("idempotent", False)

    @property
    def key(self) -> str:
        """The call key: the id of this step for the outside world."""
        return self.execution.call_key(self.place.key)

    def before(self, place: Place) -> Named:
        """The step."""
        return _named(self.name)

    def after(self, place: Place, entry: Entry | None) -> Ended | None:
        """The outcome, in whose place another result may be given."""
        if entry is None:
            return None
        texts = place.execution.running.options.tool_errors == "text"
        return Ended(place, _named(self.name), _told(entry.data, texts), self.codec)

    def replaced(self, place: Place, value: Any) -> Any:
        """The result that a person has given in place of the step's own, whose record stays."""
        what = f"the result given for step {self.name!r}"
        try:
            return self.codec.decode(jsonvalue.encode(value), what)
        except NotRecordable as error:
            place.execution.unfit(place, "a result of another type", error)

    def read(self, place: Place, entry: Entry | None) -> Any:
        """Its result; `StepFailed` if the function raised."""
        assert entry is not None  # noqa: S101 - `run` gives one
        try:
            return result(self.name, entry.data, self.codec)
        except NotRecordable as error:
            place.execution.unfit(place, "a result of another type", error)

    async def run(self, place: Place) -> Entry:
        """Run it, or find out what became of it."""
        self.place = place
        entry = place.entry
        if entry is None:
            return await self._run()
        if entry.status == "started":
            return await self.after_crash(entry)
        return await self.after_verdict(entry)

    async def _run(self) -> Entry:
        self.execution.announce_phases(self.place.branch)
        done: list[Entry] = await uncancellable(
            self.execution,
            f"step {self.name!r}",
            self._effect() if self.execution.tracing is None else self._traced(),
        )
        if done[0].status == "started":
            self._ask(done[0], self._unknown)
        return done[0]

    def _ask(self, entry: Entry, unknown: str | None = None) -> NoReturn:
        # The arguments of a step are the server's own: nobody sees them but by `Seen`.
        ask_indeterminate(
            self.place,
            entry,
            shown=self.seen.named(self.name),
            returns=self.codec,
            arguments=self.seen.arguments,
            look=self.seen.look,
            seen=unknown,
            asking=AskTerms(approvers=_deciders(self.execution)),
        )
        raise self.execution.pause()

    async def after_crash(self, entry: Entry) -> Entry:
        # Earlier servers wrote `emits` for a step that spoke: its turn goes on as it began.
        if self.idempotent or jsonvalue.decode(entry.data).get("emits"):
            return await self._run()
        self.execution.only_looks()
        happened = await verified(
            self.execution, self.options.get("verify"), self.key, self.name, self.codec
        )
        if happened is None:
            self._ask(entry)
        if isinstance(happened, Happened):
            return self._happened(happened.value)
        return await self._run()

    async def after_verdict(self, entry: Entry) -> Entry:
        decided = await verdict(self.place, entry, self.codec)
        if decided.action == "run_again":
            return await self._run()
        return self._happened(decided.value)

    def _happened(self, value: Any) -> Entry:
        data = to_recorded(value, f"the result given for step {self.name!r}")
        return self._done(success(self.execution.replay_order.end(), data))

    def _done(self, data: bytes) -> Entry:
        if self.execution.has_breakpoints:
            breakpoints.note(self.place, _named(self.name))
        return self.place.record("done", data)

    async def _traced(self) -> Entry:
        execution = self.execution
        assert execution.tracing is not None  # noqa: S101 - the caller has looked
        ids = {**execution.ids, "step": self.name, "call": self.key}
        with execution.tracing.span("step", ids) as span:
            entry = await self._effect()
            span.note(status=_status(entry))
            return entry

    async def _effect(self) -> Entry:
        execution = self.execution
        await execution.begin_effect()
        scope = EffectScope(
            execution=execution,
            info=CallInfo(
                key=self.key,
                name=self.name,
                thread_id=execution.input.thread_id,
                principal=execution.principal,
                deciders=_deciders(execution),
            ),
            place=self.place.key,
        )
        if self.idempotent:
            execution.effects.repeatable(asyncio.current_task())
            await execution.before_repeatable()
        else:
            begun = jsonvalue.encode({"at": execution.clock.now()})
            started = self.place.record("started", begun)
            await execution.commit()
        try:
            value = await execution.effects.perform(
                scope, self.fn, self.args, self.kwargs, self.options.get("timeout")
            )
        except (EffectTimedOut, OutcomeUnknown) as error:
            self._unknown = None if self.idempotent else unknown_end(error, execution.scrub)
            if self._unknown is not None:
                return started
            timed_out = isinstance(error, EffectTimedOut)
            name = "TimeoutError" if timed_out else type(error).__name__
            data = self._failed(name, error_text(error))
        except LeaseGone as lost:
            execution.abort(lost.error)
            raise execution.pause() from None
        except BaseException as error:
            if was_cancelled(error):
                # Readers have read what it said, and no second attempt will say it.
                for message in scope.messages if execution.stopped else ():
                    execution.add_message(message)
                raise
            _log.warning("step %r of turn %s failed", self.name, execution.turn.key, exc_info=error)
            data = self._failed(type(error).__name__, error_text(error))
        else:
            data = self._returned(value)
        entry = self._done(data)
        for message in scope.messages:
            execution.add_message(message)
        if scope.messages and scope.messages[-1].role == "assistant":
            # Calls right behind it belong to this text, as behind one of the agent's own.
            branch = self.place.branch
            branch.said = (branch.upcoming(), scope.messages[-1].id)
        await execution.commit()
        return entry

    def _returned(self, value: Any) -> bytes:
        """The record of a result; the step ran, whatever comes of that."""
        try:
            encoded = self.codec.encode(value, f"the result of step {self.name!r}")
            read = self.codec.decode(encoded, f"the result of step {self.name!r}")
            self.codec.tell_change(value, read, f"the result of step {self.name!r}")
        except Exception as error:
            text = self.execution.scrub(error_text(error))
            ran = f"the step ran, and its result could not be recorded: {text}"
            return failure(self.execution.replay_order.end(), "NotRecordable", ran)
        return success(self.execution.replay_order.end(), encoded)

    def _failed(self, error_type: str, message: str) -> bytes:
        end = self.execution.replay_order.end()
        return failure(end, error_type, self.execution.scrub(message), again=self.idempotent)


def write_state(execution: Execution, branch: Branch, operations: Sequence[dict[str, Any]]) -> None:
    """Apply a patch to the shared state and send it, unless replay did so long ago."""
    plain = jsonvalue.decode(to_json(list(operations), "a state patch"))
    if execution.reevaluation is None:
        changed: Sequence[Operation] = execution.state.patch(branch.path, plain)
    else:
        written, changed = execution.reevaluation.write(branch, plain)
        branch.note_write(written)
    _send(execution, branch, changed)


def rewrite_state(execution: Execution, branch: Branch, written: Sequence[Written]) -> None:
    """Make writes once more of code below a branch that has ended and is not entered again."""
    for _, path, operations in sorted(written, key=lambda write: write[0]):
        _send(execution, branch, execution.state.patch(path, operations, again=True))


def _send(execution: Execution, branch: Branch, changed: Sequence[dict[str, Any]]) -> None:
    execution.check_state(branch.path or "the agent function")
    if changed:
        execution.announce_phases(branch)
        execution.stream.emit({"type": "STATE_DELTA", "delta": changed})


def _check_options(fn: Callable[..., Any], kwargs: dict[str, Any]) -> None:
    """TypeError for options of the step where arguments of its function belong."""
    options = sorted(kwargs.keys() & _OPTIONS)
    if not options:
        return
    try:
        inspect.signature(fn).bind_partial(**kwargs)
    except TypeError as error:
        written = ", ".join(f"{name}=…" for name in options)
        raise TypeError(
            f"turn.step passes its arguments on, and the function does not take them ({error}): "
            f"options of a step stand before it, turn.step.options({written})(…)"
        ) from None
    except ValueError:  # a built-in function that does not say what it takes
        return


def _check_values(
    *,
    name: object = None,
    timeout: object = None,
    verify: object = None,
    **_: object,  # the rest is looked at with the step
) -> None:
    """Refuse what a step could not go by: it would begin, and its outcome be unclear."""
    if not isinstance(name, str | None):
        raise TypeError(f"name= of a step is a text, not {name!r}")
    if verify is not None and not callable(verify):
        raise TypeError(f"verify= of a step is a function of its key, not {verify!r}")
    if timeout is None:
        return
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise TypeError(f"timeout= of a step is a number of seconds, not {timeout!r}")
    if not timeout > 0:
        raise ValueError(f"timeout= of a step is seconds above zero, not {timeout!r}")


def _no_function(passed: object) -> TurnError:
    """The error for anything but a function; a coroutine is closed, as it never runs."""
    if inspect.iscoroutine(passed):
        passed.close()
        name = passed.__name__
        return TurnError(
            f"turn.step was given what {name}() returned: write turn.step({name}, …), with the "
            "function and its arguments, so that a replay need not call it"
        )
    return TurnError(f"turn.step takes a function and its arguments, not {passed!r}")
