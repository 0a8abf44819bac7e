"""Who has agreed so far to what several people have to agree to; kept in a question's policy. Pure.

`{"agreed": [{"by", "at", "channel", "roles", "payload"}, …]}` beside what else the policy holds.
"""

from typing import Any, Final

from sayso import jsonvalue

__all__ = ["AGREED", "Vote", "votes"]

AGREED: Final = "agreed"

Vote = dict[str, Any]


def votes(policy: bytes | None) -> list[Vote]:
    """The votes in a question's policy, in order."""
    found: list[Vote] = jsonvalue.decode(policy).get(AGREED, []) if policy else []
    return found
