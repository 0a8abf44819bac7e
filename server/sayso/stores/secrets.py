"""The key of a scope, under which ids of secrets are made: what the stores share about it."""

import secrets
from typing import Final

KEY_ID: Final = "key"
"""The id that it is kept under, with no thread: no id of a value is that short."""
_KEY_BYTES: Final = 32


def new_key() -> bytes:
    """Make one."""
    return secrets.token_bytes(_KEY_BYTES)
