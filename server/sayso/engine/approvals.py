"""Approvals of later calls: listed, shown, revoked. Other owners' are invisible."""

import logging
from dataclasses import dataclass

from sayso.base import jsonvalue
from sayso.base.codes import Code
from sayso.base.errors import Conflict, Problem
from sayso.base.records import Approval, ApprovalUse, Page, PageRequest, Principal
from sayso.turns.calls.approval import BY_ENTITLEMENT
from sayso.turns.services import Services

_log = logging.getLogger("sayso.engine.approvals")


@dataclass(frozen=True, slots=True)
class ApprovalWithUses:
    """An approval with its newest uses, newest first."""

    approval: Approval
    uses: tuple[ApprovalUse, ...]


class ApprovalService:
    """The approvals of one caller at a time: those for its calls, and those that it gave."""

    def __init__(self, services: Services) -> None:
        self._store, self._clock = services.store, services.clock
        self._tools = services.tools

    def stale(self, approval: Approval) -> str | None:
        """The reason why an approval that no person revoked is no longer valid; None if it is."""
        if approval.revoked_by == BY_ENTITLEMENT:
            return "whoever gave it has left, or has the role no more: have somebody say yes again"
        terms = jsonvalue.decode(approval.terms or b"{}")
        if terms.get("runOnly"):
            return None  # What that tool and its rules are, the next run that brings it can say.
        tool = self._tools.of(terms.get("agent")).get(approval.tool)
        if tool is None:
            return "its tool no longer exists"
        if approval.terms is None:
            return "it was given without its terms being kept: say yes again"
        digests = terms["rules"]
        now = self._tools.policy(tool).digests
        if any(now.get(name) == digest for name, digest in digests.items()):
            return None
        return "the rules that it was given for have changed: say yes again"

    async def page(
        self, principal: Principal, *, after: str | None = None, limit: int = 100
    ) -> Page[Approval]:
        """The valid ones, oldest first.

        Raises:
            ValueError: an invalid cursor.
        """
        return await self._store.approvals(
            principal.scope, self._clock.now(), PageRequest(after, limit), party=principal.subject
        )

    async def with_uses(self, principal: Principal, approval_id: str) -> ApprovalWithUses:
        """One of them, valid or not.

        Raises:
            Problem: `unknown_approval`, also for other people's.
        """
        approval = await self._store.approval(principal.scope, approval_id)
        if approval is None or principal.subject not in (approval.owner, approval.given_by):
            raise _unknown()
        return ApprovalWithUses(
            approval, await self._store.approval_uses(principal.scope, approval_id)
        )

    async def revoke(self, principal: Principal, approval_id: str) -> ApprovalWithUses:
        """Revoke an approval; nothing changes if it was revoked before."""
        before = await self.with_uses(principal, approval_id)
        if before.approval.revoked_at is None:
            try:
                await self._store.revoke(
                    principal.scope, approval_id, principal.subject, self._clock.now()
                )
            except Conflict:
                _log.info("approval %r was revoked or deleted meanwhile", approval_id)
            else:
                _log.info("approval %r was revoked by %r", approval_id, principal.subject)
        return await self.with_uses(principal, approval_id)


def _unknown() -> Problem:
    return Problem(
        Code.UNKNOWN_APPROVAL,
        "There is no such approval: GET /approvals lists those that stand.",
    )
