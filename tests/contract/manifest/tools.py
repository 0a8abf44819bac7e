"""Requirements: tool calls."""

from tests.contract.verdicts import TESTED, Requirement

RULES = {
    "TC-01": Requirement(
        "spec events/tool-calls",
        "A call opens once, and its arguments and end come while it is open.",
        TESTED,
    ),
    "TC-02": Requirement(
        "spec events/tool-calls",
        "parentMessageId names the assistant message or is absent, never null.",
        TESTED,
    ),
    "TC-03": Requirement(
        "client 1.0.0 apply",
        "The snapshot holds the call under the assistant id that was streamed.",
        TESTED,
    ),
    "TC-04": Requirement(
        "spec events/tool-calls",
        "Argument deltas join to one JSON document.",
        TESTED,
    ),
    "TC-05": Requirement(
        "spec events/tool-calls",
        "The client acts on arguments only after the call has ended.",
        TESTED,
    ),
    "TC-06": Requirement(
        "spec events/tool-calls",
        "A result has a fresh message id and content that is text.",
        TESTED,
    ),
    "TC-07": Requirement(
        "client 0.0.59 schema",
        "Result content is sent as a string.",
        TESTED,
    ),
    "TC-08": Requirement(
        "spec events/tool-calls",
        "A result in a later run does not reopen its call.",
        TESTED,
    ),
    "TC-09": Requirement(
        "client 1.0.0 apply",
        "One call gets one result: clients keep every one they see.",
        TESTED,
    ),
    "TC-10": Requirement(
        "client 1.0.0 apply",
        "A call already in history is not streamed again: arguments would double.",
        TESTED,
    ),
    "TC-11": Requirement(
        "spec events/tool-calls",
        "A front-end tool gets no result from the server and no interrupt.",
        TESTED,
    ),
    "TC-12": Requirement(
        "spec events/tool-calls",
        "A success names its unanswered calls, toward peers of 1.0 only.",
        TESTED,
    ),
    "TC-13": Requirement(
        "spec events/tool-calls",
        "The client derives unanswered calls itself.",
        TESTED,
    ),
    "TC-14": Requirement(
        "spec events/tool-calls",
        "Every front-end call is answered before the thread goes on.",
        TESTED,
    ),
    "TC-15": Requirement(
        "spec events/tool-calls",
        "A dropped content part never leaves a call without a result.",
        TESTED,
    ),
    "TC-16": Requirement(
        "spec events/tool-calls",
        "Every server call ends in one result, refused and cancelled ones too.",
        TESTED,
    ),
}
