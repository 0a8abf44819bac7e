"""Requirements: the legacy transport."""

from tests.contract.verdicts import TESTED, Requirement, divergence, not_ours

COMPARISON = not_ours("what another producer does, for comparison")

RULES = {
    "LG-01": Requirement(
        "langgraph adapter",
        "on_interrupt comes once per interrupt, right before RUN_FINISHED.",
        TESTED,
    ),
    "LG-02": Requirement(
        "langgraph adapter",
        "Its value is text: a string as it is, anything else as JSON.",
        TESTED,
    ),
    "LG-03": Requirement(
        "copilotkit hook",
        "Both readings of the value work.",
        TESTED,
    ),
    "LG-04": Requirement(
        "copilotkit hook",
        "A legacy answer comes in forwardedProps.command.",
        TESTED,
    ),
    "LG-05": Requirement(
        "langgraph adapter",
        "Presence makes an answer, truth does not.",
        TESTED,
    ),
    "LG-06": Requirement(
        "langgraph adapter, TypeScript",
        "Both ways to read a null answer are known.",
        TESTED,
    ),
    "LG-07": Requirement(
        "langgraph adapter",
        "The resume array wins over the command.",
        TESTED,
    ),
    "LG-08": Requirement(
        "langgraph adapter",
        "LangGraph asks again where a resume is missing.",
        COMPARISON,
    ),
    "LG-09": Requirement(
        "langgraph adapter",
        "An interrupt goes out on at least one channel.",
        TESTED,
    ),
    "LG-10": Requirement(
        "langgraph adapter",
        "LangGraph wraps several answers in a map of its own.",
        COMPARISON,
    ),
    "LG-11": Requirement(
        "copilotkit hook",
        "Several questions reach such a client one after another.",
        TESTED,
    ),
    "LG-12": Requirement(
        "client 1.0.0 agent",
        "A sent outcome makes the client block legacy answers.",
        TESTED,
    ),
    "LG-13": Requirement(
        "observed",
        "Legacy events are sent only on request.",
        TESTED,
    ),
    "LG-14": Requirement(
        "guide interrupts",
        "A legacy answer passes the same gate as any other.",
        TESTED,
    ),
    "LG-15": Requirement(
        "spec basic/run-input",
        "The command in forwardedProps has no effect by itself.",
        divergence("legacy answers are taken by default, design 10"),
    ),
}
