"""How much is played of what has no end."""

import os

__all__ = ["share"]


def share(most: int) -> int:
    """A tenth, and all of it in the stage `schedules`."""
    return most if os.environ.get("SAYSO_SCHEDULES") == "all" else most // 10
