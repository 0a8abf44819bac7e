"""Requirements: steps."""

from tests.contract.verdicts import TESTED, Requirement

RULES = {
    "ST-01": Requirement(
        "spec events/lifecycle",
        "A step opens once and only an open one finishes.",
        TESTED,
    ),
    "ST-02": Requirement(
        "spec events/lifecycle",
        "Every step is closed before RUN_FINISHED, at a pause too.",
        TESTED,
    ),
    "ST-03": Requirement(
        "spec events/subagents",
        "A step finishes under the owner it started under.",
        TESTED,
    ),
}
