"""Puts a tool call to a person: the question, and what its card shows of the call."""

from collections.abc import Sequence
from math import isinf
from typing import Any, Final

from sayso.agents.asking import AskFirst, AskTerms
from sayso.agents.briefing import approval_message
from sayso.agents.policy import ProposedCall, facts
from sayso.agents.tools import Tool
from sayso.base import jsonvalue
from sayso.base.clock import format_time
from sayso.base.default import DEFAULT
from sayso.base.redaction import marks_secrets
from sayso.base.secretvalues import secret_places
from sayso.protocol.reasons import INPUT_REQUIRED, TOOL_CALL
from sayso.turns.ask.interrupts import record_question
from sayso.turns.calls.approval import NOTHING_HEARD, CallDecision, known_words
from sayso.turns.calls.runtools import answers_about
from sayso.turns.denials import Heard
from sayso.turns.journal.consent import asked, people
from sayso.turns.journal.earlier_decisions import about
from sayso.turns.journal.journal import fingerprint
from sayso.turns.replay.execution import Execution, Place

_ASKS_FIRST: Final = "The tool asks before it goes on."


def ask(
    place: Place,
    tool: Tool[..., Any],
    data: dict[str, Any],
    arguments: dict[str, Any],
    written: bytes,
    ruling: CallDecision,
    *,
    why: str | None = None,
    changes: Sequence[dict[str, Any]] = (),
) -> None:
    """Ask a person about a call. The caller raises `Pause`; `written` are its arguments as JSON.

    `why` is what the agent says it wants it for; `changes` are those of people to what was
    proposed.
    """
    execution = place.execution
    how = ruling.asking or AskTerms()
    # What several have to agree to is no single person's to let pass for later, and no sign-in
    # stays fresh until then.
    offered = how.remember if how.approvers.any_time else None
    kept: dict[str, Any] = {**data, "asks": asked(ruling.covered)}
    if ruling.partly:
        kept["partly"] = True
    if offered is not None:
        kept["remember"] = {
            "arguments": offered.arguments,
            "scopes": offered.scopes,
            "expiresIn": offered.expires_in,
            "rules": ruling.remembered,
            "terms": {
                **how.approvers.terms(),
                **({} if (own := execution.running.owner_of(tool)) is None else {"agent": own}),
                **({"runOnly": True} if execution.running.is_run_tool(tool) else {}),
                "rules": {
                    rule.rule: rule.digest
                    for rule in ruling.covered
                    if rule.asking.remember is not None
                },
                "offered": [list(offered.arguments), list(offered.scopes), offered.expires_in],
            },
        }
    because, facts_of_call = _because(tool, ruling)
    message, card = _card(
        place, tool, arguments, written, facts_of_call, ruling.heard, why=why, changes=changes
    )
    details: dict[str, Any] = {
        **card,
        "because": " ".join(because),
        "rule": ruling.rule,
        **_scale(ruling.call),
        "approved": _approved(data, arguments),
        "stale": [
            {
                "id": approval.id,
                "givenBy": approval.given_by,
                "givenAt": format_time(approval.given_at),
            }
            for approval in ruling.stale
        ]
        or None,
    }
    schema = tool.approval_schema(offered)
    record_question(
        place,
        data=kept,
        reason="tool_call",
        message=message,
        schema=schema,
        apart=execution.sealed and marks_secrets(schema),
        metadata=jsonvalue.encode(
            {"sayso": {name: value for name, value in details.items() if value is not None}}
        ),
        tool_call_id=data["id"],
        expires_in=tool.expires_in if how.expires_in is DEFAULT else how.expires_in,
        on_expire=tool.on_expire,
        asking=how,
        response=answers_about(execution, tool, arguments),
        denied=about(ruling.heard.elsewhere, tool.name, arguments),
    )


def ask_first(
    place: Place,
    tool: Tool[..., Any],
    data: dict[str, Any],
    arguments: dict[str, Any],
    written: bytes,
    question: AskFirst,
    how: AskTerms,
    *,
    why: str | None = None,
    changes: Sequence[dict[str, Any]] = (),
) -> None:
    """Ask what a tool wants to know before its effect. The caller raises `Pause`.

    Without a schema it is an approval of the call, else a value of it is asked for.
    """
    call = ProposedCall(tool=tool.name, arguments={}, effect=tool.effect)
    message, card = _card(
        place, tool, arguments, written, list(facts(call)), NOTHING_HEARD, why=why, changes=changes
    )
    details = {**card, "because": _ASKS_FIRST}
    ours = {name: value for name, value in details.items() if value is not None}
    theirs = question.metadata.get("sayso")
    ours = {**(theirs if isinstance(theirs, dict) else {}), **ours}
    metadata = jsonvalue.encode({**question.metadata, "sayso": ours})
    approves = question.schema is None
    schema = (
        tool.approval_schema(None, editable=question.editable)
        if approves
        else jsonvalue.encode(question.schema)
    )
    record_question(
        place,
        data=data,
        reason=TOOL_CALL if approves else INPUT_REQUIRED,
        message=question.message or message,
        schema=schema,
        apart=place.execution.sealed and marks_secrets(schema),
        metadata=metadata,
        tool_call_id=data["id"],
        expires_in=tool.expires_in,
        on_expire=tool.on_expire if approves else DEFAULT,
        asking=how,
        response=answers_about(place.execution, tool, arguments) if approves else None,
    )


def _card(
    place: Place,
    tool: Tool[..., Any],
    arguments: dict[str, Any],
    written: bytes,
    facts_of_call: Sequence[str],
    heard: Heard,
    *,
    why: str | None,
    changes: Sequence[dict[str, Any]],
) -> tuple[str, dict[str, Any]]:
    """The message of a question about a call, and what its card shows of the call; or None."""
    ran = _ran_before(place, tool, arguments)
    before = "" if ran is None else f" The same call already ran in this turn ({ran})."
    shown = tool.shown(arguments)
    briefing = tool.briefing(place.execution.kept_apart.whole(tool, written), shown, why)
    message, truncated = approval_message(
        tool.name,
        shown,
        title=briefing.get("title"),
        facts=" ".join(facts_of_call),
        why=briefing.get("why"),
        impact=briefing.get("impact"),
        before=before,
    )
    return message, {
        **briefing,
        "truncated": truncated or None,
        "reveal": _revealed(tool, arguments) or None,
        "changes": list(changes) or None,
        "tool": tool.name,
        "arguments": jsonvalue.raw_json(written),
        "effect": tool.effect,
        "permission": tool.permission,
        "ranBefore": ran,
        "before": _before(place.execution, tool, arguments, heard),
    }


def _revealed(tool: Tool[..., Any], arguments: dict[str, Any]) -> list[str]:
    """Pointers to the secrets of the arguments that whoever may answer may see."""
    if not tool.reveals or not tool.has_secrets:
        return []
    return [jsonvalue.pointer(path) for path in secret_places(arguments, tool.parameters)]


def _because(tool: Tool[..., Any], ruling: CallDecision) -> tuple[list[str], list[str]]:
    """Why it is asked, in sentences of ours; and those of them that tell something of the call."""
    call = ruling.call or tool.any_call
    plain: list[str] = []
    telling: list[str] = []
    for rule in ruling.covered:
        said, tells = rule.because(call)
        (telling if tells else plain).extend(said)
    details = list(dict.fromkeys((*facts(call), *telling)))
    return [*dict.fromkeys(plain), *details], details


def _scale(call: ProposedCall | None) -> dict[str, Any]:
    """How many things a call touches, as far as that can be told, and of what."""
    if call is None or call.scale is None or isinf(call.scale):
        return {}
    whole = int(call.scale) if call.scale.is_integer() else call.scale
    return {"scale": whole, "scaleOf": call.scale_of}


def _before(
    execution: Execution, tool: Tool[..., Any], arguments: dict[str, Any], heard: Heard
) -> list[dict[str, Any]] | None:
    """Decisions about an equal call in what this turn copies or repeats, and denials so far."""
    if not (execution.interrupts or execution.marks or heard.here or heard.elsewhere):
        return None
    return about(known_words(execution, heard), tool.name, arguments) or None


def _approved(data: dict[str, Any], arguments: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Who has said yes to these arguments for other rules, as the card says it."""
    said = [
        {"rule": rule, "by": by, "at": format_time(when)}
        for rule, by, when in people(data, arguments)
    ]
    return said or None


def _ran_before(place: Place, tool: Tool[..., Any], arguments: dict[str, Any]) -> str | None:
    """How the last call of this tool with these very arguments ended that ran in this turn."""
    journal = place.execution.journal
    if not journal.holds("call"):
        return None
    requested, ended = fingerprint("call", tool.name, arguments), None
    for entry in journal.entries():
        if entry.kind != "call" or entry.name != tool.name or entry.status != "done":
            continue
        if entry.fingerprint != requested and b'"edited"' not in entry.data:
            continue
        data = jsonvalue.decode(entry.data)
        ran = data["status"] in ("executed", "failed") and entry.place != place.key
        if ran and jsonvalue.equal(data.get("edited", arguments), arguments):
            ended = data["status"]
    return ended
