"""Who may use which agent and which tool: the hook of `Sayso(authorize=…)`.

It is asked before anything is stored. What a turn has recorded is not asked again on replay.
"""

from collections.abc import Awaitable, Callable
from typing import Final, Literal

from sayso.agents.registry import Agent, Agents, unknown_agent
from sayso.base.codes import Code
from sayso.base.errors import Problem
from sayso.base.records import Principal
from sayso.base.service_tokens import may_call
from sayso.turns.hooks import ask_hook, hook_failed

Action = Literal["see", "run", "call", "fork", "restart"]
"""The things that may be allowed: to know of an agent, to run it (and to answer in a run), to have
it call a tool, to copy and to restart threads of it."""
Authorize = Callable[[Principal, Action, str, str | None], Awaitable[bool]]
"""Says if a caller may do something with an agent; the last argument is the tool of a `call`."""

RULE: Final = "authorize"
"""The name of the rule that denies a call which the hook does not allow."""


class Authorization:
    """Asks the hook of an app; without one everything is allowed."""

    def __init__(self, hook: Authorize | None = None) -> None:
        self._hook = hook
        self.asks: bool = hook is not None
        """True if there is a hook."""

    async def allows(
        self, principal: Principal, action: Action, agent: str, tool: str | None = None
    ) -> bool:
        """True if a caller may do that; a service with a limit calls none but its tools.

        Raises:
            Problem: `auth_unavailable`, the hook failed.
        """
        hook = self._hook
        if tool is not None and not may_call(principal.roles, tool):
            return False
        if hook is None:
            return True
        allowed: object = await ask_hook(RULE, lambda: hook(principal, action, agent, tool))
        if not isinstance(allowed, bool):  # such as a coroutine that was not awaited
            raise hook_failed(f"{RULE} (it returned a {type(allowed).__name__}, not a bool)")
        return allowed

    async def check(
        self, principal: Principal, agent: str, action: Literal["run", "fork", "restart"]
    ) -> None:
        """Let a caller pass who may do that with an agent.

        Raises:
            Problem: `unknown_agent` for one that it may not know of, else `not_allowed`;
                `auth_unavailable`, the hook failed.
        """
        if not await self.allows(principal, "see", agent):
            raise unknown_agent()
        await self.check_allowed(principal, agent, action)

    async def check_allowed(
        self, principal: Principal, agent: str, action: Literal["run", "fork", "restart"]
    ) -> None:
        """Let a caller pass who may do that with an agent that it knows of; raises as `check`."""
        if not await self.allows(principal, action, agent):
            raise Problem(
                Code.NOT_ALLOWED,
                f"You may not {action} agent {agent!r} here: whoever runs this server decides "
                "that. Nothing was changed.",
            )

    async def agent(self, agents: Agents, name: str, principal: Principal) -> Agent:
        """The version of an agent that new turns get, for a caller who may know of it.

        The hook is asked about names that nothing has as well: neither its time nor its failure
        tells them from what is hidden.

        Raises:
            Problem: `unknown_agent`; `auth_unavailable`, the hook failed.
        """
        if not await self.allows(principal, "see", name):
            raise unknown_agent()
        return agents.require(name)
