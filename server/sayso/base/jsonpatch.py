"""JSON Patch (RFC 6902) and merge patches (RFC 7396) over JSON values. Pure."""

import copy
from collections.abc import Sequence
from typing import Any

from sayso.base import jsonvalue

Operation = dict[str, Any]


def apply(value: Any, operations: Sequence[Operation]) -> Any:
    """The value after an RFC 6902 patch, all of it or nothing (SS-02, SS-03, SS-04)."""
    root = {"": copy.deepcopy(value)}
    for number, operation in enumerate(operations):
        try:
            _apply_one(root, operation)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise ValueError(f"operation {number} of the patch: {error}") from None
    return root[""]


def merge_patch(value: Any, patch: Any) -> Any:
    """The value after an RFC 7396 merge patch: null removes a member, lists are replaced whole."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(value) if isinstance(value, dict) else {}
    for name, change in patch.items():
        if change is None:
            result.pop(name, None)
        else:
            result[name] = merge_patch(result.get(name), change)
    return result


def differences(before: Any, after: Any, path: str = "") -> list[Operation]:
    """The differences of two values: `{"path", "from"?, "to"?}`; a list counts as a whole."""
    if isinstance(before, dict) and isinstance(after, dict):
        operations: list[Operation] = []
        for name in dict.fromkeys((*before, *after)):
            here = path + jsonvalue.pointer((name,))
            if name not in after:
                operations.append({"path": here, "from": before[name]})
            elif name not in before:
                operations.append({"path": here, "to": after[name]})
            else:
                operations += differences(before[name], after[name], here)
        return operations
    if jsonvalue.equal(before, after):
        return []
    return [{"path": path, "from": before, "to": after}]


def _apply_one(root: dict[str, Any], operation: Operation) -> None:
    kind, path = operation["op"], operation["path"]
    if kind in ("add", "replace"):
        _put(root, path, copy.deepcopy(operation["value"]), insert=kind == "add")
    elif kind == "remove":
        _remove(root, path)
    elif kind == "test":
        if not jsonvalue.equal(jsonvalue.resolve(root[""], path), operation["value"]):
            raise ValueError(f"the value at {path!r} is another one")
    elif kind in ("move", "copy"):
        source = operation["from"]
        if kind == "move" and path.startswith(source + "/"):
            raise ValueError(f"{source!r} cannot move into itself")
        moved = copy.deepcopy(jsonvalue.resolve(root[""], source))
        if kind == "move":
            _remove(root, source)
        _put(root, path, moved, insert=True)
    else:
        raise ValueError(f"{kind!r} is no operation of JSON Patch")


def _parent(root: dict[str, Any], path: str) -> tuple[Any, str]:
    parts: list[str | int] = ["", *jsonvalue.parse_pointer(path)]
    holder: Any = root
    for depth, part in enumerate(parts[:-1]):
        if isinstance(holder, dict) and part in holder:
            holder = holder[part]
        elif isinstance(holder, list):
            holder = holder[_position(str(part), len(holder), insert=False)]
        else:
            raise LookupError(f"nothing at {jsonvalue.pointer(parts[1 : depth + 1])!r}")
    return holder, str(parts[-1])


def _put(root: dict[str, Any], path: str, value: Any, *, insert: bool) -> None:
    holder, key = _parent(root, path)
    if isinstance(holder, dict):
        if not insert and key not in holder:
            raise LookupError(f"nothing at {path!r} to replace")
        holder[key] = value
    elif isinstance(holder, list):
        position = len(holder) if key == "-" else _position(key, len(holder), insert=insert)
        if insert:
            holder.insert(position, value)
        else:
            holder[_position(key, len(holder), insert=False)] = value
    else:
        raise LookupError(f"{path!r} leads into a value that has no members")


def _remove(root: dict[str, Any], path: str) -> None:
    holder, key = _parent(root, path)
    if isinstance(holder, dict):
        if key not in holder:
            raise LookupError(f"nothing at {path!r} to remove")
        if holder is root:
            raise ValueError("the whole state cannot be removed; replace it")
        del holder[key]
    elif isinstance(holder, list):
        del holder[_position(key, len(holder), insert=False)]
    else:
        raise LookupError(f"{path!r} leads into a value that has no members")


def _position(key: str, length: int, *, insert: bool) -> int:
    if not key.isdigit() or (len(key) > 1 and key[0] == "0"):
        raise ValueError(f"{key!r} is no position in a list")
    position = int(key)
    if position > length or (position == length and not insert):
        raise LookupError(f"position {key} is past the end of a list of {length}")
    return position
