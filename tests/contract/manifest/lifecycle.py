"""Requirements: run lifecycle and the order of events."""

from tests.contract.verdicts import TESTED, Requirement, not_ours

NOT_SENT = not_ours("we do not echo the request")

RULES = {
    "LC-01": Requirement(
        "spec events/lifecycle",
        "A stream opens with RUN_STARTED or RUN_ERROR.",
        TESTED,
    ),
    "LC-02": Requirement(
        "spec events/lifecycle",
        "Every way a run can end emits exactly one terminal event.",
        TESTED,
    ),
    "LC-03": Requirement(
        "spec events/lifecycle",
        "No second RUN_STARTED while a run is open.",
        TESTED,
    ),
    "LC-04": Requirement(
        "spec events/lifecycle",
        "Nothing follows RUN_FINISHED but a new run or a late RUN_ERROR.",
        TESTED,
    ),
    "LC-05": Requirement(
        "spec events/lifecycle",
        "Nothing follows RUN_ERROR but a new run.",
        TESTED,
    ),
    "LC-06": Requirement(
        "spec events/lifecycle",
        "All that a run opened is closed before RUN_FINISHED, on every outcome.",
        TESTED,
    ),
    "LC-07": Requirement(
        "spec events/lifecycle",
        "RUN_ERROR ends what is open; no closers are sent after it.",
        TESTED,
    ),
    "LC-08": Requirement(
        "spec basic/run-input",
        "Both boundary events carry the request's threadId and runId.",
        TESTED,
    ),
    "LC-09": Requirement(
        "spec transports/http-sse",
        "The body ends right after the last terminal event.",
        TESTED,
    ),
    "LC-10": Requirement(
        "spec basic/patterns",
        "A run never waits for a message from its client; it ends and asks.",
        TESTED,
    ),
    "LC-11": Requirement(
        "spec events/lifecycle",
        "When a body holds several runs, the requested one is last.",
        TESTED,
    ),
    "LC-12": Requirement(
        "spec events/lifecycle",
        "History is restated in snapshots, never streamed a second time.",
        TESTED,
    ),
    "LC-13": Requirement(
        "spec events/lifecycle",
        "A stream that breaks the order is rejected, what came before is kept.",
        TESTED,
    ),
    "LC-14": Requirement(
        "spec events/lifecycle",
        "The client shows RUN_ERROR as a failed run, apart from a broken stream.",
        TESTED,
    ),
    "LC-15": Requirement(
        "spec events/lifecycle",
        "A RUN_ERROR after RUN_FINISHED makes the run a failed one.",
        TESTED,
    ),
    "LC-16": Requirement(
        "spec transports",
        "A body without terminal event is never shown as success.",
        TESTED,
    ),
    "LC-17": Requirement(
        "spec transports/http-sse",
        "Status 200 alone is not taken for success.",
        TESTED,
    ),
    "LC-18": Requirement(
        "spec basic",
        "Events count in the order of arrival, whatever their timestamps.",
        TESTED,
    ),
    "LC-19": Requirement(
        "spec basic",
        "The client sends a fresh runId for every run of a thread.",
        TESTED,
    ),
    "LC-20": Requirement(
        "spec basic",
        "Message ids are unique in a thread, across its runs.",
        TESTED,
    ),
    "LC-21": Requirement(
        "spec basic",
        "No meaning is read out of the shape of an id.",
        TESTED,
    ),
    "LC-22": Requirement(
        "spec basic",
        "An optional member without value is left out; nulls inside data stay.",
        TESTED,
    ),
    "LC-23": Requirement(
        "spec basic/processing",
        "Only events and members of the schema are emitted.",
        TESTED,
    ),
    "LC-24": Requirement(
        "spec events/lifecycle",
        "An echoed input is a whole RunAgentInput with its lists.",
        NOT_SENT,
    ),
    "LC-25": Requirement(
        "client 1.0.0 apply",
        "Messages in an echoed input are added to the client's own.",
        NOT_SENT,
    ),
    "LC-26": Requirement(
        "schema BaseEvent",
        "A timestamp is an integer number of milliseconds within the safe range.",
        TESTED,
    ),
    "LC-27": Requirement(
        "spec basic",
        "rawEvent and RAW decide nothing.",
        TESTED,
    ),
    "LC-28": Requirement(
        "spec basic/run-input",
        "Resuming works without parentRunId.",
        TESTED,
    ),
}
