"""Refusals in the words that a person reads in a chat, beside those for whoever builds it. Pure."""

from collections.abc import Mapping
from typing import Final

from sayso.errors import Code
from sayso.gate.refusals import Refuse

__all__ = ["spoken"]

_WORDS: Final[Mapping[Code, str]] = {
    Code.INTERRUPTS_PENDING: "There are open questions here. Please answer them first.",
    Code.PARTIAL_RESUME: "Some questions are still without an answer. Please answer all of them.",
    Code.UNKNOWN_INTERRUPT: "That question was not asked here, so the answer was not used.",
    Code.DUPLICATE_ENTRY: "A question had two different answers, so none was used.",
    Code.INVALID_PAYLOAD: "That answer does not fit the question. Please look at it again.",
    Code.INTERRUPT_EXPIRED: "That question had expired before your answer came.",
    Code.ALREADY_RESOLVED: "That was already decided{by}, so your answer was not used.",
    Code.THREAD_BUSY: "Something is still going on here. Please send that again when it is over.",
    Code.AGENT_VERSION_MISSING: "This cannot go on here at the moment. Your answer was not used.",
}


def spoken(refusal: Refuse) -> str:
    """One sentence or two, without ids, about what was refused and what to do."""
    words = _WORDS.get(refusal.code)
    if words is None:
        return refusal.message
    decided = next((one["by"] for one in refusal.details.get("interrupts", ()) if "by" in one), "")
    return words.format(by=f" by {decided}" if decided else "")
