"""Requirements: what the client's hook must do."""

from tests.contract.verdicts import TESTED, Requirement

RULES = {
    "CL-01": Requirement(
        "spec patterns/interrupt-resume",
        "All open interrupts are shown and answered in one resume.",
        TESTED,
    ),
    "CL-02": Requirement(
        "client 1.0.0 apply",
        "The list is taken from the event or after the run has ended.",
        TESTED,
    ),
    "CL-03": Requirement(
        "client 1.0.0 apply",
        "A subscriber that stops propagation does not blind the hook.",
        TESTED,
    ),
    "CL-04": Requirement(
        "client 1.0.0 interrupts",
        "The resume array is built whole or not at all.",
        TESTED,
    ),
    "CL-05": Requirement(
        "guide interrupts, rule 6",
        "Payloads are validated before they are sent.",
        TESTED,
    ),
    "CL-06": Requirement(
        "spec basic",
        "A resumed run gets a runId of its own.",
        TESTED,
    ),
    "CL-07": Requirement(
        "observed",
        "After a failure the cards stay, with the error shown.",
        TESTED,
    ),
    "CL-08": Requirement(
        "spec patterns/interrupt-resume",
        "A question asked again resets its form.",
        TESTED,
    ),
    "CL-09": Requirement(
        "spec events/lifecycle",
        "A cancelled run clears the cards.",
        TESTED,
    ),
    "CL-10": Requirement(
        "spec patterns/interrupt-resume",
        "After a reload the open questions are back.",
        TESTED,
    ),
    "CL-11": Requirement(
        "guide interrupts, rule 4",
        "No message is sent past an open question.",
        TESTED,
    ),
    "CL-12": Requirement(
        "spec patterns/interrupt-resume",
        "A countdown runs, and at its end only cancelling is left.",
        TESTED,
    ),
    "CL-13": Requirement(
        "guide interrupts",
        "Submits are guarded against doubling, unmounting and aborts.",
        TESTED,
    ),
    "CL-14": Requirement(
        "spec transports",
        "The hook notices a truncated stream itself.",
        TESTED,
    ),
    "CL-15": Requirement(
        "client 1.0.0 agent",
        "Rejections and error events reach the user alike.",
        TESTED,
    ),
    "CL-16": Requirement(
        "client 1.0.0 agent",
        "Switching threads clears what was pending.",
        TESTED,
    ),
    "CL-17": Requirement(
        "guide subagents",
        "Interrupts are grouped by subagent.",
        TESTED,
    ),
    "CL-18": Requirement(
        "guide interrupts",
        "A card shows the call and its arguments, even unreadable ones.",
        TESTED,
    ),
    "CL-19": Requirement(
        "observed",
        "The library asks for client 1.0.0 or newer.",
        TESTED,
    ),
    "CL-20": Requirement(
        "observed",
        "A cut connection does not bring down a Node host.",
        TESTED,
    ),
}
