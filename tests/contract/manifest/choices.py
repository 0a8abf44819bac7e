"""Requirements: where the texts leave a choice, and ours."""

from tests.contract.verdicts import TESTED, Requirement, divergence

RULES = {
    "OC-01": Requirement(
        "design 4",
        "A resume that cannot be taken is refused, and nothing changes.",
        TESTED,
    ),
    "OC-02": Requirement(
        "design 5",
        "A peer that declares no version gets no shape that old clients choke on.",
        TESTED,
    ),
    "OC-03": Requirement(
        "design 4",
        "A stopped run ends as cancelled, or as abort for an older peer.",
        TESTED,
    ),
    "OC-04": Requirement(
        "design 4",
        "A second, different answer is refused, saying by whom and when.",
        TESTED,
    ),
    "OC-05": Requirement(
        "design 4",
        "An expired interrupt is settled by the server.",
        divergence('on_expire="expire" settles at expiry and says so, design 10'),
    ),
    "OC-06": Requirement(
        "design 4",
        "A warning travels where clients can read it and none must.",
        TESTED,
    ),
    "OC-07": Requirement(
        "design 5",
        "Open interrupts come back by connecting to the thread.",
        TESTED,
    ),
    "OC-08": Requirement(
        "design 5",
        "Capabilities are served beside the agent.",
        TESTED,
    ),
    "OC-09": Requirement(
        "design 3",
        "The history keeps the proposal, and the result what was executed.",
        TESTED,
    ),
    "OC-10": Requirement(
        "design 3",
        "The result of a call that was not executed says which way it ended.",
        TESTED,
    ),
    "OC-11": Requirement(
        "design 4",
        "Each refusal has one code and one status.",
        TESTED,
    ),
    "OC-12": Requirement(
        "design 4",
        "Cancelling everything and saying something new go in one request.",
        TESTED,
    ),
    "OC-13": Requirement(
        "design 2",
        "Interrupt ids are random and kept by the store.",
        TESTED,
    ),
    "OC-14": Requirement(
        "design 3",
        "A new question has a new id, the same one keeps its own.",
        TESTED,
    ),
    "OC-15": Requirement(
        "design 5",
        "A run whose client left is finished and stored.",
        TESTED,
    ),
    "OC-16": Requirement(
        "design 4",
        "Settled answers are kept as long as their thread.",
        TESTED,
    ),
    "OC-17": Requirement(
        "design 5",
        "Steps are sent, the request is not echoed.",
        TESTED,
    ),
    "OC-18": Requirement(
        "design 5",
        "Subagent events go to those who can read them.",
        TESTED,
    ),
    "OC-19": Requirement(
        "design 7",
        "Schemas are bounded, with formats asserted and nothing fetched.",
        TESTED,
    ),
    "OC-20": Requirement(
        "design 3",
        "Several approvers, delegation and escalation are the server's business.",
        TESTED,
    ),
    "OC-21": Requirement(
        "design 5",
        "We declare 1.0.",
        TESTED,
    ),
}
