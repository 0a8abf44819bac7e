"""A thread on a terminal: text in, answers out, questions put where a run ends in them.

`endpoint_of` finds the address of its agent, from what the command was given.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from typing import Any, Final, NoReturn
from urllib.parse import quote, urlsplit
from uuid import uuid4

import httpx
import orjson
import typer

from sayso.base import jsonvalue
from sayso.base.printable import address
from sayso.cli.chat.questions import LookAgain, ask_person
from sayso.cli.chat.terminal import Terminal, shown
from sayso.cli.chat.transcript import TranscriptPrinter
from sayso.client import (
    Client,
    ClientError,
    Expired,
    RefusedByServer,
    SignInEnded,
    Truncated,
    Unreachable,
    bodies,
)
from sayso.ops.binding import CannotStart

Json = dict[str, Any]
TIMEOUT_S: Final = 10.0
"""Seconds for the server to say which agents it has."""
LEFT_OPEN: Final = 1
INTERRUPTED: Final = 130
WAITS: Final = (0.0, 1.0, 2.0, 4.0, 8.0, 15.0)
"""Seconds before each look at a thread whose server has gone away."""
_NOT_SHOWN: Final = (404, 405)
"""Statuses for a thread that the server does not have, or cannot open again."""


class TerminalChat:
    """One thread. `again` is the command that comes back to it; `events` prints them as JSON."""

    def __init__(
        self, client: Client, *, again: str, events: bool, waits: Sequence[float] = WAITS
    ) -> None:
        self._client = client
        self._again = again
        self._events = events
        self._waits = waits
        self._terminal = Terminal(aside=events)
        self._telling = TranscriptPrinter(client, self._terminal)
        self._runner = asyncio.Runner()
        self._happy = True
        """True if the last request to the agent ended well."""
        self._reached = False
        """True once the server has answered at all."""
        self._unsaid = ""
        """Text that was written and did not arrive."""
        self._begun = False
        """True if the thread may exist, although nothing of it was seen yet."""

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
        except RefusedByServer as error:
            if error.status not in _NOT_SHOWN:
                raise
            self._terminal.say("The server does not know this conversation yet. Write to begin it.")

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
            self._terminal.say("Not sent. Write it again.")
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
                answers[interrupt["id"]] = ask_person(
                    interrupt, call, self._terminal, self._client.now
                )
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
        """Follow a run; True if its end is known. After a failure the thread is read again."""
        self._happy = False
        try:
            self._runner.run(self._follow(events, opening=False))
        except RefusedByServer as error:
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
            # The thread shows why it was refused: another person's answer, for example.
            self._catch_up()
        return True

    def _catch_up(self) -> bool:
        """Read the thread and follow it; True unless the server does not answer."""
        for wait in self._waits:
            if wait:
                self._terminal.say(f"Trying again in {wait:g} s; Ctrl-C leaves.")
                self._runner.run(asyncio.sleep(wait))
            try:
                self._runner.run(self._follow(self._client.connect(), opening=True))
            except (Unreachable, Truncated):
                continue
            except RefusedByServer as error:
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
            text = f"{self._client.error['message']}{f' ({code})' if code else ''}"
            what = "Refused, nothing changed" if self._client.refused else "The agent failed"
            self._terminal.say(f"{what}: {text}", typer.colors.RED)
        elif self._client.outcome == "cancelled":
            self._terminal.say("Stopped.", typer.colors.YELLOW)

    def _fail(self, error: ClientError) -> None:
        self._terminal.end_line()
        self._begun &= self._reached or not isinstance(error, Unreachable)
        text = str(error)
        if isinstance(error, SignInEnded):
            text = "Your sign-in has ended. Give a new token by --token or SAYSO_TOKEN."
        elif isinstance(error, Truncated):
            text = "The connection was lost. This is the current state:"
        elif isinstance(error, RefusedByServer) and error.status == 401:
            text = f"{text} Give a token by --token or SAYSO_TOKEN."
        typer.echo(f"sayso: {shown(text)}", err=True)

    def _leave(self) -> None:
        """Say how to come back, if there is something to come back to."""
        self._terminal.end_line()
        if not (self._begun or self._client.messages or self._client.pending):
            return
        waits = "It waits for your answer. " if self._client.pending else ""
        typer.echo(f"{waits}Continue with: {self._again}", err=True)


def endpoint_of(url: str, agent: str | None, token: str | None) -> tuple[str, str | None]:
    """Find the endpoint of an agent, and its name if it was named or is the only one.

    A server that does not list its agents is believed to have the one that is named.

    Raises:
        CannotStart: an invalid address, a server that cannot be reached or refuses entry, or an
            agent that it does not have.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise CannotStart(
            f"{address(url)!r} is not an address; write one like http://127.0.0.1:8000"
        )
    root, named = url.rstrip("/"), address(url.rstrip("/"))
    if agent is None and parts.path not in ("", "/"):
        _see_endpoint(url, token)
        return url, None
    listed = _agents(root, token)
    if agent is None and listed is not None and len(listed) == 1:
        agent = listed[0]
    if agent is None:
        which = f" one of {', '.join(listed)}" if listed else " an agent"
        raise CannotStart(f"name{which} with --agent, or give an agent's endpoint as the URL")
    if listed is not None and agent not in listed:
        has = f"it has {', '.join(listed)}" if listed else "it has none"
        raise CannotStart(f"{named} has no agent {agent!r}; {has}")
    return f"{root}/agents/{quote(agent, safe='')}", agent


def _get(url: str, named: str, token: str | None) -> tuple[httpx.Response, bytes]:
    """The answer to a GET; CannotStart where there is none, or no entry. `named`: for people."""
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    try:
        with httpx.stream("GET", url, headers=headers, timeout=TIMEOUT_S) as answer:
            body = bodies.read(answer.iter_bytes())
    except httpx.HTTPError as error:
        reason = str(error) or type(error).__name__
        raise CannotStart(f"{address(named)} gave no answer: {reason}") from None
    if answer.status_code in (401, 403):
        raise CannotStart(
            f"{address(named)} does not let you in ({answer.status_code}): give a token by "
            "--token or SAYSO_TOKEN"
        )
    return answer, body


def _see_endpoint(url: str, token: str | None) -> None:
    """See that a server is there and does not say, in a problem, that it has nothing there.

    Others than Sayso may answer a GET as they like: their endpoints take a POST.
    """
    answer, body = _get(url, url, token)
    if answer.status_code == httpx.codes.NOT_FOUND:
        with suppress(ValueError, LookupError, TypeError):
            problem: Any = jsonvalue.decode(body)
            raise CannotStart(f"{address(url)} is no agent's endpoint: {problem['detail']}")


def _agents(root: str, token: str | None) -> list[str] | None:
    """The names of a server's agents; None where it does not say."""
    answer, body = _get(f"{root}/agents", root, token)
    if answer.status_code != httpx.codes.OK:
        return None
    try:
        items: Any = jsonvalue.decode(body)["items"]
        return [str(item["name"]) for item in items]
    except (ValueError, LookupError, TypeError):
        return None
