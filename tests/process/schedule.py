"""One schedule of real processes, by a seed: who says what, and what breaks when."""

import random
import threading

from tests.process.people import Person
from tests.process.replicas import LEASE, Disaster, Replicas

__all__ = ["play"]

PEOPLE = 3
SLEEP = LEASE + 1.5
"""Seconds for which a process is stopped: past its lease, and until another has looked."""
SILENCE = 2.5
"""Seconds without a byte after which a client tries again."""
OTHERS: tuple[Disaster, ...] = ("kill", "cut", "cut store", "restart")
"""What happens beside one kill -9 and one process that sleeps past its lease."""
PIECES = 8
"""At most so many pieces of answers come through between two disasters."""
QUIET = 1.0
"""Seconds after which the next one comes all the same."""


def play(replicas: Replicas, seed: int) -> list[str]:
    """Let it all happen; what was done, in words. Raises AssertionError with what went wrong.

    The seed decides who does what and which disaster comes after how many pieces of answers. The
    instants in which processes are hit are the machine's.
    """
    chance = random.Random(seed)  # noqa: S311 - a play, not a secret
    replicas.calm.clear()
    people = [
        Person(
            replicas.proxy.url,
            replicas.ledger,
            chance.getrandbits(32),
            calm=replicas.calm,
            silence=SILENCE,
        )
        for _ in range(PEOPLE)
    ]
    plan: list[Disaster] = ["kill", "sleep", chance.choice(OTHERS)]
    chance.shuffle(plan)
    threads = [threading.Thread(target=one.see_through) for one in people]
    told = []
    for thread in threads:
        thread.start()
    try:
        for disaster in plan:
            replicas.proxy.wait_for(chance.randint(1, PIECES), QUIET)
            server = replicas.someone(chance)
            replicas.strike(disaster, server, sleep=SLEEP)
            told.append(f"{disaster} {replicas.servers.index(server)}")
    finally:
        replicas.settle()
        for thread in threads:
            thread.join()
    told += [f"{one.said}: {dict(one.happened)}" for one in people]
    faults = [fault for one in people for fault in one.faults()]
    assert not faults, "\n".join([*faults, *told, *(s.output()[-2000:] for s in replicas.servers)])
    return told
