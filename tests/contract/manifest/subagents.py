"""Requirements: subagents and interrupts."""

from tests.contract.verdicts import TESTED, Requirement

RULES = {
    "SA-01": Requirement(
        "spec events/subagents",
        "A subagent that asks is closed as suspended.",
        TESTED,
    ),
    "SA-02": Requirement(
        "spec events/subagents",
        "An interrupt names the subagent that raised it.",
        TESTED,
    ),
    "SA-03": Requirement(
        "spec events/subagents",
        "A suspended subagent names its own interrupts only.",
        TESTED,
    ),
    "SA-04": Requirement(
        "schema SubagentFinished",
        "Those names match the outcome's interrupts.",
        TESTED,
    ),
    "SA-05": Requirement(
        "spec events/subagents",
        "A subagent run id is not used twice in a run.",
        TESTED,
    ),
    "SA-06": Requirement(
        "guide subagents",
        "A resumed subagent keeps its id.",
        TESTED,
    ),
    "SA-07": Requirement(
        "guide subagents",
        "The client moves a continued group from waiting to running.",
        TESTED,
    ),
    "SA-08": Requirement(
        "spec events/subagents",
        "A subagent is announced before its events.",
        TESTED,
    ),
    "SA-09": Requirement(
        "spec events/subagents",
        "Continuations keep the owner of their opener.",
        TESTED,
    ),
    "SA-10": Requirement(
        "schema RunStarted",
        "Run events and snapshots have no subagent.",
        TESTED,
    ),
    "SA-11": Requirement(
        "spec events/subagents",
        "A subagent's state is the run's state.",
        TESTED,
    ),
    "SA-12": Requirement(
        "guide subagents",
        "Subagent events are sent only where they are wanted.",
        TESTED,
    ),
    "SA-13": Requirement(
        "spec patterns/interrupt-resume",
        "Answers reach the subagent that asked.",
        TESTED,
    ),
}
