"""Schemas for models: the same document without keywords that a provider does not take. Pure."""

import copy
from typing import Any

from sayso.schemas.subschemas import children


def strip_keywords(schema: dict[str, Any], *keywords: str) -> dict[str, Any]:
    """A copy of a JSON Schema without these keywords, at any depth.

    Providers differ in what they take: `strip_keywords(tool.parameters, "additionalProperties")`
    is for the model, while forms and checks keep the schema as it is. Properties, definitions and
    values that are called like a keyword stay.
    """
    cleaned = copy.deepcopy(schema)
    unread: list[Any] = [cleaned]
    while unread:
        node = unread.pop()
        if isinstance(node, dict):
            for keyword in keywords:
                node.pop(keyword, None)
            unread.extend(child for _, child in children(node))
    return cleaned
