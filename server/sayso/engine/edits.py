"""Edits of the state of a thread that waits: checked, journalled, and stronger than a client's."""

from collections.abc import Callable, Sequence
from typing import Any

from sayso import jsonvalue
from sayso.agents.registry import Agents
from sayso.clock import Clock
from sayso.engine.threads import Threads
from sayso.errors import Code, Conflict, Problem
from sayso.gate import refusals
from sayso.jsonpatch import merged
from sayso.records import Principal, ThreadView, Turn
from sayso.stores.base import Store
from sayso.turns.marks import edit_mark
from sayso.turns.turnstate import LARGEST

__all__ = ["StateEdits"]

ATTEMPTS = 8
"""Times that an edit is tried anew because the thread changed under it."""


class StateEdits:
    """Changes the state that a waiting turn goes on with."""

    def __init__(
        self,
        threads: Threads,
        agents: Agents,
        store: Store,
        clock: Clock,
        changed: Callable[[str], None],
    ) -> None:
        self._threads = threads
        self._agents = agents
        self._store = store
        self._clock = clock
        self._changed = changed

    async def edit(
        self, principal: Principal, thread_id: str, patch: dict[str, Any], *, channel: str = "edit"
    ) -> None:
        """Apply a merge patch (RFC 7396) to the state of a thread that waits.

        Raises `Problem`: `unknown_thread`, `thread_busy` while it runs, `not_waiting`, and
        `invalid_payload` for a state that its agent does not take.
        """
        for _ in range(ATTEMPTS):
            view = await self._threads.view(principal, thread_id)
            turn = waiting_turn(view)
            state = merged(jsonvalue.decode(view.thread.state), patch)
            self._check(turn, state)
            entries = await self._store.journal(principal.scope, turn.key)
            now = self._clock.now()
            try:
                mark = edit_mark(entries, patch, by=principal.subject, at=now, channel=channel)
            except IndexError:
                continue  # its journal has ended since
            try:
                await self._store.settle(
                    principal.scope,
                    thread_id,
                    view.thread.revision,
                    (),
                    now,
                    state=jsonvalue.encode(state),
                    entries=(mark,),
                )
            except Conflict:
                continue
            self._changed(principal.scope)
            return
        raise Problem(Code.THREAD_BUSY, "This thread changes too fast: send this again.")

    def _check(self, turn: Turn, state: Any) -> None:
        agent = self._agents.version(turn.agent, turn.version)
        if agent is None:
            missing = refusals.missing_version(turn)
            raise Problem(missing.code, missing.message)
        wrong: Sequence[tuple[str, str]] = ()
        if len(jsonvalue.encode(state)) > LARGEST:
            wrong = [("", f"has more than {LARGEST} bytes as JSON")]
        elif agent.state is not None:
            wrong = agent.state.problems(state)
        if wrong:
            raise Problem(
                Code.INVALID_PAYLOAD,
                f"The state would not be one of agent {turn.agent!r} any more: `errors` say where. "
                "Nothing was changed.",
                errors=tuple({"pointer": f"/values{at}", "message": text} for at, text in wrong),
            )


def waiting_turn(view: ThreadView) -> Turn:
    """The turn that a thread waits in; Problem if it runs, or waits for nobody."""
    if view.thread.holder is not None:
        raise Problem(
            Code.THREAD_BUSY, "This thread is running: stop it, or wait until it asks or ends."
        )
    if view.turn is None or view.turn.status != "suspended":
        raise Problem(
            Code.NOT_WAITING,
            "This thread waits for nobody: its turn has ended. Only a turn that waits can be "
            "changed.",
        )
    return view.turn
