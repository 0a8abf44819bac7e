"""Requests to a model whose events nobody hears but the turn, which says them inside the request.

The framework hands a run the events of a reply one by one, over tasks and queues, after a durable
engine has recorded the reply as a whole. Where no other capability wants them that is work for
nobody, twice as much as all the rest of a request. So the run gets such a reply whole. The request
is made where its stream would be opened: in the task of the run, whose place in the journal it has.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, Self

from pydantic_ai import ModelRequestNode, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.durable_exec import _utils

SUPPORTED: Final = hasattr(_utils, "StreamedModelRequestResult")
"""True in versions that record the reply alone, streamed or not; others record its events too."""


class WholeRequest(ModelRequestNode[Any, Any]):
    """A request that is made when its stream is opened, which has no events."""

    @classmethod
    def of(cls, node: ModelRequestNode[Any, Any]) -> Self:
        """The same request."""
        whole = cls.__new__(cls)
        whole.__dict__.update(node.__dict__)
        return whole

    @classmethod
    def get_node_id(cls) -> str:
        """The framework's graph knows the nodes by their names."""
        return str(ModelRequestNode.get_node_id())

    @asynccontextmanager
    async def stream(self, ctx: Any) -> AsyncGenerator[AsyncIterator[Any]]:
        """Make the request; its result stays with the node."""
        await self.run(ctx)
        yield _no_events()


async def _no_events() -> AsyncIterator[Any]:
    return
    yield


def has_listeners(ctx: RunContext[Any], but: type[AbstractCapability[Any]]) -> bool:
    """True if a capability of a run wants its events, other than those of a class."""
    listeners: list[AbstractCapability[Any]] = []

    def look(each: AbstractCapability[Any]) -> None:
        hears = each.has_wrap_run_event_stream or getattr(each, "has_on_event", False)
        if hears and not isinstance(each, but):
            listeners.append(each)

    if ctx.root_capability is not None:
        ctx.root_capability.apply(look)
    return bool(listeners)
