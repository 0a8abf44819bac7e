"""The reasons of questions, and what people read for them.

What the web reads of it is printed by `tests/unit/test_codes.py`.
"""

from collections.abc import Mapping
from typing import Final

TOOL_CALL: Final = "tool_call"
CONFIRMATION: Final = "confirmation"
INPUT_REQUIRED: Final = "input_required"
DECISION: Final = "sayso:decision"
"""A choice among options, which may permit calls."""
BREAKPOINT: Final = "sayso:breakpoint"
INDETERMINATE: Final = "sayso:indeterminate"
"""Nobody knows whether an effect happened."""
FAILED: Final = "sayso:failed"
"""A tool raised, under `on_error="ask"`."""
ELSEWHERE: Final = "sayso:elsewhere"
"""Something that a person does at another place, behind a link, and says that it is done."""
CLIENT_TOOL: Final = "sayso:client-tool"
"""A call of the client's own tool, kept as a question that no client is shown."""

LABELS: Final[Mapping[str, str]] = {
    TOOL_CALL: "Approval",
    CONFIRMATION: "Confirmation",
    INPUT_REQUIRED: "Input needed",
    INDETERMINATE: "Unclear outcome",
    FAILED: "Failed",
    DECISION: "Decision",
    BREAKPOINT: "Breakpoint",
    ELSEWHERE: "Elsewhere",
}
"""A word or two for each reason that clients are told; a reason of an author is its own label."""

NAMELESS_RULE: Final = r"^$|^always(?:#\d+)?$|^by_effect:|<lambda>"
"""The names of rules that no author gave, which nobody is shown; read by the web client as well."""
