"""The names of all keys. Those of one scope share a hash tag, so a script may use them together.

    sayso:layout                     which version of this layout it is
    sayso:scopes, sayso:threads      the scopes that there are; the number of the newest thread
    sayso:{scope}:<kind>             lists and counters of a scope
    sayso:{scope}:<kind>:<name>      what belongs to a thread, an owner, an approval

A scope is percent-encoded, what comes behind it is not.
"""

from urllib.parse import quote

LAYOUT = "sayso:layout"
SCOPES = "sayso:scopes"
THREADS = "sayso:threads"


class ScopeKeys:
    """Keys of a scope; ValueError if its name has no UTF-8 form."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        # An empty tag would be none; an encoded name is never a lone percent sign.
        self._tag = f"sayso:{{{quote(scope, safe='') or '%'}}}:"

    def of(self, kind: str) -> str:
        """Of the whole scope."""
        return self._tag + kind

    def one(self, kind: str, name: str) -> str:
        """Of one thread, owner, approval or step."""
        name.encode()  # UnicodeEncodeError is a ValueError that shows the place
        return f"{self._tag}{kind}:{name}"

    def thread(self, thread_id: str) -> "ThreadKeys":
        """Of one thread."""
        return ThreadKeys(self, thread_id)


class ThreadKeys:
    """Keys of a thread."""

    def __init__(self, scope: ScopeKeys, thread_id: str) -> None:
        self.scope = scope
        self.id = thread_id
        self._tail = scope.one("", thread_id)[len(scope.of("")) :]

    def of(self, kind: str) -> str:
        """Of one kind: thread, turns, runs, messages, interrupts and so on."""
        return self.scope.of(kind) + self._tail
