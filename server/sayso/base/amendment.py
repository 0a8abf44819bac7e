"""A change of words: what is stored of a thread is written anew, and tells the same."""

from dataclasses import dataclass

from sayso.base.records import Entry, Interrupt, Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment:
    """Other words for what is stored of an idle thread; nothing has happened by it.

    Interrupts and messages replace what has their id, `entries` of the newest turn what has their
    place. `revision` is the one that was read.
    """

    scope: str
    thread_id: str
    revision: int
    now: int
    interrupts: tuple[Interrupt, ...] = ()
    messages: tuple[Message, ...] = ()
    entries: tuple[Entry, ...] = ()
