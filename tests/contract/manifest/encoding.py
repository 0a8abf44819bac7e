"""Requirements: encodings and HTTP."""

from tests.contract.verdicts import TESTED, Requirement, not_ours

PROTOBUF = not_ours("protobuf is not offered")

RULES = {
    "EN-01": Requirement(
        "spec transports",
        "HTTP with server-sent events is spoken.",
        TESTED,
    ),
    "EN-02": Requirement(
        "spec transports/http-sse",
        "The request is a JSON POST that accepts an event stream.",
        TESTED,
    ),
    "EN-03": Requirement(
        "spec transports/http-sse",
        "A started run answers 200 with the event-stream type.",
        TESTED,
    ),
    "EN-04": Requirement(
        "spec transports/http-sse",
        "Frames end in line feeds only.",
        TESTED,
    ),
    "EN-05": Requirement(
        "spec transports/http-sse",
        "A frame holds one event object, whole.",
        TESTED,
    ),
    "EN-06": Requirement(
        "spec transports/http-sse",
        "Comments keep a silent stream alive.",
        TESTED,
    ),
    "EN-07": Requirement(
        "observed",
        "JSON is strict: no NaN, no Infinity.",
        TESTED,
    ),
    "EN-08": Requirement(
        "observed",
        "A value that cannot be encoded ends in RUN_ERROR.",
        TESTED,
    ),
    "EN-09": Requirement(
        "client 1.0.0 transform",
        "No frame is larger than clients read.",
        TESTED,
    ),
    "EN-10": Requirement(
        "observed",
        "Events leave as they come, past any buffering proxy.",
        TESTED,
    ),
    "EN-11": Requirement(
        "spec transports/http-sse",
        "A stream is not resumed by event id.",
        TESTED,
    ),
    "EN-12": Requirement(
        "client 1.0.0 transform",
        "The content type says what the body is.",
        TESTED,
    ),
    "EN-13": Requirement(
        "spec transports/http-protobuf",
        "Protobuf answers only where it was accepted.",
        PROTOBUF,
    ),
    "EN-14": Requirement(
        "Python SDK encoder",
        "A request for protobuf gets server-sent events.",
        TESTED,
    ),
    "EN-15": Requirement(
        "spec transports/http-protobuf",
        "Text is never labelled as protobuf.",
        TESTED,
    ),
    "EN-16": Requirement(
        "spec transports/http-sse",
        "A body that is no JSON is refused before the run.",
        TESTED,
    ),
    "EN-17": Requirement(
        "observed",
        "The agent's path answers without a redirect.",
        TESTED,
    ),
    "EN-18": Requirement(
        "fetch standard",
        "Configured origins may call from a browser.",
        TESTED,
    ),
    "EN-19": Requirement(
        "spec transports/http-sse",
        "Comments and other fields are read over.",
        TESTED,
    ),
    "EN-20": Requirement(
        "observed",
        "Line breaks inside JSON are escaped.",
        TESTED,
    ),
}
