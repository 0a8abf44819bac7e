"""The outcomes of questions and tool calls, as an author gets them.

Pure records: they hold what was decided, by whom, and with which effective arguments.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from typing import Any, Generic, Literal, TypedDict, TypeVar

from sayso.agents.policy import Policy
from sayso.agents.summaries import summarize
from sayso.base.approvers import Approvers
from sayso.base.default import DEFAULT, Default
from sayso.base.options import OnExpire

T = TypeVar("T")

AnswerStatus = Literal["resolved", "cancelled", "expired"]
CallStatus = Literal["executed", "denied", "cancelled", "expired", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question to a person, for `Turn.interrupt_all`.

    `reason` is `input_required`, `confirmation`, or a namespaced one of your own (`shop:refund`).
    `schema` is a pydantic model, a Python type or a JSON Schema object. `expires_in` is in seconds
    (None: never), `expires_at` an aware datetime. `on_expire` is `expire`, `hold`, `cancel` or a
    `FallbackAnswer`. `approvers` are the people who may answer, and how many it takes, instead of
    the thread's owner. Members left out are the agent's.
    """

    reason: str
    message: str
    schema: Any = None
    expires_in: float | Default | None = DEFAULT
    expires_at: Any = None
    on_expire: OnExpire | Default = DEFAULT
    approvers: Approvers | None = None
    metadata: Mapping[str, Any] | None = None


class Lifetime(TypedDict, total=False):
    """How long something waits: seconds, None forever, or until an aware datetime."""

    expires_in: float | Default | None
    expires_at: datetime | None


class ClientCallTerms(Lifetime, total=False):
    """How long a client's tool is waited for; `again` makes an equal call of this turn anew."""

    again: bool


class QuestionTerms(Lifetime, total=False):
    """The lifetime of a question and who answers it, as in `Question`, by name."""

    on_expire: OnExpire | Default
    approvers: Approvers | None
    metadata: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[T]):
    """The settled answer to a question.

    `value` is the payload as the type that was asked for; None unless `resolved`. `by` is the
    authenticated subject, None when nobody decided; `approvers` are all who agreed, where it took
    several. `request` is the run input that brought the
    answer, None when it came another way. `question` and `text` are the two in words: `str()` is
    the sentence that `describe` makes of them.
    """

    status: AnswerStatus
    value: T | None = None
    by: str | None = None
    approvers: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    request: Any = None
    question: str = ""
    text: str = ""

    def __str__(self) -> str:
        """The question and its answer, as `describe` says it."""
        return summarize(self.question, self.status, self.text, by=self.by)

    @property
    def resolved(self) -> bool:
        """True if a person answered."""
        return self.status == "resolved"

    @property
    def cancelled(self) -> bool:
        """True if a person withdrew the question without answering it."""
        return self.status == "cancelled"

    @property
    def expired(self) -> bool:
        """True if nobody answered in time."""
        return self.status == "expired"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool, itself or by its name on the app, with its arguments, for `Turn.call_all`.

    `why` is the agent's reason for the call: whoever decides about it reads that instead of the
    tool's own (`why=`). It is not one of the arguments. `call` runs instead of the tool's function
    if this execution runs it: a function of the same arguments, which may hold what only this run
    knows. It is not recorded. `told_as` is the id that the model gave the call: `Call.told_as`.
    `approval` decides about this call besides the tool's own policy, and `editable` says whether
    its arguments may be edited, by default as the tool does; give both again on each entry.
    """

    tool: Any
    args: Mapping[str, Any]
    why: str | None = None
    _: KW_ONLY
    call: Callable[..., Any] | None = None
    told_as: str | None = None
    approval: Policy | None = None
    editable: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[T]):
    """The outcome of a tool call; `str()` is the text that a model gets.

    `args` are the effective arguments as JSON values; `edited` says that a reviewer changed them.
    `reason` is the reviewer's for a denial, the error for a failure. `by` is the person who
    decided, None when a rule did; `rule` the rule that let it run, asked or denied. `suggested` are
    arguments that a reviewer wrote with a denial. `id` is the `toolCallId` that clients know, empty
    for a call that nobody was told of; `told_as` the id that `ToolCall.told_as` gave. `parts` are
    the content parts of a result that is more than text, as clients get them (JSON objects).
    """

    status: CallStatus
    args: dict[str, Any]
    text: str
    value: T | None = None
    edited: bool = False
    reason: str | None = None
    by: str | None = None
    rule: str | None = None
    suggested: dict[str, Any] | None = None
    id: str = ""
    told_as: str | None = None
    parts: Sequence[Mapping[str, Any]] = ()

    @property
    def executed(self) -> bool:
        """True if the tool ran and returned `value`."""
        return self.status == "executed"

    @property
    def denied(self) -> bool:
        """True if a person said no; the tool did not run."""
        return self.status == "denied"

    @property
    def cancelled(self) -> bool:
        """True if the approval was withdrawn; the tool did not run."""
        return self.status == "cancelled"

    @property
    def expired(self) -> bool:
        """True if nobody decided in time; the tool did not run."""
        return self.status == "expired"

    @property
    def failed(self) -> bool:
        """True if the tool raised an error or ran out of time."""
        return self.status == "failed"

    def __str__(self) -> str:
        """The text of the tool's result, as a model gets it."""
        return self.text
