"""How long tests wait for what takes moments."""

__all__ = ["PATIENCE"]

PATIENCE = 120.0
"""Seconds after which something hangs, on however slow and busy a machine.

Nothing is proved by it, and nothing that goes well takes any longer for it.
"""
