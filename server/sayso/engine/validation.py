"""Answers held against tools, policies and the author's own types, before anything is committed.

Schema first, then policy (TB-07): what a rule denies is refused at `/editedArgs`, and the question
stays open. That another rule asks about the edited arguments is no reason to refuse: it asks
afterwards.

A process that has met a question knows its type (`turns.services`). Another one, after a
restart or beside the one that asked, looks first: it enters the code over the journal up to what
waits. So it does for a call of a tool that only the running code has brought along.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from sayso.agents.answercheck import problems_of
from sayso.agents.policy import ProposedCall
from sayso.agents.tools import Tool
from sayso.agents.toolset import Tools
from sayso.base import jsonvalue
from sayso.base.errors import TurnError
from sayso.base.records import Interrupt, ThreadView
from sayso.base.secretvalues import Vault
from sayso.engine.claims import Claims
from sayso.engine.live import LiveRuns
from sayso.gate.answers import PayloadCheck
from sayso.protocol.reasons import BREAKPOINT, INPUT_REQUIRED, TOOL_CALL
from sayso.turns.input import TurnInput
from sayso.turns.services import Services

_JUDGED = (TOOL_CALL, INPUT_REQUIRED, BREAKPOINT)
_MEANT = ("editedArgs", "remember")
"""The members of an answer that the tool checks."""


def tool_payload_check(tools: Tools, view: ThreadView | None, vault: Vault | None) -> PayloadCheck:
    """The check of answers for the thread in `view` by the tools of an app.

    A tool of the asking agent goes before one of all agents.
    """
    turns_agent = None if view is None or view.turn is None else view.turn.agent

    def check(interrupt: Interrupt, payload: Any) -> Sequence[tuple[str, str]]:
        if not isinstance(payload, dict) or interrupt.reason not in _JUDGED:
            return ()
        if interrupt.reason == BREAKPOINT and "editedArgs" not in payload:
            return ()
        if interrupt.reason == TOOL_CALL and payload.keys().isdisjoint(_MEANT):
            return ()  # the schema has said all that there is to say
        if interrupt.reason == TOOL_CALL and interrupt.terms.typed:
            return ()  # about a tool that only its run knows
        ours = jsonvalue.decode(interrupt.metadata or b"{}").get("sayso", {})
        agent = ours.get("agent", turns_agent)
        name = ours.get("name" if interrupt.reason == BREAKPOINT else "tool", "")
        tool = tools.of(agent if isinstance(agent, str) else None).get(name)
        if tool is None:
            return ()
        if interrupt.reason == INPUT_REQUIRED:
            before = ours.get("arguments", {})
            before = before if vault is None else tool.whole(before, vault)
            return tool.argument_errors({**before, **payload}) if "missing" in ours else ()
        return problems_of(
            tool,
            tools.policy(tool),
            payload,
            ours.get("arguments", {}),
            None if view is None else _proposing(tool, view),
            approved=interrupt.reason == BREAKPOINT or payload.get("approved") is True,
        )

    return check


def _proposing(tool: Tool[..., Any], view: ThreadView) -> Callable[[bytes], ProposedCall] | None:
    """Makes a call of the thread's newest turn of effective arguments."""
    turn = view.turn
    if turn is None:
        return None
    thread_id = view.thread.id
    request = TurnInput.from_json(thread_id, jsonvalue.decode(turn.request), ()).text
    return lambda written: tool.proposed(written, turn.principal, thread_id, request)


class Looks:
    """Looks at turns that wait: what their questions take, and how the code fits them."""

    def __init__(
        self,
        services: Services,
        claims: Claims,
        live: LiveRuns,
    ) -> None:
        self._agents, self._tools = services.agents, services.tools
        self._responses = services.responses
        self._claims = claims
        self._live = live

    async def payload_check(
        self,
        view: ThreadView | None,
        ids: Collection[str] | None = None,
        *,
        vault: Vault | None,
    ) -> PayloadCheck:
        """The check of answers to these questions of a thread (None: to any) before they count.

        `vault` has what is kept apart for that thread.
        """
        if view is not None and view.turn is not None and view.turn.status == "suspended":
            interrupts = [item for item in view.interrupts if ids is None or item.id in ids]
            if view.thread.holder is None and any(map(self._is_unknown, interrupts)):
                await self.look(view)
        by_tool = tool_payload_check(self._tools, view, vault)

        def check(interrupt: Interrupt, payload: Any) -> Sequence[tuple[str, str]]:
            wrong = by_tool(interrupt, payload)
            response_type = self._responses.of(interrupt.id)
            if wrong or response_type is None:
                return wrong
            return [
                (problem.pointer, problem.message) for problem in response_type.problems(payload)
            ]

        return check

    async def look(self, view: ThreadView) -> TurnError | None:
        """Enter the code of a thread's newest turn over its journal; why it does not fit, if so."""
        turn = view.turn
        agent = None if turn is None else self._agents.version(turn.agent, turn.version)
        if turn is None or agent is None:
            return None
        return await self._live.look(await self._claims.unclaimed(view, turn, agent))

    def _is_unknown(self, item: Interrupt) -> bool:
        """True if there is a type to a question, and it is not known here."""
        if item.status != "open" or self._responses.of(item.id) is not None:
            return False
        return item.terms.typed
