"""Requirements: errors before and inside the stream."""

from tests.contract.verdicts import TESTED, Requirement

RULES = {
    "ER-01": Requirement(
        "spec transports/http-sse",
        "What is refused before the run is an HTTP error without stream.",
        TESTED,
    ),
    "ER-02": Requirement(
        "spec transports/http-sse",
        "What fails in the stream is RUN_ERROR under status 200.",
        TESTED,
    ),
    "ER-03": Requirement(
        "spec patterns/interrupt-resume",
        "A refused resume has one documented ending.",
        TESTED,
    ),
    "ER-04": Requirement(
        "guide interrupts",
        "Each breach of the interrupt contract has its error.",
        TESTED,
    ),
    "ER-05": Requirement(
        "schema RunError",
        "An error has a message for people and a code or none.",
        TESTED,
    ),
    "ER-06": Requirement(
        "guide interrupts",
        "A refused request has executed nothing.",
        TESTED,
    ),
    "ER-07": Requirement(
        "guide interrupts",
        "After a refused resume the interrupts can still be answered.",
        TESTED,
    ),
    "ER-08": Requirement(
        "client 1.0.0 http",
        "Errors before the stream are JSON with a status.",
        TESTED,
    ),
    "ER-09": Requirement(
        "observed",
        "No error is answered with 200 or 204.",
        TESTED,
    ),
    "ER-10": Requirement(
        "client 1.0.0 agent",
        "The client handles an error event and a rejected promise alike.",
        TESTED,
    ),
    "ER-11": Requirement(
        "client 1.0.0 transform",
        "The code abort is kept for cancelled runs.",
        TESTED,
    ),
    "ER-12": Requirement(
        "observed",
        "A connection is never cut in mid-stream.",
        TESTED,
    ),
    "ER-13": Requirement(
        "spec events/lifecycle",
        "A lost client does not cancel its run.",
        TESTED,
    ),
    "ER-14": Requirement(
        "spec index",
        "Errors show no stack, secret or echo of the request.",
        TESTED,
    ),
}
