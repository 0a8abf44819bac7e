"""Requirements: what the official clients were seen to do."""

from tests.contract.verdicts import Requirement, not_ours

SEEN = not_ours("seen of the official client; our own rules build on it")

RULES = {
    "OB-01": Requirement(
        "seen",
        "A stream that does not open a run is rejected.",
        SEEN,
    ),
    "OB-02": Requirement(
        "seen",
        "RUN_ERROR resolves the promise and calls its own hook.",
        SEEN,
    ),
    "OB-03": Requirement(
        "seen",
        "A body without terminal event resolves in silence.",
        SEEN,
    ),
    "OB-04": Requirement(
        "seen",
        "A cut connection rejects, and once more unhandled.",
        SEEN,
    ),
    "OB-05": Requirement(
        "seen",
        "An item left open at RUN_FINISHED rejects the stream.",
        SEEN,
    ),
    "OB-06": Requirement(
        "seen",
        "Open reasoning rejects the stream in 1.0.0 only.",
        SEEN,
    ),
    "OB-07": Requirement(
        "seen",
        "The cancelled outcome is fatal before 1.0.",
        SEEN,
    ),
    "OB-08": Requirement(
        "seen",
        "pendingToolCallIds is fatal before 1.0.",
        SEEN,
    ),
    "OB-09": Requirement(
        "seen",
        "An unknown outcome is read as success, and fatal before 1.0.",
        SEEN,
    ),
    "OB-10": Requirement(
        "seen",
        "A success that carries interrupts loses them.",
        SEEN,
    ),
    "OB-11": Requirement(
        "seen",
        "A null outcome or result is read as absent.",
        SEEN,
    ),
    "OB-12": Requirement(
        "seen",
        "One null or wrong member of an interrupt rejects the stream.",
        SEEN,
    ),
    "OB-13": Requirement(
        "seen",
        "Interrupts with one id twice are both kept.",
        SEEN,
    ),
    "OB-14": Requirement(
        "seen",
        "Unknown members of an interrupt are dropped.",
        SEEN,
    ),
    "OB-15": Requirement(
        "seen",
        "An unknown event is dropped, and fatal before 1.0.",
        SEEN,
    ),
    "OB-16": Requirement(
        "seen",
        "Content parts in a result are fatal before 1.0.",
        SEEN,
    ),
    "OB-17": Requirement(
        "seen",
        "A result without its call in the same run is accepted.",
        SEEN,
    ),
    "OB-18": Requirement(
        "seen",
        "A timestamp that is no integer rejects the stream.",
        SEEN,
    ),
    "OB-19": Requirement(
        "seen",
        "A fractional count in usage rejects the stream.",
        SEEN,
    ),
    "OB-20": Requirement(
        "seen",
        "A malformed pointer rejects the stream.",
        SEEN,
    ),
    "OB-21": Requirement(
        "seen",
        "A falsy state snapshot is ignored before 1.0.",
        SEEN,
    ),
    "OB-22": Requirement(
        "seen",
        "CUSTOM without value rejects the stream.",
        SEEN,
    ),
    "OB-23": Requirement(
        "seen",
        "An echoed input without its lists is fatal before 1.0.",
        SEEN,
    ),
    "OB-24": Requirement(
        "seen",
        "Foreign ids on the boundary events are accepted for now.",
        SEEN,
    ),
    "OB-25": Requirement(
        "seen",
        "CRLF, empty and unfinished frames reject the stream.",
        SEEN,
    ),
    "OB-26": Requirement(
        "seen",
        "A frame over ten megabytes rejects the stream.",
        SEEN,
    ),
    "OB-27": Requirement(
        "seen",
        "A run past open interrupts is not sent.",
        SEEN,
    ),
    "OB-28": Requirement(
        "seen",
        "An answer to an expired interrupt is not sent.",
        SEEN,
    ),
    "OB-29": Requirement(
        "seen",
        "Cancelling an expired interrupt is sent from 1.0 on.",
        SEEN,
    ),
    "OB-30": Requirement(
        "seen",
        "After an error the interrupts still block the client.",
        SEEN,
    ),
    "OB-31": Requirement(
        "seen",
        "The same interrupt again is the open one again.",
        SEEN,
    ),
    "OB-32": Requirement(
        "seen",
        "Requests omit null state and null payloads from 1.0 on.",
        SEEN,
    ),
    "OB-33": Requirement(
        "seen",
        "An unknown status is not sent from 1.0 on.",
        SEEN,
    ),
    "OB-34": Requirement(
        "seen",
        "An abort makes an error event with the code abort.",
        SEEN,
    ),
    "OB-35": Requirement(
        "seen",
        "A subagent's id may return in the next run.",
        SEEN,
    ),
    "OB-36": Requirement(
        "seen",
        "A finished subagent that names interrupts loses them.",
        SEEN,
    ),
}
