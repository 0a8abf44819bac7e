"""A thread on a terminal: text in, answers out, questions put where a run ends in them."""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from typing import Any

import orjson
import typer

from sayso.client import Client, ClientError, Refused
from sayso.clock import SystemClock
from sayso.commands.questions import put
from sayso.commands.terminal import Terminal

__all__ = ["Conversation"]

Json = dict[str, Any]
LEFT_OPEN = 1
INTERRUPTED = 130
_NOT_SHOWN = (404, 405)
"""What servers say of threads that they do not have, or without any way to open one again."""
LONGEST_RESULT = 400
"""Characters of a tool's result that are shown."""


class Conversation:
    """One thread. `again` is the command that comes back to it; `events` prints them as JSON."""

    def __init__(self, client: Client, *, again: str, events: bool) -> None:
        self._client = client
        self._again = again
        self._events = events
        self._terminal = Terminal(aside=events)
        self._clock = SystemClock()

    def hold(self, *, reopen: bool) -> int:
        """Talk until the person leaves; the exit code. Nothing is lost by leaving."""
        with asyncio.Runner() as runner:
            try:
                return self._talk(runner, reopen=reopen)
            except KeyboardInterrupt:
                self._leave()
                return INTERRUPTED
            except ClientError as error:
                self._fail(error)
                self._leave()
                return LEFT_OPEN
            finally:
                runner.run(self._client.aclose())

    def _talk(self, runner: asyncio.Runner, *, reopen: bool) -> int:
        if reopen:
            self._reopen(runner)
        try:
            while True:
                while self._client.pending:
                    self._answer(runner)
                text = self._terminal.ask(">")
                if text:
                    try:
                        runner.run(self._follow(self._client.run(text)))
                    except ClientError as error:
                        self._fail(error)
        except EOFError:
            self._leave()
            unhappy = self._client.pending or self._client.outcome in (None, "error")
            return LEFT_OPEN if unhappy and self._client.run_id is not None else 0

    def _reopen(self, runner: asyncio.Runner) -> None:
        try:
            runner.run(self._quietly(self._client.connect()))
        except Refused as error:
            if error.status not in _NOT_SHOWN:
                raise
            self._terminal.say("The server does not show this thread; it may be a new one.")
            return
        for message in self._client.messages:
            content = message.get("content")
            if message["role"] in ("user", "assistant") and isinstance(content, str) and content:
                self._terminal.say(f"{'> ' if message['role'] == 'user' else ''}{content}")
        self._ending()

    def _answer(self, runner: asyncio.Runner) -> None:
        """Every open question in turn, then one request with all answers (CL-01)."""
        pending = self._client.pending
        answers = {}
        for number, interrupt in enumerate(pending, 1):
            if len(pending) > 1:
                self._terminal.say(f"Question {number} of {len(pending)}")
            call = self._client.call(interrupt.get("toolCallId", ""))
            answers[interrupt["id"]] = put(interrupt, call, self._terminal, self._clock.now)
        while True:
            try:
                runner.run(self._follow(self._client.resume(answers)))
            except ClientError as error:
                self._fail(error)
                if self._terminal.ask("Send the answers again? (y/n)").lower() in ("y", "yes"):
                    continue
                runner.run(self._quietly(self._client.connect()))
            return

    async def _follow(self, events: AsyncIterator[Json]) -> None:
        async for event in events:
            if self._events:
                self._print(event)
            else:
                self._show(event)
        self._ending()

    async def _quietly(self, events: AsyncIterator[Json]) -> None:
        async for event in events:
            if self._events:
                self._print(event)

    def _print(self, event: Json) -> None:
        sys.stdout.buffer.write(orjson.dumps(event) + b"\n")
        sys.stdout.buffer.flush()

    def _show(self, event: Json) -> None:
        kind = event["type"]
        if kind == "TEXT_MESSAGE_START":
            self._terminal.end_line()
        elif kind == "TEXT_MESSAGE_CONTENT":
            self._terminal.write(event["delta"])
        elif kind == "TEXT_MESSAGE_END":
            self._terminal.end_line()
        elif kind == "TOOL_CALL_END":
            function: Mapping[str, str] = (self._client.call(event["toolCallId"]) or {}).get(
                "function", {}
            )
            self._terminal.say(
                f"- {function.get('name')} {function.get('arguments')}", typer.colors.CYAN
            )
        elif kind == "TOOL_CALL_RESULT":
            content = event["content"]
            told = content if isinstance(content, str) else "(content parts)"
            if len(told) > LONGEST_RESULT:
                told = f"{told[: LONGEST_RESULT - 1]}…"
            self._terminal.say(f"  {told}", typer.colors.CYAN)

    def _ending(self) -> None:
        self._terminal.end_line()
        if self._client.error is not None:
            code = self._client.error.get("code")
            told = f"{self._client.error['message']}{f' ({code})' if code else ''}"
            self._terminal.say(f"The run failed: {told}", typer.colors.RED)
        elif self._client.outcome == "cancelled":
            self._terminal.say("The run was cancelled.", typer.colors.YELLOW)

    def _fail(self, error: ClientError) -> None:
        self._terminal.end_line()
        typer.echo(f"sayso: {error}", err=True)

    def _leave(self) -> None:
        """Say how to come back, where there is something to come back to."""
        self._terminal.end_line()
        if self._client.run_id is None:
            return
        waits = "It waits for your answer. " if self._client.pending else ""
        typer.echo(f"{waits}Go on with: {self._again}", err=True)
