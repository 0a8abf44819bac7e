"""Who there is: what a directory of people says of each. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryPerson:
    """One person of a directory; `subject` and `roles` are as in a `Principal`.

    Whoever is not `active` may not be assigned to anything, and what it has let pass for later no
    longer counts. `email`, `slack` (a user id) and `locale` say where and how to reach the person.
    """

    subject: str
    roles: Sequence[str] = ()
    active: bool = True
    email: str | None = None
    slack: str | None = None
    locale: str | None = None


class Directory(Protocol):
    """Looks people up, in the scope (tenant) of whoever asks.

    One that raises, or takes more than 5 seconds, has found nobody: what depends on it is refused.
    """

    async def person(self, scope: str, subject: str) -> DirectoryPerson | None:
        """The person with a subject; None if there is none."""

    async def members(self, scope: str, role: str) -> Sequence[DirectoryPerson]:
        """Everybody who has a role, active or not."""
