"""Request bodies in few words, and what reading them gives."""

from typing import Any

import orjson
import pytest

from sayso.base import jsonvalue
from sayso.base.codes import Code
from sayso.base.errors import Problem
from sayso.base.limits import Limits
from sayso.protocol.runinput import RunInput, decode_run_input

LIMITS = Limits()
USER = {"id": "u1", "role": "user", "content": "Refund A-17"}


def body(**members: Any) -> bytes:
    """A minimal request with these members beside or instead of its own."""
    return orjson.dumps({"threadId": "t", "runId": "r", "messages": [USER], **members})


def read(**members: Any) -> RunInput:
    return decode_run_input(body(**members), LIMITS)


def refused(data: bytes, limits: Limits = LIMITS) -> Problem:
    with pytest.raises(Problem) as caught:
        decode_run_input(data, limits)
    return caught.value


def pointers(data: bytes) -> dict[str, str]:
    problem = refused(data)
    assert problem.code is Code.INVALID_INPUT
    return {error["pointer"]: error["message"] for error in problem.errors}


def bodies(given: RunInput) -> list[Any]:
    return [jsonvalue.decode(message.body) for message in given.messages]
