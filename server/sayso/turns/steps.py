"""Recorded steps and values: what a turn does once, and finds again on every replay."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from sayso import jsonvalue
from sayso.agents.codec import Codec, return_codec, stable, to_json
from sayso.agents.tools import Happened, Verify
from sayso.errors import NotRecordable, StepFailed
from sayso.records import Entry
from sayso.turns import breakpoints
from sayso.turns.branch import Branch
from sayso.turns.breakpoints import Named
from sayso.turns.effects import CallInfo, EffectScope, OverTime, Unheld, cut
from sayso.turns.execution import Execution, Place
from sayso.turns.journal import numbered
from sayso.turns.protection import in_order, protect
from sayso.turns.turnstate import Written
from sayso.turns.unsure import ask_unsure, verdict, verified

__all__ = [
    "failure",
    "recorded_value",
    "result",
    "rewrite_state",
    "run_step",
    "success",
    "write_state",
]

_log = logging.getLogger("sayso.step")

_VALUE = b'"value":'


def success(end: int, value: bytes) -> bytes:
    """Entry data of an effect that returned; the value is kept as its own JSON bytes."""
    return numbered(end, _VALUE + value)


def failure(end: int, error_type: str, message: str, *, again: bool = False) -> bytes:
    """Entry data of an effect that raised; `again`: a retry of the failed turn may repeat it."""
    members = b'"error":' + jsonvalue.encode({"type": error_type, "message": message})
    return numbered(end, members + b',"again":true' if again else members)


def result(name: str, data: bytes, codec: Codec) -> Any:
    """What a recorded step returned, or `StepFailed` if it raised: the same live and on replay."""
    members = data.index(b",") + 1
    if data.startswith(_VALUE, members):
        return codec.decode(data[members + len(_VALUE) : -1], f"the result of step {name!r}")
    error = jsonvalue.decode(data)["error"]
    raise StepFailed(name, error["type"], error["message"])


async def recorded_value(execution: Execution, name: str, make: Callable[[], Any]) -> Any:
    """A value that is made once and found again: the hour, an id, a random number."""
    place = await execution.enter("value", name)
    if place.entry is not None:
        return jsonvalue.decode(place.entry.data)["value"]
    value = make()
    execution.record(place, "value", name, "done", jsonvalue.encode({"value": value}))
    return value


async def run_step(
    execution: Execution,
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    name: str | None,
    idempotent: bool,
    seconds: float | None,
    verify: Verify | None,
) -> Any:
    """Run a function once in the life of the turn and return its recorded result."""
    label = name or str(getattr(fn, "__qualname__", type(fn).__name__))
    given = None
    if args or kwargs:
        passed = [args, kwargs]
        written = to_json(passed, f"an argument of step {label!r}")
        given = jsonvalue.decode(stable(passed, written))
    codec = return_codec(fn)
    place = await execution.enter("step", label, given)
    entry = place.entry
    if execution.breaks:
        await breakpoints.before(execution, place, _named(label))
    if entry is None or entry.status != "done":
        step = _Step(execution, place, fn, args, kwargs, label, codec, seconds, idempotent)
        entry = await step.recorded(entry, verify)
    if (end := execution.journal.ended(entry)) is not None:
        await in_order(execution, (end,), place.branch.task)
    if execution.breaks:
        await breakpoints.after(execution, [(place, _named(label))])
    return result(label, entry.data, codec)


def _named(label: str) -> Named:
    """A step as a breakpoint knows it."""
    return Named("step", label, f"step {label!r}")


class _Step:
    """One step on its way from nothing to done."""

    def __init__(
        self,
        execution: Execution,
        place: Place,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        label: str,
        codec: Codec,
        seconds: float | None,
        idempotent: bool,
    ) -> None:
        self.execution = execution
        self.place = place
        self.fn = fn
        self.args = args
        self.kwargs = kwargs
        self.label = label
        self.codec = codec
        self.seconds = seconds
        self.idempotent = idempotent
        self.task: asyncio.Task[Any] | None = None

    @property
    def key(self) -> str:
        """What the outside world may know this step by."""
        return self.execution.call_key(self.place.key)

    def write(self, status: str, data: bytes) -> Entry:
        return self.execution.record(self.place, "step", self.label, status, data)

    async def recorded(self, entry: Entry | None, verify: Verify | None) -> Entry:
        if entry is None:
            return await self.run()
        if entry.status == "started":
            return await self.after_crash(entry, verify)
        return await self.after_verdict(entry)

    async def run(self) -> Entry:
        self.execution.live(self.place.branch)
        done: list[Entry] = await protect(self.execution, f"step {self.label!r}", self._effect())
        if done[0].status == "started":
            self._ask(done[0])
        return done[0]

    def _ask(self, entry: Entry) -> NoReturn:
        # The arguments of a step are the server's own: nobody has meant them to be shown.
        ask_unsure(
            self.execution,
            self.place,
            entry,
            shown=f"Step {self.label!r}",
            returns=self.codec,
        )
        raise self.execution.pause()

    async def after_crash(self, entry: Entry, verify: Verify | None) -> Entry:
        data = jsonvalue.decode(entry.data)
        if self.idempotent or data.get("emits"):
            return await self.run()
        found = await verified(self.execution, verify, self.key, self.label, self.codec)
        if found is None:
            self._ask(entry)
        if isinstance(found, Happened):
            return self._happened(found.value)
        return await self.run()

    async def after_verdict(self, entry: Entry) -> Entry:
        decided = await verdict(self.execution, self.place, entry)
        if decided.action == "run_again":
            return await self.run()
        return self._happened(decided.value)

    def _happened(self, value: Any) -> Entry:
        data = to_json(value, f"the result given for step {self.label!r}")
        return self._done(success(self.execution.timeline.end(), data))

    def _done(self, data: bytes) -> Entry:
        if self.execution.breaks:
            breakpoints.note(self.execution, self.place, _named(self.label))
        return self.write("done", data)

    async def _effect(self) -> Entry:
        execution = self.execution
        await execution.timeline.live()
        if not await execution.effects.may_begin():
            raise execution.pause()
        self.task = asyncio.current_task()
        scope = EffectScope(
            execution=execution,
            info=CallInfo(
                key=self.key,
                name=self.label,
                thread_id=execution.given.thread_id,
                principal=execution.principal,
            ),
            place=self.place.key,
            on_emit=self._emits,
        )
        if self.idempotent:
            execution.effects.repeatable(self.task)
            await execution.before_repeatable()
        else:
            started = self.write("started", b"{}")
            await execution.commit()
        end = execution.timeline.end
        try:
            value = await execution.effects.perform(
                scope, self.fn, self.args, self.kwargs, self.seconds
            )
            encoded = self.codec.encode(value, f"the result of step {self.label!r}")
            data = success(end(), encoded)
        except OverTime as late:
            if late.unsure and not self.idempotent:
                return started
            data = self._failed("TimeoutError", str(late))
        except Unheld as lost:
            execution.abort(lost.error)
            raise execution.pause() from None
        except NotRecordable as error:
            data = failure(end(), "NotRecordable", str(error))
        except BaseException as error:
            if cut(error):
                # Readers have read what it said, and no second attempt will say it.
                for message in scope.messages if execution.stopped else ():
                    execution.remember(message)
                raise
            _log.warning(
                "step %r of turn %s failed", self.label, execution.turn.key, exc_info=error
            )
            data = self._failed(type(error).__name__, str(error))
        entry = self._done(data)
        for message in scope.messages:
            execution.remember(message)
        await execution.commit()
        return entry

    def _failed(self, error_type: str, message: str) -> bytes:
        end = self.execution.timeline.end()
        return failure(end, error_type, message, again=self.idempotent)

    def _emits(self) -> None:
        """Text sent from inside makes the step one that may run again after a crash (rule 6)."""
        if not self.idempotent:
            self.idempotent = True
            self.execution.effects.repeatable(self.task)
            self.write("started", b'{"emits":true}')
            self.execution.effects.keep(self.execution.commit())


def write_state(execution: Execution, branch: Branch, operations: Sequence[dict[str, Any]]) -> None:
    """Apply a patch to the shared state and send it, unless replay did so long ago."""
    plain = jsonvalue.decode(to_json(list(operations), "a state patch"))
    _send(execution, branch, execution.state.patch(branch.path, plain))


def rewrite_state(execution: Execution, branch: Branch, written: Sequence[Written]) -> None:
    """Make writes once more of code below a branch that has ended and is not entered again."""
    for _, path, operations in sorted(written, key=lambda one: one[0]):
        _send(execution, branch, execution.state.patch(path, operations, again=True))


def _send(execution: Execution, branch: Branch, changed: Sequence[dict[str, Any]]) -> None:
    execution.check_state(branch.path or "the agent function")
    if changed:
        execution.live(branch)
        execution.stream.emit({"type": "STATE_DELTA", "delta": changed})
