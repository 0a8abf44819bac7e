"""Ready directories, which say who there is (`Sayso(directory=…)`).

    app = Sayso(directory=directory.fixed([DirectoryPerson(subject="lea", roles=["lead"])]))

Any other one has the two methods of `Directory`.
"""

from collections.abc import Iterable, Mapping, Sequence

from sayso.base.directory import Directory, DirectoryPerson
from sayso.base.errors import DeclarationError


def fixed(people: Iterable[DirectoryPerson] | Mapping[str, Iterable[DirectoryPerson]]) -> Directory:
    """Make a directory of a table of people: the same in each scope, or those of each by its name.

    Raises:
        DeclarationError: what is no person, or a subject that is there twice.
    """
    if isinstance(people, Mapping):
        return _Fixed({scope: _by_subject(table) for scope, table in people.items()}, {})
    return _Fixed({}, _by_subject(people))


class _Fixed:
    """People by scope and subject; `everywhere` are those of scopes without a table."""

    def __init__(
        self,
        tables: Mapping[str, Mapping[str, DirectoryPerson]],
        everywhere: Mapping[str, DirectoryPerson],
    ) -> None:
        self._tables = tables
        self._everywhere = everywhere

    async def person(self, scope: str, subject: str) -> DirectoryPerson | None:
        """The person with a subject; None if there is none."""
        return self._table(scope).get(subject)

    async def members(self, scope: str, role: str) -> Sequence[DirectoryPerson]:
        """Everybody who has a role, in the order of the table."""
        return [person for person in self._table(scope).values() if role in person.roles]

    def _table(self, scope: str) -> Mapping[str, DirectoryPerson]:
        return self._tables.get(scope, self._everywhere)


def _by_subject(people: Iterable[DirectoryPerson]) -> dict[str, DirectoryPerson]:
    table: dict[str, DirectoryPerson] = {}
    for person in people:
        if not isinstance(person, DirectoryPerson):
            raise DeclarationError(
                f"directory.fixed lists DirectoryPerson(subject=…), not {person!r}"
            )
        if person.subject in table:
            raise DeclarationError(f"directory.fixed lists {person.subject!r} twice")
        table[person.subject] = person
    return table
