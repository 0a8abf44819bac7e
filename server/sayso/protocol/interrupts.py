"""The wire form of stored things. Pure."""

from collections.abc import Mapping
from typing import Any

import orjson

from sayso.base import digits, jsonvalue
from sayso.base.clock import format_time
from sayso.base.records import Interrupt
from sayso.base.shown import digest_of


def exact_of(interrupt: Interrupt) -> dict[str, str]:
    """The integers of an interrupt that a double does not hold: texts by pointers into it."""
    spelt: dict[str, str] = {}
    for name, json in (
        ("metadata", interrupt.metadata),
        ("responseSchema", interrupt.response_schema),
    ):
        if json is not None and digits.may_hold_large(json):
            spelt |= digits.exact_integers(jsonvalue.decode(json), (name,))
    return spelt


def to_wire(interrupt: Interrupt, details: Mapping[str, Any] | None = None) -> bytes:
    """An interrupt as clients get it: members without a value are left out (IN-01 to IN-11).

    `metadata.sayso` has the `digest` that clients send back with an answer, its large integers once
    more (`exact`), for clients that round them, and `details` for one reader.
    """
    body: dict[str, Any] = {"id": interrupt.id, "reason": interrupt.reason}
    if interrupt.message is not None:
        body["message"] = interrupt.message
    if interrupt.tool_call_id is not None:
        body["toolCallId"] = interrupt.tool_call_id
    if interrupt.response_schema is not None:
        body["responseSchema"] = orjson.Fragment(interrupt.response_schema)
    if interrupt.expires_at is not None:
        body["expiresAt"] = format_time(interrupt.expires_at)
    ours = {**(details or {}), "digest": digest_of(interrupt)}
    if exact := exact_of(interrupt):
        ours["exact"] = exact
    body["metadata"] = with_ours(interrupt.metadata, ours)
    if interrupt.terms.subagent is not None:
        body["subagentRunId"] = interrupt.terms.subagent
    return jsonvalue.encode(body)


def ours_of(interrupt: Interrupt) -> dict[str, Any]:
    """The server's own members of an interrupt's metadata (`metadata.sayso`); empty without any."""
    ours = jsonvalue.decode(interrupt.metadata).get("sayso") if interrupt.metadata else None
    return ours if isinstance(ours, dict) else {}


def with_ours(metadata: bytes | None, members: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata with these members of `sayso` beside those that it has."""
    author_metadata: dict[str, Any] = jsonvalue.decode(metadata) if metadata else {}
    ours = author_metadata.get("sayso")
    return {**author_metadata, "sayso": {**(ours if isinstance(ours, dict) else {}), **members}}
