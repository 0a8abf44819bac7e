"""Requirements: where texts and real clients disagree."""

from tests.contract.verdicts import TESTED, Requirement, divergence, not_ours

PROTOBUF = not_ours("protobuf is not offered")

RULES = {
    "TR-01": Requirement(
        "spec and guide",
        "Unknown ids beside full coverage are dropped with a warning.",
        divergence('unknown ids are refused unless unknown_entries="ignore", design 10'),
    ),
    "TR-02": Requirement(
        "spec and guide",
        "New input on an interrupted thread is refused, and nothing is lost.",
        TESTED,
    ),
    "TR-03": Requirement(
        "copilotkit hook",
        "A refused resume may end in the interrupts again.",
        TESTED,
    ),
    "TR-04": Requirement(
        "observed",
        "A consumed answer whose run failed can be sent again.",
        TESTED,
    ),
    "TR-05": Requirement(
        "spec events/lifecycle",
        "A late error leaves the interrupts open.",
        TESTED,
    ),
    "TR-06": Requirement(
        "client 1.0.0 apply",
        "In a replay the interrupted run is the last.",
        TESTED,
    ),
    "TR-07": Requirement(
        "copilotkit hook",
        "A reused runId is taken, echoed and never a key.",
        TESTED,
    ),
    "TR-08": Requirement(
        "copilotkit hook",
        "A client's own tool message for a gated call is ignored.",
        TESTED,
    ),
    "TR-09": Requirement(
        "copilotkit hook",
        "Tool-bound interrupts keep the reason tool_call.",
        TESTED,
    ),
    "TR-10": Requirement(
        "observed",
        "A replay never streams a known call again.",
        TESTED,
    ),
    "TR-11": Requirement(
        "third-party validator",
        "A lone result comes after a snapshot that knows its call.",
        TESTED,
    ),
    "TR-12": Requirement(
        "observed",
        "No null gets into an interrupt.",
        TESTED,
    ),
    "TR-13": Requirement(
        "client 0.0.59 schema",
        "Shapes of 1.0 go only to peers that declared it.",
        TESTED,
    ),
    "TR-14": Requirement(
        "observed",
        "An error never hides in a 200 without stream.",
        TESTED,
    ),
    "TR-15": Requirement(
        "observed",
        "Frames are never separated by CRLF.",
        TESTED,
    ),
    "TR-16": Requirement(
        "observed",
        "Only comments keep the stream alive.",
        TESTED,
    ),
    "TR-17": Requirement(
        "observed",
        "A shutdown ends its streams cleanly.",
        TESTED,
    ),
    "TR-18": Requirement(
        "client 1.0.0 enforce",
        "A null payload counts as absent.",
        TESTED,
    ),
    "TR-19": Requirement(
        "observed",
        "Times are UTC with Z, made in one place.",
        TESTED,
    ),
    "TR-20": Requirement(
        "Python SDK models",
        "Interrupts are built strictly and every event is checked.",
        TESTED,
    ),
    "TR-21": Requirement(
        "Python SDK models",
        "Requests are cleaned before strict models see them.",
        TESTED,
    ),
    "TR-22": Requirement(
        "Python SDK encoder",
        "Whatever is accepted, events are sent as text.",
        TESTED,
    ),
    "TR-23": Requirement(
        "spec transports/http-protobuf",
        "Protobuf is sent only to those who name it.",
        PROTOBUF,
    ),
    "TR-24": Requirement(
        "observed",
        "The user's own message is in the snapshot.",
        TESTED,
    ),
    "TR-25": Requirement(
        "guide interrupts",
        "A confirmation without schema is read strictly.",
        TESTED,
    ),
    "TR-26": Requirement(
        "copilotkit hook",
        "The outcome is sent by default.",
        TESTED,
    ),
    "TR-27": Requirement(
        "langgraph adapter",
        "Every spelling of a legacy answer is read in one place.",
        TESTED,
    ),
    "TR-28": Requirement(
        "copilotkit hook",
        "After one legacy answer the rest is asked again.",
        TESTED,
    ),
    "TR-29": Requirement(
        "client 1.0.0 agent",
        "The channel is chosen per peer.",
        TESTED,
    ),
    "TR-30": Requirement(
        "observed",
        "A denied call has a result, or clients count it as pending.",
        TESTED,
    ),
    "TR-31": Requirement(
        "guide interrupts",
        "Both snapshots are sent at every pause.",
        TESTED,
    ),
    "TR-32": Requirement(
        "client 1.0.0 apply",
        "The hook keeps a store of its own.",
        TESTED,
    ),
    "TR-33": Requirement(
        "open",
        "Error codes are one documented list without abort for failures.",
        TESTED,
    ),
    "TR-34": Requirement(
        "schema TokenUsage",
        "A wrong number never destroys the terminal event.",
        TESTED,
    ),
    "TR-35": Requirement(
        "schema MultiAgentCapabilities",
        "The declaration is checked for misspelt members.",
        TESTED,
    ),
    "TR-36": Requirement(
        "schema TextMessageContent",
        "Empty deltas are legal and avoided.",
        TESTED,
    ),
    "TR-37": Requirement(
        "observed",
        "A refused resume opens its run before the error.",
        TESTED,
    ),
    "TR-38": Requirement(
        "observed",
        "A refusal of malformed input does not echo it.",
        TESTED,
    ),
    "TR-39": Requirement(
        "next conformance streams",
        "What the next client will enforce holds now.",
        TESTED,
    ),
}
