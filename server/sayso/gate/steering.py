"""A message while something is open, by the `on_message` option (design 4; E1, E2, E9). Pure.

`answer`: its text answers the one question that still waits, if that takes a string. `cancel`: all
that is open is cancelled, and the message starts a turn when this one has ended (OC-12). Only a
message that nothing else comes with steers: a request with answers means those (D2).
"""

from typing import Any

from sayso import jsonvalue
from sayso.gate import refusals
from sayso.gate.answers import Judge, problems
from sayso.gate.refusals import Refuse
from sayso.gate.situation import Situation
from sayso.limits import Limits
from sayso.making import changed
from sayso.options import Options
from sayso.protocol.runinput import ResumeEntry
from sayso.records import Interrupt, Message

__all__ = ["steered"]


def steered(
    case: Situation, options: Options, limits: Limits, judge: Judge | None
) -> Situation | Refuse | None:
    """The request with the answers that its message stands for; None when it stands for none."""
    if case.entries or not case.fresh or not case.missing:
        return None
    if options.on_message == "cancel":
        return changed(
            case,
            entries={key: ResumeEntry(interrupt_id=key, status="cancelled") for key in case.open},
        )
    if options.on_message == "answer" and len(case.missing) == 1 and len(case.fresh) == 1:
        return _answering(case, case.open[case.missing[0]], case.fresh[0], limits, judge)
    return None


def _answering(
    case: Situation, item: Interrupt, message: Message, limits: Limits, judge: Judge | None
) -> Situation | Refuse | None:
    text = _plain_text(message)
    if text is None:
        return None
    wrong = problems(item, text, limits, judge)
    if wrong:
        return refusals.invalid({item.id: wrong}) if _asks_for_text(item) else None
    entry = ResumeEntry(interrupt_id=item.id, status="resolved", payload=text)
    return changed(case, entries={item.id: entry}, fresh=(), said=(message,))


def _plain_text(message: Message) -> str | None:
    """What was typed; None for a message without text, or with more than text."""
    content: Any = jsonvalue.decode(message.body).get("content")
    if isinstance(content, list):
        if any(part.get("type") != "text" for part in content):
            return None
        content = "\n".join(part["text"] for part in content)
    return content if isinstance(content, str) and content.strip() else None


def _asks_for_text(item: Interrupt) -> bool:
    """Whether its schema wants a string, so that a text that does not fit is a wrong answer."""
    if item.response_schema is None:
        return False
    kinds = jsonvalue.decode(item.response_schema).get("type")
    return kinds == "string" or (isinstance(kinds, list) and "string" in kinds)
