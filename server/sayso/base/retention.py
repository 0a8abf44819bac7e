"""How long what is stored is kept, and who may keep it for longer. Pure."""

from dataclasses import dataclass, fields
from typing import Final

from sayso.base.errors import DeclarationError
from sayso.base.records import Principal

DAY_MS: Final = 86_400_000
RETENTION: Final = "sayso:retention"
"""Who deletes what has become too old."""
_ROLE = "role:"


@dataclass(frozen=True, slots=True)
class Moments:
    """The moments before which things are too old, in milliseconds since the epoch; None: never."""

    threads: int | None = None
    open_threads: int | None = None
    approvals: int | None = None
    trail: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """For how many days what is stored is kept; None is for ever.

    `threads` age from when they were last active. One that runs or waits is kept, unless
    `open_threads` says for how long: then its questions are cancelled, and it ages from there.
    `approvals` that are remembered age from when they were given. Of the `trail` contents go, never
    rows: of threads that neither run nor wait, or are gone. `keeper` may put threads on hold,
    which stands against all of it: a role, `role:keeper`, or the subject of a person.

    Raises:
        DeclarationError: a number of days that is no whole number from 1, or no such keeper.
    """

    threads: int | None = None
    open_threads: int | None = None
    approvals: int | None = None
    trail: int | None = None
    keeper: str = "role:keeper"

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "keeper":
                if not isinstance(value, str) or not value.removeprefix(_ROLE).strip():
                    raise DeclarationError(
                        f"keeper of Retention is a role, such as 'role:keeper', or a subject, "
                        f"not {value!r}"
                    )
            elif value is not None and (type(value) is not int or value < 1):
                raise DeclarationError(
                    f"{field.name} of Retention is a whole number of days from 1, or None, to keep "
                    f"all, not {value!r}"
                )

    def moments(self, now: int) -> "Moments":
        """The moments before which things are too old, if it is now that time."""
        days = (self.threads, self.open_threads, self.approvals, self.trail)
        return Moments(*(None if count is None else now - count * DAY_MS for count in days))

    @property
    def ends(self) -> bool:
        """True if anything is kept for a time only."""
        return self.moments(0) != Moments()

    def is_keeper(self, principal: Principal) -> bool:
        """True if a caller may put threads on hold, and lift that."""
        role = self.keeper.removeprefix(_ROLE)
        if role != self.keeper:
            return role in principal.roles
        return principal.subject == self.keeper


KEEP_ALL: Final = Retention()
