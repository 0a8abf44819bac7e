"""Refusals of the gate: a code, one sentence that says what to do next, details per interrupt.

`spoken` is the same in the words that a person reads in a chat. Pure.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sayso.base import jsonvalue
from sayso.base.approvers import REQUESTER
from sayso.base.clock import format_time
from sayso.base.codes import Code
from sayso.base.records import Interrupt, Principal, TurnRecord
from sayso.gate import client_tools
from sayso.gate.quorum import (
    barred,
    decides,
    has_signed_in_lately,
    is_barred_by_denial,
)
from sayso.gate.rights import details_for
from sayso.protocol.interrupts import to_wire


@dataclass(frozen=True, slots=True)
class Refuse:
    """Change nothing; `details` becomes `metadata.sayso` of the RUN_ERROR.

    `details` is `{"code", "interrupts"?: [{"interruptId", "problems"?: [{"pointer", "message"}],
    "by"?, "at"?, "interrupt"?}], "errors"?: [{"pointer", "message"}]}`; `at` is when it was
    decided, or when it expired, `interrupt` is a question that has changed, as it is now. Pointers
    of `problems` begin at the payload, those of `errors` at the request.
    """

    code: Code
    message: str
    details: dict[str, Any] = field(default_factory=dict)
    conversation_gone: bool = False
    """The conversation is not here: the client is made to abandon it, whatever `refusals` say."""
    late: tuple[Interrupt, ...] = ()
    """Expired questions with the refusals of them noted that came with this request (D6)."""


_MAX_NAMED: Final = 5
_MAX_NAME_CHARS: Final = 64


def duplicate(ids: Sequence[str]) -> Refuse:
    """Two different answers for one interrupt (RE-08, D8)."""
    return _refuse(
        Code.DUPLICATE_ENTRY,
        f"this request answers {named(ids)} twice and differently; send one answer for each",
        [{"interruptId": key} for key in ids],
    )


def wrong_agent(owner: str) -> Refuse:
    """The path of one agent on a thread with unfinished work of another."""
    return _refuse(
        Code.WRONG_AGENT,
        f"this thread has unfinished work of agent {_quoted(owner)}; send the request there",
    )


def not_an_approver(items: Sequence[Interrupt]) -> Refuse:
    """An answer of somebody who may not give it (OC-20)."""
    return _refuse(
        Code.NOT_AN_APPROVER,
        f"{named([item.id for item in items])} is answered by {_who(items)}, which you are not; "
        "leave it to them, or cancel it",
        [_with_approvers(item) for item in items],
    )


def own_request(items: Sequence[Interrupt]) -> Refuse:
    """An answer of somebody who wants the thing done, where another has to decide."""
    return _refuse(
        Code.OWN_REQUEST,
        f"{named([item.id for item in items])} is your own request, and is answered by another "
        f"{_who(items)}; leave it to them, or cancel it",
        [_with_approvers(item) for item in items],
    )


def denied_before(items: Sequence[Interrupt]) -> Refuse | None:
    """A yes to what was denied in another copy, if its approvers do not want to be asked again."""
    denials = {item.id: item.progress.denied[-1] for item in items if is_barred_by_denial(item)}
    if not denials:
        return None
    people = dict.fromkeys(repr(denial["by"]) for denial in denials.values())
    return _refuse(
        Code.DENIED_BEFORE,
        f"{named(denials)} was denied in another copy of this thread, by {', '.join(people)}; "
        "deny it too, or cancel it",
        [
            {"interruptId": key, "by": denial["by"], "at": denial["at"]}
            for key, denial in denials.items()
        ],
    )


def unknown_person(item: Interrupt, to: str) -> Refuse:
    """An assignee whom the directory does not know, or who may not answer."""
    refused = _refuse(
        Code.UNKNOWN_PERSON,
        f"the directory knows nobody active as {_quoted(to)} who may answer {named([item.id])}; "
        "name another person, or role: and a role",
        [_with_approvers(item)],
    )
    errors = [{"pointer": "/to", "message": "is nobody who may answer"}]
    return replace(refused, details={**refused.details, "errors": errors})


def not_yours(item: Interrupt) -> Refuse:
    """Taking back an answer that somebody else gave, or nobody."""
    return _refuse(
        Code.NOT_AN_APPROVER,
        f"{named([item.id])} has no answer of yours that could be taken back; each takes back "
        "its own",
        [_with_approvers(item)],
    )


def unentitled(items: Sequence[Interrupt], principal: Principal) -> Refuse | None:
    """The refusal of answers to those of these questions that this caller may not answer."""
    reasons = {item.id: barred(item, principal) for item in items}
    if own := [item for item in items if reasons[item.id] == "own"]:
        return own_request(own)
    if others := [item for item in items if reasons[item.id] is not None]:
        return not_an_approver(others)
    need_person = [item for item in items if not decides(item, principal)]
    return person_required(need_person) if need_person else None


def person_required(items: Sequence[Interrupt]) -> Refuse:
    """A word of a service about what a person has to decide."""
    return _refuse(
        Code.PERSON_REQUIRED,
        f"{named([item.id for item in items])} is decided by a person, and you are a service; "
        "have somebody answer who has signed in",
        [_with_approvers(item) for item in items],
    )


def step_up_required(items: Sequence[Interrupt], principal: Principal, now: int) -> Refuse | None:
    """The refusal of answers to those of these questions that take a more recent sign-in."""
    late = [item for item in items if not has_signed_in_lately(item, principal, now)]
    if not late:
        return None
    return _refuse(
        Code.STEP_UP_REQUIRED,
        f"{named([item.id for item in late])} takes an answer of who has signed in a short time "
        "ago; sign in again, and send the same answer",
        [_with_approvers(item) for item in late],
    )


def _who(items: Sequence[Interrupt]) -> str:
    """The people that the questions wait for, in words."""
    needed = [item.terms.approvers for item in items if item.terms.approvers is not None]
    roles = dict.fromkeys(role for approvers in needed for role in approvers.roles)
    people = dict.fromkeys(person for approvers in needed for person in approvers.people)
    with_role = [f"somebody with the role {' or '.join(map(repr, roles))}"] if roles else []
    unwanted = dict.fromkeys(role for approvers in needed for role in approvers.barred)
    barred_by = [repr(role) for role in unwanted if role != REQUESTER]
    text = " or ".join([*with_role, *map(_quoted, people)])
    return f"{text} (and without {' or '.join(barred_by)})" if barred_by else text


def _with_approvers(item: Interrupt) -> dict[str, Any]:
    """A question in the details with those who may answer it; not with those who want it done."""
    approvers = item.terms.approvers
    terms = {} if approvers is None else approvers.terms_for_clients()
    return {"interruptId": item.id, "approvers": terms}


def out_of_date(items: Sequence[Interrupt], owner: str, reader: Principal, now: int) -> Refuse:
    """Answers to questions that have changed since they were shown; with these as they are now."""
    return _refuse(
        Code.OUT_OF_DATE,
        f"{named([item.id for item in items])} has changed since it was shown to you, so nothing "
        "was decided; look at it as it is now, and answer that",
        [
            {
                "interruptId": item.id,
                "interrupt": jsonvalue.decode(to_wire(item, details_for(item, owner, reader, now))),
            }
            for item in items
        ],
    )


def busy() -> Refuse:
    """Something new for a thread that runs (ID-08)."""
    return _refuse(
        Code.THREAD_BUSY, "this thread is running; wait until its run has ended, then send again"
    )


def unknown(ids: Sequence[str]) -> Refuse:
    """Ids that are not this thread's, whoever else may have them (CR-1, D1)."""
    return _refuse(
        Code.UNKNOWN_INTERRUPT,
        f"this thread never asked {named(ids)}; read its open interrupts and answer those",
        [{"interruptId": key} for key in ids],
    )


def gone(ids: Sequence[str]) -> Refuse:
    """Answers, or a result, for a conversation that this server does not have (D2)."""
    refusal = _refuse(
        Code.UNKNOWN_INTERRUPT,
        "This conversation is no longer here. Nothing was done.",
        [{"interruptId": key} for key in ids],
    )
    return replace(refusal, conversation_gone=True)


def nothing_open() -> Refuse:
    """A legacy answer on a thread that asks nothing: never taken for plain input (D2)."""
    return _refuse(
        Code.UNKNOWN_INTERRUPT,
        "nothing is open on this thread, so this answers nothing; read the thread to see its state",
    )


def not_asked() -> Refuse:
    """A legacy answer to a raw value that nothing open was asked with (D1)."""
    return _refuse(
        Code.UNKNOWN_INTERRUPT,
        "nothing that is open on this thread was asked with this interruptEvent; send the value "
        "as it came, or read the thread to see what is open",
    )


def unattributed(ids: Sequence[str]) -> Refuse:
    """A legacy answer that could be for any of several (C4, LG-14)."""
    return _refuse(
        Code.PARTIAL_RESUME,
        f"this answer does not say which of {named(ids)} it is for; send the interruptEvent that "
        "it answers, or as resume an object with an answer for each id",
        [{"interruptId": key} for key in ids],
    )


def already_resolved(items: Sequence[Interrupt]) -> Refuse:
    """A different answer than the settled one: by whom and when that was (ID-06, Q1, Q4)."""
    first = items[0]
    by = f" by {_quoted(first.decided_by)}" if first.decided_by is not None else ""
    when = f" at {format_time(first.decided_at)}" if first.decided_at is not None else ""
    rest = f" ({len(items) - 1} more likewise)" if len(items) > 1 else ""
    return _refuse(
        Code.ALREADY_RESOLVED,
        f"{_quoted(first.id)} was already {first.status}{by}{when}{rest}; "
        "that answer stands, read the thread to see what came of it",
        [_decided(item) for item in items],
    )


def expired(items: Sequence[Interrupt]) -> Refuse:
    """An answer to what has expired (EX-04, D5, D6)."""
    ids = named(
        [client_tools.call_id(item) if client_tools.is_call(item) else item.id for item in items]
    )
    if any(item.status in ("resolved", "cancelled") for item in items):
        text = (
            f"{ids} expired before this answer came, and was settled by the rule for that; "
            "read the thread to see what came of it"
        )
    elif all(map(client_tools.is_call, items)):
        text = (
            f"the result of {ids} came after its time was up, so the agent continues without it; "
            "read the thread to see its state"
        )
    else:
        text = (
            f"{ids} expired before this answer came, so nothing was carried out; cancel what is "
            "still open, or ask the agent again"
        )
    return _refuse(Code.INTERRUPT_EXPIRED, text, [_overdue(item) for item in items])


def _overdue(item: Interrupt) -> dict[str, Any]:
    """An expired one in the details; clients know a call of theirs by the call's id."""
    call = client_tools.is_call(item)
    detail = {"toolCallId": client_tools.call_id(item)} if call else {"interruptId": item.id}
    return detail if item.expires_at is None else {**detail, "at": format_time(item.expires_at)}


def pending(ids: Sequence[str]) -> Refuse:
    """Input without an answer while something is open (CR-4, E1)."""
    return _refuse(
        Code.INTERRUPTS_PENDING,
        f"this thread waits for an answer to {named(ids)}; "
        "answer or cancel every open interrupt before you send anything else",
        [{"interruptId": key} for key in ids],
    )


def partial(ids: Sequence[str], calls: Sequence[str] = ()) -> Refuse:
    """Open interrupts, and calls of the client's own tools, that the request leaves out (CR-3, E6).

    The calls' ids are in `details` as `toolCallIds`.
    """
    left = []
    if ids:
        left.append(
            f"this request has no answer to {named(ids)}; "
            "answer or cancel every open interrupt in one request"
        )
    if calls:
        left.append(
            f"this request has no tool message for {named(calls)}; "
            "send the results of all calls that the run left to you in one request"
        )
    refused = _refuse(Code.PARTIAL_RESUME, "; ".join(left), [{"interruptId": key} for key in ids])
    if not calls:
        return refused
    return replace(refused, details={**refused.details, "toolCallIds": [*calls]})


def invalid(problems: Mapping[str, Sequence[tuple[str, str]]]) -> Refuse:
    """Payloads that do not fit what was asked, by interrupt (CR-6, ER-14: without the payload)."""
    return _refuse(
        Code.INVALID_PAYLOAD,
        f"the answer to {named(problems)} does not fit what was asked; "
        "correct what is named in the details and send all answers again",
        [
            {
                "interruptId": key,
                "problems": [{"pointer": pointer, "message": text} for pointer, text in wrong],
            }
            for key, wrong in problems.items()
        ],
    )


def unfit_state(agent: str, problems: Sequence[tuple[str, str]]) -> Refuse:
    """A state that its agent does not accept; `errors` of the details point into the request."""
    refused = _refuse(
        Code.INVALID_PAYLOAD,
        f"the state of this request does not fit agent {agent!r}; correct what is named in the "
        "details, or leave the state out, and send all again",
    )
    errors = [{"pointer": f"/state{pointer}", "message": text} for pointer, text in problems]
    return replace(refused, details={**refused.details, "errors": errors})


def breakpoints(agent: str) -> Refuse:
    """Breakpoints of a request, for an agent that takes none from requests."""
    return Refuse(
        Code.BREAKPOINTS_REFUSED,
        f"Agent {agent!r} takes no breakpoints from requests: send this again without "
        "forwardedProps.sayso.breakpoints.",
    )


def missing_version(turn: TurnRecord) -> Refuse:
    """A turn whose agent version is no longer registered (design 3, rule 9)."""
    return Refuse(
        Code.AGENT_VERSION_MISSING,
        f"This turn began with version {turn.version!r} of agent {turn.agent!r}, which this server "
        "does not have: register it beside the new one.",
        {"code": Code.AGENT_VERSION_MISSING.value, "version": turn.version},
    )


def too_large(limit: int) -> Refuse:
    """More history than a thread may hold."""
    return _refuse(
        Code.THREAD_TOO_LARGE,
        f"this thread would hold more than {limit} bytes of messages; begin a new thread",
    )


def named(ids: Collection[str]) -> str:
    """The first few ids in words; each comes from a client, so each is cut."""
    listed = ", ".join(_quoted(key) for key in list(ids)[:_MAX_NAMED])
    more = len(ids) - _MAX_NAMED
    return f"{listed} and {more} more" if more > 0 else listed


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _MAX_NAME_CHARS else text[:_MAX_NAME_CHARS] + "…")


def _decided(item: Interrupt) -> dict[str, Any]:
    detail: dict[str, Any] = {"interruptId": item.id}
    if item.decided_by is not None:
        detail["by"] = item.decided_by
    if item.decided_at is not None:
        detail["at"] = format_time(item.decided_at)
    return detail


def _refuse(code: Code, message: str, interrupts: list[dict[str, Any]] | None = None) -> Refuse:
    details: dict[str, Any] = {"code": code.value}
    if interrupts:
        details["interrupts"] = interrupts
    return Refuse(code=code, message=message, details=details)


_UNFIT_STATE: Final = (
    "The agent does not accept the state that this page sent. Please load the page again."
)


def spoken(refusal: Refuse) -> str:
    """The refusal in a sentence or two, without ids: what was refused, and what to do."""
    if refusal.code is Code.INVALID_PAYLOAD and "errors" in refusal.details:
        return _UNFIT_STATE
    words = refusal.code.facts.chat
    if not words or refusal.conversation_gone:
        return refusal.message
    listed = refusal.details.get("interrupts", ())
    decided_by = next((item["by"] for item in listed if "by" in item), "")
    return words.format(by=f" by {decided_by}" if decided_by else "")
