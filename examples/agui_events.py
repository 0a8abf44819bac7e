"""An agent that is a stream of AG-UI events, served as it is: one line, and its calls are gated.

    cd examples && sayso serve agui_events:app

Say "refund A-17". The agent streams its words and leaves a call open, as it would for a page. The
server makes it: a person says yes first, may edit it, and it happens once, also where the server
is killed meanwhile.

Any function of a `RunAgentInput` will do, such as the `run` of `ag_ui_langgraph.LangGraphAgent`:
change `support` for that.
"""

from collections.abc import AsyncIterator

from ag_ui.core import (
    BaseEvent,
    RunAgentInput,
    RunFinishedEvent,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)

from sayso import Sayso, approval
from sayso.agui import mount_events

app = Sayso(store="sqlite:///agui_events.db")


@app.tool(approval=approval.always, editable=True)
async def issue_refund(order_id: str, amount: float) -> str:
    """Refund an order."""
    return f"refunded {amount:.2f} for {order_id}"


async def support(given: RunAgentInput) -> AsyncIterator[BaseEvent]:
    """Stands for a model: wants one call, and tells what came of it."""
    yield RunStartedEvent(thread_id=given.thread_id, run_id=given.run_id)
    last = given.messages[-1]
    message_id = f"m-{given.run_id}"
    yield TextMessageStartEvent(message_id=message_id, role="assistant")
    words = ("Let me ", "see.") if last.role == "user" else ("Done: ", str(last.content))
    for word in words:
        yield TextMessageContentEvent(message_id=message_id, delta=word)
    yield TextMessageEndEvent(message_id=message_id)
    if last.role == "user":
        call_id = f"c-{given.run_id}"
        arguments = '{"order_id": "A-17", "amount": 240}'
        yield ToolCallStartEvent(tool_call_id=call_id, tool_call_name="issue_refund")
        yield ToolCallArgsEvent(tool_call_id=call_id, delta=arguments)
        yield ToolCallEndEvent(tool_call_id=call_id)
    yield RunFinishedEvent(thread_id=given.thread_id, run_id=given.run_id)


# It has no effects of its own, so a run of it that the server did not see to end begins again.
mount_events(app, "support", support, tools=[issue_refund], again=True)
