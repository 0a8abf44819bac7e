"""Requirements: steps."""

from tests.contract.verdicts import NOT_YET, Requirement, later

SUBAGENTS = later("subagents are not built yet")

RULES = {
    "ST-01": Requirement(
        "spec events/lifecycle",
        "A step opens once and only an open one finishes.",
        NOT_YET,
    ),
    "ST-02": Requirement(
        "spec events/lifecycle",
        "Every step is closed before RUN_FINISHED, at a pause too.",
        NOT_YET,
    ),
    "ST-03": Requirement(
        "spec events/subagents",
        "A step finishes under the owner it started under.",
        SUBAGENTS,
    ),
}
