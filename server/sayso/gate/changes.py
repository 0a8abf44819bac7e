"""Changes to an open question other than an answer: one taken back, a later end, an assignee.

Pure; each returns what changes, or refuses.
"""

from collections.abc import Sequence

from sayso.base.approvers import ROLE, Approvers
from sayso.base.codes import Code
from sayso.base.directory import DirectoryPerson
from sayso.base.limits import Limits
from sayso.base.records import Interrupt, Principal, ThreadView
from sayso.gate import interrupts, refusals
from sayso.gate.case import HoldAnswers, open_interrupts
from sayso.gate.quorum import asks_others, is_final, may_answer
from sayso.gate.refusals import Refuse


def withdraw(view: ThreadView, interrupt_id: str, subject: str) -> HoldAnswers | Refuse:
    """Decide what withdrawing an answer does; nothing for the owner's own question without one.

    Where others decide, each takes back only its own answer, and nobody a no.
    """
    item = open_interrupts(view).get(interrupt_id)
    if item is None:
        return _unanswerable(view, interrupt_id)
    if not asks_others(item):
        return _changed(view, interrupts.withdraw(item))
    if is_final(item):
        return refusals.already_resolved([interrupts.settle_held(item)])
    own = item.held is not None and item.held.by == subject
    votes = tuple(vote for vote in item.progress.votes if vote.by != subject)
    left = interrupts.with_votes(item, votes)
    if left is item and not own:
        return refusals.not_yours(item)
    # An answer that several gave together does not hold with fewer.
    resolved = item.held is not None and item.held.status == "resolved"
    together = resolved and bool(item.progress.votes)
    return _changed(view, interrupts.withdraw(left) if own or together else left)


def assign(
    view: ThreadView,
    interrupt_id: str,
    to: str | None,
    principal: Principal,
    now: int,
    people: Sequence[DirectoryPerson] | None = None,
) -> HoldAnswers | Refuse:
    """Decide what naming the person who should answer does; None removes that.

    For a question that others decide, only they may. `people` are those behind the name, None where
    no directory knows: then it is a label. Otherwise one of them has to be entitled; an owner's own
    question is granted to them, by a sign-in that is recent enough to answer it.
    """
    item = _assignable(view, interrupt_id, principal)
    if isinstance(item, Refuse):
        return item
    owner = view.thread.owner
    plain = interrupts.grant(item, owner, None) if item.terms.granted else item
    if to is not None and people is not None:
        scope = principal.scope
        who = [Principal(subject=p.subject, scope=scope, roles=p.roles) for p in people]
        if asks_others(plain):
            who = [person for person in who if may_answer(plain, person)]
        if not who:
            return refusals.unknown_person(item, to)
        if not asks_others(plain) and to != owner:
            if refused := refusals.step_up_required([plain], principal, now):
                return refused
            plain = interrupts.grant(plain, owner, _named(to))
    if item.terms.granted:
        plain = _without_word_of_others(plain, owner, principal.scope)
    return _changed(view, interrupts.assign(plain, to))


def _without_word_of_others(item: Interrupt, owner: str, scope: str) -> Interrupt:
    """Take a yes away that somebody gave whom the owner does not let answer any more."""
    kept = item.held
    if kept is None or kept.by == owner:
        return item
    who = Principal(subject=kept.by, scope=scope, roles=kept.roles or ())
    return item if asks_others(item) and may_answer(item, who) else interrupts.withdraw(item)


def check_assign(view: ThreadView, interrupt_id: str, principal: Principal) -> HoldAnswers | Refuse:
    """Decide if this caller may name anybody at all; nothing changes."""
    item = _assignable(view, interrupt_id, principal)
    return item if isinstance(item, Refuse) else _changed(view, item)


def _assignable(view: ThreadView, interrupt_id: str, principal: Principal) -> Interrupt | Refuse:
    item = _theirs(view, interrupt_id, principal)
    if isinstance(item, Refuse):
        return item
    granted = item.terms.granted and principal.subject != view.thread.owner
    return refusals.not_an_approver([item]) if granted else item


def _named(to: str) -> Approvers:
    """Those whom an assignee names: a person, or everybody with a role."""
    if to.startswith(ROLE):
        return Approvers(by=to.removeprefix(ROLE), not_by=None)
    return Approvers(people=(to,), not_by=None)


def extend(
    view: ThreadView,
    interrupt_id: str,
    now: int,
    principal: Principal,
    limits: Limits,
    *,
    until: int | None = None,
    seconds: float | None = None,
) -> HoldAnswers | Refuse:
    """Decide what moving the end of a question does: to a time, or by seconds from its present end.

    An expired question stays expired, except one that its policy left open: it can be answered
    again. For a question that others decide, only they may.
    """
    item = _theirs(view, interrupt_id, principal)
    if isinstance(item, Refuse):
        return item
    if item.expires_at is None:
        return _no_extension("this question never expires, so there is nothing to extend")
    if interrupts.is_past(item, now) and item.lapsed_at is None:
        return refusals.expired([item])
    ends = until if until is not None else max(now, item.expires_at) + int((seconds or 0) * 1000)
    if ends <= max(now, item.expires_at):
        return _no_extension("an extension ends later than now, and than what it extends")
    if ends - now > limits.lifetime * 1000:
        return _no_extension(f"a question is open for {limits.lifetime} seconds at most from now")
    return _changed(view, interrupts.extend(item, ends))


def reveal(view: ThreadView, interrupt_id: str, principal: Principal, now: int) -> Refuse | None:
    """Refuse to show a secret of an open question to whoever may not answer it now."""
    item = _theirs(view, interrupt_id, principal)
    if isinstance(item, Refuse):
        return item
    if interrupts.is_past(item, now):
        return refusals.expired([item])
    return refusals.step_up_required([item], principal, now)


def _theirs(view: ThreadView, interrupt_id: str, principal: Principal) -> Interrupt | Refuse:
    """Find the open question, if this caller may see to its answer."""
    item = open_interrupts(view).get(interrupt_id)
    if item is None:
        return _unanswerable(view, interrupt_id)
    if is_final(item):
        return refusals.already_resolved([interrupts.settle_held(item)])
    return refusals.unentitled([item], principal) or item


def _no_extension(why: str) -> Refuse:
    return Refuse(Code.INVALID_INPUT, f"{why}: read its expiresAt and send a later one")


def _changed(view: ThreadView, item: Interrupt) -> HoldAnswers:
    waiting = {**open_interrupts(view), item.id: item}
    changed = () if item in view.interrupts else (item,)
    remaining = len(interrupts.unanswered(waiting.values()))
    return HoldAnswers(items=changed, remaining=remaining)


def _unanswerable(view: ThreadView, interrupt_id: str) -> Refuse:
    """The refusal to change an interrupt that the thread does not wait for."""
    for item in view.interrupts:
        if item.id == interrupt_id and item.status != "open":
            if interrupts.settled_by_expiry(item):
                return refusals.expired([item])
            return refusals.already_resolved([item])
    if view.thread.holder is not None:
        return refusals.busy()
    return refusals.unknown([interrupt_id])
