"""Requirements: forward and backward compatibility."""

from tests.contract.verdicts import TESTED, Requirement

RULES = {
    "FC-01": Requirement(
        "spec basic/processing",
        "Unknown members of a request are dropped with a warning.",
        TESTED,
    ),
    "FC-02": Requirement(
        "spec basic/processing",
        "Unknown roles and content parts are dropped with a warning.",
        TESTED,
    ),
    "FC-03": Requirement(
        "spec basic/processing",
        "A known member of the wrong type is refused.",
        TESTED,
    ),
    "FC-04": Requirement(
        "client 0.0.59 schema",
        "The nulls of older clients are read as absent.",
        TESTED,
    ),
    "FC-05": Requirement(
        "client 0.0.59 schema",
        "The old binary part is taken for a media part.",
        TESTED,
    ),
    "FC-06": Requirement(
        "spec basic/run-input",
        "Three members are required; the rest have defaults.",
        TESTED,
    ),
    "FC-07": Requirement(
        "spec basic/processing",
        "Unknown events are dropped, malformed known ones are fatal.",
        TESTED,
    ),
    "FC-08": Requirement(
        "client 0.0.59 schema",
        "Older clients get no event they would choke on.",
        TESTED,
    ),
    "FC-09": Requirement(
        "Python SDK models",
        "The wire is camelCase; a second spelling does not win.",
        TESTED,
    ),
    "FC-10": Requirement(
        "spec basic/run-input",
        "forwardedProps reach the agent untouched.",
        TESTED,
    ),
    "FC-11": Requirement(
        "spec basic/processing",
        "Outgoing requests are cleaned before they are sent.",
        TESTED,
    ),
    "FC-12": Requirement(
        "client 1.0.0 boundary",
        "No optional member is ever null on our wire.",
        TESTED,
    ),
    "FC-13": Requirement(
        "Python SDK models",
        "Own models leave absent members out and keep inner nulls.",
        TESTED,
    ),
}
