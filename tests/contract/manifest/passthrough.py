"""Requirements: activity, CUSTOM, RAW and metadata."""

from tests.contract.verdicts import TESTED, Requirement

RULES = {
    "AC-01": Requirement(
        "spec events/activity",
        "An activity delta follows a snapshot of the same id.",
        TESTED,
    ),
    "AC-02": Requirement(
        "client 1.0.0 apply",
        "An activity never shares an id with a message.",
        TESTED,
    ),
    "PT-01": Requirement(
        "schema CustomEvent",
        "CUSTOM has a name and a value.",
        TESTED,
    ),
    "PT-02": Requirement(
        "spec events/passthrough",
        "Nothing that has a standard event is told by CUSTOM alone.",
        TESTED,
    ),
    "PT-03": Requirement(
        "spec events/passthrough",
        "Our custom names carry our prefix.",
        TESTED,
    ),
    "PT-04": Requirement(
        "spec events/passthrough",
        "The client ignores custom names it does not know.",
        TESTED,
    ),
    "MD-01": Requirement(
        "spec basic/metadata",
        "Metadata is an object or absent; its reserved key is left alone.",
        TESTED,
    ),
    "MD-02": Requirement(
        "spec basic/metadata",
        "Unknown metadata is kept.",
        TESTED,
    ),
}
