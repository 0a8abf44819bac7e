"""Interrupts put to a person, line by line, until there is an answer that fits."""

from collections.abc import Callable
from typing import Any, Final

import typer

from sayso import jsonvalue
from sayso.client.answers import CANCEL, Answer, expires_at, is_expired, misfits
from sayso.clock import iso
from sayso.commands.fields import type_of
from sayso.commands.forms import GIVE_UP, Form, GivenUp, given_up
from sayso.commands.terminal import Terminal

__all__ = ["LookAgain", "put"]

Json = dict[str, Any]
_APPROVAL: Final = frozenset({"approved", "reason", "editedArgs", "remember"})


class LookAgain(Exception):
    """The question is over, and the person would rather see what became of the thread."""


def put(interrupt: Json, call: Json | None, terminal: Terminal, now: Callable[[], int]) -> Answer:
    """Show an interrupt, with the call that it is about, and ask until an answer fits.

    `now` tells milliseconds since the epoch. Returns `CANCEL` where the person cancels; raises
    `LookAgain` for a question whose time is over and that they do not cancel.
    """
    _show(interrupt, call, terminal, now())
    terminal.forget_typed()
    while not is_expired(interrupt, now()):
        try:
            answer = _answer(interrupt, call, terminal)
        except GivenUp:
            return CANCEL
        faults = misfits(interrupt, answer)
        if not faults and not is_expired(interrupt, now()):
            return answer
        for at, message in faults:
            terminal.say(f"{at or 'The answer'}: {message}", typer.colors.RED)
    terminal.say("Its time is over: it can only be cancelled.", typer.colors.YELLOW)
    if terminal.confirm("Cancel it? No shows how the thread stands."):
        return CANCEL
    raise LookAgain


def _show(interrupt: Json, call: Json | None, terminal: Terminal, now: int) -> None:
    message = interrupt.get("message")
    terminal.say(message or f"The agent asks ({interrupt['reason']}).", bold=True)
    if call is not None:
        terminal.say(f"  Tool: {call['function']['name']}")
        line = f"  Arguments: {_arguments(call)}"
        if len(line) <= terminal.width:
            terminal.say(line)
        else:
            terminal.say("  Arguments:")
            for name, value in _members(call):
                terminal.say(f"    {name}: {value}")
    end = expires_at(interrupt)
    if end is not None:
        terminal.say(f"  Until: {iso(end)} ({_left(end - now)})")


def _left(milliseconds: int) -> str:
    """How much time there is, in words that get coarser with its length."""
    seconds = milliseconds // 1000
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit} left"
    return f"{seconds} seconds left" if seconds > 0 else "over"


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
    terminal.say(f"  {GIVE_UP} cancels.")
    return form.value("", schema, needed=True)


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
        reason = terminal.ask("Reason (may be empty):")
        answer |= {"reason": reason} if reason else {}
    return form.fields(form.root, answer, skip=_APPROVAL)


def _verdict(offered: str, terminal: Terminal) -> str:
    """One of the offered letters; `c` gives up."""
    meanings = {
        "y": "approve",
        "n": "deny",
        "e": "edit the arguments",
        "r": "approve, and do not ask about just this again",
        "c": "cancel",
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
