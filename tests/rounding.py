"""Clients that read numbers as doubles."""

import json
from decimal import Decimal
from typing import Any

__all__ = ["doubled"]


def doubled(value: Any) -> Any:
    """What `JSON.parse` and then `JSON.stringify` of a browser make of a JSON value."""

    def number(text: str) -> int | float:
        double = float(text)
        whole = double.is_integer() and abs(double) < 1e21
        return int(Decimal(repr(double))) if whole else double

    return json.loads(json.dumps(value), parse_int=number, parse_float=number)
