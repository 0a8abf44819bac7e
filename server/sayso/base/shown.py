"""A question in one digest: what a person was shown who answered it. Pure."""

import hashlib
from typing import Any

from sayso.base import jsonvalue
from sayso.base.options import FallbackAnswer
from sayso.base.records import Interrupt, Terms


def digest_of(item: Interrupt) -> str:
    """The SHA-256, in hex, of a question as it stands.

    It covers the id, the reason, the tool call, the message, the schema, the metadata, the terms,
    the edits that people have agreed to so far, and what was denied in copies since it was asked,
    each with its length in bytes before it. So it is another when one of them changes, and the same
    in every process and store.
    """
    denied = item.progress.denied
    parts = (
        b"sayso-shown-1",
        item.id.encode(),
        item.reason.encode("utf-8", "surrogatepass"),
        (item.tool_call_id or "").encode("utf-8", "surrogatepass"),
        (item.message or "").encode("utf-8", "surrogatepass"),
        item.response_schema or b"",
        item.metadata or b"",
        jsonvalue.canonical(_terms(item.terms)),
        b"" if (edits := agreed_edits(item)) is None else jsonvalue.canonical(edits),
        *((jsonvalue.canonical([dict(denial) for denial in denied]),) if denied else ()),
    )
    return hashlib.sha256(b"".join(b"%d:%b" % (len(part), part) for part in parts)).hexdigest()


def agreed_edits(item: Interrupt) -> Any:
    """The arguments that those who have agreed so far want instead of the proposed; or None."""
    votes = item.progress.votes  # all of them say the same
    return edited_arguments(votes[-1].payload) if votes else None


def edited_arguments(payload: bytes | None) -> Any:
    """The arguments that an answer puts in place of the proposed; or None."""
    if payload is None or b'"editedArgs"' not in payload:
        return None
    said = jsonvalue.decode(payload)
    return said.get("editedArgs") if isinstance(said, dict) else None


def _terms(terms: Terms) -> dict[str, Any]:
    rule = terms.on_expire
    return {
        "approvers": None if terms.approvers is None else terms.approvers.terms(),
        "onExpire": {"answer": rule.payload} if isinstance(rule, FallbackAnswer) else rule,
    }
