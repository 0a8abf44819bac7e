"""`Turn`: everything that the author of an agent gets to see."""

import random as _random
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn, ParamSpec, TypeVar, Unpack, overload
from uuid import UUID, uuid4

from sayso.agents.briefing import Described
from sayso.agents.decisions import ClarifyTerms, Decision, Option
from sayso.agents.outcomes import Answer, Call, ClientCallTerms, Question, QuestionTerms, ToolCall
from sayso.agents.parameters import TurnMarker
from sayso.agents.tools import Tool
from sayso.base.errors import NestedCall
from sayso.base.records import Principal
from sayso.turns.agents.delegation import AgentFunction, delegate
from sayso.turns.agents.keyed import KeyedBranch
from sayso.turns.ask import decisions, questions
from sayso.turns.beside import add_note, cancel, keep, rest, side_by_side
from sayso.turns.calls import batch, steps
from sayso.turns.calls.client_tools import call_client_tool
from sayso.turns.calls.reported import ReportedCall, report_call, report_decision
from sayso.turns.input import TurnInput
from sayso.turns.journal.state import view
from sayso.turns.models.chat import Chat, ChatTerms, History
from sayso.turns.models.model import Speak, ask_model
from sayso.turns.output import custom_events, messages, usage
from sayso.turns.output.activities import Activity, show_activity
from sayso.turns.replay.execution import Execution
from sayso.turns.replay.mistakes import awaited
from sayso.turns.replay.protection import parked

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
T1 = TypeVar("T1")
T2 = TypeVar("T2")
T3 = TypeVar("T3")
T4 = TypeVar("T4")
T5 = TypeVar("T5")


class Turn(TurnMarker):
    """One invocation of an agent, from a user message to its return.

    The function is entered again from its start on every resume and after every crash; what these
    methods did before comes out of the journal, without running or being sent a second time.
    """

    def __init__(self, execution: Execution, turn_input: TurnInput | None = None) -> None:
        self._execution = execution
        self._given = turn_input or execution.input

    @property
    def input(self) -> TurnInput:
        """The request that began the turn; the same for the whole turn.

        An inner agent (`delegate`) reads what it was told instead of its text and messages.
        """
        return self._given

    @property
    def principal(self) -> Principal:
        """The authenticated caller who began the turn."""
        return self._execution.principal

    @property
    def key(self) -> str:
        """An opaque id of this turn, the same in every execution."""
        return self._execution.turn.key

    # Text

    @awaited
    async def say(self, text: str, *, metadata: Mapping[str, Any] | None = None) -> None:
        """Send a whole text message; `metadata` is for clients, kept with it as it is (MD-02)."""
        async with self.message(metadata=metadata) as message:
            await message.write(text)

    def message(self, *, metadata: Mapping[str, Any] | None = None) -> messages.TextMessage:
        """A text message to write piece by piece: `async with turn.message() as message`."""
        return messages.TextMessage(self._execution, metadata)

    def reasoning(
        self,
        *,
        encrypted: str | None = None,
        encrypted_type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> messages.Reasoning:
        """A model's thoughts, piece by piece: `async with turn.reasoning() as thought`.

        `encrypted` is the model's sealed form of it, `encrypted_type` its provider's name for the
        kind of that; both may also be set on `thought`. They come back in `input.messages` of later
        turns, unchanged (RS-03). Clients that declare protocol 1.1 are sent the type.
        """
        return messages.Reasoning(self._execution, encrypted, encrypted_type, metadata)

    @awaited
    async def stream(self, chunks: AsyncIterable[str]) -> str:
        """Send an asynchronous iterable of text as one message; returns the whole text.

        Recorded when it ends, consumed again after a crash before that; `StepFailed` if it raises.
        """
        return await messages.stream_text(self._execution, chunks)

    def phase(self, name: str) -> messages.Phase:
        """A named part of the work, shown as an AG-UI step: `async with turn.phase("review")`."""
        return messages.Phase(self._execution, name)

    # Beside the conversation

    @awaited
    async def activity(self, kind: str, content: Mapping[str, Any]) -> Activity:
        """Show structured progress of some type, such as `PLAN`: an object that may change.

        Change it with `set` and `patch` of what this returns. Clients show it; no model gets it.
        """
        return await show_activity(self._execution, kind, content)

    @awaited
    async def custom(self, name: str, value: Any) -> None:
        """Send an event of your own, once; `name` has its vendor in front: `shop:stock`."""
        await custom_events.send_custom(self._execution, name, value)

    @awaited
    async def usage(
        self,
        provider: str | None = None,
        model: str | None = None,
        *,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        reasoning_tokens: int | None = None,
        cached_input_tokens: int | None = None,
        cache_write_input_tokens: int | None = None,
    ) -> None:
        """Count the tokens of one model call; the sums go out with the end of the run.

        Input and output are totals, the others are parts of them; None is what was not reported.
        What is no count is left out with a warning (US-02).
        """
        counts = {
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
            "reasoning_tokens": reasoning_tokens,
            "cached_input_tokens": cached_input_tokens,
            "cache_write_input_tokens": cache_write_input_tokens,
        }
        await usage.report_usage(self._execution, provider, model, counts)

    # State

    @property
    def state(self) -> Any:
        """The shared state, as a read-only deep view; change it with `set` and `patch`."""
        return view(self._execution.state_here)

    @awaited
    async def set(self, pointer: str, value: Any) -> None:
        """Put a JSON value at a JSON Pointer (`/progress`); an existing one is replaced.

        ValueError when the pointer leads nowhere, NotRecordable for what is no JSON.
        """
        await self.patch([{"op": "add", "path": pointer, "value": value}])

    @awaited
    async def patch(self, operations: Sequence[dict[str, Any]]) -> None:
        """Apply an RFC 6902 patch, all of it or nothing; ValueError says which operation fails."""
        execution = self._execution
        if execution.inside_effect():
            raise NestedCall(
                "state was written inside a recorded step, which does not run on replay: return "
                "the value and write it after the step"
            )
        branch = execution.branches.current_or_new("state")
        if execution.may_not_continue(branch):
            await execution.refuse(branch)
        steps.write_state(execution, branch, operations)

    # Effects

    @property
    def step(self) -> steps.Stepper:
        """Run a function once in the life of the turn: `await turn.step(charge, order)`.

        It returns the recorded result. What a step is called, how long it may take and what is done
        about a crash is set before it: `await turn.step.options(timeout=5)(charge, order)`.
        """
        return steps.Stepper(self._execution)

    @overload
    async def call(self, tool: Tool[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Call[R]: ...

    @overload
    async def call(self, tool: Tool[..., R], arguments: Mapping[str, Any], /) -> Call[R]: ...

    @overload
    async def call(self, tool: str, arguments: Mapping[str, Any], /) -> Call[Any]: ...

    @overload
    async def call(self, tool: ToolCall, /) -> Call[Any]: ...

    @awaited
    async def call(
        self, tool: Tool[..., Any] | ToolCall | str, /, *args: Any, **kwargs: Any
    ) -> Call[Any]:
        """Call a tool, given itself or by its name on this app; a person may decide first.

        Its arguments are written as for the function, which a type checker reads, or are one
        mapping, which is what a model wrote. A mapping that stands alone is always that: pass a
        mapping that is an argument by its name. A `ToolCall` alone has all that belongs to it.

        Raises pydantic's `ValidationError` for arguments that do not fit, `ArgumentsMisfit` for
        those of a tool of a JSON Schema, LookupError for a name that no tool of the app has; a
        model may have made up any of them. Nothing was sent then.
        """
        return (await self.call_all([batch.tool_call(tool, args, kwargs)]))[0]

    @awaited
    async def call_all(self, calls: Sequence[ToolCall]) -> list[Call[Any]]:
        """Make several calls in one batch; those that need a person ask together.

        The others run before the pause and keep their results. Outcomes come in order.
        """
        return await batch.call_all(self._execution, calls, self)

    def add_tools(self, *tools: Tool[..., Any]) -> None:
        """Let this execution call tools that only it knows; on each entry, before a call."""
        self._execution.running.add_tools(tools)

    @overload
    async def client_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        **how: Unpack[ClientCallTerms],
    ) -> Call[str]: ...

    @overload
    async def client_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        schema: type[T],
        **how: Unpack[ClientCallTerms],
    ) -> Call[T]: ...

    @overload
    async def client_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        schema: Any,
        **how: Unpack[ClientCallTerms],
    ) -> Call[Any]: ...

    @awaited
    async def client_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        schema: Any = str,
        **how: Unpack[ClientCallTerms],
    ) -> Call[Any]:
        """Have the client run one of its own tools, and wait for what came of it.

        Only those that it offered with the message that began the turn (`input.tools`), else
        `ToolNotOffered`. `schema` is a type for the result: text by default, JSON in it for others.
        The outcome is `executed`, `failed` (the client said so, or the result is no such value),
        `cancelled` (the user went on without answering it) or `expired`. The same call twice in a
        turn is made once, but with `again=True`, as for a model, each is one. The client decides
        about it by its own rules: no policy is asked here.
        """
        return await call_client_tool(self._execution, name, arguments, schema, how)

    @awaited
    async def report(
        self, name: str, arguments: Mapping[str, Any], *, told_as: str | None = None
    ) -> ReportedCall:
        """Tell of a call that somebody else makes, such as a provider's hosted tool; once.

        Nobody is asked and nothing runs here. `told_as` is the id that its maker gave it. Say what
        came of it by `await reported.result(text)`; without, the turn's end says that nobody did.
        """
        return await report_call(self._execution, name, arguments, told_as)

    @awaited
    async def report_decision(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        rule: str,
        allowed: bool,
        told_as: str | None = None,
    ) -> None:
        """Note in the audit trail what a rule said to a call that somebody else makes; once.

        For what nobody was asked about: the maker is told so by other means. `told_as` is that of
        `report`, by which the row has the call's id.
        """
        await report_decision(
            self._execution, name, arguments, rule=rule, allowed=allowed, told_as=told_as
        )

    # Models

    @overload
    async def model(
        self, ask: Callable[[Speak], Awaitable[Any]], *, name: str, returns: type[T]
    ) -> T: ...

    @overload
    async def model(
        self, ask: Callable[[Speak], Awaitable[T]], *, name: str, returns: None = None
    ) -> T: ...

    @awaited
    async def model(
        self, ask: Callable[[Speak], Awaitable[Any]], *, name: str, returns: Any = None
    ) -> Any:
        """Ask a model of any provider: `ask` gets a `Speak`, and what it returns is recorded.

        What it says meanwhile streams. After a crash it is asked again, under the same message id;
        a stop cancels it, so that its connection closes; tokens count once. Its result comes back
        as `returns`, plain JSON without it. The request is no part of the record: a changed prompt
        ends no turn that waits. Nothing is retried here, which is the client's. Raises `StepFailed`
        when `ask` raises; a retry of the turn asks again.
        """
        return await ask_model(self._execution, ask, name, returns)

    @awaited
    async def chat(
        self,
        client: Any,
        *,
        model: str,
        tools: Sequence[Tool[..., Any] | str] = (),
        system: str | None = None,
        messages: History | None = None,
        rounds: int = 12,
        front_end: bool = True,
        echo_reasoning: bool = False,
        **settings: Any,
    ) -> str:
        """Let a model answer, and make the calls that it asks for; returns its last words.

        `client` is an `AsyncOpenAI`, an `AsyncAnthropic`, a `sayso.providers.Completions`, or a
        `Provider` of your own. Free `tools` run, gated ones ask; the client's own (`input.tools`)
        are left to it, unless `front_end` is False. `messages` is another history than the
        thread's, or a function of it such as `providers.last(100)`. After `rounds` replies with
        calls the model is asked for an answer without any. `echo_reasoning` sends back what it
        thought; `settings` are members of the request, as they are: `temperature=0.2`.

        Raises `ModelFailed` when it was not reached or its answer broke off, `DeclarationError` for
        a synchronous client and for a tool whose name no provider takes.
        """
        terms = ChatTerms(model, system, messages, front_end, echo_reasoning, settings)
        return await Chat(self._execution, self, client, tools, terms).run(rounds)

    # Inner agents

    @awaited
    async def delegate(
        self,
        agent: AgentFunction | str,
        text: str | None = None,
        *,
        messages: Sequence[Mapping[str, Any]] | None = None,
        name: str | None = None,
        description: str | None = None,
    ) -> Any:
        """Run another agent as a part of this turn; returns what it returns, raises what it raises.

        `agent` is its function, or its name on this app. `text` is what it reads as `input.text`,
        and, without `messages`, as its only message; without either it reads what this agent does.
        What it asks is asked by this turn, and each answer finds the call that waits for it; its
        own options say how long. Clients see its work under `name`. LookupError for a name that is
        not registered, RecursionError for more than 16 agents inside each other.
        """
        return await delegate(
            self._execution,
            lambda turn_input: Turn(self._execution, turn_input),
            self._given,
            agent,
            text=text,
            messages=messages,
            name=name,
            description=description,
        )

    def at(self, key: str, *, agent: str | None = None, description: str = "") -> KeyedBranch:
        """A part of the work that is found by its key: `async with turn.at("calls:1") as part`.

        It is entered as often as its code is come to, by any task, one at a time; replay finds its
        records by key, in whatever order the parts come. What is done and not come for again does
        not count as changed code, and nothing inside waits until other parts have come as far as
        before. Keys are those of this agent, of this tool, or of the part around it.

        With `agent` clients see its work as that inner agent's, until `await part.end()`.
        """
        return KeyedBranch(self._execution, key, agent, description)

    # Questions

    @overload
    async def interrupt(
        self, reason: str, message: str, *, schema: type[T], **terms: Unpack[QuestionTerms]
    ) -> Answer[T]: ...

    @overload
    async def interrupt(
        self, reason: str, message: str, *, schema: Any = None, **terms: Unpack[QuestionTerms]
    ) -> Answer[Any]: ...

    @awaited
    async def interrupt(
        self, reason: str, message: str, *, schema: Any = None, **terms: Unpack[QuestionTerms]
    ) -> Answer[Any]:
        """Ask a person and wait, for as long as it takes.

        `reason` is `input_required`, `confirmation` or a namespaced one; `schema` a pydantic
        model, a Python type or a JSON Schema object; `expires_in` seconds, None forever, or
        `expires_at` an aware datetime; what it becomes then is `on_expire`: `expire`, `hold`,
        `cancel` or a `FallbackAnswer`; `approvers` answer instead; `metadata` is for clients.
        """
        question = Question(reason=reason, message=message, schema=schema, **terms)
        return await questions.question(self._execution, question)

    @awaited
    async def decide(
        self,
        *,
        why: str,
        planned_action: Described,
        options: Sequence[Option],
        impact: Described | None = None,
        **terms: Unpack[QuestionTerms],
    ) -> Decision:
        """Let a person choose one of several ways to go, informed: what, why, to what effect.

        `planned_action` and `impact` are texts, or figures by name: `{"files": 847}`. The answer
        is `{"action"}`, with the `params` of that option and perhaps a `note`. Raises ValueError
        for options that cannot be offered. What a model should hear of it is `describe(decision)`.
        """
        return await decisions.decide(
            self._execution,
            why=why,
            planned_action=planned_action,
            impact=impact,
            options=options,
            terms=terms,
        )

    @overload
    async def clarify(
        self, question: str, *, options: Sequence[Option], **about: Unpack[ClarifyTerms]
    ) -> Decision: ...

    @overload
    async def clarify(self, question: str, **about: Unpack[ClarifyTerms]) -> Answer[str]: ...

    @overload
    async def clarify(
        self, question: str, *, schema: type[T], **about: Unpack[ClarifyTerms]
    ) -> Answer[T]: ...

    @overload
    async def clarify(
        self, question: str, *, schema: Any, **about: Unpack[ClarifyTerms]
    ) -> Answer[Any]: ...

    @awaited
    async def clarify(
        self,
        question: str,
        *,
        options: Sequence[Option] = (),
        schema: Any = None,
        **about: Unpack[ClarifyTerms],
    ) -> Decision | Answer[Any]:
        """Ask before work starts: when it is unclear what is meant, or much would be touched.

        `scope` is what the request could cover, `blast_radius` how far a mistake would reach, each
        a text or figures by name. With `options` the answer is a `Decision`, else an `Answer` of
        the type `schema`, by default a text.
        """
        return await decisions.clarify(
            self._execution, question, options=options, schema=schema, about=about
        )

    @awaited
    async def ask_elsewhere(
        self, url: str, message: str, **terms: Unpack[QuestionTerms]
    ) -> Answer[bool]:
        """Have a person do something at another place, such as signing in, and say when it is done.

        For what must never pass through here: the card shows the host and a link, and takes no
        text. `value` is True once it is done, False if the person will not. `url` is https (http
        for this machine); it is kept and shown, so it holds no credential. ValueError for another.
        """
        return await decisions.ask_elsewhere(self._execution, url, message, terms)

    @awaited
    async def interrupt_all(self, asked: Sequence[Question]) -> list[Answer[Any]]:
        """Ask several things at once; answers come in order."""
        return await questions.questions(self._execution, asked)

    # Concurrency

    @overload
    async def gather(self, a: Awaitable[T1], /) -> tuple[T1]: ...

    @overload
    async def gather(self, a: Awaitable[T1], b: Awaitable[T2], /) -> tuple[T1, T2]: ...

    @overload
    async def gather(
        self, a: Awaitable[T1], b: Awaitable[T2], c: Awaitable[T3], /
    ) -> tuple[T1, T2, T3]: ...

    @overload
    async def gather(
        self, a: Awaitable[T1], b: Awaitable[T2], c: Awaitable[T3], d: Awaitable[T4], /
    ) -> tuple[T1, T2, T3, T4]: ...

    @overload
    async def gather(
        self,
        a: Awaitable[T1],
        b: Awaitable[T2],
        c: Awaitable[T3],
        d: Awaitable[T4],
        e: Awaitable[T5],
        /,
    ) -> tuple[T1, T2, T3, T4, T5]: ...

    @overload
    async def gather(self, *work: Awaitable[T]) -> tuple[T, ...]: ...

    @awaited
    async def gather(self, *work: Awaitable[Any]) -> tuple[Any, ...]:
        """Run several things side by side, each a branch of its own, all to their end.

        The results come in order. Raises the first error once all have ended; waits for a person
        if any of them does.
        """
        return await side_by_side(self._execution, work)

    # Inside the tasks of a framework

    @property
    def halted(self) -> bool:
        """True if the running code may do nothing more until the turn is entered again.

        It waits for a person, directly or through what it started, or the turn has ended.
        """
        return self._execution.halted

    @property
    def stopped(self) -> bool:
        """True once somebody has stopped the turn, or its code has: it is not entered again.

        Code that is cancelled learns here that the work it waits for elsewhere is not wanted.
        """
        return self._execution.stopped is not None

    @awaited
    async def parked(self, work: Awaitable[T]) -> T:
        """Await calls of this turn in a task of a framework, which must not see them pause.

        Where they pause this waits, and raises nothing, until the turn closes the task. So no
        framework takes a pause for a failure, or cancels calls beside it that have not asked yet.
        A cancellation that the framework itself wants passes.
        """
        return await parked(self._execution, work)

    @awaited
    async def resting(self, awaitable: Awaitable[T]) -> T:
        """Await what is no work of the turn, such as a queue; returns what it gives.

        A turn that asks comes to rest meanwhile, at once and not after 0.2 s. From now on this code
        goes on when a task that it made asks.
        """
        return await rest(self._execution, awaitable)

    @awaited
    async def note(self, name: str, value: Any, *, durable: bool = False) -> None:
        """Append a JSON value to the notes of that name, for later executions of this turn.

        Replay neither looks for notes nor compares them: each call appends one more, so look at
        `notes` first. One is stored with the next thing that the turn records; `durable` stores it
        now, and all that was recorded before. Raises `NotRecordable` for a value without a JSON
        form, for one above 1 MiB, and when all notes would be above `Limits.history`.
        """
        await add_note(self._execution, name, value, durable=durable)

    def notes(self, name: str) -> tuple[Any, ...]:
        """The notes of that name, of this and all earlier executions of the turn, oldest first."""
        return self._execution.notes.named(name)

    @property
    def kept(self) -> Mapping[str, bytes]:
        """Bytes that the thread had kept when this turn began, and that this execution has kept."""
        return self._execution.kept.values

    def keep(self, name: str, value: bytes | None) -> None:
        """Keep bytes for later turns of the thread, which nobody is sent; None takes them away.

        Stored when the turn waits or ends; one that fails keeps nothing. At most 8 MiB in all.
        """
        keep(self._execution, name, value)

    @awaited
    async def cancel(self, reason: str) -> NoReturn:
        """End the turn as cancelled, as a stop does; `reason` is what clients are told."""
        await cancel(self._execution, reason)

    # Recorded values

    @awaited
    async def now(self) -> datetime:
        """The hour, UTC, as it was when this line first ran."""
        milliseconds = await steps.recorded_value(self._execution, "now", self._execution.clock.now)
        return datetime.fromtimestamp(milliseconds / 1000, UTC)

    @awaited
    async def uuid(self) -> UUID:
        """A random UUID, the same on every replay."""
        return UUID(await steps.recorded_value(self._execution, "uuid", lambda: str(uuid4())))

    @awaited
    async def random(self) -> float:
        """A random number from 0 up to 1, the same on every replay; not for secrets."""
        return float(await steps.recorded_value(self._execution, "random", _random.random))
