"""Requirements: usage."""

from tests.contract.verdicts import Requirement, later

USAGE = later("usage is not built yet")

RULES = {
    "US-01": Requirement(
        "spec events/lifecycle",
        "Usage is a list with one entry per provider and model.",
        USAGE,
    ),
    "US-02": Requirement(
        "schema TokenUsage",
        "A wrong count is dropped; it never breaks the ending.",
        USAGE,
    ),
    "US-03": Requirement(
        "spec events/lifecycle",
        "What was not reported is left out, not zero.",
        USAGE,
    ),
    "US-04": Requirement(
        "spec events/lifecycle",
        "Totals include their parts.",
        USAGE,
    ),
    "US-05": Requirement(
        "spec events/lifecycle",
        "A resumed run reports its own calls only.",
        USAGE,
    ),
    "US-06": Requirement(
        "schema TokenUsage",
        "Usage holds no content and no ids.",
        USAGE,
    ),
}
