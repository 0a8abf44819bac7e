"""Sayso: an AG-UI server that makes human decisions durable."""

from importlib.metadata import version as _version

from sayso import auth
from sayso.agents import approval, parts
from sayso.agents.decisions import Decision, Option, describe
from sayso.agents.outcomes import Answer, Call, Question, ToolCall
from sayso.agents.tools import DidNotHappen, Happened, Tool
from sayso.agents.turninput import TurnInput
from sayso.app import Sayso
from sayso.breakpoints import Breakpoints
from sayso.clock import Clock
from sayso.errors import (
    CancelledCall,
    Code,
    DeclarationError,
    InterruptsDisabled,
    InvalidAnswer,
    NestedCall,
    NotRecordable,
    OpenMessage,
    ReplayMismatch,
    SaysoError,
    StepFailed,
    TurnError,
)
from sayso.keepalive import KeepAlive
from sayso.limits import Limits
from sayso.options import GivenAnswer, Reminder
from sayso.records import Principal
from sayso.schemas.cleaning import schema_without
from sayso.turns.activities import Activity
from sayso.turns.effects import CallInfo, current_call
from sayso.turns.messages import TextMessage
from sayso.turns.reasoning import Reasoning
from sayso.turns.turn import Turn

__version__ = _version("sayso")

__all__ = [
    "Activity",
    "Answer",
    "Breakpoints",
    "Call",
    "CallInfo",
    "CancelledCall",
    "Clock",
    "Code",
    "Decision",
    "DeclarationError",
    "DidNotHappen",
    "GivenAnswer",
    "Happened",
    "InterruptsDisabled",
    "InvalidAnswer",
    "KeepAlive",
    "Limits",
    "NestedCall",
    "NotRecordable",
    "OpenMessage",
    "Option",
    "Principal",
    "Question",
    "Reasoning",
    "Reminder",
    "ReplayMismatch",
    "Sayso",
    "SaysoError",
    "StepFailed",
    "TextMessage",
    "Tool",
    "ToolCall",
    "Turn",
    "TurnError",
    "TurnInput",
    "approval",
    "auth",
    "current_call",
    "describe",
    "parts",
    "schema_without",
]
