"""A turn with one of everything, and a person who sees it through whatever dies meanwhile."""

from collections.abc import AsyncIterator, Awaitable
from typing import Any

from sayso import Question, Sayso, ToolCall, Turn, approval
from tests.contract.wire import Run
from tests.turns.driver import Conversation, World

__all__ = ["EFFECTS", "INDETERMINATE", "Life", "declare"]

INDETERMINATE = "sayso:indeterminate"

EFFECTS = {
    "look up": 1,
    "refund": 1,
    "count": 1,
    "mail ann": 1,
    "mail ben": 1,
    "charge": 1,
    "file": 1,
}
"""What the world must have seen at the end, and how often."""


def declare(world: World, app: Sayso) -> None:
    """The agent and its tools."""

    @app.tool(approval=approval.when(lambda amount: amount > 100), editable=True)
    async def refund(amount: float) -> str:
        world.effect("refund")
        return f"refunded {amount}"

    @app.tool()
    def count_mails() -> int:
        world.effect("count")
        return 2

    @app.tool(approval=approval.always)
    async def mail(to: str) -> str:
        world.effect(f"mail {to}")
        return f"sent to {to}"

    async def words() -> AsyncIterator[str]:
        for word in ("It ", "is ", "filed."):
            yield word

    @app.agent("agent")
    async def agent(turn: Turn) -> Any:
        def do(name: str, result: Any) -> Awaitable[Any]:
            return turn.step.options(name=name)(world.effect, name, result)

        await turn.say("Hello.")
        order = await do("look up", {"order": 17})
        await turn.set("/order", order)
        number = await turn.uuid()
        async with turn.phase("refunding"):
            done = await turn.call(refund, amount=240.0)
            await turn.say(f"Refund: {done.status}.")
        await turn.patch([{"op": "add", "path": "/refunded", "value": done.value}])
        calls = [
            ToolCall(count_mails, {}),
            ToolCall(mail, {"to": "ann"}),
            ToolCall(mail, {"to": "cyd"}),
            ToolCall(mail, {"to": "ben"}),
        ]
        mails = await turn.call_all(calls)
        charged, sure = await turn.gather(
            do("charge", "charged"),
            turn.interrupt("confirmation", "Sure?"),
        )
        asked = [
            Question(reason="input_required", message=f"Which {what}?", schema=str)
            for what in ("quarter", "year")
        ]
        filing = await turn.interrupt_all(asked)
        filed = await do("file", "filed")
        said = await turn.stream(words())
        return {
            "order": order,
            "refund": done.value,
            "mails": [[call.status, call.value] for call in mails],
            "charged": charged,
            "sure": sure.value,
            "filing": [answer.value for answer in filing],
            "filed": filed,
            "said": said,
            "same": number == await turn.uuid(),
        }


RESULT = {
    "order": {"order": 17},
    "refund": "refunded 240.0",
    "mails": [
        ["executed", 2],
        ["executed", "sent to ann"],
        ["denied", None],
        ["executed", "sent to ben"],
    ],
    "charged": "charged",
    "sure": True,
    "filing": ["quarter", "year"],
    "filed": "filed",
    "said": "It is filed.",
    "same": False,
}

RESULTS = {
    "look up": {"order": 17},
    "charge": "charged",
    "file": "filed",
    "refund": "refunded 240.0",
    "count_mails": 2,
    "ann": "sent to ann",
    "ben": "sent to ben",
}

"""What each effect returns, for a person who knows that it happened."""
EFFECT_OF = {"count_mails": "count", "ann": "mail ann", "ben": "mail ben"}
AGAIN = {"action": "run_again"}


class Life:
    """One thread from its first message to its end, over any number of processes."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.talk = Conversation(world)
        self.deaths = 0
        self.unsure: list[str] = []
        """Questions about effects that may have happened, in the order of asking."""
        self.expected_unsure: list[str] = []
        self.ids: dict[str, set[str]] = {}
        """Ids under which each text was streamed."""

    async def begin(self) -> Run:
        """The first message; sent again, with the same id, when nobody took it."""
        talk = self.talk
        if not talk.history:
            self.body = talk.client.body(messages=[talk.client.user("go")])
        talk._to_present()
        return talk._took(await talk.client.run(self.body))

    async def to_the_end(self) -> Run:
        """Answer what is asked, recover from what dies, until the turn is over."""
        run = await self.begin()
        for _ in range(40):
            self._note(run)
            if self.world.process.window.dead:
                run = await self._survive()
            elif not run.is_stream:
                raise AssertionError(f"{run.status} {run.body!r}")
            elif run.outcome == "interrupt":
                run = await self._answer()
            elif run.outcome == "success" and not await self._started():
                run = await self.begin()
            else:
                return run
        raise AssertionError("this never ends")

    async def _started(self) -> bool:
        view = await self.world.store.load("default", self.talk.thread)
        return view is not None

    async def _survive(self) -> Run:
        self.deaths += 1
        view = await self.world.store.load("default", self.talk.thread)
        if view is not None and view.turn is not None and view.thread.holder is not None:
            entries = await self.world.store.journal("default", view.turn.key)
            self.expected_unsure += [entry.name for entry in entries if entry.status == "started"]
        if view is None:
            await self.world.crash()
            return await self.talk.connect()
        return await self.talk.recover()

    async def _answer(self) -> Run:
        return await self.talk.answer(
            {item["id"]: self._decide(item) for item in self.talk.client.model.pending}
        )

    def _decide(self, item: dict[str, Any]) -> Any:
        """A person who knows the world: says yes to all mails but one, and the truth if unsure."""
        question = item["message"]
        if item["reason"] == INDETERMINATE:
            shown = item["metadata"]["sayso"]
            self.unsure.append(shown["name"])
            which = shown.get("arguments", {}).get("to", shown["name"])
            happened = EFFECT_OF.get(which, which) in self.world.effects
            return {"action": "skip", "result": RESULTS[which]} if happened else AGAIN
        if item["reason"] == "tool_call":
            return {"approved": "cyd" not in question}
        if item["reason"] == "confirmation":
            return {"approved": True}
        return "quarter" if "quarter" in question else "year"

    def _note(self, run: Run) -> None:
        if run.is_stream:
            texts: dict[str, str] = {}
            for event in run.of("TEXT_MESSAGE_CONTENT"):
                texts[event["messageId"]] = texts.get(event["messageId"], "") + event["delta"]
            for message_id, text in texts.items():
                self.ids.setdefault(text, set()).add(message_id)
