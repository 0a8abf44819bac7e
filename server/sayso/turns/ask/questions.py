"""Questions of an author: how one is checked, and what its answer is to the code that asks."""

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sayso.agents.asking import AskTerms
from sayso.agents.codec import to_json
from sayso.agents.outcomes import Answer, Question
from sayso.agents.summaries import answer_text
from sayso.base import jsonvalue
from sayso.base.approvers import OWNER, Approvers
from sayso.base.default import DEFAULT, Default
from sayso.base.errors import DeclarationError
from sayso.base.options import FallbackAnswer, OnExpire, check_lifetime
from sayso.base.records import Entry, Interrupt
from sayso.base.redaction import marks_secrets
from sayso.base.secretvalues import check_kept, with_secrets
from sayso.protocol.reasons import CLIENT_TOOL
from sayso.schemas.responses import ResponseType, confirmation, response_type
from sayso.schemas.schema import compile_schema
from sayso.turns.ask.interrupts import look_for_approvers, record_question, settled_answer
from sayso.turns.replay.execution import Execution, Place
from sayso.turns.replay.recorded import Batch, Recorded, recorded_all

_log = logging.getLogger("sayso.turn")

_CORE = ("input_required", "confirmation")


async def questions(execution: Execution, batch: Sequence[Question]) -> list[Answer[Any]]:
    """Ask several things at once; all of them stand in one outcome. Answers come in order."""
    items: list[_Question] = []
    with execution.making("interrupt") as making:
        for question in batch:
            making.name, making.ahead = question.reason, len(items)
            items.append(
                _Question(
                    question,
                    four_eyes=execution.running.four_eyes,
                    sealed=execution.sealed,
                )
            )
    return await recorded_all(execution, _Together(execution, items))


async def question(execution: Execution, item: Question) -> Answer[Any]:
    """Ask one thing."""
    return (await questions(execution, [item]))[0]


class _Question(Recorded[Answer[Any]]):
    """One thing that is asked; ValueError or TypeError if it cannot be."""

    kind = "interrupt"

    def __init__(self, question: Question, *, four_eyes: bool, sealed: bool) -> None:
        self.name = question.reason
        self.answer: Answer[Any] | None = None
        self._question = question
        response = _checked(question)
        self.approvers: Approvers = question.approvers or OWNER
        self._approvers_now = self.approvers.under(four_eyes=four_eyes)
        if response.keeps_secrets:
            check_kept(sealed=sealed)
        self._response = response
        self._schema = None if response.schema is None else jsonvalue.encode(response.schema)
        self._apart = sealed and marks_secrets(self._schema)

    def check_silence(self) -> None:
        """ValueError if nobody's word would count as that of people who may not be asked so.

        What is recorded was asked as the app was then, and is not refused on replay.
        """
        if isinstance(self._question.on_expire, FallbackAnswer) and not self._approvers_now.plain:
            raise ValueError(
                "a FallbackAnswer cannot stand for several people, or for anybody but the "
                "requester: choose another on_expire="
            )

    def put(self, place: Place) -> None:
        """Record it; the turn waits from now on."""
        question, response = self._question, self._response
        record_question(
            place,
            data={},
            reason=question.reason,
            message=question.message,
            schema=self._schema,
            metadata=None if question.metadata is None else dict(question.metadata),
            expires_in=question.expires_in,
            expires_at=question.expires_at,
            on_expire=question.on_expire,
            asking=None if question.approvers is None else AskTerms(approvers=question.approvers),
            response=response,
            apart=self._apart,
        )

    async def run(self, place: Place) -> Entry | None:
        """Wait for its answer, whose record is there."""
        entry = place.entry
        if entry is not None:
            self.answer = await _answer(place, entry, self._response)
        return entry

    def read(self, place: Place, entry: Entry | None) -> Answer[Any]:
        """The answer, which has been waited for."""
        assert self.answer is not None  # noqa: S101 - `run` has come to its end
        return self.answer


class _Together(Batch[Answer[Any]]):
    """Questions that are put in one outcome."""

    def __init__(self, execution: Execution, items: Sequence[_Question]) -> None:
        self.items: Sequence[_Question] = items
        self._execution = execution

    async def run(self, places: Sequence[Place]) -> Sequence[int]:
        """Put what is new, all of it; then wait for the answers, one after the other."""
        pairs = list(zip(self.items, places, strict=True))
        for item, place in pairs:
            if place.entry is None:
                item.check_silence()
                await look_for_approvers(self._execution, item.approvers)
        for item, place in pairs:
            if place.entry is None:
                item.put(place)
        if any(place.entry is None for place in places):
            raise self._execution.pause()
        for item, place in pairs:
            await item.run(place)
        return ()

    def landed(self) -> None:
        """Answers come out by the pause that they were given in."""


def _checked(item: Question) -> ResponseType:
    """The type of its answer; raises for an invalid question, before any of its batch is put."""
    if item.reason == "tool_call":
        raise ValueError("reason 'tool_call' belongs to gated tools: use turn.call (IN-05)")
    if not item.reason or item.reason.startswith("core:"):
        raise ValueError(
            f"reason {item.reason!r}: use 'input_required', 'confirmation' or one of your own such "
            "as 'shop:refund'; 'core:' is reserved (IN-04)"
        )
    if item.reason not in _CORE and ":" not in item.reason:
        _log.warning(
            "reason %r has no vendor in front, as 'shop:refund' has: another server may mean "
            "something else by it (IN-04)",
            item.reason,
        )
    if item.reason == CLIENT_TOOL:
        raise ValueError(
            f"reason {CLIENT_TOOL!r} belongs to the client's tools: use turn.client_tool"
        )
    checked_times(item.expires_in, item.expires_at)
    if item.reason == "input_required" and item.schema is None:
        raise ValueError("an input_required question needs schema= (IN-06)")
    check_approvers(item.approvers, f"a question {item.reason!r}")
    if item.metadata:
        to_json(item.metadata, "the metadata of a question")
    plain = item.reason == "confirmation" and item.schema is None
    response = confirmation() if plain else response_type(item.schema)
    if item.on_expire is not DEFAULT:
        _check_on_expire(item.on_expire, response)
    return response


def checked_times(expires_in: float | Default | None, expires_at: datetime | None) -> None:
    """ValueError for an end of a question's life that is none."""
    if expires_at is not None and expires_at.tzinfo is None:
        raise ValueError("expires_at needs a time zone: pass datetime.now(UTC) + … (IN-09)")
    if expires_in is not DEFAULT:
        try:
            check_lifetime(expires_in, "expires_in")
        except DeclarationError as error:
            raise ValueError(str(error)) from None


def check_approvers(approvers: object, of: str) -> None:
    """ValueError for the approvers of a question that are none."""
    if approvers is not None and not isinstance(approvers, Approvers):
        raise ValueError(f"approvers of {of} is an Approvers, not {approvers!r}")


def _check_on_expire(rule: OnExpire, response: ResponseType) -> None:
    """An answer that is given ahead has to fit, as one of a person would."""
    if not isinstance(rule, FallbackAnswer):
        if rule in ("expire", "hold", "cancel"):
            return
        raise ValueError(
            f"on_expire of a question is 'expire', 'hold', 'cancel' or a FallbackAnswer, not "
            f"{rule!r};"
            " 'deny' and 'approve' are for tools"
        )
    to_json(rule.payload, "the FallbackAnswer of a question")
    if response.schema is not None:
        wrong = compile_schema(response.schema).errors(rule.payload)
        if wrong:
            where, text = wrong[0].pointer or "it", wrong[0].message
            raise ValueError(f"the FallbackAnswer does not answer its question: {where} {text}")
    response.decode(rule.payload)


async def _answer(place: Place, entry: Entry, response: ResponseType) -> Answer[Any]:
    execution = place.execution
    interrupt, data = await settled_answer(place, entry)
    if interrupt.status == "open":
        execution.responses.keep(interrupt.id, response)
        execution.ask(place.branch, interrupt)
        raise execution.pause()
    try:
        return answer_to(execution, interrupt, data["pause"], response)
    except Exception as error:  # a validator of the author's may raise anything
        execution.unfit(place, "an answer of another type", error)


def answer_to(
    execution: Execution, interrupt: Interrupt, pause: int, response: ResponseType
) -> Answer[Any]:
    """The settled answer to a question of that pause; raises what `decode` of the type does."""
    metadata = jsonvalue.decode(interrupt.answer_metadata) if interrupt.answer_metadata else {}
    expired = interrupt.status == "expired"
    resumed = None if expired else execution.resume_inputs[pause]
    question = interrupt.message or ""
    approvers = tuple(vote.by for vote in interrupt.progress.votes)
    if interrupt.status != "resolved":
        return Answer(
            status="expired" if expired else "cancelled",
            by=interrupt.decided_by,
            approvers=approvers,
            metadata=metadata,
            request=resumed,
            question=question,
        )
    payload = jsonvalue.decode(interrupt.payload) if interrupt.payload is not None else None
    if interrupt.terms.apart and interrupt.response_schema is not None:
        payload = with_secrets(payload, interrupt.response_schema, execution.kept_apart.values)
    return Answer(
        status="resolved",
        value=response.decode(payload),
        by=interrupt.decided_by,
        approvers=approvers,
        metadata=metadata,
        request=resumed,
        question=question,
        text=answer_text(payload, response.schema),
    )
