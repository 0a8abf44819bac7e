"""A thread on a terminal: text in, answers out, questions put where a run ends in them."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, Final, NoReturn
from uuid import uuid4

import orjson
import typer

from sayso.client import Client, ClientError, Expired, Refused, Truncated, Unreachable
from sayso.clock import SystemClock
from sayso.commands.questions import LookAgain, put
from sayso.commands.telling import Telling
from sayso.commands.terminal import Terminal

__all__ = ["Conversation"]

Json = dict[str, Any]
LEFT_OPEN: Final = 1
INTERRUPTED: Final = 130
WAITS: Final = (0.0, 1.0, 2.0, 4.0, 8.0, 15.0)
"""Seconds before each look at a thread whose server has gone away."""
_NOT_SHOWN: Final = (404, 405)
"""What servers say of threads that they do not have, or without any way to open one again."""


class Conversation:
    """One thread. `again` is the command that comes back to it; `events` prints them as JSON."""

    def __init__(
        self, client: Client, *, again: str, events: bool, waits: Sequence[float] = WAITS
    ) -> None:
        self._client = client
        self._again = again
        self._events = events
        self._waits = waits
        self._terminal = Terminal(aside=events)
        self._telling = Telling(client, self._terminal)
        self._clock = SystemClock()
        self._runner = asyncio.Runner()
        self._happy = True
        """Whether the last thing that was asked of the agent ended well."""
        self._reached = False
        """Whether the server has answered at all."""
        self._unsaid = ""
        """What was written and did not arrive."""
        self._begun = False
        """Whether the thread may exist, although nothing of it was seen yet."""

    def hold(self, *, reopen: bool) -> int:
        """Talk until the person leaves; the exit code. Nothing is lost by leaving."""
        with self._runner:
            try:
                if reopen:
                    self._reopen()
                self._talk()
            except EOFError:
                self._leave()
                return 0 if self._happy and not self._client.pending else LEFT_OPEN
            except KeyboardInterrupt:
                self._leave()
                return INTERRUPTED
            except ClientError as error:
                self._fail(error)
                self._leave()
                return LEFT_OPEN
            finally:
                self._runner.run(self._client.aclose())

    def _talk(self) -> NoReturn:
        while True:
            while self._client.pending:
                self._answer()
            text = self._terminal.ask(">", typed=self._unsaid, remember=True)
            self._unsaid = ""
            if text:
                self._say(text)

    def _reopen(self) -> None:
        try:
            self._runner.run(self._follow(self._client.connect(), opening=True))
        except Refused as error:
            if error.status not in _NOT_SHOWN:
                raise
            self._terminal.say("The server does not show this thread; it may be a new one.")

    def _say(self, text: str) -> None:
        message = {"id": f"m-{uuid4().hex}", "role": "user", "content": text}
        self._telling.heard(message)
        self._begun = True
        if self._exchange(self._client.run(messages=[message])) or not self._reached:
            return
        if not self._catch_up():
            return
        if all(each["id"] != message["id"] for each in self._client.messages):
            self._unsaid = text
            self._terminal.say("What you wrote did not arrive. Write it again.")
        else:
            self._happy = self._client.outcome != "error"

    def _answer(self) -> None:
        """Every open question in turn, then one request with all answers (CL-01)."""
        pending = list(self._client.pending)
        answers = {}
        try:
            for number, interrupt in enumerate(pending, 1):
                if len(pending) > 1:
                    self._terminal.say(f"Question {number} of {len(pending)}")
                call = self._client.call(interrupt.get("toolCallId", ""))
                answers[interrupt["id"]] = put(interrupt, call, self._terminal, self._clock.now)
        except LookAgain:
            self._catch_up()
            return
        while not self._exchange(self._client.resume(answers)):
            seen = self._catch_up()
            if [each["id"] for each in self._client.pending] != list(answers):
                self._happy = seen and self._client.outcome != "error"
                return
            # The same questions are still open, so the answers did not arrive.
            if not self._terminal.confirm("Send the answers again?"):
                return

    def _exchange(self, events: AsyncGenerator[Json, None]) -> bool:
        """Follow a run; whether it is known how it ended. A failed run is looked at once more."""
        self._happy = False
        try:
            self._runner.run(self._follow(events, opening=False))
        except Refused as error:
            self._fail(error)
            return error.status < 500
        except Expired as error:
            self._fail(error)
            self._catch_up()
            return True
        except ClientError as error:
            self._fail(error)
            return False
        self._happy = self._client.outcome != "error"
        if not self._happy:
            # What it was refused for, somebody else's answer say, is to be seen in the thread.
            self._catch_up()
        return True

    def _catch_up(self) -> bool:
        """See how the thread stands, and follow it; False if the server does not say."""
        for wait in self._waits:
            if wait:
                self._terminal.say(f"Trying again in {wait:g} s; Ctrl-C leaves.")
                self._runner.run(asyncio.sleep(wait))
            try:
                self._runner.run(self._follow(self._client.connect(), opening=True))
            except (Unreachable, Truncated):
                continue
            except Refused as error:
                if error.status < 500:
                    return False
            except ClientError as error:
                self._fail(error)
                return False
            else:
                return True
        return False

    async def _follow(self, events: AsyncGenerator[Json, None], *, opening: bool) -> None:
        async with aclosing(events):
            async for event in events:
                self._reached = True
                if self._events:
                    sys.stdout.buffer.write(orjson.dumps(event) + b"\n")
                    sys.stdout.buffer.flush()
                else:
                    self._telling.event(event, opening=opening)
        self._terminal.end_line()
        if self._client.error is not None:
            code = self._client.error.get("code")
            told = f"{self._client.error['message']}{f' ({code})' if code else ''}"
            self._terminal.say(f"The run failed: {told}", typer.colors.RED)
        elif self._client.outcome == "cancelled":
            self._terminal.say("The run was cancelled.", typer.colors.YELLOW)

    def _fail(self, error: ClientError) -> None:
        self._terminal.end_line()
        self._begun &= self._reached or not isinstance(error, Unreachable)
        told = str(error)
        if isinstance(error, Truncated):
            told = "the connection was lost before the run ended; this is how it stands:"
        elif isinstance(error, Refused) and error.status == 401:
            told = f"{told} Give a token by --token or SAYSO_TOKEN."
        typer.echo(f"sayso: {told}", err=True)

    def _leave(self) -> None:
        """Say how to come back, where there is something to come back to."""
        self._terminal.end_line()
        if not (self._begun or self._client.messages or self._client.pending):
            return
        waits = "It waits for your answer. " if self._client.pending else ""
        typer.echo(f"{waits}Go on with: {self._again}", err=True)
