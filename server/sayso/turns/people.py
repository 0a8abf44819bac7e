"""Looks people up in the app's directory, within its time limit; without one nobody is known."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from sayso.base.approvers import ROLE, Approvers
from sayso.base.directory import Directory, DirectoryPerson
from sayso.turns.hooks import ask_hook, hook_failed

_OPTION: Final = "directory"
KEPT_MS: Final = 60_000
"""Milliseconds for which a person who gave a yes for later is not looked up again."""
_MAX_KEPT: Final = 10_000

T = TypeVar("T")


class People:
    """Everybody a directory knows; each method raises Problem `auth_unavailable` if it fails."""

    def __init__(self, directory: Directory | None = None) -> None:
        self._directory = directory
        self._kept: OrderedDict[tuple[str, str], tuple[int, DirectoryPerson | None]] = OrderedDict()

    @property
    def are_known(self) -> bool:
        """True if there is a directory."""
        return self._directory is not None

    async def assignable(self, scope: str, to: str) -> Sequence[DirectoryPerson]:
        """The active people behind an assignee: one person's subject, or `role:` and a role."""
        people: Sequence[DirectoryPerson]
        if to.startswith(ROLE):
            role = to.removeprefix(ROLE)
            people = await self._asked(lambda d: d.members(scope, role)) if role else ()
            if any(not isinstance(person, DirectoryPerson) for person in people):
                raise hook_failed(_OPTION)
        else:
            person = await self._person(scope, to)
            people = () if person is None else (person,)
        return [person for person in people if person.active]

    async def approvers(self, scope: str, who: Approvers) -> list[DirectoryPerson]:
        """The active people whom a question waits for."""
        names = [*(f"{ROLE}{role}" for role in who.roles), *who.people]
        people = [person for name in names for person in await self.assignable(scope, name)]
        return list({person.subject: person for person in people}.values())

    async def known(self, scope: str, subject: str, now: int) -> DirectoryPerson | None:
        """The person with a subject as it was within the last minute; None if there is none."""
        key = (scope, subject)
        looked_at, person = self._kept.get(key, (-KEPT_MS, None))
        if now - looked_at < KEPT_MS:
            return person
        person = await self._person(scope, subject)
        self._kept[key] = (now, person)
        self._kept.move_to_end(key)
        if len(self._kept) > _MAX_KEPT:
            self._kept.popitem(last=False)
        return person

    async def _person(self, scope: str, subject: str) -> DirectoryPerson | None:
        person: object = await self._asked(lambda d: d.person(scope, subject))
        if person is None or isinstance(person, DirectoryPerson):
            return person
        raise hook_failed(_OPTION)

    async def _asked(self, ask: Callable[[Directory], Awaitable[T]]) -> T:
        directory = self._directory
        if directory is None:
            raise AssertionError("there is no directory to look anybody up in")
        return await ask_hook(_OPTION, lambda: ask(directory))
