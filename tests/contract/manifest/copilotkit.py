"""Requirements: what CopilotKit's hook does on the wire."""

from tests.contract.verdicts import Requirement, not_ours

ITS_OWN = not_ours("what that hook does; our rules for it are among the traps")

RULES = {
    "CK-01": Requirement(
        "copilotkit hook",
        "It shows interrupts when the run is final, and none to a late mount.",
        ITS_OWN,
    ),
    "CK-02": Requirement(
        "copilotkit hook",
        "It collects one answer each and sends them together.",
        ITS_OWN,
    ),
    "CK-03": Requirement(
        "copilotkit hook",
        "After deciding it ignores clicks until the next run.",
        ITS_OWN,
    ),
    "CK-04": Requirement(
        "copilotkit hook",
        "It resumes under the interrupted run's own runId.",
        ITS_OWN,
    ),
    "CK-05": Requirement(
        "copilotkit hook",
        "It writes a tool message of its own for a tool-bound interrupt.",
        ITS_OWN,
    ),
    "CK-06": Requirement(
        "copilotkit hook",
        "One expired interrupt makes it send nothing.",
        ITS_OWN,
    ),
    "CK-07": Requirement(
        "copilotkit hook",
        "A run that fails clears its card and still blocks new messages.",
        ITS_OWN,
    ),
    "CK-08": Requirement(
        "copilotkit hook",
        "Its runAgent swallows errors.",
        ITS_OWN,
    ),
    "CK-09": Requirement(
        "copilotkit hook",
        "An event against the schema ends the stream in silence.",
        ITS_OWN,
    ),
    "CK-10": Requirement(
        "copilotkit hook",
        "It runs calls without result through tools of the same name.",
        ITS_OWN,
    ),
    "CK-11": Requirement(
        "copilotkit hook",
        "Of several legacy interrupts it shows the last.",
        ITS_OWN,
    ),
    "CK-12": Requirement(
        "copilotkit hook",
        "A disabled hook leaves interrupts open.",
        ITS_OWN,
    ),
    "CK-13": Requirement(
        "copilotkit hook",
        "It sends its own properties along with every command.",
        ITS_OWN,
    ),
    "CK-14": Requirement(
        "copilotkit hook",
        "Its older hook wraps the newer one.",
        ITS_OWN,
    ),
    "CK-15": Requirement(
        "copilotkit runtime",
        "Its runtime calls us through a client that checks no resume.",
        ITS_OWN,
    ),
}
