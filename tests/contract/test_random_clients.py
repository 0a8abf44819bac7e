"""Clients that do anything in any order: tabs, retries, lost bodies, wrong and late answers.

Some decide in the inbox, some stop. Whatever they do, every stream is well-formed (each is judged),
each approved call has run once and no other has run, each call has one result unless it waits, and
all who load the thread agree.
"""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sayso import ToolCall, Turn, approval
from tests.contract.rest import delete, inbox, post, stop
from tests.contract.server import Client, Server, answer, approve, cancel, deny, eventually, served
from tests.contract.wire import Run
from tests.share import share

Json = dict[str, Any]

ENDINGS = {
    "success",
    "interrupt",
    "agent_error",
    "interrupts_pending",
    "partial_resume",
    "unknown_interrupt",
    "duplicate_entry",
    "invalid_payload",
    "already_resolved",
    "thread_busy",
    "cancelled",
}
ACTIONS = (
    *("say", "answer", "answer", "answer", "wrong", "retry", "regenerate", "tab", "lose"),
    *("inbox", "inbox", "stop"),
)


class Play:
    """One thread and the tabs that look at it."""

    def __init__(self, server: Server, seed: int) -> None:
        self.server = server
        self.random = random.Random(seed)  # noqa: S311 - a play, not a secret
        self.approved: Counter[str] = Counter()
        self.count = 0
        self.bodies: list[Json] = []

        @server.app.tool(approval=approval.always)
        async def act(name: str) -> str:
            server.effects.append(name)
            return f"did {name}"

        self.act = act
        self.tabs = [server.client(self.agent)]

    async def agent(self, turn: Turn) -> None:
        """What to do stands in the message: calls, then a form, then perhaps a failure."""
        words = turn.input.text.split()
        name = words[0]
        for number in range(words.count("round")):
            calls = [
                ToolCall(self.act, {"name": f"{name}.{number}.{at}"})
                for at in range(1 + number % 2)
            ]
            done = await turn.call_all(calls)
            await turn.set(f"/{name}", [call.status for call in done])
        if "ask" in words:
            await turn.interrupt("input_required", "How many?", schema=int)
        if "fail" in words:
            raise RuntimeError("as told")
        await turn.say(f"{name} done")

    @property
    def tab(self) -> Client:
        return self.random.choice(self.tabs)

    async def step(self) -> None:
        """One action of one of the tabs."""
        action = self.random.choice(ACTIONS)
        tab = self.tab
        if action == "tab":
            fresh = tab.again()
            await fresh.connect()
            self.tabs = [*self.tabs[-2:], fresh]
        elif action == "stop":
            if await self.known():
                await stop(self.server, tab)
        elif action == "inbox":
            await self.decide(tab)
        elif action == "retry" and self.bodies:
            await self.send(tab, self.random.choice(self.bodies[-3:]))
        elif action in ("say", "regenerate"):
            before = list(tab.model.messages)
            if action == "say":
                tab.user(self.words())
            run = await self.send(tab, tab.body())
            if action == "say" and run.last["type"] == "RUN_ERROR" and run.outcome != "agent_error":
                tab.model.messages = before
        elif tab.model.pending:
            await self.respond(tab, action)

    async def known(self) -> bool:
        """Whether the thread has begun to exist."""
        return await self.server.store.load("default", self.tabs[0].thread) is not None

    async def decide(self, tab: Client) -> None:
        """Answer one that waits, or one that this tab still shows, or take an answer back."""
        items = await inbox(self.server, f"?threadId={tab.thread}")
        shown = [{"id": i["id"], "reason": i["reason"]} for i in [*items, *tab.model.pending]]
        if not shown:
            return
        entry = self.entry(self.random.choice(shown))
        path = f"/interrupts/{entry.pop('interruptId')}/answer"
        if self.random.random() < 0.2:
            assert (await delete(self.server, path)).status in (200, 409)
        else:
            assert (await post(self.server, path, entry)).status in (200, 202, 404, 409)

    def words(self) -> str:
        self.count += 1
        chosen = [w for w in ("round", "round", "ask", "fail") if self.random.random() < 0.5]
        return " ".join([f"m{self.count}", *chosen])

    async def respond(self, tab: Client, action: str) -> None:
        entries = [self.entry(interrupt) for interrupt in tab.model.pending]
        if action == "wrong":
            entries = self.random.choice(
                [
                    entries[1:],
                    [*entries, {"interruptId": "int_x", **cancel()}],
                    [{**entries[0], **answer({"approved": "yes"})}, *entries[1:]],
                    [*entries, {**entries[0], **cancel()}],
                ]
            )
        if self.random.random() < 0.3:
            tab.user(self.words())
        body = tab.body(resume=entries)
        if action == "lose":
            exchange = tab.open(body)
            await exchange.until("RUN_STARTED")
            await exchange.disconnect()
            self.bodies.append(body)
        else:
            await self.send(tab, body)

    def entry(self, interrupt: Json) -> Json:
        if interrupt["reason"] != "tool_call":
            chosen = self.random.choice([answer(3), cancel()])
        else:
            chosen = self.random.choice([approve(), approve(), deny("no"), cancel()])
        return {"interruptId": interrupt["id"], **chosen}

    async def send(self, tab: Client, body: Json) -> Run:
        self.bodies.append(body)
        run = await tab.run(body)
        assert run.outcome in ENDINGS, run.last
        return run

    async def idle(self) -> bool:
        view = await self.server.store.load("default", self.tabs[0].thread)
        return view is None or view.thread.holder is None

    async def check(self) -> None:
        """The thread as it stands once nothing runs any more, against what happened."""
        await eventually(self.idle)
        first, second = [self.tabs[0].again() for _ in range(2)]
        shown = await first.connect()
        await second.connect()
        assert first.model.messages == second.model.messages
        assert first.model.pending == second.model.pending
        view = await self.server.store.load("default", first.thread)
        if view is None:
            return
        messages = [json.loads(message.body) for message in view.messages]
        ids = [message["id"] for message in messages]
        assert len(ids) == len(set(ids))
        results = Counter(m["toolCallId"] for m in messages if m["role"] == "tool")
        calls = [call for m in messages for call in m.get("toolCalls", ())]
        waiting = {
            i.get("toolCallId") for i in await inbox(self.server, f"?threadId={first.thread}")
        }
        assert waiting >= {i.get("toolCallId") for i in first.model.pending}
        for call in calls:
            assert results[call["id"]] == (call["id"] not in waiting), (call, shown.last)
        told = Counter(
            m["content"].removeprefix("did ")
            for m in messages
            if m["role"] == "tool" and m["content"].startswith("did ")
        )
        assert told == Counter(self.server.effects)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("seed", range(share(20, of=2)))
async def test_whatever_clients_do_the_thread_stays_whole(
    tmp_path: Path, kind: str, seed: int
) -> None:
    """Cases B, C, E, H, Q in random order; a failure names its seed."""
    async with served(kind, tmp_path) as server:
        play = Play(server, seed)
        for _ in range(30):
            await play.step()
        await play.check()
