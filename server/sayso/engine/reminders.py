"""Reminders of open questions: told once, by one process, before they expire (R1).

The store is told first, on the revision that was read, so that of all processes one reminds. If it
dies right then, nobody is reminded: a reminder that comes twice would be the worse habit.
"""

import asyncio
import logging
from datetime import UTC, datetime

from sayso.logs import about
from sayso.options import Reminder, ReminderHook
from sayso.records import Interrupt, Thread, Turn

__all__ = ["due_for_reminder", "remind"]

_log = logging.getLogger("sayso.engine.reminders")

PATIENCE = 30.0
"""Seconds that a hook may take."""


def due_for_reminder(item: Interrupt, now: int) -> bool:
    """Whether it is time to remind of a question that still waits for an answer."""
    return (
        item.status == "open"
        and item.held is None
        and item.lapsed_at is None
        and item.reminded_at is None
        and item.remind_at is not None
        and item.remind_at <= now
        and (item.expires_at is None or now < item.expires_at)
    )


async def remind(hook: ReminderHook | None, thread: Thread, turn: Turn, item: Interrupt) -> None:
    """Tell the hook, if there is one; what it raises is logged and keeps nobody else waiting."""
    if hook is None or item.expires_at is None:
        return
    reminder = Reminder(
        scope=thread.scope,
        thread_id=thread.id,
        owner=thread.owner,
        agent=turn.agent,
        interrupt_id=item.id,
        reason=item.reason,
        message=item.message,
        expires_at=datetime.fromtimestamp(item.expires_at / 1000, UTC),
        assigned_to=item.assigned_to,
    )
    with about(thread=thread.id, interrupt=item.id, agent=turn.agent):
        try:
            async with asyncio.timeout(PATIENCE):
                await hook(reminder)
        except Exception:
            _log.exception("on_reminder failed for %r of thread %r", item.id, thread.id)
