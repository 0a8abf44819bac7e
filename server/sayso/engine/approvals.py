"""Approvals that stand for later calls: listed, shown, revoked. Of others' nothing is told."""

import logging
from dataclasses import dataclass

from sayso.approvals import Approval, ApprovalUse
from sayso.clock import Clock
from sayso.errors import Code, Conflict, Problem
from sayso.records import Page, Principal
from sayso.stores.base import Store

__all__ = ["Approvals", "Known"]

_log = logging.getLogger("sayso.engine.approvals")


@dataclass(frozen=True, slots=True)
class Known:
    """An approval with its newest uses, newest first."""

    approval: Approval
    uses: tuple[ApprovalUse, ...]


class Approvals:
    """The approvals of one caller at a time: those for its calls, and those that it gave."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def page(
        self, principal: Principal, *, after: str | None = None, limit: int = 100
    ) -> Page[Approval]:
        """Those that stand, oldest first; ValueError for a cursor of no list."""
        return await self._store.approvals(
            principal.scope,
            self._clock.now(),
            party=principal.subject,
            after=after,
            limit=limit,
        )

    async def known(self, principal: Principal, approval_id: str) -> Known:
        """One of them, whether it stands or not; Problem `unknown_approval`, also for others'."""
        found = await self._store.approval(principal.scope, approval_id)
        if found is None or principal.subject not in (found.owner, found.given_by):
            raise _unknown()
        return Known(found, await self._store.approval_uses(principal.scope, approval_id))

    async def revoke(self, principal: Principal, approval_id: str) -> Known:
        """Let one stand no more; that it was revoked before changes nothing."""
        before = await self.known(principal, approval_id)
        if before.approval.revoked_at is None:
            try:
                await self._store.revoke(
                    principal.scope, approval_id, principal.subject, self._clock.now()
                )
            except Conflict:
                _log.info("approval %r was revoked or deleted meanwhile", approval_id)
            else:
                _log.info("approval %r was revoked by %r", approval_id, principal.subject)
        return await self.known(principal, approval_id)


def _unknown() -> Problem:
    return Problem(
        Code.UNKNOWN_APPROVAL,
        "There is no such approval: GET /approvals lists those that stand.",
    )
