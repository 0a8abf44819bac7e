"""Requirements: state at the interrupt boundary."""

from tests.contract.verdicts import TESTED, Requirement

RULES = {
    "SB-01": Requirement(
        "guide interrupts",
        "State and messages are sent before the interrupt outcome.",
        TESTED,
    ),
    "SB-02": Requirement(
        "spec events/lifecycle",
        "The boundary has one order: closers, snapshots, outcome.",
        TESTED,
    ),
    "SB-03": Requirement(
        "guide interrupts",
        "A replayed turn looks the same as one that went straight on.",
        TESTED,
    ),
    "SB-04": Requirement(
        "spec basic/run-input",
        "Stored facts win over those a resume brings; an edited state counts.",
        TESTED,
    ),
    "SB-05": Requirement(
        "guide interrupts",
        "What was approved runs with stored arguments, whatever the client sends.",
        TESTED,
    ),
    "SB-06": Requirement(
        "spec patterns/snapshots",
        "A resumed run opens with the messages as they stand.",
        TESTED,
    ),
    "SB-07": Requirement(
        "spec events/state",
        "Snapshots hold nothing of the server's own resume data.",
        TESTED,
    ),
}
