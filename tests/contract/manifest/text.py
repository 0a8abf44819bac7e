"""Requirements: text messages."""

from tests.contract.verdicts import TESTED, Requirement, not_ours

NO_CHUNKS = not_ours("we emit no chunk events")

RULES = {
    "TX-01": Requirement(
        "spec patterns/streaming",
        "TEXT_MESSAGE_START opens an id that is not open.",
        TESTED,
    ),
    "TX-02": Requirement(
        "spec patterns/streaming",
        "Content and end come only for an open message.",
        TESTED,
    ),
    "TX-03": Requirement(
        "schema TextMessageRole",
        "A text message states its role, and it is never tool.",
        TESTED,
    ),
    "TX-04": Requirement(
        "schema TextMessageContent",
        "A delta is a string, never null or missing.",
        TESTED,
    ),
    "TX-05": Requirement(
        "spec events/text-messages",
        "A closed message id is not opened again.",
        TESTED,
    ),
    "TX-06": Requirement(
        "spec patterns/streaming",
        "The first chunk of a message carries its id.",
        NO_CHUNKS,
    ),
    "TX-07": Requirement(
        "spec patterns/streaming",
        "Events of the same lane close a chunk stream.",
        NO_CHUNKS,
    ),
    "TX-08": Requirement(
        "spec basic/metadata",
        "Deltas join in arrival order; metadata merges key by key.",
        TESTED,
    ),
}
