"""Requirements: security around interrupts."""

from tests.contract.verdicts import TESTED, Requirement

RULES = {
    "SE-01": Requirement(
        "spec index",
        "Nothing is shown or run as approved that was not.",
        TESTED,
    ),
    "SE-02": Requirement(
        "spec transports",
        "Knowing an id gives no right over a foreign thread.",
        TESTED,
    ),
    "SE-03": Requirement(
        "spec index",
        "All that a client sends is checked as untrusted.",
        TESTED,
    ),
    "SE-04": Requirement(
        "spec index",
        "Text from the wire is never rendered as markup.",
        TESTED,
    ),
    "SE-05": Requirement(
        "spec index",
        "What was done for a user can be audited.",
        TESTED,
    ),
    "SE-06": Requirement(
        "spec index",
        "A response schema is bounded before a form is built from it.",
        TESTED,
    ),
}
