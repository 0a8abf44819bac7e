"""A checkpointer whose every write a turn notes first, and that is made again from those notes.

LangGraph stores two things: checkpoints, and the writes of tasks that are done. Both are kept in
memory for it, and as events in the log of the turn, which alone outlives the process.
"""

import base64
import itertools
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.memory import InMemorySaver

from sayso.frameworks.langgraph.digits import reading_digits, with_digits
from sayso.frameworks.langgraph.log import NULL_TASK, RESUME

Event: TypeAlias = dict[str, Any]
Packed: TypeAlias = list[str]
Typed: TypeAlias = tuple[str, bytes]

MSGPACK: Final = "msgpack"
"""The kind of bytes that an array can be put together from."""
LONG: Final = 16
"""Members of a list from which on a log holds what has changed, and not all of it again."""

THREAD: Final = "turn"
"""The id of LangGraph's thread, the same in every turn, so that a copy of one finds it."""
NO_WRITES: Final = "__no_writes__"
"""The channel of a task that is done and has written nothing."""
INTERRUPT: Final = "__interrupt__"
"""The channel of questions that a task has asked."""

unrecorded: ContextVar[Callable[[], None] | None] = ContextVar("unrecorded", default=None)
"""Set where a tool runs as one effect; it is told of a graph that runs inside."""

Tell: TypeAlias = Callable[[Event], Awaitable[object]]


def _pack(typed: tuple[str, bytes]) -> Packed:
    return [typed[0], base64.b64encode(typed[1]).decode()]


def _unpack(packed: Packed) -> tuple[str, bytes]:
    return packed[0], base64.b64decode(packed[1])


def _members(data: bytes, before: Sequence[bytes] = ()) -> list[bytes]:
    """The members of an array of MessagePack; empty unless all are of a type of its user's own.

    That is how messages are written, and such a member begins with its length. Those of an array
    that this one goes on from are not looked for again.
    """
    begin, members = 3 if data[0] == 0xDC else 5 if data[0] == 0xDD else 1, []
    prefix = b"".join(before)
    if data.startswith(prefix, begin):
        begin, members = begin + len(prefix), [*before]
    while begin < len(data):
        kind = data[begin]
        if 0xD4 <= kind <= 0xD8:
            end = begin + 2 + (1 << (kind - 0xD4))
        elif 0xC7 <= kind <= 0xC9:
            width = 1 << (kind - 0xC7)
            end = begin + 2 + width + int.from_bytes(data[begin + 1 : begin + 1 + width])
        else:
            return []
        members.append(data[begin:end])
        begin = end
    return members


def _array(members: Sequence[bytes]) -> bytes:
    """An array of MessagePack, of its members."""
    return b"\xdd" + len(members).to_bytes(4) + b"".join(members)


def _unpacked(packed: Any) -> Typed | list[bytes] | None:
    """The value of a channel in an event, whole; a long list as its members."""
    if isinstance(packed, dict):
        return [base64.b64decode(each) for each in packed["more"]]
    return None if packed is None else _unpack(packed)


@dataclass(frozen=True, slots=True)
class _Stored:
    """A checkpoint as bytes."""

    namespace: str
    parent: Any
    id: str
    checkpoint: Typed
    metadata: Typed
    values: Mapping[str, tuple[Any, Typed | list[bytes] | None]]


class LogSaver(InMemorySaver):
    """The checkpoints of one turn, in memory; each write is told before LangGraph goes on."""

    def __init__(self, tell: Tell, serde: Any = None) -> None:
        super().__init__(serde=serde)
        self.serde: Any = reading_digits(self.serde)
        self._tell = tell
        self._long: dict[tuple[str, str], list[bytes]] = {}
        """The members of long lists, by namespace and channel."""
        self._late_values: dict[tuple[str, str], tuple[Any, Any]] = {}
        """The newest version and value of each channel of earlier executions, as in an event."""
        self._late_writes: dict[tuple[str, Any], list[Event]] = {}
        """The writes to checkpoints of earlier executions that nothing has come of yet."""

    def pack(self, value: Any) -> Packed:
        """A value as a member of an event."""
        return _pack(self._typed(value))

    def _typed(self, value: Any) -> Typed:
        """A value as bytes, also one that holds integers beyond 64 bits."""
        try:
            typed: Typed = self.serde.dumps_typed(value)
        except TypeError as error:
            try:
                copied = with_digits(value)
            except Exception:
                raise error from None
            typed = self.serde.dumps_typed(copied)
        return typed

    def unpack(self, packed: Packed) -> Any:
        """The value of a member of an event."""
        return self.serde.loads_typed(_unpack(packed))

    def get_next_version(self, current: Any, channel: None) -> Any:
        """The version of a channel after this one: a number, as short as may be."""
        return (current or 0) + 1

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint once the turn has noted it."""
        if _inside_effect():
            return self.put(config, checkpoint, metadata, new_versions)
        values = checkpoint["channel_values"]
        plain = {name: value for name, value in checkpoint.items() if name != "channel_values"}
        namespace, parent = place = _place(config)
        stored = _Stored(
            namespace,
            parent,
            checkpoint["id"],
            self._typed(plain),
            self._typed(get_checkpoint_metadata(config, metadata)),
            {
                name: (version, self._dumped(namespace, name, values) if name in values else None)
                for name, version in new_versions.items()
            },
        )
        event: Event = {
            "k": "put",
            "at": place,
            "id": stored.id,
            "checkpoint": _pack(stored.checkpoint),
            "metadata": _pack(stored.metadata),
            "values": {
                name: [version, self._packed(namespace, name, value)]
                for name, (version, value) in stored.values.items()
            },
        }
        await self._tell({**event, "live": values})
        self._store(stored)
        return {
            "configurable": {
                "thread_id": THREAD,
                "checkpoint_ns": namespace,
                "checkpoint_id": stored.id,
            }
        }

    def _dumped(self, namespace: str, name: str, values: Mapping[str, Any]) -> Typed | list[bytes]:
        """The value of a channel as bytes; a long list of messages as those of its members."""
        value = values[name]
        kind, data = self._typed(value)
        if kind == MSGPACK and isinstance(value, list) and len(value) >= LONG:
            return _members(data, self._long.get((namespace, name), [])) or (kind, data)
        return kind, data

    def _packed(self, namespace: str, name: str, value: Typed | list[bytes] | None) -> Any:
        """A value as a member of an event: of a long list what has changed since the last one."""
        if not isinstance(value, list):
            return None if value is None else _pack(value)
        before = self._long.get((namespace, name), [])
        same = itertools.takewhile(
            lambda pair: pair[0] == pair[1], zip(before, value, strict=False)
        )
        keep = sum(1 for _ in same)
        return {"keep": keep, "more": [base64.b64encode(each).decode() for each in value[keep:]]}

    def _store(self, stored: "_Stored") -> None:
        """Store a checkpoint in memory, as `put` does."""
        for name, (version, value) in stored.values.items():
            self._store_value(stored.namespace, name, version, value)
        entry = (stored.checkpoint, stored.metadata, stored.parent)
        self.storage[THREAD][stored.namespace][stored.id] = entry

    def _store_value(
        self, namespace: str, name: str, version: Any, value: Typed | list[bytes] | None
    ) -> None:
        if isinstance(value, list):
            self._long[namespace, name] = value
            value = MSGPACK, _array(value)
        else:
            self._long.pop((namespace, name), None)
        self.blobs[THREAD, namespace, name, version] = ("empty", b"") if value is None else value

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what a task has written once the turn has noted it."""
        if _inside_effect():
            self.put_writes(config, writes, task_id, task_path)
            return
        if task_id != NULL_TASK and all(channel == RESUME for channel, _ in writes):
            # It took its answer and is done; LangGraph 1.0 would begin it again without a word.
            writes = [*writes, (NO_WRITES, None)]
        event: Event = {
            "k": "writes",
            "at": _place(config),
            "task": task_id,
            "path": task_path,
            "writes": [[channel, *self.pack(value)] for channel, value in writes],
            "raised": [
                raised.id
                for channel, value in writes
                if channel == INTERRUPT
                for raised in (value if isinstance(value, list | tuple) else (value,))
            ],
        }
        await self._tell({**event, "live": writes})
        self._write_again(event)

    def again(self, event: Event) -> None:
        """Take what an event of an earlier execution says; it is stored by `settle`.

        Of what it says most is out of date by then: older values, writes that are in a checkpoint.
        """
        if event["k"] == "put":
            self._put_again(event)
        else:
            self._late_writes.setdefault(tuple(event["at"]), []).append(event)

    def settle(self) -> None:
        """Store what earlier executions have left, for the graph to go on from."""
        for (namespace, name), (version, packed) in self._late_values.items():
            self._store_value(namespace, name, version, _unpacked(packed))
        for event in itertools.chain.from_iterable(self._late_writes.values()):
            self._write_again(event)
        self._late_values, self._late_writes = {}, {}

    def _write_again(self, event: Event) -> None:
        """As `put_writes`: what a task has written once stays, but for the special channels."""
        task, stored = event["task"], self.writes[THREAD, *event["at"]]
        for number, (channel, kind, data) in enumerate(event["writes"]):
            key = task, WRITES_IDX_MAP.get(channel, number)
            if key[1] < 0 or key not in stored:
                stored[key] = task, channel, _unpack([kind, data]), event["path"]

    def _put_again(self, event: Event) -> None:
        namespace, parent = event["at"]
        checkpoint, metadata = _unpack(event["checkpoint"]), _unpack(event["metadata"])
        self._late_writes.pop((namespace, parent), None)
        for name, (version, packed) in event["values"].items():
            key, whole = (namespace, name), packed
            if isinstance(packed, dict):
                _, before = self._late_values.get(key, (None, None))
                kept = before["more"][: packed["keep"]] if isinstance(before, dict) else []
                whole = {"keep": 0, "more": [*kept, *packed["more"]]}
            self._late_values[key] = version, whole
        self._store(_Stored(namespace, parent, event["id"], checkpoint, metadata, {}))

    def value(self, event: Event, name: str) -> Any:
        """The value of a channel in a checkpoint that is stored; None where it has none."""
        version, _ = event["values"].get(name, (None, None))
        blob = self.blobs.get((THREAD, event["at"][0], name, version))
        return None if blob is None or blob[0] == "empty" else self.serde.loads_typed(blob)

    def backwards(self, namespace: str, name: str) -> Iterator[Any]:
        """The members of a channel's newest list, the last one first; nothing where it has none."""
        members = self._long.get((namespace, name))
        if members is not None:
            for member in reversed(members):
                yield from self.serde.loads_typed((MSGPACK, _array([member])))
            return
        checkpoints = self.storage[THREAD][namespace]
        checkpoint, _, _ = checkpoints[max(checkpoints)]
        version = self.serde.loads_typed(checkpoint)["channel_versions"].get(name)
        blob = self.blobs.get((THREAD, namespace, name, version), ("empty", b""))
        value = None if blob[0] == "empty" else self.serde.loads_typed(blob)
        yield from reversed(value) if isinstance(value, list) else ()

    def newest(self) -> Event:
        """The last checkpoint of the whole graph, as an event without a past."""
        checkpoints = self.storage[THREAD][""]
        newest = max(checkpoints)
        checkpoint, metadata, _ = checkpoints[newest]
        versions = self.serde.loads_typed(checkpoint)["channel_versions"]
        return {
            "k": "put",
            "at": ["", None],
            "id": newest,
            "checkpoint": _pack(checkpoint),
            "metadata": _pack(metadata),
            "values": {name: [v, self._whole(name, v)] for name, v in versions.items()},
        }

    def _whole(self, name: str, version: Any) -> Any:
        """The newest value of a channel of the whole graph, as a member of an event."""
        blob = self.blobs.get((THREAD, "", name, version))
        if blob is None or blob[0] == "empty":
            return None
        members = self._long.get(("", name))
        if members is None:
            return _pack(blob)
        return {"keep": 0, "more": [base64.b64encode(each).decode() for each in members]}

    def raised(self, event: Event) -> list[Any]:
        """The questions in the event of what a task wrote."""
        return [
            each
            for channel, kind, data in event["writes"]
            if channel == INTERRUPT
            for each in self.unpack([kind, data])
        ]


def config_of(run: dict[str, Any]) -> RunnableConfig:
    """The configuration of the whole graph, over what its author gives."""
    own = run.get("configurable", {})
    merged: Any = {**run, "configurable": {**own, "thread_id": THREAD}}
    configured: RunnableConfig = merged
    return configured


def _place(config: RunnableConfig) -> list[Any]:
    """The namespace and the parent of a checkpoint, all of its configuration that counts."""
    place = config["configurable"]
    return [place.get("checkpoint_ns", ""), place.get("checkpoint_id")]


def _inside_effect() -> bool:
    """True inside a tool that is one effect: who records waits for that very tool."""
    tell = unrecorded.get()
    if tell is None:
        return False
    tell()
    return True
