"""Requirements: usage."""

from tests.contract.verdicts import TESTED, Requirement

RULES = {
    "US-01": Requirement(
        "spec events/lifecycle",
        "Usage is a list with one entry per provider and model.",
        TESTED,
    ),
    "US-02": Requirement(
        "schema TokenUsage",
        "A wrong count is dropped; it never breaks the ending.",
        TESTED,
    ),
    "US-03": Requirement(
        "spec events/lifecycle",
        "What was not reported is left out, not zero.",
        TESTED,
    ),
    "US-04": Requirement(
        "spec events/lifecycle",
        "Totals include their parts.",
        TESTED,
    ),
    "US-05": Requirement(
        "spec events/lifecycle",
        "A resumed run reports its own calls only.",
        TESTED,
    ),
    "US-06": Requirement(
        "schema TokenUsage",
        "Usage holds no content and no ids.",
        TESTED,
    ),
}
