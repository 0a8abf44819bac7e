"""Requirements: the Interrupt object."""

from tests.contract.verdicts import TESTED, Requirement

RULES = {
    "IN-01": Requirement(
        "schema Interrupt",
        "An interrupt has an id and a reason.",
        TESTED,
    ),
    "IN-02": Requirement(
        "guide interrupts",
        "Ids cannot be guessed and return only for the same question.",
        TESTED,
    ),
    "IN-03": Requirement(
        "schema Interrupt",
        "The reason is an open string with three core values.",
        TESTED,
    ),
    "IN-04": Requirement(
        "guide interrupts",
        "Own reasons carry a prefix, and core: is refused.",
        TESTED,
    ),
    "IN-05": Requirement(
        "guide interrupts",
        "A tool_call interrupt names its call.",
        TESTED,
    ),
    "IN-06": Requirement(
        "guide interrupts",
        "An input_required interrupt has a response schema.",
        TESTED,
    ),
    "IN-07": Requirement(
        "guide interrupts",
        "A confirmation without schema is answered by a boolean.",
        TESTED,
    ),
    "IN-08": Requirement(
        "schema Interrupt",
        "A response schema is an object.",
        TESTED,
    ),
    "IN-09": Requirement(
        "schema Interrupt",
        "expiresAt is text, in UTC with Z.",
        TESTED,
    ),
    "IN-10": Requirement(
        "observed",
        "No member of an interrupt is null: one would lose the whole run.",
        TESTED,
    ),
    "IN-11": Requirement(
        "observed",
        "Member names are camelCase.",
        TESTED,
    ),
    "IN-12": Requirement(
        "guide interrupts",
        "The client renders an unknown reason from what the interrupt carries.",
        TESTED,
    ),
    "IN-13": Requirement(
        "guide interrupts",
        "Core reasons get their own cards; the message is the fallback.",
        TESTED,
    ),
    "IN-14": Requirement(
        "spec index",
        "Text of an interrupt is never markup.",
        TESTED,
    ),
    "IN-15": Requirement(
        "schema Interrupt",
        "A named call is known to the client and closed.",
        TESTED,
    ),
    "IN-16": Requirement(
        "guide interrupts",
        "Interrupt metadata is not expected to come back.",
        TESTED,
    ),
}
