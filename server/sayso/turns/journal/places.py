"""Keys of places in a journal, and of what is named after a place: spelled and parsed here alone.

A place is where code calls for something that is recorded: the path of its branch and a number.
What stands beside a place, and ids made of it, have its key with words behind it. Pure.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_BEFORE: Final = ":before"
_AFTER: Final = ":after"
_INSIDE: Final = ":inside"
_AT: Final = "@"
_ESCAPES: Final = (("~", "~0"), ("/", "~1"), (":", "~2"))
"""Characters of a fingerprint that mean something in a key, and what stands for them."""
_KEY_ESCAPES: Final = (*_ESCAPES, ("#", "~3"))
"""The same for a key that an author gives."""
_NUMBER: Final = re.compile("0|[1-9][0-9]*")


# Places and the branches that they are in


def place(path: str, number: int | str) -> str:
    """The place of that number in a branch, from 0; the root branch has the path ''."""
    return f"{path}/{number}" if path else str(number)


def task(fingerprint: str, number: int | str) -> str:
    """The name of a task's branch: what it called for first, and a counter among equals."""
    if "~" in fingerprint or "/" in fingerprint or ":" in fingerprint:
        fingerprint = _escaped(fingerprint, _ESCAPES)
    return f"{fingerprint}#{number}"


def task_path(path: str, name: str) -> str:
    """The path of a task's branch below another."""
    return f"{path}/{name}" if path else name


def inside(key: str) -> str:
    """The path of code inside the call at a place: an inner agent's, or that of a tool."""
    return f"{key}{_INSIDE}"


def keyed(path: str, key: str) -> str:
    """The path of code that an author has given a key, below that of an agent or a tool."""
    name = _AT + _escaped(key, _KEY_ESCAPES)
    return f"{path}/{name}" if path else name


def is_keyed(key: str) -> bool:
    """True for what is in the code of a key, and so has an order of its own."""
    return key.startswith(_AT) or f"/{_AT}" in key


def below(path: str) -> str:
    """How the keys of all places in a branch and below it begin."""
    return f"{path}/" if path else ""


def is_in(path: str, branch: str) -> bool:
    """True for the path of a branch itself and for those below it."""
    return path == branch or path.startswith(f"{branch}/")


def split(key: str) -> tuple[str, int] | None:
    """The path and the number of a place; None for a key of anything else."""
    path, _, number = key.rpartition("/")
    return (path, int(number)) if number.isdigit() else None


def is_inside(key: str) -> bool:
    """True for a place inside the code of a call."""
    return f"{_INSIDE}/" in key


def calls_around(key: str) -> Iterator[str]:
    """The places of the calls whose code a place is inside of, from the outside in."""
    index = key.find(f"{_INSIDE}/")
    while index >= 0:
        yield key[:index]
        index = key.find(f"{_INSIDE}/", index + 1)


def task_below(key: str, path: str) -> str | None:
    """The name of the task right below a branch that a place belongs to; None if to none."""
    head = below(path)
    if not key.startswith(head):
        return None
    name, deeper, _ = key[len(head) :].partition("/")
    return name if deeper and "#" in name else None


def first_call(key: str, path: str) -> str | None:
    """The first call of a task right below a branch, if a place is the first of that task."""
    if (name := task_below(key, path)) is None or key != place(task_path(path, name), 0):
        return None
    return _fingerprint(name.rpartition("#")[0])


def is_named_by(key: str, fingerprint: str) -> bool:
    """True if a place is the first of a task whose branch has its name from what is asked there."""
    path, _, number = key.rpartition("/")
    name = path.rpartition("/")[2]
    return number == "0" and name.rpartition("#")[0] == task(fingerprint, "")[:-1]


# Entries beside a place


def before(key: str) -> str:
    """The entry of a breakpoint before what is at a place."""
    return f"{key}{_BEFORE}"


def after(key: str) -> str:
    """The entry of a breakpoint behind it."""
    return f"{key}{_AFTER}"


def is_before(key: str) -> bool:
    """True for the key of a breakpoint before something."""
    return key.endswith(_BEFORE)


def is_after(key: str) -> bool:
    """True for the key of a breakpoint behind something."""
    return key.endswith(_AFTER)


def place_before(key: str) -> str:
    """The place that a breakpoint before it stands at."""
    return key.removesuffix(_BEFORE)


# Ids that are made of a place


def result(key: str) -> str:
    """The message with the result of a call; of one that was only proposed, by the call's id."""
    return f"{key}:result"


def output(key: str) -> str:
    """The activity of a tool that streams."""
    return f"{key}:output"


def input_of(key: str) -> str:
    """The message that an inner agent is told."""
    return f"{key}:input"


def text(key: str, number: int | str) -> str:
    """A message that an effect sends, by its number in the effect."""
    return f"{key}:text:{number}"


def attempt(key: str, number: int | str) -> str:
    """A message, by the attempt at it: a retry sends it anew under another id."""
    return f"{key}:attempt:{number}"


def holder(key: str, fence: int | str) -> str:
    """A thought, by the holder of the thread who sends it."""
    return f"{key}:holder:{fence}"


def approval(key: str, interrupt_id: str) -> str:
    """An approval that the answer to a question has remembered."""
    return f"{key}:approval:{interrupt_id}"


def instead(key: str, pause: int | str) -> str:
    """The call that the code makes in place of the one that waited there in a pause."""
    return f"{key}:instead:{pause}"


def withdrawn(key: str, pause: int | str) -> str:
    """The result message of that other call, which is not made."""
    return f"{key}:withdrawn:{pause}"


# Marks: entries that record no call


def pause(number: int | str) -> str:
    """A pause of the turn, from 0."""
    return f"pause:{number}"


def edit(mark: str, number: int | str) -> str:
    """An edit of the state in a pause, from 0."""
    return f"{mark}/edit:{number}"


def is_edit_in(key: str, mark: str) -> bool:
    """True for the key of an edit in that pause."""
    return key.startswith(f"{mark}/")


def fork(number: int | str) -> str:
    """The end of what was copied from another turn, by the number of the copy."""
    return f"fork:{number}"


def usage(run_key: str) -> str:
    """The usage of a run."""
    return f"usage:{run_key}"


def viewed(reader: str, hour: int | str) -> str:
    """A reading of what led to a question, in an hour since the epoch; `reader` is a digest."""
    return f"viewed:{reader}:{hour}"


def revealed(which: str, number: int | str) -> str:
    """The n-th time that somebody was shown a secret; `which` is a digest of all but that."""
    return f"revealed:{which}:{number}"


def refused(which: str, number: int | str) -> str:
    """The n-th time that somebody was refused an answer; `which` is a digest of all but that."""
    return f"refused:{which}:{number}"


def stopped(run_key: str) -> str:
    """The stop of a run."""
    return f"stopped:{run_key}"


def trace(run_key: str) -> str:
    """The trace of a run."""
    return f"trace:{run_key}"


def again() -> str:
    """The beginning of a turn that was begun anew."""
    return "again"


def note(number: int | str) -> str:
    """A note of the turn, from 0."""
    return f"note:{number}"


# The grammar


@dataclass(frozen=True, slots=True)
class Task:
    """A segment of a path: the branch of an asyncio task."""

    fingerprint: str
    number: int


@dataclass(frozen=True, slots=True)
class Key:
    """A segment of a path: the branch of code that its author has given a key."""

    name: str


Segment = Task | Key | int


@dataclass(frozen=True, slots=True)
class PlaceKey:
    """A key of a place, taken apart.

    `path` has a number for each call whose inside the place is in; `words` follow the place.
    """

    path: tuple[Segment, ...]
    number: int
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The key."""
        path = ""
        for segment in self.path:
            if isinstance(segment, Task):
                path = task_path(path, task(segment.fingerprint, segment.number))
            elif isinstance(segment, Key):
                path = keyed(path, segment.name)
            else:
                path = inside(place(path, segment))
        return ":".join((place(path, self.number), *self.words))


@dataclass(frozen=True, slots=True)
class Mark:
    """A key of a mark, taken apart into its words."""

    words: tuple[str, ...]
    edit: int | None = None

    def __str__(self) -> str:
        """The key."""
        key = ":".join(self.words)
        return key if self.edit is None else edit(key, self.edit)


_FORMS: Final = (
    (inside("P"), "path", "code inside the call at P"),
    (before("P"), "entry", "a breakpoint before what is at P"),
    (after("P"), "entry", "a breakpoint behind it"),
    (result("P"), "id", "the message with the result of the call at P"),
    (output("P"), "id", "the activity of a tool that streams"),
    (input_of("P"), "id", "the message that an inner agent is told"),
    (text("P", "n"), "id", "the n-th message that an effect sends"),
    (attempt("P", "n"), "id", "a message that a retry sends anew; P may have words already"),
    (holder("P", "n"), "id", "a thought, by the fence of the thread's holder"),
    (approval("P", "id"), "id", "an approval that the answer to the question `id` has remembered"),
    (instead("P", "n"), "id", "the call made in place of the one that waited at P in pause n"),
    (withdrawn("P", "n"), "id", "the result message of that other call"),
    (pause("n"), "mark", "a pause of the turn"),
    (edit(pause("n"), "m"), "mark", "an edit of the state in a pause"),
    (fork("n"), "mark", "the end of what was copied from another turn"),
    (usage("run"), "mark", "what a run has spent"),
    (viewed("reader", "hour"), "mark", "somebody read what led to a question"),
    (revealed("which", "n"), "mark", "the n-th time that somebody was shown a secret"),
    (refused("which", "n"), "mark", "the n-th time that somebody was refused an answer"),
    (again(), "mark", "the turn was begun anew"),
    (stopped("run"), "mark", "a run was stopped"),
    (trace("run"), "mark", "the trace of a run"),
    (note("n"), "mark", "the n-th note of the turn"),
)
_ARGUMENTS: Final = {
    words[1]: len(words) - 2
    for key, kind, _ in _FORMS
    if kind in ("entry", "id")
    for words in [key.split(":")]
}
"""For each word that may follow a place, how many arguments it has."""
_MARKS: Final = {
    words[0]: len(words) - 1
    for key, kind, _ in _FORMS
    if kind == "mark" and "/" not in key
    for words in [key.split(":")]
}


def grammar() -> str:
    """The grammar, as `docs/design.md` shows it."""
    escapes = ", ".join(f"`{character}` as `{escape}`" for character, escape in _KEY_ESCAPES)
    lines = [
        "```text",
        'place   = { segment "/" } number',
        f'segment = branch | "{_AT}" key | number "{_INSIDE}"',
        'branch  = fingerprint "#" n',
        "```",
        "",
        "A branch is that of an asyncio task; a key is its author's (`turn.at`), not empty.",
        f"They have {escapes}, a fingerprint its `#` as it is.",
        "",
        "| key | is | of what |",
        "|---|---|---|",
        *(f"| `{key}` | {kind} | {what} |" for key, kind, what in _FORMS),
    ]
    return "\n".join(lines)


def parse(key: str) -> PlaceKey | Mark:
    """Take a key apart; ValueError for what is none. `str()` of the outcome is the key."""
    if (mark := _mark(key)) is not None:
        return mark
    marked, _, number = key.rpartition("/edit:")
    if marked and (mark := _mark(marked)) is not None and _NUMBER.fullmatch(number):
        return Mark(mark.words, int(number))
    *segments, last = key.split("/")
    number, *rest = last.split(":")
    if not _NUMBER.fullmatch(number) or not _are_words(rest):
        raise ValueError(f"{key!r} is no key of a place or of a mark")
    return PlaceKey(tuple(_segment(segment, key) for segment in segments), int(number), tuple(rest))


def _mark(key: str) -> Mark | None:
    """A mark that is no edit."""
    words = key.split(":")
    is_mark = _MARKS.get(words[0]) == len(words) - 1 and all(words)
    return Mark(tuple(words)) if is_mark else None


def _are_words(words: list[str]) -> bool:
    index = 0
    while index < len(words):
        arguments = _ARGUMENTS.get(words[index])
        if arguments is None or index + arguments >= len(words):
            return False
        index += 1 + arguments
    return True


def _segment(text: str, key: str) -> Segment:
    """A segment of a path."""
    named, counted, number = text.rpartition("#")
    if not counted and len(text) > len(_AT) and text.startswith(_AT):
        return Key(_unescaped(text.removeprefix(_AT), _KEY_ESCAPES))
    if counted and _NUMBER.fullmatch(number):
        return Task(_fingerprint(named), int(number))
    number = text.removesuffix(_INSIDE)
    if number == text or not _NUMBER.fullmatch(number):
        raise ValueError(f"{key!r} has a segment that is none: {text!r}")
    return int(number)


def _fingerprint(escaped: str) -> str:
    return _unescaped(escaped, _ESCAPES)


def _escaped(text: str, escapes: Iterable[tuple[str, str]]) -> str:
    for character, escape in escapes:
        text = text.replace(character, escape)
    return text


def _unescaped(text: str, escapes: Sequence[tuple[str, str]]) -> str:
    for character, escape in reversed(escapes):
        text = text.replace(escape, character)
    return text
