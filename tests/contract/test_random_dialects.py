"""Clients of every dialect on one thread, in any order: one state, one set of checks.

To the tabs, the inbox and the stops of `test_random_clients` come hooks of the older dialect and
sessions, which answer rightly, wrongly, twice, by name and without. The invariants are the same.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.contract.legacy import ABSENT, asked_of, command, ids
from tests.contract.requirements import requirement
from tests.contract.server import Client, served
from tests.contract.sessions import PATH, Session, frames_of
from tests.contract.test_random_clients import ENDINGS, Play
from tests.share import share

RESUMES: tuple[Any, ...] = (
    *({"approved": True}, {"approved": True}, {"approved": False}, 3, 3),
    *('{"approved": true}', "3", "yes", None, {"approved": "yes"}, ABSENT),
)
ANSWERS: tuple[Any, ...] = ("yes", "yes", "no", 3, "3", {"approved": True}, "maybe", None)


class Dialects(Play):
    """A play with guests."""

    async def step(self) -> None:
        """One action of a tab, of an old hook, or of a session."""
        match self.random.randrange(4):
            case 0:
                await self.old_hook(self.tab)
            case 1:
                await self.session(self.tab)
            case _:
                await super().step()

    async def old_hook(self, tab: Client) -> None:
        """Asked by event; answers what it was asked, or what it makes of it."""
        old = asked_of(tab, self.random.choice(("legacy", "both")))
        asked = (await old.connect()).asked
        event = self.random.choice([*asked, ABSENT, "?", {"id": "int_x"}])
        resume = self.random.choice(RESUMES)
        if asked and self.random.random() < 0.2:
            each = None if resume is ABSENT else resume
            event, resume = ABSENT, dict.fromkeys(ids(asked), each)
        for _ in range(self.random.choice((1, 1, 2))):
            old.model.messages = [m for m in old.model.messages if m["role"] != "activity"]
            run = await old.run(forwardedProps=command(resume, event))
            assert run.silent or run.outcome in ENDINGS, run.last

    async def session(self, tab: Client) -> None:
        """Says something, or answers, or looks, by three plain requests."""
        guest = Session(self.server.app, session_id=tab.thread, agent=tab.agent)
        for _ in range(self.random.choice((1, 2, 2))):
            match self.random.randrange(4):
                case 0:
                    run = await guest.call("POST", PATH, guest.chat_body(self.words()))
                    allowed = {200, 409}
                case 1:
                    run = await guest.call("GET", f"{PATH}?session_id={guest.id}")
                    allowed = {200, 404}
                case _:
                    run = await guest.send(self.random.choice(ANSWERS))
                    allowed = {200, 404, 409, 422}
            assert run.status in allowed, run.body
            if run.status == 200:
                frames_of(run)


@requirement("LG-14")
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("seed", range(share(10, of=2)))
async def test_whatever_dialects_meet_the_thread_stays_whole(
    tmp_path: Path, kind: str, seed: int
) -> None:
    """Design 5: a thread opened in one is answered in another; a failure names its seed."""
    async with served(kind, tmp_path) as server:
        play = Dialects(server, seed)
        for _ in range(30):
            await play.step()
        await play.check()
