"""Ids of ours: new ones, and those that a place has in every execution of its turn."""

import hashlib
import os


def new(prefix: str) -> str:
    """A random id, as `run_` and 32 hexadecimal digits for the prefix `run`."""
    return f"{prefix}_{os.urandom(16).hex()}"


def identify(turn_key: str, prefix: str, place: str) -> str:
    """An id that a place has in every execution of its turn."""
    text = f"{turn_key}\n{place}".encode()
    return f"{prefix}_{hashlib.blake2b(text, digest_size=12).hexdigest()}"
