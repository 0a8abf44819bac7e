"""One tool call on its way to its result: proposed, judged, decided, run once, answered once.

A gated call asks and is not streamed again on resume, only its result is (TB-01, TB-02). Arguments
come from the journal, never from what a client sends (SB-05).
"""

import asyncio
import logging
from typing import Any, NoReturn

from sayso import jsonvalue
from sayso.agents.outcomes import Call
from sayso.agents.parts import are_parts
from sayso.agents.tools import Happened, Tool
from sayso.approvals import Approval, ApprovalUse
from sayso.errors import NotRecordable, ToolFailed
from sayso.gate.approvers import agreed
from sayso.gate.expiry import by_expiry, denied_by_expiry
from sayso.records import Entry, EntryStatus, Interrupt
from sayso.turns import breakpoints
from sayso.turns.approving import Ruling, ask, judge, remember
from sayso.turns.breakpoints import Named
from sayso.turns.effects import CallInfo, EffectScope, OverTime, Unheld, cut, inside
from sayso.turns.erring import FAILED, ask_failed
from sayso.turns.execution import Execution, Place
from sayso.turns.questions import answered
from sayso.turns.results import (
    EXPIRED,
    result_content,
    result_event,
    result_text,
    tool_message,
)
from sayso.turns.toolstream import poured
from sayso.turns.unsure import UNSURE, ask_unsure, display, verdict, verified

__all__ = ["RunningCall"]

_log = logging.getLogger("sayso.tool")


class RunningCall:
    """One call on its way to its result."""

    def __init__(
        self,
        execution: Execution,
        place: Place,
        tool: Tool,
        arguments: bytes,
        plain: dict[str, Any],
        turn: Any,
    ) -> None:
        """`arguments` are the proposed ones, as JSON; `plain` is their value."""
        self.execution = execution
        self.place = place
        self.tool = tool
        self.arguments = arguments
        self._proposed = plain
        self.turn = turn
        self.id = execution.identify("call", place.key)
        self.key = execution.call_key(place.key)
        self.data: dict[str, Any] = {"id": self.id}
        if place.entry is not None:
            self.data = jsonvalue.decode(place.entry.data)

    @property
    def named(self) -> Named:
        """What a breakpoint at it shows: the arguments that run, or would."""
        if not self.execution.breaks:
            return Named("tool", self.tool.name, "")  # nobody is going to be shown it
        arguments = self.effective()
        shown = f"tool {display(self.tool.name, arguments)}"
        return Named("tool", self.tool.name, shown, self.id, arguments)

    @property
    def over(self) -> bool:
        """Whether the call has its result."""
        return "end" in self.data

    def write(self, stage: EntryStatus, **changes: Any) -> Entry:
        """Record how far the call has come."""
        self.data = {**self.data, **changes}
        if stage == "done":
            self.data = {"end": self.execution.timeline.end(), **self.data}
        return self.execution.record(
            self.place, "call", self.tool.name, stage, jsonvalue.encode(self.data)
        )

    async def advance(self) -> None:
        """Bring the call as far as it gets now; raises `Pause` when it waits for a person."""
        entry = self.place.entry
        await breakpoints.before(self.execution, self.place, self.named)
        if entry is None:
            await self._judged(await judge(self.execution, self.place, self.tool, self.arguments))
        elif entry.status == "started":
            await (self._part() if "part" in self.data else self._after_crash(entry))
        elif entry.status == "asked":
            if self.data.get("why") == UNSURE:
                await self._after_verdict(entry)
            elif self.data.get("why") == FAILED:
                await self._after_failure(entry)
            else:
                await self._decided(entry)

    async def _judged(self, ruling: Ruling) -> None:
        """Do what was decided about the call."""
        self.data["rule"] = ruling.rule
        if ruling.asking is not None:
            ask(self.execution, self.place, self.tool, self.data, self.effective(), ruling)
            raise self.execution.pause()
        if ruling.stands is not None:
            self._stand_on(ruling.stands)
        if ruling.runs:
            await self._run()
        else:
            await self._close("denied", **ruling.refusal)

    def _stand_on(self, approval: Approval) -> None:
        """Run on an approval that was given before; each use is noted."""
        self.data |= {"approval": approval.id, "by": approval.given_by}
        use = ApprovalUse(
            approval_id=approval.id,
            call_id=self.id,
            thread_id=self.execution.given.thread_id,
            at=self.execution.clock.now(),
        )
        self.execution.permits.use(use)

    async def _decided(self, entry: Entry) -> None:
        interrupt, _ = await answered(self.execution, entry, self.data)
        if interrupt.status == "open":
            self.execution.ask(self.place.branch, interrupt)
            raise self.execution.pause()
        payload = jsonvalue.decode(interrupt.payload) if interrupt.payload else {}
        by = interrupt.decided_by
        # A rule spoke where nobody did: the model is told that it expired all the same (R3, R4).
        lapsed = True if by_expiry(interrupt) and interrupt.status != "expired" else None
        if denied_by_expiry(interrupt):
            await self._close("denied", lapsed=True)
        elif interrupt.status != "resolved":
            await self._close(interrupt.status, by=by, lapsed=lapsed)
        elif payload.get("approved") is True:
            await self._approved(payload, interrupt)
        else:
            suggested = self._given(payload)
            reason = payload.get("reason")
            await self._close("denied", reason=reason, by=by, lapsed=lapsed, suggested=suggested)

    def _given(self, payload: dict[str, Any]) -> dict[str, Any] | None:
        """The arguments that a reviewer wrote instead of the proposed ones."""
        if "editedArgs" not in payload:
            return None
        written = self.tool.arguments(payload["editedArgs"])
        found: dict[str, Any] = jsonvalue.decode(written)
        return found

    async def _approved(self, payload: dict[str, Any], interrupt: Interrupt) -> None:
        """Run what was approved, unless a rule that nobody was asked about has a say in it."""
        edited = self._given(payload)
        if edited is not None:
            self.data["edited"] = edited
        if interrupt.decided_by is not None:
            self.data["by"] = interrupt.decided_by
        if votes := agreed(interrupt):
            self.data["approvers"] = [vote["by"] for vote in votes]
        remember(self.execution, self.place, self.tool, interrupt, self.data, self.effective())
        if edited is None and not self.data.pop("partly", False):
            await self._run()
            return
        arguments = self._written()
        satisfied = frozenset(self.data.get("satisfied", ()))
        await self._judged(await judge(self.execution, self.place, self.tool, arguments, satisfied))

    async def _after_crash(self, entry: Entry) -> None:
        if self.tool.idempotent:
            await self._run()
            return
        found = await verified(self.tool.verify, self.key, self.tool.name, self.tool.result)
        if found is None:
            self._ask_unsure(entry)
        if isinstance(found, Happened):
            await self._executed(found.value)
        else:
            await self._run()

    def _ask_unsure(self, entry: Entry) -> NoReturn:
        ask_unsure(
            self.execution,
            self.place,
            entry,
            shown=display(self.tool.name, self.effective()),
            arguments=self.effective(),
            returns=self.tool.result,
            tool_call_id=self.id,
        )
        raise self.execution.pause()

    async def _after_verdict(self, entry: Entry) -> None:
        decided = await verdict(self.execution, self.place, entry)
        if decided.action == "run_again":
            await self._run()
        else:
            await self._executed(decided.value)

    async def _executed(self, value: Any) -> None:
        """Take a result that the tool did not just return: a hook's or a person's word."""
        await self._close("executed", **self._returned(value, self._encoded(value)))

    async def _run(self) -> None:
        if self.tool.turn is not None:
            self.write("started", part=True)
            await self._part()
            return
        self.execution.live(self.place.branch)
        entry = await self._effect()
        if entry.status == "started":
            self._ask_unsure(entry)

    async def _effect(self) -> Entry:
        execution, tool = self.execution, self.tool
        await execution.timeline.live()
        if not await execution.effects.may_begin():
            raise execution.pause()
        started: Entry | None = None
        if tool.idempotent:
            execution.effects.repeatable(asyncio.current_task())
            await execution.before_repeatable()
        else:
            started = self.write("started")
            await execution.commit()
        scope = EffectScope(execution=execution, info=self._info(), place=self.place.key)
        fn = tool.fn
        if tool.streams:
            fn = poured(execution, scope, self.place, self.id, tool.fn)
        arguments = tool.values(self._written())
        try:
            value = await execution.effects.perform(scope, fn, (), arguments, tool.timeout)
            encoded = self._encoded(value)
        except OverTime as late:
            if late.unsure and started is not None:
                return started
            return await self._failed(scope, f"TimeoutError: {late}")
        except Unheld as lost:
            execution.abort(lost.error)
            raise execution.pause() from None
        except NotRecordable as error:
            return await self._failed(scope, str(error))
        except BaseException as error:
            if cut(error):
                if not execution.stopped:
                    raise
                return await self._close("failed", scope, reason="the turn was stopped meanwhile")
            _log.warning("tool %r of turn %s failed", tool.name, execution.turn.key, exc_info=error)
            return await self._failed(scope, f"{type(error).__name__}: {error}")
        return await self._close("executed", scope, **self._returned(value, encoded))

    def _info(self) -> CallInfo:
        """The call as its tool can look it up."""
        return CallInfo(
            key=self.key,
            name=self.tool.name,
            thread_id=self.execution.given.thread_id,
            principal=self.execution.principal,
            approver=self.data.get("by"),
            approvers=tuple(self.data.get("approvers", ())),
        )

    async def _part(self) -> None:
        """Run a tool that takes the turn: a branch of it, entered again until it has ended."""
        execution, tool = self.execution, self.tool
        info = self._info()
        scope = EffectScope(execution=execution, info=info, place=self.place.key, opens=True)
        arguments = tool.values(self._written())
        with execution.branches.within(self.place.branch, self.place.key, None) as branch:
            try:
                with inside(scope):
                    value = await tool.fn(**arguments, **{str(tool.turn): self.turn})
                encoded = self._encoded(value)
            except Exception as error:
                _log.warning(
                    "tool %r of turn %s failed", tool.name, execution.turn.key, exc_info=error
                )
                plain = isinstance(error, NotRecordable)
                reason = str(error) if plain else f"{type(error).__name__}: {error}"
                ending: dict[str, Any] = {"status": "failed", "reason": reason}
            else:
                ending = {"status": "executed", **self._returned(value, encoded)}
        if execution.halted(branch):
            await execution.refuse(branch)
        await self._close(**ending)

    async def _failed(self, scope: EffectScope, reason: str) -> Entry:
        """Put an error to a person if the tool says so; otherwise it is the call's result."""
        if self.tool.on_error != "ask":
            return await self._close("failed", scope, reason=reason)
        ask_failed(self.execution, self.place, self.tool.name, self.data, self.effective(), reason)
        raise self.execution.pause()

    async def _after_failure(self, entry: Entry) -> None:
        """Do what a person has said about an error: once more, without it, or not at all."""
        interrupt, _ = await answered(self.execution, entry, self.data)
        if interrupt.status == "open":
            self.execution.ask(self.place.branch, interrupt)
            raise self.execution.pause()
        payload = jsonvalue.decode(interrupt.payload) if interrupt.payload else {}
        action = payload.get("action") if interrupt.status == "resolved" else "skip"
        reason = self.data.pop("error")
        del self.data["why"]
        if action == "retry":
            await self._run()
        elif action == "skip":
            await self._close("failed", reason=reason)
        else:
            self.execution.stop(f"tool {self.tool.name!r} failed and the turn was stopped")
            raise self.execution.pause()

    def _returned(self, value: Any, encoded: bytes) -> dict[str, Any]:
        """What to record of a result; content parts are told apart from a value like them."""
        # What a person gave as the result has its type only once it has been decoded.
        made = encoded[:1] in b"[{"
        parts = made and (are_parts(value) or are_parts(self._decoded(encoded)))
        return {"value": jsonvalue.decode(encoded), "parts": parts or None}

    def _decoded(self, encoded: bytes) -> Any:
        return self.tool.result.decode(encoded, f"the result of tool {self.tool.name!r}")

    def _encoded(self, value: Any) -> bytes:
        return self.tool.result.encode(value, f"the result of tool {self.tool.name!r}")

    def effective(self) -> dict[str, Any]:
        """The arguments that run, or would: the reviewer's, else the proposed ones. To be read."""
        arguments = self.data.get("edited")
        chosen: dict[str, Any] = self._proposed if arguments is None else arguments
        return chosen

    def _written(self) -> bytes:
        """The same as JSON."""
        edited = self.data.get("edited")
        return self.arguments if edited is None else jsonvalue.encode(edited)

    async def _close(self, status: str, scope: EffectScope | None = None, **changes: Any) -> Entry:
        """Record how the call ended, make it durable, then say so (TC-06, TC-16).

        What the tool said meanwhile follows its result in the history: nothing may stand between a
        call and its result.
        """
        given = {key: value for key, value in changes.items() if value is not None}
        message_id = self.execution.identify("msg", f"{self.place.key}=")
        if status in ("executed", "failed"):
            breakpoints.note(self.execution, self.place, self.named)
        entry = self.write("done", status=status, **given)
        content = result_content(self.data, self.effective())
        result = tool_message(message_id, self.id, content)
        if not self.execution.transcript.fits(len(result.body)):
            content = f"{status}, but what came of it does not fit into this thread any more."
            result = tool_message(message_id, self.id, content)
        self.execution.remember(result, settled=False)
        for message in scope.messages if scope is not None else ():
            self.execution.remember(message)
        await self.execution.commit()
        self.execution.transcript.unsettled.discard(message_id)
        self.execution.live(self.place.branch)
        self.execution.stream.emit(result_event(message_id, self.id, content))
        return entry

    def _fails_the_turn(self) -> bool:
        on_error = self.tool.on_error or self.execution.options.tool_errors
        return on_error == "fail" and not self.execution.stopped

    def outcome(self) -> Call[Any]:
        """What the author gets: the same live and on replay."""
        data, value = self.data, None
        if data["status"] == "failed" and self._fails_the_turn():
            failed = ToolFailed(f"tool {self.tool.name!r} failed: {data.get('reason')}")
            self.execution.break_off(failed)
            raise failed
        if data["status"] == "executed":
            value = self._decoded(jsonvalue.encode(data.get("value")))
        return Call(
            status=data["status"],
            args=jsonvalue.decode(self._written()),
            text=result_text(data, self.effective()),
            value=value,
            edited="edited" in data,
            reason=data.get("reason") or (EXPIRED if "lapsed" in data else None),
            by=data.get("by"),
            rule=data.get("rule"),
            suggested=data.get("suggested"),
        )
