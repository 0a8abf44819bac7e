"""Who may answer an approval, and how many have to agree before it counts (OC-20). Pure.

Both are kept with the question, in `Interrupt.policy`, and so is who has agreed so far: it stays
open until there are enough. One no is a no; a withdrawal is nobody's approval. Agreement is
with an answer, edits included: who gives another one begins a new count.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from sayso import jsonvalue
from sayso.protocol.runinput import ResumeEntry
from sayso.records import Interrupt, Principal
from sayso.votes import AGREED, Vote, votes

__all__ = [
    "agreed",
    "approvers",
    "asked_anew",
    "counted",
    "entitled",
    "may_see",
    "needing",
    "withdrawn",
]

_NEEDED: Final = "approvers"
_NOT_COMPARED: Final = ("reason",)


def needing(
    policy: bytes | None, by: Sequence[str], of: int | Sequence[tuple[str, int]]
) -> bytes | None:
    """The policy of a question that people with these roles answer, so many of them."""
    if not by and of == 1:
        return policy
    kept = jsonvalue.decode(policy) if policy else {}
    wanted = of if isinstance(of, int) else dict(of)
    return jsonvalue.encode({**kept, _NEEDED: {"by": list(by), "of": wanted}})


def approvers(item: Interrupt) -> dict[str, Any] | None:
    """Who has to answer: `{"by": roles, "of": a number, or one for each role}`; None: the owner."""
    found: dict[str, Any] | None = _policy(item).get(_NEEDED)
    return found


def agreed(item: Interrupt) -> list[Vote]:
    """Who has agreed so far: `{"by", "at", "channel", "roles", "payload"}`, in order."""
    return votes(item.policy)


def entitled(item: Interrupt, principal: Principal) -> bool:
    """Whether this caller's answer counts: it has one of the roles, if there are any."""
    needed = approvers(item)
    return needed is None or not needed["by"] or bool({*needed["by"]} & {*principal.roles})


def may_see(item: Interrupt, owner: str, principal: Principal) -> bool:
    """Whether a question is any of this caller's business."""
    if principal.subject == owner:
        return True
    return approvers(item) is not None and entitled(item, principal)


def counted(
    item: Interrupt, entry: ResumeEntry, principal: Principal, channel: str, now: int
) -> tuple[Interrupt, bool]:
    """The question with this answer counted, and whether the answer stands now."""
    needed = approvers(item)
    if needed is None or needed["of"] == 1 or not _approves(entry):
        return item, True
    before = agreed(item)
    same = [vote for vote in before if _same(vote["payload"], entry.payload)]
    if all(vote["by"] != principal.subject for vote in same):
        same.append(
            {
                "by": principal.subject,
                "at": now,
                "channel": channel,
                "roles": list(principal.roles),
                "payload": entry.payload,
            }
        )
    changed = item if same == before else _with(item, same)
    stands = _enough(needed, same)
    # What was kept before is no longer what they agree to.
    return (changed if stands or item.held is None else replace(changed, held=None)), stands


def withdrawn(item: Interrupt, subject: str) -> Interrupt:
    """The question without this person's agreement."""
    before = agreed(item)
    left = [vote for vote in before if vote["by"] != subject]
    return item if left == before else _with(item, left)


def asked_anew(item: Interrupt) -> Interrupt:
    """The question as nobody has agreed to it yet."""
    return _with(item, []) if agreed(item) else item


def _enough(needed: dict[str, Any], given: Sequence[Vote]) -> bool:
    of = needed["of"]
    if isinstance(of, int):
        return len(given) >= of
    seats = [role for role, number in of.items() for _ in range(number)]
    return _seated(seats, [{*vote["roles"]} for vote in given])


def _seated(seats: Sequence[str], people: Sequence[set[str]]) -> bool:
    """Whether every seat is taken by another person who has its role."""
    sits: dict[int, int] = {}

    def seat(number: int, tried: set[int]) -> bool:
        for person, roles in enumerate(people):
            if seats[number] not in roles or person in tried:
                continue
            tried.add(person)
            if person not in sits or seat(sits[person], tried):
                sits[person] = number
                return True
        return False

    return all(seat(number, set()) for number in range(len(seats)))


def _approves(entry: ResumeEntry) -> bool:
    payload = entry.payload
    return (
        entry.status == "resolved" and isinstance(payload, dict) and payload.get("approved") is True
    )


def _same(left: Any, right: Any) -> bool:
    return jsonvalue.equal(_compared(left), _compared(right))


def _compared(payload: Any) -> Any:
    return {name: value for name, value in payload.items() if name not in _NOT_COMPARED}


def _with(item: Interrupt, given: Sequence[Vote]) -> Interrupt:
    return replace(item, policy=jsonvalue.encode({**_policy(item), AGREED: list(given)}))


def _policy(item: Interrupt) -> dict[str, Any]:
    policy: dict[str, Any] = jsonvalue.decode(item.policy) if item.policy else {}
    return policy
