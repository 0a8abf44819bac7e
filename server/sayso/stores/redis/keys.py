"""The names of all keys. Those of one scope share a hash tag, so a script may use them together.

    sayso:layout                     which version of this layout it is
    sayso:scopes, sayso:threads      the scopes that there are; the number of the newest thread
    sayso:duty:<name>                what one process of all does
    sayso:{scope}:<kind>             lists and counters of a scope
    sayso:{scope}:<kind>:<name>      what belongs to a thread, an owner, an approval
    sayso-audit:{scope}:<kind>…      the audit trail, to which a user of the server may only add
    sayso:{%sessions}:<kind>:<name>  sessions of people, in no scope; where tokens of services lead

A scope is percent-encoded, what comes behind it is not; no scope is encoded as `%sessions`.
"""

from urllib.parse import quote

LAYOUT = "sayso:layout"
SCOPES = "sayso:scopes"
THREADS = "sayso:threads"
_SESSIONS = "sayso:{%sessions}:"


def duty_key(duty: str) -> str:
    """The key of what one process of all does."""
    return f"sayso:duty:{duty}"


class ScopeKeys:
    """Keys of a scope; ValueError if its name has no UTF-8 form."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        # An empty tag would be none; an encoded name is never a lone percent sign.
        self._tag = f"{{{quote(scope, safe='') or '%'}}}:"

    def of(self, kind: str) -> str:
        """Of the whole scope."""
        return f"sayso:{self._tag}{kind}"

    def trail(self, kind: str) -> str:
        """Of the whole scope's audit trail."""
        return f"sayso-audit:{self._tag}{kind}"

    def one(self, kind: str, name: str) -> str:
        """Of one thread, owner, approval or step."""
        name.encode()  # UnicodeEncodeError is a ValueError that shows the place
        return f"{self.of(kind)}:{name}"

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

    def trail(self, kind: str) -> str:
        """Of its audit trail: the rows, and their contents."""
        return self.scope.trail(kind) + self._tail


def session_key(digest: str) -> str:
    """Of one session of a person."""
    return f"{_SESSIONS}session:{digest}"


def service_token_key(digest: str) -> str:
    """Of the scope and the id of a service's token."""
    return f"{_SESSIONS}service_token:{digest}"


def session_names_key(name: str) -> str:
    """Of the digests of all sessions of a name."""
    return f"{_SESSIONS}named:{name}"


def session_step_key(token: str) -> str:
    """Of a step that ends some."""
    return f"{_SESSIONS}step:{token}"
