"""Requirements: MESSAGES_SNAPSHOT."""

from tests.contract.verdicts import TESTED, Requirement

RULES = {
    "MS-01": Requirement(
        "spec events/state",
        "The snapshot holds every message the request brought.",
        TESTED,
    ),
    "MS-02": Requirement(
        "client 1.0.0 apply",
        "A snapshot replaces, appends and drops by id.",
        TESTED,
    ),
    "MS-03": Requirement(
        "observed",
        "The snapshot uses the very ids that were streamed.",
        TESTED,
    ),
    "MS-04": Requirement(
        "schema AssistantMessage",
        "Messages in a snapshot follow the schema, without null content.",
        TESTED,
    ),
    "MS-05": Requirement(
        "schema MessagesSnapshot",
        "The snapshot itself has no subagent.",
        TESTED,
    ),
    "MS-06": Requirement(
        "spec patterns/streaming",
        "A snapshot is sent only while no item is open.",
        TESTED,
    ),
    "MS-07": Requirement(
        "spec basic/run-input",
        "Activity messages are not sent back.",
        TESTED,
    ),
    "MS-08": Requirement(
        "spec basic/run-input",
        "A request with activity messages is taken all the same.",
        TESTED,
    ),
}
