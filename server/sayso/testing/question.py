"""An open question, as it is shown to the person who has to answer it."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel

from sayso.base import jsonvalue
from sayso.base.records import Interrupt, Principal
from sayso.engine.answers import AnswerService
from sayso.testing.runs import RunResult

Take = Callable[[Interrupt, Mapping[str, Any]], RunResult]
Change = Callable[[AnswerService, Principal], Coroutine[Any, Any, object]]
Act = Callable[[Change], None]


class OpenQuestion:
    """An open question, and the ways to answer it.

    Answers are sent when every open question has one: until then each method returns a run without
    events, whose outcome is `held`, and the last one the run that follows.

    Raises:
        Refused: (any method) the answers are not accepted.
    """

    def __init__(self, item: Interrupt, take: Take, act: Act) -> None:
        self._item = item
        self._take = take
        self._act = act
        self.id: str = item.id
        self.reason: str = item.reason
        self.message: str = item.message or ""
        metadata = {} if item.metadata is None else jsonvalue.decode(item.metadata)
        self.metadata: dict[str, Any] = metadata
        ours = metadata.get("sayso", {})
        self.tool: str | None = ours.get("tool")
        """The tool that wants to run, for an approval."""
        self.args: dict[str, Any] = ours.get("arguments", {})
        """The arguments that would run."""
        self.title: str | None = ours.get("title")
        self.because: str | None = ours.get("because")
        """The reason why a person is asked about a call, in the server's own sentences."""
        self.why: str | None = ours.get("why")
        """The agent's own reason for a call, or for a decision."""
        self.impact: Any = ours.get("impact")
        """A text, or figures by name."""
        schema = item.response_schema
        self.schema: Any = None if schema is None else jsonvalue.decode(schema)
        """The JSON Schema of an answer; None for anything."""
        self.expires_at: datetime | None = (
            None if item.expires_at is None else datetime.fromtimestamp(item.expires_at / 1000, UTC)
        )

    def __repr__(self) -> str:
        return f"<Question {self.reason}: {self.message!r}>"

    def answer(self, payload: Any = None) -> RunResult:
        """Answer with a payload: a JSON value, or a pydantic model."""
        if isinstance(payload, BaseModel):
            payload = payload.model_dump(mode="json")
        entry = {"interruptId": self.id, "status": "resolved", "payload": payload}
        return self._take(self._item, entry)

    def approve(self) -> RunResult:
        """Say yes to a gated call, or to a confirmation."""
        return self.answer({"approved": True})

    def edit(self, **changes: Any) -> RunResult:
        """Say yes to a gated call with some other arguments."""
        return self.answer({"approved": True, "editedArgs": {**self.args, **changes}})

    def deny(self, reason: str | None = None) -> RunResult:
        """Say no."""
        payload = {} if reason is None else {"reason": reason}
        return self.answer({"approved": False, **payload})

    def cancel(self) -> RunResult:
        """Decide nothing: the question is withdrawn."""
        return self._take(self._item, {"interruptId": self.id, "status": "cancelled"})

    def assign(self, to: str | None) -> None:
        """Say who should answer it; None removes that."""
        self._act(lambda service, who: service.assign(who, self.id, to))

    def extend(self, seconds: float) -> None:
        """Move its end by this many seconds."""
        self._act(lambda service, who: service.extend(who, self.id, seconds=seconds))


def only(questions: Sequence[OpenQuestion]) -> OpenQuestion:
    """The only question.

    Raises:
        AssertionError: there is none, or more than one.
    """
    if len(questions) != 1:
        listed = "".join(f"\n  {question!r}" for question in questions) or " nothing"
        raise AssertionError(f"one open question was expected, but there is:{listed}")
    return questions[0]
