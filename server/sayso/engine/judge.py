"""What a tool's own model says about the arguments that a reviewer edited (TB-07)."""

from collections.abc import Mapping, Sequence
from typing import Any

from sayso import jsonvalue
from sayso.agents.tools import Tool
from sayso.gate.answers import Judge
from sayso.records import Interrupt

__all__ = ["tool_judge"]


def tool_judge(tools: Mapping[str, Tool]) -> Judge:
    """A judge over the tools of an app, for the gate."""

    def judge(interrupt: Interrupt, payload: Any) -> Sequence[tuple[str, str]]:
        if interrupt.reason != "tool_call" or not isinstance(payload, dict):
            return ()
        metadata = jsonvalue.decode(interrupt.metadata or b"{}")
        tool = tools.get(metadata.get("sayso", {}).get("tool", ""))
        if tool is None or "editedArgs" not in payload:
            return ()
        return [
            (f"/editedArgs{pointer}", message)
            for pointer, message in tool.problems(payload["editedArgs"])
        ]

    return judge
