"""A schema whose errors are costly to list."""

from typing import Any

EXPRESSION: dict[str, Any] = {
    "$ref": "#/$defs/E",
    "$defs": {
        "E": {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {
                        "items": {"type": "array", "items": {"$ref": "#/$defs/E"}},
                        "kind": {"const": kind},
                    },
                    "required": ["kind", "items"],
                }
                for kind in ("and", "or", "not")
            ]
            + [{"type": "string"}]
        }
    },
}
"""A recursive union: listing all its errors takes time exponential in the depth of the value."""
