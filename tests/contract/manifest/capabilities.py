"""Requirements: capabilities."""

from tests.contract.verdicts import TESTED, Requirement

RULES = {
    "CP-01": Requirement(
        "spec basic/capabilities",
        "The declaration has the shape of AgentCapabilities.",
        TESTED,
    ),
    "CP-02": Requirement(
        "spec basic/capabilities",
        "Where to fetch it is ours to choose and documented.",
        TESTED,
    ),
    "CP-03": Requirement(
        "client 1.0.0 agent",
        "Our client fetches the declaration itself.",
        TESTED,
    ),
    "CP-04": Requirement(
        "spec basic/capabilities",
        "Only what holds is declared.",
        TESTED,
    ),
    "CP-05": Requirement(
        "spec basic/capabilities",
        "Mechanisms we do not have are not declared.",
        TESTED,
    ),
    "CP-06": Requirement(
        "spec basic/capabilities",
        "The client takes silence for nothing.",
        TESTED,
    ),
    "CP-07": Requirement(
        "spec basic/capabilities",
        "The client drops an invalid declaration and keeps unknown members.",
        TESTED,
    ),
    "CP-08": Requirement(
        "schema MultiAgentCapabilities",
        "Subagents are listed under the name that 1.0 reads.",
        TESTED,
    ),
    "CP-09": Requirement(
        "guide interrupts",
        "Editing is offered per interrupt, not by a flag.",
        TESTED,
    ),
}
