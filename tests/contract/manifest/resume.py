"""Requirements: the resume array and the contract rules."""

from tests.contract.verdicts import TESTED, Requirement, divergence

RULES = {
    "RE-01": Requirement(
        "schema ResumeEntry",
        "An entry has an id and one of two statuses.",
        TESTED,
    ),
    "RE-02": Requirement(
        "spec basic/run-input",
        "A malformed resume is refused before the run, without a stream.",
        TESTED,
    ),
    "RE-03": Requirement(
        "spec patterns/interrupt-resume",
        "A refusal travels in the payload of a resolved entry.",
        TESTED,
    ),
    "RE-04": Requirement(
        "guide interrupts",
        "The payload of a cancelled entry is not sent, and ignored.",
        TESTED,
    ),
    "RE-05": Requirement(
        "client 1.0.0 enforce",
        "An absent payload and null are one.",
        TESTED,
    ),
    "RE-06": Requirement(
        "spec patterns/interrupt-resume",
        "Entry metadata is kept and is no part of the answer.",
        TESTED,
    ),
    "RE-07": Requirement(
        "observed",
        "An empty resume array is no resume.",
        TESTED,
    ),
    "RE-08": Requirement(
        "spec patterns/interrupt-resume",
        "Two entries for one id: equal ones are one, others are refused.",
        TESTED,
    ),
    "RE-09": Requirement(
        "spec patterns/interrupt-resume",
        "A resume may bring messages, state, tools and context.",
        TESTED,
    ),
    "CR-1": Requirement(
        "guide interrupts, rule 1",
        "A resume stays on its thread; foreign ids are unknown ids.",
        TESTED,
    ),
    "CR-2": Requirement(
        "guide interrupts, rule 2",
        "An entry names an interrupt of the run that was interrupted.",
        TESTED,
    ),
    "CR-3": Requirement(
        "guide interrupts, rule 3",
        "All open interrupts are answered at once; none is taken for dropped.",
        TESTED,
    ),
    "CR-4": Requirement(
        "guide interrupts, rule 4",
        "Open interrupts block new input, and the refusal says so.",
        TESTED,
    ),
    "CR-5": Requirement(
        "guide interrupts, rule 5",
        "The same answer may be sent again.",
        TESTED,
    ),
    "CR-6": Requirement(
        "guide interrupts, rule 6",
        "A payload is held against its schema before anything runs.",
        TESTED,
    ),
    "CR-7": Requirement(
        "guide interrupts, rule 7",
        "An expired interrupt cannot be answered.",
        TESTED,
    ),
    "CR-8": Requirement(
        "guide interrupts, rule 8",
        "A missing or wrong payload is an error, never a default answer.",
        TESTED,
    ),
    "RE-10": Requirement(
        "spec patterns/interrupt-resume",
        "Entries on a thread with nothing open answer nothing.",
        divergence("unknown ids without a new message are refused, design 10"),
    ),
    "RE-11": Requirement(
        "spec patterns/interrupt-resume",
        "An absent entry never sets the action off.",
        TESTED,
    ),
    "RE-12": Requirement(
        "spec patterns/interrupt-resume",
        "The same question asked again keeps its id.",
        TESTED,
    ),
    "RE-13": Requirement(
        "spec patterns/interrupt-resume",
        "A server that keeps interrupts is bound to notice gaps.",
        TESTED,
    ),
    "RE-14": Requirement(
        "spec patterns/interrupt-resume",
        "A resumed run is a run of its own.",
        TESTED,
    ),
    "RE-15": Requirement(
        "schema ResumeEntry",
        "The order of entries does not matter.",
        TESTED,
    ),
    "RE-16": Requirement(
        "spec patterns/interrupt-resume",
        "A mixed batch is settled entry by entry.",
        TESTED,
    ),
    "RE-17": Requirement(
        "guide interrupts",
        "The whole batch is checked before any effect.",
        TESTED,
    ),
    "RE-18": Requirement(
        "client 1.0.0 agent",
        "The hook catches the client's own refusal to send.",
        TESTED,
    ),
    "RE-19": Requirement(
        "observed",
        "The server checks coverage though the client may not.",
        TESTED,
    ),
    "RE-20": Requirement(
        "client 1.0.0 agent",
        "Pending interrupts do not leak into another thread.",
        TESTED,
    ),
}
