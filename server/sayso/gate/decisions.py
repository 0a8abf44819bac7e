"""What the gate may decide about a request; a refusal is `refusals.Refuse`. Pure records."""

from dataclasses import dataclass

from sayso.gate.refusals import Refuse
from sayso.records import Interrupt, Message

__all__ = ["Attach", "Decision", "Hold", "Refuse", "Replay", "Resume", "Start"]


@dataclass(frozen=True, slots=True)
class Start:
    """Begin a turn: `append` to the history, `hide` what the request left out."""

    append: tuple[Message, ...]
    hide: tuple[str, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Resume:
    """Let the newest turn go on.

    `settle`: its open interrupts with their answers, in the order of asking; the run key is the
    engine's to fill in. It is empty for a ready turn, and for a failed one (`retry`) that goes on
    from its journal with the answers that it already took. `queue`: new user messages; they wait
    for the turn to end, but for one that was itself the answer: that one is visible.
    """

    settle: tuple[Interrupt, ...]
    queue: tuple[Message, ...] = ()
    retry: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hold:
    """Keep these interrupts' answers until the rest has come, and ask for the rest again.

    `shown`: new user messages that are not kept, since they come again with the last answer.
    """

    held: tuple[Interrupt, ...]
    shown: tuple[Message, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Replay:
    """Show the thread as it stands, ending in its open interrupts or its last outcome."""

    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Attach:
    """Follow the run that is going on."""

    warnings: tuple[str, ...] = ()


Decision = Start | Resume | Hold | Replay | Attach | Refuse
