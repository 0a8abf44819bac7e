"""The cost of models in one run: counts of tokens by provider and model (US-01 to US-06).

Pure apart from log lines. A count that the protocol has no room for is left out with a warning: it
must never cost a run its ending, which every client would lose with it (TR-34).
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sayso.base import jsonvalue

_log = logging.getLogger("sayso.protocol")

_MAX_COUNT: Final = 2**53 - 1
_MAX_NAME_CHARS: Final = 200
"""Characters of a provider's or a model's name; a longer one is something else (US-06)."""
_COUNTS: Final = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "reasoningTokens": "reasoning_tokens",
    "cachedInputTokens": "cached_input_tokens",
    "cacheWriteInputTokens": "cache_write_input_tokens",
}
_PART_OF: Final = {
    "reasoningTokens": "outputTokens",
    "cachedInputTokens": "inputTokens",
    "cacheWriteInputTokens": "inputTokens",
}

_Key = tuple[str | None, str | None]


@dataclass(slots=True)
class Usage:
    """The sums of the run with that key, in the order in which its models were first used."""

    run_key: str
    sums: dict[_Key, dict[str, int]] = field(default_factory=dict)

    @classmethod
    def from_json(cls, run_key: str, stored: bytes) -> "Usage":
        """Go on from what `to_json` has stored."""
        usage = cls(run_key)
        for entry in jsonvalue.decode(stored):
            key = (entry.pop("provider", None), entry.pop("model", None))
            usage.sums[key] = entry
        return usage

    def add(self, provider: Any, model: Any, counts: Mapping[str, Any]) -> None:
        """Count one call of a model; `counts` by their names in Python, None if not reported."""
        key = (_named(provider, "provider"), _named(model, "model"))
        reported = {
            wire: count
            for wire, name in _COUNTS.items()
            if (count := _counted(counts.get(name), name)) is not None
        }
        for part in _excess(reported):
            _log.warning(
                "usage: %s is more than the %s it is part of, and was left out (US-04)",
                _COUNTS[part],
                _COUNTS[_PART_OF[part]],
            )
            del reported[part]
        if not reported:
            return
        sums = self.sums.setdefault(key, {})
        for wire, count in reported.items():
            sums[wire] = min(sums.get(wire, 0) + count, _MAX_COUNT)

    def entries(self) -> tuple[dict[str, Any], ...]:
        """The sums as they go out; the total is that of input and output, if both are known."""
        return tuple(_entry(key, sums) for key, sums in self.sums.items())

    def to_json(self) -> bytes:
        """The sums, to continue from."""
        return jsonvalue.encode([_names(key) | sums for key, sums in self.sums.items()])


def _excess(sums: Mapping[str, int]) -> list[str]:
    """Parts that are more than what they are part of, which is known."""
    return [
        part for part, whole in _PART_OF.items() if sums.get(part, 0) > sums.get(whole, _MAX_COUNT)
    ]


def _names(key: _Key) -> dict[str, Any]:
    names = {"provider": key[0], "model": key[1]}
    return {name: value for name, value in names.items() if value is not None}


def _entry(key: _Key, sums: dict[str, int]) -> dict[str, Any]:
    excess = _excess(sums)
    entry = _names(key) | {name: count for name, count in sums.items() if name not in excess}
    if "inputTokens" in sums and "outputTokens" in sums:
        entry["totalTokens"] = min(sums["inputTokens"] + sums["outputTokens"], _MAX_COUNT)
    return entry


def _named(value: Any, what: str) -> str | None:
    if value is None:
        return None
    if isinstance(value, str) and 0 < len(value) <= _MAX_NAME_CHARS and value.isprintable():
        return value
    _log.warning("usage: a %s that is no short name was left out (US-06)", what)
    return None


def _counted(value: Any, name: str) -> int | None:
    if value is None:
        return None
    if type(value) is int and 0 <= value <= _MAX_COUNT:
        return value
    if type(value) is float and value.is_integer() and 0 <= value <= _MAX_COUNT:
        return int(value)
    _log.warning("usage: %s is no count of tokens and was left out (US-02)", name)
    return None
