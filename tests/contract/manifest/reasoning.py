"""Requirements: reasoning."""

from tests.contract.verdicts import TESTED, Requirement

RULES = {
    "RS-01": Requirement(
        "spec events/reasoning",
        "Spans and reasoning messages are opened once and closed in time.",
        TESTED,
    ),
    "RS-02": Requirement(
        "schema ReasoningMessageStart",
        "A reasoning message states the role reasoning.",
        TESTED,
    ),
    "RS-03": Requirement(
        "spec events/reasoning",
        "Encrypted values return unchanged with later input.",
        TESTED,
    ),
    "RS-04": Requirement(
        "spec events/reasoning",
        "A snapshot restates the encrypted value of what it restates.",
        TESTED,
    ),
    "RS-05": Requirement(
        "spec changelog",
        "Retired THINKING events are never emitted.",
        TESTED,
    ),
    "RS-06": Requirement(
        "spec events/lifecycle",
        "At a pause the message closes before its span.",
        TESTED,
    ),
}
