"""The wire form of stored things. Pure."""

from typing import Any, Final

import orjson

from sayso import jsonvalue
from sayso.clock import iso
from sayso.records import Interrupt

__all__ = ["SUBAGENT", "interrupt_body"]

SUBAGENT: Final = "subagentRunId"
"""The member of an interrupt's policy that says which inner agent asked it."""


def interrupt_body(interrupt: Interrupt) -> bytes:
    """An interrupt as clients get it: members without a value are left out (IN-01 to IN-11)."""
    body: dict[str, Any] = {"id": interrupt.id, "reason": interrupt.reason}
    if interrupt.message is not None:
        body["message"] = interrupt.message
    if interrupt.tool_call_id is not None:
        body["toolCallId"] = interrupt.tool_call_id
    if interrupt.response_schema is not None:
        body["responseSchema"] = orjson.Fragment(interrupt.response_schema)
    if interrupt.expires_at is not None:
        body["expiresAt"] = iso(interrupt.expires_at)
    if interrupt.metadata is not None:
        body["metadata"] = orjson.Fragment(interrupt.metadata)
    if interrupt.policy is not None and SUBAGENT.encode() in interrupt.policy:
        body["subagentRunId"] = jsonvalue.decode(interrupt.policy)[SUBAGENT]
    return jsonvalue.encode(body)
