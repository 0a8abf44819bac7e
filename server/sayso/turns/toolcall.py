"""One tool call on its way to its result: proposed, judged, decided, run once, answered once.

A gated call asks and is not streamed again on resume, only its result is (TB-01, TB-02). Arguments
come from the journal, never from what a client sends (SB-05).
"""

import asyncio
import logging
from typing import Any, NoReturn

from sayso import jsonvalue
from sayso.agents.tools import Happened
from sayso.approvals import Approval, ApprovalUse
from sayso.errors import NotRecordable
from sayso.gate.approvers import agreed
from sayso.gate.expiry import by_expiry, denied_by_expiry
from sayso.records import Entry, Interrupt
from sayso.turns import breakpoints
from sayso.turns.approving import Ruling, Weighed, ask, judge, remember, ruled, weigh
from sayso.turns.callrecord import CallRecord
from sayso.turns.effects import CallInfo, EffectScope, OverTime, Unheld, cut, inside
from sayso.turns.erring import FAILED, ask_failed
from sayso.turns.questions import answered
from sayso.turns.results import result_event, tool_message
from sayso.turns.toolstream import poured
from sayso.turns.unsure import UNSURE, ask_unsure, display, verdict, verified

__all__ = ["RunningCall"]

_log = logging.getLogger("sayso.tool")


class RunningCall(CallRecord):
    """One call on its way to its result."""

    _found: Weighed | None = None
    """What the rules say, once they were asked."""

    def asks_at_once(self) -> bool:
        """Put the question of a new call whose rules ask, where nothing has to be looked up first.

        True: it waits now. False: `advance` has to bring it on, with what the rules have said.
        """
        if self.place.entry is not None or self.execution.breaks:
            return False
        found = self._found = weigh(self.execution, self.tool, self.arguments)
        if not found.asks or found.may_stand:
            return False
        ruling = ruled(self.execution, self.place, found)
        if ruling.asking is None:
            return False
        self._ask(ruling)
        return True

    async def advance(self) -> None:
        """Bring the call as far as it gets now; raises `Pause` when it waits for a person."""
        entry = self.place.entry
        if self.execution.breaks:
            await breakpoints.before(self.execution, self.place, self.named)
        if entry is None:
            found = self._found or weigh(self.execution, self.tool, self.arguments)
            await self._weighed(found)
        elif entry.status == "started":
            await (self._part() if "part" in self.data else self._after_crash(entry))
        elif entry.status == "asked":
            if self.data.get("why") == UNSURE:
                await self._after_verdict(entry)
            elif self.data.get("why") == FAILED:
                await self._after_failure(entry)
            else:
                await self._decided(entry)

    async def _weighed(self, found: Weighed) -> None:
        """Do what the rules decide about the call."""
        arguments = self.written()
        ruling = await judge(self.execution, self.place, self.tool, arguments, found)
        if ruling.asking is not None:
            self._ask(ruling)
            raise self.execution.pause()
        self.data["rule"] = ruling.rule
        if ruling.stands is not None:
            self._stand_on(ruling.stands)
        if ruling.runs:
            await self._run()
        else:
            await self._close("denied", **ruling.refusal)

    def _ask(self, ruling: Ruling) -> None:
        self.data["rule"] = ruling.rule
        ask(
            self.execution,
            self.place,
            self.tool,
            self.data,
            self.effective(),
            self.written(),
            ruling,
        )

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
        satisfied = frozenset(self.data.get("satisfied", ()))
        await self._weighed(weigh(self.execution, self.tool, self.written(), satisfied))

    async def _after_crash(self, entry: Entry) -> None:
        if self.tool.idempotent:
            await self._run()
            return
        found = await verified(
            self.execution, self.tool.verify, self.key, self.tool.name, self.tool.result
        )
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
        await self._close("executed", **self.returned(value, self.encoded(value)))

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
        arguments = tool.values(self.written())
        try:
            value = await execution.effects.perform(scope, fn, (), arguments, tool.timeout)
            encoded = self.encoded(value)
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
        return await self._close("executed", scope, **self.returned(value, encoded))

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
        arguments = tool.values(self.written())
        with execution.branches.within(self.place.branch, self.place.key, None) as branch:
            try:
                with inside(scope):
                    value = await tool.fn(**arguments, **{str(tool.turn): self.turn})
                encoded = self.encoded(value)
            except Exception as error:
                _log.warning(
                    "tool %r of turn %s failed", tool.name, execution.turn.key, exc_info=error
                )
                plain = isinstance(error, NotRecordable)
                reason = str(error) if plain else f"{type(error).__name__}: {error}"
                ending: dict[str, Any] = {"status": "failed", "reason": reason}
            else:
                ending = {"status": "executed", **self.returned(value, encoded)}
        ending["writes"] = execution.state.made(branch.path) or None
        if execution.halted(branch) or not execution.all_came(f"{branch.path}/"):
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

    async def _close(self, status: str, scope: EffectScope | None = None, **changes: Any) -> Entry:
        """Record how the call ended, make it durable, then say so (TC-06, TC-16).

        What the tool said meanwhile follows its result in the history: nothing may stand between a
        call and its result.
        """
        given = {key: value for key, value in changes.items() if value is not None}
        message_id = self.execution.identify("msg", f"{self.place.key}=")
        if self.execution.breaks and status in ("executed", "failed"):
            breakpoints.note(self.execution, self.place, self.named)
        entry = self.write("done", status=status, **given)
        content = self.content
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
