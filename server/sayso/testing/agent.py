"""Agents in plain unit tests: no server, no port, no waiting, no event loop of your own.

    def test_a_refund_is_paid_once_and_only_when_approved():
        with Conversation(app) as agent:
            agent.say("refund A-17")
            assert agent.effects == ["lookup"]
            assert agent.question.args == {"order_id": "A-17", "amount": 240.0}
            agent.restart()                      # the server restarts; the question is still there
            run = agent.question.approve()
            assert run.outcome == "success"
            assert agent.effects == ["lookup", "issue_refund"]

Synchronous on purpose: nothing happens between two lines of a test, and no plug-in is needed. The
agent runs in the same engine as on a server.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, Unpack
from uuid import uuid4

from sayso.agents.tools import Tool
from sayso.app import Sayso
from sayso.base import jsonvalue
from sayso.base.errors import DeclarationError
from sayso.base.options import OptionValues
from sayso.base.records import Approval, Interrupt, Principal, ThreadView
from sayso.gate.client_tools import is_call
from sayso.gate.history import visible
from sayso.http.options import ServerOptions
from sayso.protocol.runinput import read_run_input
from sayso.testing.person import Person, changes_by
from sayso.testing.question import OpenQuestion, only
from sayso.testing.runs import RunResult, collected
from sayso.testing.world import Errors, RanEffect, Simulation
from sayso.turns.turn import Turn

Json = dict[str, Any]


class Conversation:
    """One thread of an agent, and the person who talks to it.

    `agent` is a `Sayso`, or the agent function itself (its tools then go into `tools`, its options
    into `options`); `name` says which agent of the app, if it has several. Nothing of the app's
    own store or clock is touched.

    An error that the agent's code raises is raised here, or with `errors="return"` is the run's
    `agent_error`. Wherever the agent waits or has ended its code is entered once more over what it
    has recorded, and AssertionError says where it differs, as it would after a restart;
    `replays=False` leaves that out.
    """

    def __init__(
        self,
        agent: Sayso | Callable[[Turn], Awaitable[Any]],
        name: str | None = None,
        *,
        tools: Sequence[Tool[..., Any]] = (),
        principal: Principal | None = None,
        thread: str = "test",
        errors: Errors = "raise",
        replays: bool = True,
        **options: Unpack[OptionValues],
    ) -> None:
        self.thread = thread
        self.principal: Principal = principal or Principal()
        self._source, self._name = _served(agent, name, tools, options)
        self._world: Simulation | None = None
        self._borrowed = False
        self._waiting: dict[str, Json] = {}
        self._errors, self._replays = errors, replays

    def __enter__(self) -> Self:
        """Begin with an empty store and a first process."""
        self._world = Simulation(self._source, errors=self._errors, replays=self._replays)
        self._world.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End everything.

        Raises:
            AssertionError: a crash that was asked for never came.
        """
        if self._world is not None and not self._borrowed:
            world, self._world = self._world, None
            world.close()
            if kind is None and world.crashes:
                names = ", ".join(sorted({ran.name for ran in world.ran})) or "nothing"
                raise AssertionError(
                    f"crash_after({world.crashes[0]!r}) never came: what ran is {names}"
                )

    # What the person does

    def say(self, text: str, **members: Any) -> RunResult:
        """Send a user message, and let the agent work until it asks or ends.

        `members` are further ones of the request, such as `tools`, `state` or `forwardedProps`.

        Raises:
            Refused: the thread does not accept it.
        """
        message = {"id": f"user-{uuid4().hex[:8]}", "role": "user", "content": text}
        return self.send(messages=[message], **members)

    def send(self, **members: Any) -> RunResult:
        """Send a request of its own making: the members of a `RunAgentInput` but for its ids."""
        world = self._opened()
        body = {
            "threadId": self.thread,
            "runId": f"run-{uuid4().hex[:8]}",
            "protocolVersion": "1.0",
            "messages": [],
            **members,
        }

        async def exchange() -> RunResult:
            request = read_run_input(body, world.app.server.limits)
            reader = await world.app._engine.requests.run(self._name, request, self.principal)
            run = await collected(reader, died=lambda: world.dead)
            if not run.died:
                await world.app._engine.requests.delivered(reader, self.principal)
            return run

        run = world.do(exchange)
        self._waiting.clear()
        world.check(self.principal.scope, self.thread, run.outcome)
        return run

    @property
    def questions(self) -> list[OpenQuestion]:
        """The open questions without an answer yet, in the order of asking."""
        act = changes_by(self._opened(), self.principal)
        return [
            OpenQuestion(item, self._take, act)
            for item in self._open()
            if item.id not in self._waiting and item.held is None and not is_call(item)
        ]

    @property
    def question(self) -> OpenQuestion:
        """The one open question.

        Raises:
            AssertionError: there is none, or more than one.
        """
        return only(self.questions)

    def answer(self, payload: Any = None) -> RunResult:
        """Answer the one open question; see `OpenQuestion.answer`."""
        return self.question.answer(payload)

    # What happens to its surroundings

    def advance(self, seconds: float) -> None:
        """Let time pass: everything due happens at its own time; days take no time."""
        world = self._opened()
        world.do(lambda: world.pass_time(seconds))
        world.check(self.principal.scope, self.thread, "")

    def restart(self, agent: Sayso | Callable[[Turn], Awaitable[Any]] | None = None) -> None:
        """Let the server restart, maybe with other code; one that died is taken over from."""
        source = None
        if agent is not None:
            tools = () if isinstance(agent, Sayso) else self._source.tools_of(self._name)
            source, _ = _served(agent, self._name, tools, {})
        self._opened().restart(source)

    def crash_after(self, name: str) -> None:
        """Let the server die in the next run, when that tool or step has run and is not recorded.

        That run has the outcome `crashed`; `restart` continues from there. A crash that never comes
        is an AssertionError at the end.
        """
        self._opened().crash_after(name)

    def edit_state(self, **changes: Any) -> None:
        """Edit the state of the waiting turn, as `PATCH /threads/{id}/state` does.

        None removes a member.

        Raises:
            Problem: the edit is not accepted.
        """
        world = self._opened()
        world.do(lambda: world.app._engine.repairs.edit(self.principal, self.thread, changes))

    def fork(self, question: OpenQuestion | str) -> "Conversation":
        """Copy the thread at that question (or the id of one); returns the copy's conversation.

        Raises:
            Problem: it cannot be copied.
        """
        world = self._opened()
        interrupt_id = question if isinstance(question, str) else question.id
        made = world.do(
            lambda: world.app._engine.repairs.fork(self.principal, self.thread, interrupt_id)
        )
        return self.on(made)

    def on(self, thread: str, principal: Principal | None = None) -> "Conversation":
        """Another thread of the same agent on the same server, or another person on this one."""
        other = Conversation(
            self._source, self._name, thread=thread, principal=principal or self.principal
        )
        other._world = self._opened()
        other._borrowed = True
        return other

    def as_(self, principal: Principal) -> Person:
        """Somebody else on the same server, such as an approver, with an inbox of their own."""
        return Person(self._opened(), principal)

    # What came of it

    @property
    def approvals(self) -> list[Approval]:
        """The remembered approvals that hold for this person's calls, or that they gave."""
        return self.as_(self.principal).approvals

    def revoke(self, approval: Approval | str) -> None:
        """Revoke a remembered approval.

        Raises:
            Refused: it is not this person's.
        """
        self.as_(self.principal).revoke(approval)

    @property
    def effects(self) -> list[str]:
        """Names of the tools and steps that have run in this thread, once for each time."""
        return [ran.name for ran in self.ran]

    @property
    def ran(self) -> list[RanEffect]:
        """The effects of this thread with their arguments and idempotency keys."""
        return [ran for ran in self._opened().ran if ran.thread == self.thread]

    @property
    def messages(self) -> list[Json]:
        """The history as clients see it."""
        view = self._view()
        return [] if view is None else [jsonvalue.decode(body) for body in visible(view.messages)]

    @property
    def texts(self) -> list[str]:
        """The texts of the agent, in order."""
        said = (m for m in self.messages if m["role"] == "assistant")
        return [message["content"] for message in said if message.get("content")]

    @property
    def results(self) -> list[str]:
        """The results of tool calls, as a model reads it, in order."""
        return [m["content"] for m in self.messages if m["role"] == "tool"]

    @property
    def state(self) -> Any:
        """The state shared with clients."""
        view = self._view()
        return {} if view is None else jsonvalue.decode(view.thread.state)

    @property
    def status(self) -> str | None:
        """The status of the turn: `suspended` while it waits, `finished`, `failed`, `cancelled`."""
        view = self._view()
        return None if view is None or view.turn is None else view.turn.status

    # Inside

    def _take(self, question: Interrupt, entry: Mapping[str, Any]) -> RunResult:
        """Keep an answer until all that is open has one; then send them together."""
        answers = {**self._waiting, question.id: dict(entry)}
        interrupts = [item for item in self._open() if item.held is None and not is_call(item)]
        if any(item.id not in answers for item in interrupts):
            self._waiting = answers
            return RunResult(())
        return self.send(resume=[answers[item.id] for item in interrupts])

    def _open(self) -> Iterable[Interrupt]:
        view = self._view()
        if view is None or view.turn is None or view.turn.status != "suspended":
            return []
        key = view.turn.key
        return [i for i in view.interrupts if i.status == "open" and i.turn_key == key]

    def _view(self) -> ThreadView | None:
        world = self._opened()
        return world.do(lambda: world.view(self.principal, self.thread))

    def _opened(self) -> Simulation:
        if self._world is None:
            raise RuntimeError("use it as `with Conversation(…) as agent:`")
        return self._world


def _served(
    agent: Any, name: str | None, tools: Sequence[Tool[..., Any]], options: OptionValues
) -> tuple[Sayso, str]:
    """The app of an agent, and its name there."""
    if isinstance(agent, Sayso):
        if tools or options:
            raise DeclarationError("tools and options are those of the app: declare them on it")
        names = [served.name for served in agent.agents]
        if name is None and len(names) == 1:
            name = names[0]
        if name is None or name not in names:
            raise DeclarationError(
                f"name one of the app's agents: {', '.join(names) or 'it has none'}"
            )
        return agent, name
    app = Sayso(store="memory:", server=ServerOptions(console=False))
    app.add_tools(*tools)
    chosen = name or str(getattr(agent, "__name__", "agent"))
    app.agent(chosen, **options)(agent)
    return app, chosen
