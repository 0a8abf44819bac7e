"""Interrupts put to a person, line by line, until there is an answer that fits."""

import re
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

import typer

from sayso.agents.briefing import to_text
from sayso.base import jsonvalue
from sayso.base.clock import format_time
from sayso.cli.chat.forms import GIVE_UP, Form, GivenUp, given_up, type_of
from sayso.cli.chat.terminal import Terminal
from sayso.client.answers import CANCEL, Answer, errors, expires_at, is_expired
from sayso.protocol.reasons import FAILED, LABELS, NAMELESS_RULE

Json = dict[str, Any]
_NAMELESS: Final = re.compile(NAMELESS_RULE)
_APPROVAL: Final = frozenset({"approved", "reason", "editedArgs", "remember"})


class LookAgain(Exception):
    """The question is over, and the person would rather see what became of the thread."""


def ask_person(
    interrupt: Json, call: Json | None, terminal: Terminal, now: Callable[[], int]
) -> Answer:
    """Show an interrupt, with the call that it is about, and ask until an answer fits.

    `now` tells milliseconds since the epoch. Returns `CANCEL` where the person cancels; raises
    `LookAgain` for a question whose time is over and that they do not cancel.
    """
    call = _as_asked(interrupt, call)
    _show(interrupt, call, terminal, now())
    terminal.forget_typed()
    if not _may(interrupt, "answer"):
        return _others(interrupt, terminal)
    while not is_expired(interrupt, now()):
        try:
            answer = _answer(interrupt, call, terminal)
        except GivenUp:
            return CANCEL
        faults = errors(interrupt, answer)
        if not faults and not is_expired(interrupt, now()):
            return answer
        for pointer, message in faults:
            terminal.say(f"{pointer or 'The answer'}: {message}", typer.colors.RED)
    terminal.say("This question has expired. It can only be cancelled.", typer.colors.YELLOW)
    if terminal.confirm("Cancel it? Type n to see the current state."):
        return CANCEL
    raise LookAgain


def _as_asked(interrupt: Json, call: Json | None) -> Json | None:
    """The call with the arguments that will run; they may be others than were announced."""
    arguments = _ours(interrupt).get("arguments")
    if call is None or not isinstance(arguments, dict):
        return call
    return {**call, "function": {**call["function"], "arguments": _value(arguments)}}


def _show(interrupt: Json, call: Json | None, terminal: Terminal, now: int) -> None:
    message = interrupt.get("message")
    ours = _ours(interrupt)
    there = _elsewhere(ours)
    if there is not None:
        message = ours.get("text") or message
    if call is not None and ours.get("tool") == call["function"]["name"]:
        _brief(ours, message or f"Approve {ours['tool']}?", terminal)
    else:
        terminal.say(message or f"{_label(interrupt)}: the agent needs your answer.", bold=True)
    if _is_unclear(interrupt):
        # What was really called is the server's to say: it may be other than what was announced.
        _show_unclear(ours, terminal)
    elif call is not None:
        terminal.say(f"  Tool: {call['function']['name']}")
        line = f"  Arguments: {_arguments(call)}"
        if len(line) <= terminal.width:
            terminal.say(line)
        else:
            terminal.say("  Arguments:")
            for name, value in _members(call):
                terminal.say(f"    {name}: {value}")
    if there is not None:
        terminal.say(f"  This is done at {there}, and not here. Type no password here.")
        terminal.say(f"  Open: {ours['url']}")
    if interrupt["reason"] == "tool_call" and (rule := _rule(ours)) is not None:
        terminal.say(f"  Asked by rule {rule}")
    error = ours.get("error")
    if interrupt["reason"] == FAILED and error and str(error) not in (message or ""):
        terminal.say(f"  Error: {error}")
    if isinstance(ours.get("unfilled"), str):
        terminal.say(f"  {ours['unfilled']}", typer.colors.YELLOW)
    _permits(ours, terminal)
    end = expires_at(interrupt)
    if end is not None:
        terminal.say(f"  Until: {format_time(end)} ({_left(end - now)})")


def _elsewhere(ours: Json) -> str | None:
    """The host where something is to be done, as its address names it; None for any other question.

    An address that hides where it leads is shown in the message alone.
    """
    url = ours.get("url")
    if ours.get("kind") != "elsewhere" or not isinstance(url, str):
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    plain = parts.scheme in ("https", "http") and "@" not in parts.netloc
    return parts.netloc.lower() if plain and parts.hostname else None


def _show_unclear(ours: Json, terminal: Terminal) -> None:
    """Show which effect may have happened; the message says where to look."""
    arguments = ours.get("arguments")
    if isinstance(arguments, dict):
        terminal.say(f"  Called: {ours['name']}")
        for name, value in arguments.items():
            terminal.say(f"    {name}: {jsonvalue.encode(value).decode()}")
    for label, member in (("Started", "startedAt"), ("Call key", "key")):
        if member in ours:
            terminal.say(f"  {label}: {ours[member]}")


def _is_unclear(interrupt: Json) -> bool:
    ours = _ours(interrupt)
    return ours.get("kind") == "indeterminate" and isinstance(ours.get("name"), str)


def _brief(ours: Json, message: str, terminal: Terminal) -> None:
    """Show what a call says of itself, whole: a message has only as many lines as fit."""
    title = ours.get("title")
    terminal.say(title or message.partition("\n")[0], bold=True)
    if title and "ranBefore" in ours:
        terminal.say(f"  The same call already ran in this turn ({ours['ranBefore']}).")
    for lead, name in (("", "because"), ("The agent says: ", "why"), ("Impact: ", "impact")):
        if name in ours:
            text = ours[name]
            words = to_text(text) if isinstance(text, str | dict) else _value(text)
            terminal.say(f"  {lead}{words}")
    for edit in _listed(ours.get("changes")):
        change = (_value(edit[name]) if name in edit else "not given" for name in ("from", "to"))
        terminal.say(f"  Changed: {str(edit.get('path')).removeprefix('/')} {' -> '.join(change)}")


def _permits(ours: Json, terminal: Terminal) -> None:
    """Show the calls that the choices of a decision permit, with their exact arguments."""
    permits = ours.get("permits")
    for action, call in permits.items() if isinstance(permits, dict) else ():
        if not isinstance(call, dict) or not isinstance(call.get("arguments"), dict):
            continue
        terminal.say(f"  {action} runs {call.get('tool')}:")
        for name, value in call["arguments"].items():
            terminal.say(f"    {name}: {_value(value)}")


def _listed(value: Any) -> list[Json]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _value(value: Any) -> str:
    return jsonvalue.encode(value).decode()


def _ours(interrupt: Json) -> Json:
    ours = (interrupt.get("metadata") or {}).get("sayso")
    return ours if isinstance(ours, dict) else {}


def _label(interrupt: Json) -> str:
    """Return the label of a question; an author's reason is its own label."""
    reason = str(interrupt["reason"])
    return LABELS.get(reason, reason)


def _rule(ours: Json) -> str | None:
    """The author's name of the rule that asks; None without one, and where `because` says it."""
    rule = ours.get("rule")
    if f"Rule '{str(rule).rpartition(':')[2]}' " in str(ours.get("because")):
        return None
    named = isinstance(rule, str) and rule != ours.get("tool") and not _NAMELESS.search(rule)
    return rule if named else None


def _may(interrupt: Json, what: str) -> bool:
    """True if the server would take that from this person, or says nothing about it."""
    may = _ours(interrupt).get("may")
    return what in may if isinstance(may, list) else True


def _others(interrupt: Json, terminal: Terminal) -> Answer:
    """A question that is not this person's to answer: whom it waits for, and the way out."""
    if _may(interrupt, "signIn"):
        waits = "Sign in again to answer this"
    else:
        waits = f"Waits for {_waits_for(interrupt)}"
    terminal.say(f"  {waits}.", typer.colors.YELLOW)
    offered = {"l": "look again"}
    if _may(interrupt, "cancel"):
        offered["w"] = "withdraw the request"
    terminal.say("  " + ", ".join(f"{letter}: {what}" for letter, what in offered.items()))
    while True:
        word = terminal.ask(f"Others decide this ({'/'.join(offered)}):").lower()
        if word == "l":
            raise LookAgain
        if word == "w" and word in offered:
            return CANCEL
        terminal.say(f"Type one of {', '.join(offered)}.", typer.colors.RED)


def _waits_for(interrupt: Json) -> str:
    """The people whose answer is missing, or all who may give one, and those who have agreed."""
    waiting = _ours(interrupt).get("waitsFor")
    if not isinstance(waiting, dict):
        return "others"
    missing = waiting.get("missing")
    left = [each for each, number in missing.items() if number] if isinstance(missing, dict) else []
    names = [f"the role {each}" for each in left or waiting.get("roles") or []]
    names += [str(each) for each in waiting.get("people") or []]
    word = "and" if len(left) > 1 else "or"
    *first, last = names or ["others"]
    words = f"{', '.join(first)} {word} {last}" if first else last
    if waiting.get("you") == "requester":
        words = f"{words}, not you, since you asked"
    agreed = [vote["by"] for vote in waiting.get("agreed") or [] if "by" in vote]
    return f"{words}; approved by {', '.join(agreed)}" if agreed else words


def _left(milliseconds: int) -> str:
    """The time that is left, in words that get coarser with its length."""
    seconds = milliseconds // 1000
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit} left"
    return f"{seconds} seconds left" if seconds > 0 else "expired"


def _arguments(call: Json) -> str:
    """The arguments as they are meant, or as they stand if they are no JSON (CL-18)."""
    text: str = call["function"]["arguments"]
    try:
        return jsonvalue.encode(jsonvalue.decode(text.encode())).decode()
    except ValueError:
        return text


def _members(call: Json) -> list[tuple[str, str]]:
    """The arguments one by one; all in one where they are no object."""
    text = _arguments(call)
    try:
        value = jsonvalue.decode(text.encode())
    except ValueError:
        value = None
    if not isinstance(value, dict):
        return [("all", text)]
    return [(name, jsonvalue.encode(each).decode()) for name, each in value.items()]


def _answer(interrupt: Json, call: Json | None, terminal: Terminal) -> Any:
    schema = interrupt.get("responseSchema")
    if schema is None:
        if interrupt["reason"] in ("confirmation", "tool_call"):
            return _verdict("yn", terminal) == "y"
        return given_up(terminal.ask(f"Answer ({GIVE_UP} to cancel):"))
    properties = schema.get("properties")
    form = Form(schema, terminal)
    if isinstance(properties, dict) and type_of(form.resolved(properties.get("approved"))) == (
        "boolean"
    ):
        return _approval(properties, form, call, terminal)
    terminal.say(f"  Type {GIVE_UP} to give no answer.")
    if _is_unclear(interrupt) and isinstance(properties, dict) and "result" in properties:
        return _verdict_on_unclear(form, schema)
    return form.value("", schema, needed=True)


def _verdict_on_unclear(form: Form, schema: Json) -> Json:
    """Ask what to do about an effect that may have happened, and for its result if it is skipped.

    A missing result is stated, never read out of an empty line.
    """
    answer = form.fields(schema, {}, skip=frozenset({"result"}))
    if answer.get("action") != "skip":
        return answer
    result = schema["properties"]["result"]
    if isinstance(result, dict) and result.get("type") == "null":
        return answer
    if form.may_be_null(result) and not form.yes("Is there a result?"):
        return {**answer, "result": None}
    shape = {key: value for key, value in result.items() if key != "description"}
    return {**answer, "result": form.value(shape.get("title", "Result"), shape, needed=True)}


def _approval(properties: Json, form: Form, call: Json | None, terminal: Terminal) -> Json:
    offered = "yn" + ("e" if "editedArgs" in properties else "")
    offered += "r" if "remember" in properties else ""
    verdict = _verdict(offered, terminal)
    answer: Json = {"approved": verdict != "n"}
    if verdict == "e":
        now = "" if call is None else _arguments(call)
        answer["editedArgs"] = form.edited(properties["editedArgs"], now)
    if verdict == "r":
        answer["remember"] = True
    if verdict == "n" and "reason" in properties:
        reason = terminal.ask("Reason (optional):")
        answer |= {"reason": reason} if reason else {}
    return form.fields(form.root, answer, skip=_APPROVAL)


def _verdict(offered: str, terminal: Terminal) -> str:
    """One of the offered letters; `c` gives up."""
    meanings = {
        "y": "approve",
        "n": "deny",
        "e": "edit the arguments",
        "r": "approve, and do not ask again for this",
        "c": "cancel, without an answer",
    }
    listed = ", ".join(f"{letter}: {meanings[letter]}" for letter in f"{offered}c")
    terminal.say(f"  {listed}")
    while True:
        word = terminal.ask(f"Approve this action? ({'/'.join(offered)})").lower()
        word = {"yes": "y", "no": "n", "edit": "e", "cancel": "c", GIVE_UP: "c"}.get(word, word)
        if word == "c":
            raise GivenUp
        if len(word) == 1 and word in offered:
            return word
        terminal.say(f"Type one of {', '.join(f'{offered}c')}.", typer.colors.RED)
