"""The approvals that the memory store holds; one caller at a time."""

import itertools
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice

from sayso.base.errors import Conflict
from sayso.base.records import Approval, ApprovalUse, Page
from sayso.stores.pagination import take_page
from tests.stores.model.lists import Key, Ordered


class ApprovalTable:
    """Approvals of all scopes, with what they were used for."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], tuple[Key, Approval]] = {}
        self._listed: defaultdict[str, Ordered[str]] = defaultdict(Ordered)
        self._of_tool: defaultdict[tuple[str, str, str], dict[str, None]] = defaultdict(dict)
        self._of_thread: defaultdict[tuple[str, str], dict[str, None]] = defaultdict(dict)
        self._uses: defaultdict[tuple[str, str], dict[str, ApprovalUse]] = defaultdict(dict)
        self._numbers = itertools.count(1)

    def write(self, scope: str, given: Iterable[Approval], uses: Iterable[ApprovalUse]) -> None:
        """Keep what a commit brings; see `Store.commit`."""
        for approval in given:
            name = (scope, approval.id)
            if name in self._rows:
                continue
            key = (approval.given_at, next(self._numbers))
            self._rows[name] = (key, approval)
            self._listed[scope].move(None, key, approval.id)
            self._of_tool[scope, approval.owner, approval.tool][approval.id] = None
            if approval.thread_id is not None:
                self._of_thread[scope, approval.thread_id][approval.id] = None
        for use in uses:
            self._uses[scope, use.approval_id].setdefault(use.call_id, use)

    def one(self, scope: str, approval_id: str) -> Approval | None:
        """See `Store.approval`."""
        found = self._rows.get((scope, approval_id))
        if found is None:
            return None
        uses = self._uses.get((scope, approval_id), {})
        last = max((use.at for use in uses.values()), default=None)
        return replace(found[1], uses=len(uses), used_at=last)

    def uses(self, scope: str, approval_id: str, limit: int) -> tuple[ApprovalUse, ...]:
        """See `Store.approval_uses`."""
        approval_uses = sorted(
            self._uses.get((scope, approval_id), {}).values(), key=lambda use: use.at
        )
        return tuple(reversed(approval_uses[-limit:]))

    def standing(self, scope: str, owner: str, tool: str, at: int) -> tuple[Approval, ...]:
        """See `Store.valid_approvals`."""
        ids = self._of_tool.get((scope, owner, tool), {})
        rows = sorted(self._rows[scope, one] for one in ids)
        return tuple(self._known(scope, row.id) for _, row in rows if _stands(row, at))

    def page(
        self,
        scope: str,
        at: int | None,
        party: str | None,
        begin: Key | None,
        limit: int,
        walk: int,
    ) -> Page[Approval]:
        """See `Store.approvals`."""
        listed = self._listed[scope] if scope in self._listed else Ordered[str]()
        rows = [
            (key, self._rows[scope, one][1]) for key, one in islice(listed.upwards(begin), walk)
        ]
        fitting = (
            (*key, (at is None or _stands(row, at)) and party in (None, row.owner, row.given_by))
            for key, row in rows
        )
        numbers, following = take_page("approvals", fitting, limit, walk)
        ids = {key[1]: row.id for key, row in rows}
        return Page(items=tuple(self._known(scope, ids[n]) for n in numbers), next=following)

    def revoke(self, scope: str, approval_id: str, by: str, now: int) -> Approval:
        """See `Store.revoke`."""
        found = self._rows.get((scope, approval_id))
        if found is None or found[1].revoked_at is not None:
            raise Conflict(f"approval {approval_id!r} is unknown, or revoked already")
        self._rows[scope, approval_id] = (
            found[0],
            replace(found[1], revoked_at=now, revoked_by=by),
        )
        return found[1]

    def delete(self, scope: str, approval_id: str) -> None:
        """See `Store.delete_approval`."""
        if (scope, approval_id) not in self._rows:
            return
        key, row = self._rows.pop((scope, approval_id))
        self._listed[scope].move(key, None, approval_id)
        del self._of_tool[scope, row.owner, row.tool][approval_id]
        if row.thread_id is not None:
            del self._of_thread[scope, row.thread_id][approval_id]
        self._uses.pop((scope, approval_id), None)

    def forget(self, scope: str, thread_id: str) -> None:
        """Remove what belongs to a thread that is deleted."""
        for approval_id in self._of_thread.pop((scope, thread_id), {}):
            key, row = self._rows.pop((scope, approval_id))
            self._listed[scope].move(key, None, approval_id)
            del self._of_tool[scope, row.owner, row.tool][approval_id]
            self._uses.pop((scope, approval_id), None)
        for (where, _), uses in self._uses.items():
            if where == scope:
                for call_id in [c for c, use in uses.items() if use.thread_id == thread_id]:
                    del uses[call_id]

    def _known(self, scope: str, approval_id: str) -> Approval:
        approval = self.one(scope, approval_id)
        if approval is None:
            raise LookupError(approval_id)
        return approval


def _stands(row: Approval, at: int) -> bool:
    return row.revoked_at is None and (row.expires_at is None or row.expires_at > at)
