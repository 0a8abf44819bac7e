"""An open question, as the person sees it who has to answer."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel

from sayso import jsonvalue
from sayso.records import Interrupt
from sayso.testing.runs import Run

__all__ = ["Question"]

Take = Callable[[Interrupt, Mapping[str, Any]], Run]


class Question:
    """What was asked, and the ways to answer it.

    Answers are sent when every question that is open has one: until then each way returns a run
    without events, whose outcome is `held`, and the last one the run that follows. Raises `Refused`
    for answers that are not taken.
    """

    def __init__(self, item: Interrupt, take: Take) -> None:
        self._item = item
        self._take = take
        self.id = item.id
        self.reason = item.reason
        self.message = item.message or ""
        metadata = {} if item.metadata is None else jsonvalue.decode(item.metadata)
        self.metadata: dict[str, Any] = metadata
        ours = metadata.get("sayso", {})
        self.tool: str | None = ours.get("tool")
        """The tool that wants to run, for an approval."""
        self.args: dict[str, Any] = ours.get("arguments", {})
        """The arguments that would run."""
        schema = item.response_schema
        self.schema: Any = None if schema is None else jsonvalue.decode(schema)
        """What an answer has to look like; None for anything."""
        self.expires_at = (
            None if item.expires_at is None else datetime.fromtimestamp(item.expires_at / 1000, UTC)
        )

    def __repr__(self) -> str:
        return f"<Question {self.reason}: {self.message!r}>"

    def answer(self, payload: Any = None) -> Run:
        """Answer with a payload: a JSON value, or a pydantic model."""
        if isinstance(payload, BaseModel):
            payload = payload.model_dump(mode="json")
        entry = {"interruptId": self.id, "status": "resolved", "payload": payload}
        return self._take(self._item, entry)

    def approve(self) -> Run:
        """Say yes to a gated call, or to a confirmation."""
        return self.answer({"approved": True})

    def edit(self, **changes: Any) -> Run:
        """Say yes to a gated call with some other arguments."""
        return self.answer({"approved": True, "editedArgs": {**self.args, **changes}})

    def deny(self, reason: str | None = None) -> Run:
        """Say no."""
        told = {} if reason is None else {"reason": reason}
        return self.answer({"approved": False, **told})

    def cancel(self) -> Run:
        """Decide nothing: the question is withdrawn."""
        return self._take(self._item, {"interruptId": self.id, "status": "cancelled"})
