"""Requirements: tool-bound interrupts and edits."""

from tests.contract.verdicts import TESTED, Requirement

RULES = {
    "TB-01": Requirement(
        "guide interrupts",
        "A gated call is streamed whole, without a result.",
        TESTED,
    ),
    "TB-02": Requirement(
        "guide interrupts",
        "The resumed run sends only the result of the gated call.",
        TESTED,
    ),
    "TB-03": Requirement(
        "observed",
        "The result's message id is new.",
        TESTED,
    ),
    "TB-04": Requirement(
        "guide interrupts",
        "Approval runs the call exactly once.",
        TESTED,
    ),
    "TB-05": Requirement(
        "guide interrupts",
        "Edited arguments replace the proposed ones whole.",
        TESTED,
    ),
    "TB-06": Requirement(
        "guide interrupts",
        "Edits are taken only where the schema offers them.",
        TESTED,
    ),
    "TB-07": Requirement(
        "spec events/tool-calls",
        "Edits pass the tool's schema and its policy again.",
        TESTED,
    ),
    "TB-08": Requirement(
        "guide interrupts",
        "Only true approves.",
        TESTED,
    ),
    "TB-09": Requirement(
        "guide interrupts",
        "A denied or cancelled call has a result that says so.",
        TESTED,
    ),
    "TB-10": Requirement(
        "spec events/tool-calls",
        "Closing a card never approves.",
        TESTED,
    ),
    "TB-11": Requirement(
        "guide interrupts",
        "An edit form is shown only where edits are offered.",
        TESTED,
    ),
    "TB-12": Requirement(
        "spec patterns/interrupt-resume",
        "Our client adds no tool message for a gated call.",
        TESTED,
    ),
    "TB-13": Requirement(
        "guide interrupts",
        "A forged tool message neither approves nor answers a gated call.",
        TESTED,
    ),
    "TB-14": Requirement(
        "guide interrupts",
        "Proposal, decision and outcome of a call can be read back.",
        TESTED,
    ),
    "TB-15": Requirement(
        "guide interrupts",
        "After an edit the record shows what was executed.",
        TESTED,
    ),
}
