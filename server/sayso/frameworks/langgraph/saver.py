"""A checkpointer whose every write a turn notes first, and that is made again from those notes.

LangGraph stores two things: checkpoints, and the writes of tasks that are done. Both are kept in
memory for it, and as events in the log of the turn, which alone outlives the process.
"""

import base64
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
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

from sayso.frameworks.langgraph.log import NULL_TASK, RESUME

Event: TypeAlias = dict[str, Any]
Packed: TypeAlias = list[str]

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


class LogSaver(InMemorySaver):
    """The checkpoints of one turn, in memory; each write is told before LangGraph goes on."""

    def __init__(self, tell: Tell, serde: Any = None) -> None:
        super().__init__(serde=serde)
        self._tell = tell

    def pack(self, value: Any) -> Packed:
        """A value as a member of an event."""
        return _pack(self.serde.dumps_typed(value))

    def unpack(self, packed: Packed) -> Any:
        """The value of a member of an event."""
        return self.serde.loads_typed(_unpack(packed))

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
        event: Event = {
            "k": "put",
            "at": _place(config),
            "id": checkpoint["id"],
            "checkpoint": self.pack(plain),
            "metadata": self.pack(get_checkpoint_metadata(config, metadata)),
            "values": {
                name: [version, self.pack(values[name]) if name in values else None]
                for name, version in new_versions.items()
            },
        }
        await self._tell({**event, "live": values})
        self.again(event)
        return {
            "configurable": {
                "thread_id": THREAD,
                "checkpoint_ns": event["at"][0],
                "checkpoint_id": checkpoint["id"],
            }
        }

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
        self.again(event)

    def again(self, event: Event) -> None:
        """Store what an event says."""
        if event["k"] == "put":
            self._put_again(event)
        else:
            self._write_again(event)

    def _write_again(self, event: Event) -> None:
        """As `put_writes`: what a task has written once stays, but for the special channels."""
        task, stored = event["task"], self.writes[THREAD, *event["at"]]
        for number, (channel, kind, data) in enumerate(event["writes"]):
            key = task, WRITES_IDX_MAP.get(channel, number)
            if key[1] < 0 or key not in stored:
                stored[key] = task, channel, _unpack([kind, data]), event["path"]

    def _put_again(self, event: Event) -> None:
        namespace, parent = event["at"]
        checkpoint = _unpack(event["checkpoint"])
        for name, (version, packed) in event["values"].items():
            value = ("empty", b"") if packed is None else _unpack(packed)
            self.blobs[THREAD, namespace, name, version] = value
        entry = (checkpoint, _unpack(event["metadata"]), parent)
        self.storage[THREAD][namespace][event["id"]] = entry

    def newest(self) -> Event:
        """The last checkpoint of the whole graph, as an event without a past."""
        checkpoints = self.storage[THREAD][""]
        newest = max(checkpoints)
        checkpoint, metadata, _ = checkpoints[newest]
        versions = self.serde.loads_typed(checkpoint)["channel_versions"]
        blobs = {name: (v, self.blobs.get((THREAD, "", name, v))) for name, v in versions.items()}
        return {
            "k": "put",
            "at": ["", None],
            "id": newest,
            "checkpoint": _pack(checkpoint),
            "metadata": _pack(metadata),
            "values": {
                name: [version, None if blob is None or blob[0] == "empty" else _pack(blob)]
                for name, (version, blob) in blobs.items()
            },
        }

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
