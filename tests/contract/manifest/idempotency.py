"""Requirements: idempotency and concurrency."""

from tests.contract.verdicts import TESTED, Requirement

RULES = {
    "ID-01": Requirement(
        "guide interrupts",
        "A repeated answer has no second effect and no error.",
        TESTED,
    ),
    "ID-02": Requirement(
        "guide interrupts",
        "A repeat is known by its answers, not by its runId.",
        TESTED,
    ),
    "ID-03": Requirement(
        "observed",
        "A repeat of a finished resume is a whole run that clears the client's list.",
        TESTED,
    ),
    "ID-04": Requirement(
        "guide interrupts",
        "A crash between effect and record never runs the effect twice unasked.",
        TESTED,
    ),
    "ID-05": Requirement(
        "guide interrupts",
        "Payloads are equal as JSON values.",
        TESTED,
    ),
    "ID-06": Requirement(
        "guide interrupts",
        "The first answer stands; a different one is refused.",
        TESTED,
    ),
    "ID-07": Requirement(
        "guide interrupts",
        "Of two resumes at once exactly one executes.",
        TESTED,
    ),
    "ID-08": Requirement(
        "open",
        "A second run on a busy thread is refused.",
        TESTED,
    ),
    "ID-09": Requirement(
        "guide interrupts",
        "A double click sends one request.",
        TESTED,
    ),
    "ID-10": Requirement(
        "observed",
        "A broken resume is retried with the same entries.",
        TESTED,
    ),
}
