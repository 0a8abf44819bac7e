"""Calls that lack arguments, of tools that may ask for them (`complete=True`).

The question comes before the call: nothing is proposed that nobody could run. Who withdraws it, or
lets it expire, leaves the call unmade.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sayso import jsonvalue
from sayso.agents.codec import to_json
from sayso.agents.outcomes import Answer, Call, Question, ToolCall
from sayso.agents.tools import Tool
from sayso.turns.execution import Execution
from sayso.turns.questions import questions

__all__ = ["completed"]


async def completed(execution: Execution, wanted: Sequence[ToolCall]) -> list[ToolCall | Call[Any]]:
    """The calls with all their arguments; in place of one that stays incomplete, its outcome."""
    lacking = {
        at: missing
        for at, item in enumerate(wanted)
        if item.tool.complete and (missing := item.tool.missing(item.args))
    }
    if not lacking:
        return list(wanted)
    asked = [_question(wanted[at], missing) for at, missing in lacking.items()]
    answers = dict(zip(lacking, await questions(execution, asked), strict=True))
    return [_with(item, answers[at]) if at in answers else item for at, item in enumerate(wanted)]


def _question(item: ToolCall, missing: Sequence[str]) -> Question:
    tool: Tool = item.tool
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: tool.parameters["properties"][name] for name in missing},
        "required": list(missing),
        "additionalProperties": False,
    }
    if "$defs" in tool.parameters:
        schema["$defs"] = tool.parameters["$defs"]
    given = jsonvalue.decode(to_json(dict(item.args), f"an argument of tool {tool.name!r}"))
    return Question(
        reason="input_required",
        message=f"{tool.name} needs {', '.join(missing)}.",
        response=schema,
        expires_in=tool.expires_in,
        metadata={"sayso": {"tool": tool.name, "arguments": given, "missing": list(missing)}},
    )


def _with(item: ToolCall, answer: Answer[Any]) -> ToolCall | Call[Any]:
    if answer.resolved:
        return replace(item, args={**item.args, **(answer.value or {})})
    why = "nobody gave them in time" if answer.expired else "the question for them was withdrawn"
    given = jsonvalue.decode(to_json(dict(item.args), f"an argument of tool {item.tool.name!r}"))
    return Call(
        status="expired" if answer.expired else "cancelled",
        args=given,
        text=f"Not called: arguments are missing, and {why}.",
        by=answer.by,
    )
