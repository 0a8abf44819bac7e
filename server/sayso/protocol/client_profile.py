"""Who reads a run, and how the edge that serves it wants it told. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sayso.base.options import Emission, LegacyValue
from sayso.base.records import Principal


@dataclass(frozen=True, slots=True)
class ClientProfile:
    """The abilities and wishes of a reader.

    `speaks_v1`: it declared protocol 1.0 or a later minor (TR-13), `speaks_v1_1`: 1.1 or a later
    one. `subagents`: it can be told when inner agents begin and end (SA-12). `shows_expiry`: it is
    told when questions expire. `finishes_before_error`: it lets go of what it has answered at a
    RUN_FINISHED only (CK-07, TR-03): an ending of another kind has one before it. `releases_first`:
    it has one as soon as its answers are stored, in a run of its own. `restates`: it wants the
    history once more at the end of a run that asks. `pause`: the seconds between the beginning of
    its stream and an ending that asks, so that what it has answered leaves its screen before it is
    asked anew (CL-08). `interrupts` and
    `legacy_value` are how it is asked (LG-13). `warnings` are what it is told of its own request,
    of which something was left out; older clients are told nothing (OC-06). `reader` is whose
    request it is, who is told what it may do about what is asked. `at` is when its request came, in
    milliseconds: it is told what time it is (EX-07).
    """

    speaks_v1: bool = False
    speaks_v1_1: bool = False
    subagents: bool = False
    shows_expiry: bool = True
    finishes_before_error: bool = False
    releases_first: bool = False
    restates: bool = True
    pause: float = 0.0
    interrupts: Emission = "standard"
    legacy_value: LegacyValue = "interrupt"
    warnings: tuple[str, ...] = ()
    reader: Principal | None = None
    at: int | None = None

    def with_warnings(self, warnings: Sequence[str]) -> "ClientProfile":
        """The same, told of these too, if it can read it."""
        if not warnings or not self.speaks_v1:
            return self
        return replace(self, warnings=(*self.warnings, *warnings))
