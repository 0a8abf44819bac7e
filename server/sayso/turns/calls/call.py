"""One tool call on its way: how it is proposed, judged, decided, run once, answered once.

A gated call asks and is not streamed again on resume, only its result is (TB-01, TB-02). `record`
has what is kept of it.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NoReturn

from sayso.agents.asking import AskFirst, AskTerms
from sayso.agents.outcomes import Answer
from sayso.agents.parameters import MISFITS
from sayso.agents.policy import AskingRule
from sayso.agents.tooloptions import Happened
from sayso.base import jsonvalue
from sayso.base.approvers import Approvers
from sayso.base.errors import NotRecordable, OutcomeUnknown
from sayso.base.progress import CallResult
from sayso.base.records import Approval, ApprovalUse, Entry, Interrupt
from sayso.gate.interrupts import denied_by_expiry, settled_by_expiry
from sayso.gate.quorum import asks_others
from sayso.schemas.responses import ResponseType
from sayso.turns.ask import breakpoints
from sayso.turns.ask.interrupts import look_for_approvers, requesters, settled_answer
from sayso.turns.ask.questions import answer_to
from sayso.turns.calls.approval import (
    CallDecision,
    RuleResult,
    decide_call,
    decide_call_with,
    evaluate,
    refused_before,
    remember,
)
from sayso.turns.calls.cards import ask, ask_first
from sayso.turns.calls.indeterminate import (
    FAILED,
    INDETERMINATE,
    ask_failed,
    ask_indeterminate,
    verdict,
    verified,
)
from sayso.turns.calls.question_results import ended
from sayso.turns.calls.record import CallRecord
from sayso.turns.calls.results import (
    UNANSWERED_FIRST,
    result_event,
    tool_message,
)
from sayso.turns.calls.runtools import answers_about
from sayso.turns.calls.streaming import streamed
from sayso.turns.journal import consent, places
from sayso.turns.replay.effects import (
    ApprovedBy,
    CallInfo,
    EffectScope,
    EffectTimedOut,
    LeaseGone,
    effect_scope,
    unknown_end,
    was_cancelled,
)
from sayso.turns.replay.execution import Place

FIRST: Final = "first"
"""Why such an entry asks: the tool does, before its effect."""
MAX_FIRST: Final = 8
"""Times that one call may ask a person first."""


class RunningCall(CallRecord):
    """One call on its way to its result."""

    _found: RuleResult | None = None
    """What the rules say, once they were asked."""
    _began: int | None = None
    """When this execution began its effect."""
    _unknown: str | None = None
    """What the tool saw of an outcome that nobody knows."""
    reached = True
    """True if its arguments are evaluated anew once the state was changed at its breakpoint."""

    def asks_at_once(self) -> bool:
        """Put the question of a new call whose rules ask, where nothing has to be looked up first.

        True: it waits now. False: `advance` has to bring it on, with what the rules have said.
        """
        if self.place.entry is not None or self.execution.has_breakpoints:
            return False
        if self.execution.asks_about_calls or self.execution.tracing is not None:
            return False
        rule_result = self._found = evaluate(self.execution, self.tool, self.written())
        if not rule_result.asks or rule_result.may_stand:
            return False
        ruling = decide_call_with(self.place, rule_result)
        if ruling.asking is None or not ruling.asking.approvers.owners:
            return False
        self._ask(ruling)
        return True

    async def run(self, place: Place) -> None:
        """Bring the call as far as it gets now; raises `Pause` when it waits for a person."""
        entry = self.place.entry
        if self.execution.has_breakpoints:
            named = self.named
            said = await breakpoints.before(self.place, named, reached=self.reached)
            edited = self._given(said) if entry is None else None
            if edited is not None and not jsonvalue.equal(edited, self.effective()):
                self.data["edited"] = edited
        if entry is None:
            rule_result = self._found or evaluate(self.execution, self.tool, self.written())
            await self._apply_rules(rule_result)
        elif entry.status == "started":
            await (self._part() if "part" in self.data else self._after_crash(entry))
        elif entry.status == "asked":
            if self.data.get("why") == INDETERMINATE:
                await self._after_verdict(entry)
            elif self.data.get("why") == FAILED:
                await self._after_failure(entry)
            elif self.data.get("why") == FIRST and "schema" in self.data:
                await self._after_value(entry)
            else:
                await self._decided(entry)

    async def _apply_rules(self, result: RuleResult) -> None:
        """Do what the rules decide about the call."""
        arguments = self.written()
        ruling = await decide_call(self.place, self.tool, arguments, result)
        if ruling.asking is not None:
            await look_for_approvers(self.execution, ruling.asking.approvers)
            self._ask(ruling)
            raise self.execution.pause()
        self.data["rule"] = ruling.rule
        self._chosen(ruling)
        if ruling.remembered_approval is not None:
            self._stand_on(ruling.remembered_approval, ruling.stood)
        if ruling.runs:
            await self._run()
        else:
            await self._close("denied", **ruling.refusal)

    def _ask(self, ruling: CallDecision) -> None:
        self.data["rule"] = ruling.rule
        self._chosen(ruling)
        ask(
            self.place,
            self.tool,
            self.data,
            self.effective(),
            self.written(),
            ruling,
            why=self.why,
            changes=self.changes,
        )

    def _chosen(self, ruling: CallDecision) -> None:
        """Use the decision that permits the call, if one does."""
        if ruling.chosen is not None:
            self.execution.approval_writes.chosen.add(ruling.chosen.id)
            consent.chosen(self.data, ruling.chosen, ruling.met_by_choice, self.effective())

    def _stand_on(self, approval: Approval, asks: Sequence[AskingRule]) -> None:
        """Run on an approval that was given before; each use is noted."""
        consent.stands_on(self.data, approval, asks, self.effective())
        self.data.update(approval=approval.id, by=approval.given_by)
        use = ApprovalUse(
            approval_id=approval.id,
            call_id=self.id,
            thread_id=self.execution.input.thread_id,
            at=self.execution.clock.now(),
        )
        self.execution.approval_writes.use(use)

    async def _decided(self, entry: Entry) -> None:
        interrupt, _ = await settled_answer(self.place, entry, self.data)
        if interrupt.status == "open":
            answers = answers_about(self.execution, self.tool, self.effective())
            if answers is not None:
                self.execution.responses.keep(interrupt.id, answers)
            self.execution.ask(self.place.branch, interrupt)
            raise self.execution.pause()
        payload = jsonvalue.decode(interrupt.payload) if interrupt.payload else {}
        by = interrupt.decided_by
        # A rule spoke where nobody did: the model is told that it expired all the same (R3, R4).
        lapsed = True if settled_by_expiry(interrupt) and interrupt.status != "expired" else None
        said_yes = interrupt.status == "resolved" and payload.get("approved") is True
        if said_yes and not denied_by_expiry(interrupt):
            if self.data.get("why") == FIRST:
                await self._approved_first(payload, interrupt)
            else:
                await self._approved(payload, interrupt)
            return
        self.data.pop("by", None)  # who had said yes for another rule did not say this
        consent.spend(self.data)
        if denied_by_expiry(interrupt):
            await self._close("denied", lapsed=True)
        elif interrupt.status != "resolved":
            await self._close(interrupt.status, by=by, lapsed=lapsed)
        else:
            suggested = self._given(payload)
            reason = payload.get("reason")
            await self._close("denied", reason=reason, by=by, lapsed=lapsed, suggested=suggested)

    def _given(self, payload: dict[str, Any]) -> dict[str, Any] | None:
        """The arguments that a reviewer wrote instead of the proposed ones."""
        if "editedArgs" not in payload:
            return None
        kept_apart, tool = self.execution.kept_apart, self.tool
        try:
            edited = kept_apart.whole(tool, jsonvalue.encode(payload["editedArgs"]))
            written = kept_apart.apart(tool, tool.arguments(jsonvalue.decode(edited)))
        except (*MISFITS, NotRecordable) as error:
            self.execution.unfit(self.place, "other arguments", error)
        arguments: dict[str, Any] = jsonvalue.decode(written)
        return arguments

    def _edited(self, payload: dict[str, Any], interrupt: Interrupt) -> bool:
        """Take what a yes says of the arguments; True if other ones run now than were shown."""
        edited = self._given(payload)
        if edited is not None and jsonvalue.equal(edited, self.effective()):
            edited = None  # a form was opened and left as it was
        if edited is not None:
            consent.spend(self.data)  # what was chosen is another call
        back = edited is not None and jsonvalue.equal(edited, self.arguments)
        if back and "moved" not in self.data:  # else others were proposed than the code asks for
            self.data.pop("edited", None)  # what somebody else had changed is taken back
        elif edited is not None:
            self.data["edited"] = edited
        if interrupt.decided_by is not None:
            self.data["by"] = interrupt.decided_by
        return edited is not None

    async def _approved(self, payload: dict[str, Any], interrupt: Interrupt) -> None:
        """Run what was approved, unless a rule that nobody was asked about has a say in it."""
        edited = self._edited(payload, interrupt)
        consent.agreed(self.data, interrupt, self.effective())
        remember(self.place, self.tool, interrupt, self.data, self.effective())
        await self._runs_or_asks(edited)

    async def _runs_or_asks(self, edited: bool) -> None:
        """Run it, or ask the rules again that have a say in what is to run now."""
        if not edited and not self.data.pop("partly", False):
            await self._run()
            return
        await self._apply_rules(self._evaluate_again())

    async def _ask_first(self, question: AskFirst) -> Entry:
        """Put what the tool wants to know before its effect; it has none yet, so it runs again."""
        times = self.data.get("firsts", 0)
        if times >= MAX_FIRST:
            reason = f"it has asked a person {times} times, and asks once more"
            return await self._close("failed", reason=reason)
        approval = question.schema is None
        refused = refused_before(self.execution, self.place.fingerprint) if approval else None
        if refused is not None:
            return await self._close("denied", **refused, again=True)
        who, _ = self._deciders()
        self._forget("at", "schema")
        self.data.update(why=FIRST, firsts=times + 1)
        if not approval:
            self.data["schema"] = True
        ask_first(
            self.place,
            self.tool,
            self.data,
            self.effective(),
            self.written(),
            question,
            AskTerms(approvers=who),
            why=self.why,
            changes=self.changes,
        )
        raise self.execution.pause()

    def _forget(self, *names: str) -> None:
        for name in names:
            self.data.pop(name, None)

    def _goes_on(self, interrupt: Interrupt) -> None:
        """Note whose answer the tool is to find when it runs again."""
        answered = {"interrupt": interrupt.id, "pause": self.data["pause"]}
        self._forget("why", "schema")
        self.data.update(first=answered, attempt=self.data.get("attempt", 1) + 1)

    async def _approved_first(self, payload: dict[str, Any], interrupt: Interrupt) -> None:
        """Run it again: somebody has said yes to what the tool asked."""
        self._goes_on(interrupt)
        await self._runs_or_asks(self._edited(payload, interrupt))

    async def _after_value(self, entry: Entry) -> None:
        """Run it again with the value that the tool asked for; without one it is not made."""
        interrupt, _ = await settled_answer(self.place, entry, self.data)
        if interrupt.status == "open":
            self.execution.ask(self.place.branch, interrupt)
            raise self.execution.pause()
        if interrupt.status == "resolved":
            self._goes_on(interrupt)
            await self._runs_or_asks(edited=False)
        elif interrupt.status == "expired":
            await self._close("expired", text=UNANSWERED_FIRST["expired"])
        else:
            text = UNANSWERED_FIRST["cancelled"]
            await self._close("cancelled", by=interrupt.decided_by, text=text)

    def _evaluate_again(self) -> RuleResult:
        """Ask the rules again, now that somebody has said yes to these arguments."""
        satisfied = consent.standing(self.data, self.effective(), requesters(self.execution))
        return evaluate(self.execution, self.tool, self.written(), satisfied)

    async def _after_crash(self, entry: Entry) -> None:
        if self.tool.idempotent:
            await self._run()
            return
        self.execution.only_looks()
        happened = await verified(
            self.execution, self.tool.verify, self.key, self.tool.name, self.tool.result
        )
        if happened is None:
            self._ask_indeterminate(entry)
        if isinstance(happened, Happened):
            await self._close("executed", **self.ending(happened.value))
        else:
            await self._run()

    def _deciders(self) -> tuple[Approvers, list[dict[str, Any]]]:
        """Who decided about this call, or the tool's own, and the rules that their yes is for."""
        return consent.terms_of(self.data, self.effective(), self.tool.approvers)

    def _about_attempt(self) -> Approvers:
        """Who decides about another attempt."""
        who, asks = self._deciders()
        self.data["asks"] = asks
        return who

    def _ask_indeterminate(self, entry: Entry, seen: str | None = None) -> NoReturn:
        self.tell_result(CallResult(status="unknown", moment=self.execution.clock.now()))
        who = self._about_attempt()
        ask_indeterminate(
            self.place,
            replace(entry, data=jsonvalue.encode(self.data)),
            asking=AskTerms(approvers=who),
            shown=self.line,
            arguments=self.effective(),
            returns=self.tool.given,
            tool_call_id=self.id,
            seen=seen,
        )
        raise self.execution.pause()

    async def _after_verdict(self, entry: Entry) -> None:
        decided = await verdict(self.place, entry, self.tool.given)
        if decided.action == "run_again":
            reason = "it may or may not have happened, and was not made again"
            await self._again(decided.interrupt, reason)
            return
        self._said_by(decided.interrupt)
        encoded = jsonvalue.encode(decided.value)
        if self.tool.given is self.tool.result:
            await self._close("executed", **self.returned(decided.value, encoded))
        else:
            made = self.tool.given.decode(encoded, f"a result given for tool {self.tool.name!r}")
            await self._close("executed", **self.ending(made))

    async def _again(self, interrupt: Interrupt, reason: str) -> None:
        """Make the call once more: who had it made is asked first, then all others who were.

        `reason` is what it failed of if the rules of now do not allow it any more.
        """
        self.data.pop("why", None)
        consent.renewed(self.data, interrupt, self.effective())
        rule_result = self._evaluate_again()
        if rule_result.decision.verdict == "deny":
            rule = rule_result.decision.rule
            await self._close("failed", reason=f"{reason}: rule {rule!r} forbids it now")
            return
        await self._apply_rules(rule_result)

    def _said_by(self, interrupt: Interrupt) -> None:
        """Note who says what came of the call."""
        self.data.pop("asks", None)
        if interrupt.decided_by is not None:
            self.data["by"] = interrupt.decided_by

    async def _run(self) -> None:
        if self.tool.is_part:
            self.write("started", part=True)
            await self._part()
            return
        self.execution.announce_phases(self.place.branch)
        entry = await self._effect()
        if entry.status == "started":
            self._ask_indeterminate(entry, self._unknown)

    async def _effect(self) -> Entry:
        execution, tool = self.execution, self.tool
        await execution.begin_effect()
        arguments = tool.decode_arguments(self.whole())
        started: Entry | None = None
        self._began = began = execution.clock.now()
        if tool.idempotent:
            execution.effects.repeatable(asyncio.current_task())
            await execution.before_repeatable()
        else:
            started = self.write("started", at=began)
            self.tell_result(CallResult(status="running", moment=began))
            await execution.commit()
        scope = EffectScope(execution=execution, info=self._info(), place=self.place.key)
        fn, (args, kwargs) = self.fn, tool.passed(arguments)
        if tool.streams:
            fn = streamed(scope, self.place, self.id, fn)
        try:
            value = await execution.effects.perform(scope, fn, args, kwargs, tool.timeout)
        except (EffectTimedOut, OutcomeUnknown) as error:
            self._unknown = None if started is None else unknown_end(error, execution.scrub)
            if self._unknown is not None and started is not None:
                return started
            timed_out = isinstance(error, EffectTimedOut)
            return await self._failed(
                scope, f"TimeoutError: {error}" if timed_out else self.failure(error)
            )
        except LeaseGone as lost:
            execution.abort(lost.error)
            raise execution.pause() from None
        except AskFirst as question:
            return await self._ask_first(question)
        except BaseException as error:
            if was_cancelled(error):
                if not execution.stopped:
                    raise
                return await self._close("failed", scope, reason="the turn was stopped meanwhile")
            return await self._failed(scope, self.failure(error))
        return await self._close("executed", scope, **self.ending(value))

    def _info(self) -> CallInfo:
        """The call as its tool can look it up."""
        said = tuple(
            ApprovedBy(rule=rule, by=by, at=when)
            for rule, by, when in consent.people(self.data, self.effective())
        )
        first = self.data.get("first")
        several: tuple[str, ...] = ()
        if len(said) > 1:
            names = tuple(dict.fromkeys(vote.by for vote in said))
            several = names if len(names) > 1 else ()
        return CallInfo(
            key=self.key,
            name=self.tool.name,
            thread_id=self.execution.input.thread_id,
            principal=self.execution.principal,
            approver=self.data.get("by"),
            approvers=several,
            approvals=said,
            attempt=self.data.get("attempt", 1),
            answer=None if first is None else self._answer(first),
            deciders=self._deciders()[0],
        )

    def _answer(self, first: dict[str, Any]) -> Answer[Any]:
        """The answer to the tool's own question, as JSON: its type is known to the tool."""
        interrupt = self.execution.interrupts[first["interrupt"]]
        schema = jsonvalue.decode(interrupt.response_schema or b"{}")
        plain = ResponseType(schema, lambda payload: payload)
        return answer_to(self.execution, interrupt, first["pause"], plain)

    async def _part(self) -> None:
        """Run a tool that takes the turn: a branch of it, entered again until it has ended."""
        execution, tool = self.execution, self.tool
        info = self._info()
        scope = EffectScope(execution=execution, info=info, place=self.place.key, opens=True)
        args, kwargs = tool.passed(tool.decode_arguments(self.whole()), self.turn)
        with execution.branches.within(self.place.branch, self.place.key, None) as branch:
            branch.call = {"id": self.id, "name": tool.name, "arguments": self.effective()}
            try:
                with effect_scope(scope):
                    value = await self.fn(*args, **kwargs)
            except AskFirst as question:
                ending: dict[str, Any] = {"question": question}
            except Exception as error:
                ending = {"status": "failed", "reason": self.failure(error)}
            else:
                ending = {"status": "executed", **self.ending(value)}
        if execution.may_not_continue(branch) or not execution.check_all_replayed(
            places.below(branch.path)
        ):
            await execution.refuse(branch)
        if "question" in ending:
            await self._ask_first(ending["question"])
            return
        ending["writes"] = execution.state.writes_of(branch.path) or None
        await self._close(**ending)

    async def _failed(self, scope: EffectScope, reason: str) -> Entry:
        """Put an error to a person if the tool says so; otherwise it is the call's result."""
        if self.tool.on_error != "ask":
            return await self._close("failed", scope, reason=reason)
        who = self._about_attempt()
        ask_failed(
            self.place,
            self.tool.name,
            self.data,
            self.effective(),
            reason,
            shown=self.line,
            asking=AskTerms(approvers=who),
        )
        raise self.execution.pause()

    async def _after_failure(self, entry: Entry) -> None:
        """Do what a person has said about an error: once more, without it, or not at all."""
        interrupt, _ = await settled_answer(self.place, entry, self.data)
        if interrupt.status == "open":
            self.execution.ask(self.place.branch, interrupt)
            raise self.execution.pause()
        payload = jsonvalue.decode(interrupt.payload) if interrupt.payload else {}
        action = payload.get("action") if interrupt.status == "resolved" else "skip"
        if interrupt.status == "cancelled" and asks_others(interrupt):
            action = "stop"  # what came of it is not the owner's to say
        reason = self.data.pop("error")
        del self.data["why"]
        if action == "retry":
            await self._again(interrupt, reason)
        elif action == "skip":
            self._said_by(interrupt)
            await self._close("failed", reason=reason)
        else:
            self.execution.stop(f"tool {self.tool.name!r} failed and the turn was stopped")
            raise self.execution.pause()

    async def _close(self, status: str, scope: EffectScope | None = None, **changes: Any) -> Entry:
        """Record how the call ended, make it durable, then say so (TC-06, TC-16).

        What the tool said meanwhile follows its result in the history: nothing may stand between a
        call and its result.
        """
        members = {key: value for key, value in changes.items() if value is not None}
        message_id = self.place.id("msg", places.result(self.place.key))
        if self.execution.has_breakpoints and status in ("executed", "failed"):
            breakpoints.note(self.place, self.named)
        entry = self.write("done", status=status, **members)
        now, schema = self.execution.clock.now(), self.tool.result.schema
        self.tell_result(ended(self.data, schema, now, self._began))
        content = self.content
        result = tool_message(message_id, self.id, content)
        if not self.execution.transcript.fits(len(result.body)):
            content = f"{status}, but what came of it does not fit into this thread any more."
            result = tool_message(message_id, self.id, content)
        self.execution.add_message(result, settled=False)
        for message in scope.messages if scope is not None else ():
            self.execution.add_message(message)
        await self.execution.commit()
        self.execution.transcript.unsettled.discard(message_id)
        self.execution.announce_phases(self.place.branch)
        self.execution.stream.emit(result_event(message_id, self.id, content))
        return entry
