"""Requirements: RUN_FINISHED outcomes."""

from tests.contract.verdicts import TESTED, Requirement

RULES = {
    "OU-01": Requirement(
        "schema RunFinishedOutcome",
        "An outcome is success, interrupt or cancelled, without further members.",
        TESTED,
    ),
    "OU-02": Requirement(
        "spec events/lifecycle",
        "An absent outcome is success; null is never produced.",
        TESTED,
    ),
    "OU-03": Requirement(
        "spec patterns/interrupt-resume",
        "A run that stopped to ask ends in the interrupt outcome.",
        TESTED,
    ),
    "OU-04": Requirement(
        "schema RunFinishedInterruptOutcome",
        "An interrupt outcome holds at least one interrupt.",
        TESTED,
    ),
    "OU-05": Requirement(
        "spec patterns/interrupt-resume",
        "Interrupt ids are unique in a run.",
        TESTED,
    ),
    "OU-06": Requirement(
        "schema RunFinishedOutcome",
        "Each outcome carries its own members only.",
        TESTED,
    ),
    "OU-07": Requirement(
        "spec events/lifecycle",
        "A run stopped on purpose ends as cancelled.",
        TESTED,
    ),
    "OU-08": Requirement(
        "spec events/lifecycle",
        "A cancelled run has no result.",
        TESTED,
    ),
    "OU-09": Requirement(
        "spec events/lifecycle",
        "The client shows a cancelled run as neither success nor failure.",
        TESTED,
    ),
    "OU-10": Requirement(
        "client 0.0.59 schema",
        "The cancelled outcome goes only to peers that know it.",
        TESTED,
    ),
    "OU-11": Requirement(
        "schema RunFinished",
        "A result is any JSON value but null.",
        TESTED,
    ),
    "OU-12": Requirement(
        "client 1.0.0 apply",
        "Errors leave the client's open interrupts as they were.",
        TESTED,
    ),
    "OU-13": Requirement(
        "spec events/lifecycle",
        "A late error after an interrupt outcome keeps the interrupts open.",
        TESTED,
    ),
    "OU-14": Requirement(
        "spec events/tool-calls",
        "Answers and front-end results travel in one request.",
        TESTED,
    ),
}
