"""Approvals that a turn gives and uses, on their way to the store. Pure."""

from collections.abc import Mapping
from typing import Any

from sayso.approvals import Approval, ApprovalUse

__all__ = ["Permits"]


class Permits:
    """What goes out with the next commit: approvals to keep, and what ran on those that stand."""

    def __init__(self) -> None:
        self._given: list[Approval] = []
        self._used: list[ApprovalUse] = []

    def give(self, approval: Approval) -> None:
        """Keep an approval for later calls."""
        self._given.append(approval)

    def use(self, use: ApprovalUse) -> None:
        """Note that a call runs on an approval."""
        self._used.append(use)

    def take(self) -> Mapping[str, Any]:
        """The members of the commit that is being made now."""
        taken = {"approvals": tuple(self._given), "uses": tuple(self._used)}
        self._given, self._used = [], []
        return taken
