"""Sign-ins that end here: the word about each is taken back, whatever else is known."""

import time

from sayso.base.records import Principal
from sayso.engine.service_tokens import ServiceTokens
from sayso.engine.sign_ins import KNOWN_S, SignIns
from sayso.testing import FakeClock


def _of(number: int) -> Principal:
    return Principal(subject=f"u{number}", token_id=f"session:{number}")


class Desk:
    """Sign-ins over a hook that writes down whom it is asked about."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.clock = FakeClock()
        self.sign_ins = SignIns(self.clock, ServiceTokens.__new__(ServiceTokens), self._revoked)

    async def _revoked(self, principal: Principal) -> bool:
        self.asked.append(principal.subject)
        return False

    async def seconds_of_an_end(self, known: int) -> float:
        """The CPU that the end of a sign-in takes while so many are known."""
        for number in range(known):
            await self.sign_ins.check(_of(number))
        began = time.thread_time()
        for number in range(200):
            self.sign_ins.look_again(f"session:{number}")
        return time.thread_time() - began


async def test_the_hook_is_asked_at_once_about_a_sign_in_that_has_ended_and_no_other() -> None:
    """Also one that had been asked about in that very moment; then its word counts again."""
    desk = Desk()
    for number in (1, 2):
        await desk.sign_ins.check(_of(number))
    desk.sign_ins.look_again("session:1")
    await desk.clock.advance(1)
    for number in (1, 2, 1):
        await desk.sign_ins.check(_of(number))
    assert desk.asked == ["u1", "u2", "u1"]
    await desk.clock.advance(KNOWN_S)
    desk.sign_ins.look_again("session:3")
    await desk.sign_ins.check(_of(1))
    assert desk.asked == ["u1", "u2", "u1", "u1"]


async def test_who_signs_out_again_and_again_takes_no_time_from_others() -> None:
    """However many others are signed in: at most a few times what it takes with ten."""
    few = await Desk().seconds_of_an_end(10)
    many = await Desk().seconds_of_an_end(10_000)
    assert many < 10 * few + 0.01
