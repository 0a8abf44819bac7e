"""Requirements: state."""

from tests.contract.verdicts import TESTED, Requirement, not_ours

RULES = {
    "SS-01": Requirement(
        "spec events/state",
        "A snapshot replaces the whole state, whatever JSON value it is.",
        TESTED,
    ),
    "SS-02": Requirement(
        "spec basic/run-input",
        "Deltas build on the request's state until the first snapshot.",
        TESTED,
    ),
    "SS-03": Requirement(
        "schema JsonPatchOperation",
        "Every patch operation is well formed.",
        TESTED,
    ),
    "SS-04": Requirement(
        "spec patterns/snapshots",
        "A patch applies whole or not at all.",
        TESTED,
    ),
    "SS-05": Requirement(
        "spec patterns/snapshots",
        "A run that continues a thread sends a snapshot.",
        TESTED,
    ),
    "SS-06": Requirement(
        "spec events/state",
        "State lives across runs and returns with the next request.",
        TESTED,
    ),
    "SS-07": Requirement(
        "spec events/state",
        "State and messages hold no secrets of the server.",
        TESTED,
    ),
    "SS-08": Requirement(
        "spec events/state",
        "State that came from a client is checked before use.",
        not_ours("the server acts on none of it; agents read it as they read any input"),
    ),
}
