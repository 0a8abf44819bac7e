"""Requirements: expiry."""

from tests.contract.verdicts import TESTED, Requirement, divergence, not_ours

OLD_CLIENTS = not_ours("a fault of older clients; EX-08 is our side of it")

RULES = {
    "EX-01": Requirement(
        "client 1.0.0 interrupts",
        "At the very moment of expiry an interrupt has expired.",
        TESTED,
    ),
    "EX-02": Requirement(
        "spec patterns/interrupt-resume",
        "The client sends no answer to an expired interrupt, but may cancel it.",
        TESTED,
    ),
    "EX-03": Requirement(
        "client 0.0.59 agent",
        "Older clients cannot even cancel an expired interrupt.",
        OLD_CLIENTS,
    ),
    "EX-04": Requirement(
        "guide interrupts",
        "A late answer is refused and executes nothing.",
        TESTED,
    ),
    "EX-05": Requirement(
        "spec patterns/interrupt-resume",
        "A late cancellation is taken.",
        TESTED,
    ),
    "EX-06": Requirement(
        "spec patterns/interrupt-resume",
        "Expiry and silence do not abandon an interrupt.",
        divergence('on_expire="expire" settles at expiry and says so, design 10'),
    ),
    "EX-07": Requirement(
        "observed",
        "The server's clock judges, whatever zone a time was written in.",
        TESTED,
    ),
    "EX-08": Requirement(
        "observed",
        "No expiry is announced unless one was set.",
        TESTED,
    ),
    "EX-09": Requirement(
        "guide interrupts",
        "One expired answer refuses its whole batch.",
        TESTED,
    ),
}
