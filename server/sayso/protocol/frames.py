"""Bytes of the server-sent events: one JSON object per frame, LF only (EN-04, EN-05).

Pure: no I/O and no order. What a frame may say and when is the stream guard's business.
`bytes` arguments hold one JSON value each and go out as they are kept.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import orjson

from sayso.protocol.truncation import truncate_to_fit

PROTOCOL_VERSION: Final = "1.0"
"""The version that every run declares: ours, never an echo (VN-01)."""

KEEP_ALIVE: Final = b": keep-alive\n\n"
"""The only sign of life that clients ignore (EN-06, TR-16)."""

TEXT_TAIL: Final = b"}\n\n"
"""What follows `text_prefix` and the encoded delta."""

MAX_FRAME_BYTES: Final = 10_000_000
"""Bytes of one frame; clients of 1.0 reject a run whose frame is longer (EN-09)."""

_OPTION: Final = orjson.OPT_PASSTHROUGH_DATACLASS
_NULL_IS_DATA: Final = {"CUSTOM": "value", "RAW": "event", "STATE_SNAPSHOT": "snapshot"}


def _without_nulls(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Absent means absent: a null in an optional member kills the run at the client (LC-22)."""
    if "outcome" not in event and None not in event.values():
        return event
    keep = _NULL_IS_DATA.get(event.get("type", ""))
    kept = {name: value for name, value in event.items() if value is not None or name == keep}
    outcome = kept.get("outcome")
    if isinstance(outcome, dict):
        kept["outcome"] = {name: value for name, value in outcome.items() if value is not None}
    return kept


def _checked(data: bytes, what: object) -> bytes:
    if len(data) > MAX_FRAME_BYTES:
        raise ValueError(
            f"the {what} event is {len(data)} bytes long and clients refuse frames over "
            f"{MAX_FRAME_BYTES}: send less in one event"
        )
    return data


def one_line(data: bytes) -> bytes:
    """JSON without anything that some reader of lines takes for the end of one.

    A line feed can only be space between tokens. U+2028, U+2029 and U+0085 end no line of a stream,
    but readers that cut text where Unicode does (`str.splitlines`) end one there: they are escaped.
    """
    # Sought by `find`: for `in`, bytes first fail to take what is sought for a number.
    if data.find(b"\n") >= 0 or data.find(b"\r") >= 0:
        data = data.replace(b"\n", b" ").replace(b"\r", b" ")
    if data.isascii():
        return data
    data = data.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
    return data.replace(b"\xc2\x85", b"\\u0085")


def keep_alive(size: int) -> bytes:
    """The same comment, in at least `size` bytes, for proxies that pass on nothing shorter (M3)."""
    line, end = KEEP_ALIVE[:-2], KEEP_ALIVE[-2:]
    return line.ljust(size - len(end)) + end


def events_in(data: bytes) -> list[dict[str, Any]]:
    """The events of whole frames; comments are left out."""
    blocks = data.split(b"\n\n") if data else ()
    return [orjson.loads(block[6:]) for block in blocks if block.startswith(b"data: ")]


def frame(event: Mapping[str, Any]) -> bytes:
    """One event as one frame; top-level members that are None are left out.

    Raises TypeError for a value that JSON cannot hold (also lone surrogates and integers over 64
    bits, EN-08) and ValueError for a frame over `MAX_FRAME_BYTES`. NaN and infinities become null
    (EN-07).
    """
    kind = event.get("type")
    try:
        data = one_line(orjson.dumps(_without_nulls(event), option=_OPTION))
    except orjson.JSONEncodeError as error:
        raise TypeError(f"the {kind} event cannot be written as JSON: {error}") from None
    return _checked(b"data: " + data + b"\n\n", kind)


def object_frame(value: Mapping[str, Any]) -> bytes:
    """One object of a stream with frames of its own kind: of a session, or of the inbox."""
    return b"data: " + one_line(orjson.dumps(value)) + b"\n\n"


def text_prefix(message_id: str, kind: str = "TEXT_MESSAGE_CONTENT") -> bytes:
    """The front of the frame of one delta; the encoded delta and `TEXT_TAIL` complete it."""
    return b'data: {"type":"%b","messageId":%b,"delta":' % (
        kind.encode(),
        one_line(orjson.dumps(message_id)),
    )


def text(prefix: bytes, pieces: Sequence[str]) -> bytes:
    """A frame for each piece of text, none of them empty, behind a prefix of `text_prefix`.

    One list is encoded, and what stands between its items becomes what stands between frames: a
    quote inside a string is escaped, so `","` is nowhere else.
    """
    if len(pieces) == 1:
        return prefix + one_line(orjson.dumps(pieces[0])) + TEXT_TAIL
    encoded = one_line(orjson.dumps(pieces))[1:-1]
    return prefix + encoded.replace(b'","', b'"' + TEXT_TAIL + prefix + b'"') + TEXT_TAIL


def run_started(
    thread_id: str, run_id: str, warnings: Sequence[str] = (), at: int | None = None
) -> bytes:
    """The opening of a run; echoes the ids and declares our version (LC-08, VN-01).

    `warnings` go into `metadata.sayso`, where nobody has to read them (OC-06). `at` is the time
    here in milliseconds: clients whose clock is wrong judge what expires by it (EX-07).
    """
    event: dict[str, Any] = {
        "type": "RUN_STARTED",
        "threadId": thread_id,
        "runId": run_id,
        "protocolVersion": PROTOCOL_VERSION,
    }
    if at is not None:
        event["timestamp"] = at
    if warnings:
        event["metadata"] = {"sayso": {"warnings": list(warnings)}}
    return frame(event)


def messages_snapshot(bodies: Iterable[bytes]) -> bytes:
    """All messages of the thread, from their kept bytes (MS-01).

    Texts are cut where the whole would not fit into one frame; ValueError if that is not enough.
    """
    head, tail = b'data: {"type":"MESSAGES_SNAPSHOT","messages":[', b"]}\n\n"
    joined = b",".join(shown := list(bodies))
    if len(joined) > (room := MAX_FRAME_BYTES - len(head) - len(tail)):
        joined = b",".join(truncate_to_fit(shown, room))
    return _checked(head + one_line(joined) + tail, "MESSAGES_SNAPSHOT")


def state_snapshot(state: bytes) -> bytes:
    """The whole state, from its kept bytes (SS-01). ValueError if it is too long."""
    return _checked(
        b'data: {"type":"STATE_SNAPSHOT","snapshot":' + one_line(state) + b"}\n\n",
        "STATE_SNAPSHOT",
    )


def run_finished(
    thread_id: str,
    run_id: str,
    outcome: bytes | None,
    result: bytes | None,
    usage: Sequence[Mapping[str, Any]] = (),
    details: Mapping[str, Any] | None = None,
) -> bytes:
    """The good ending; a result of null is left out (OU-11). ValueError if it is too long.

    `details` go into `metadata.sayso`. An outcome of None is left out, which says no more than
    that the run is over.
    """
    ids = orjson.dumps({"threadId": thread_id, "runId": run_id})[1:-1]
    data = b'data: {"type":"RUN_FINISHED",' + ids
    if outcome is not None:
        data += b',"outcome":' + outcome
    if result is not None and result.strip() != b"null":
        data += b',"result":' + result
    if usage:
        data += b',"usage":' + orjson.dumps(list(usage))
    if details:
        data += b',"metadata":' + orjson.dumps({"sayso": dict(details)})
    return _checked(one_line(data) + b"}\n\n", "RUN_FINISHED")


def run_error(
    code: str | None,
    message: str,
    details: Mapping[str, Any] | None = None,
    usage: Sequence[Mapping[str, Any]] = (),
) -> bytes:
    """The bad ending; `details` go into `metadata.sayso`, an empty code is left out (ER-05)."""
    event: dict[str, Any] = {"type": "RUN_ERROR", "message": message, "code": code or None}
    if details:
        event["metadata"] = {"sayso": dict(details)}
    if usage:
        event["usage"] = list(usage)
    return frame(event)
