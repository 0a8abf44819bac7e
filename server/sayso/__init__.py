"""Sayso: an AG-UI server that makes human decisions durable."""

from importlib.metadata import version as _version

from sayso import auth, directory, providers
from sayso.agents import approval, parts
from sayso.agents.asking import AskFirst
from sayso.agents.decisions import Decision, Option, describe
from sayso.agents.outcomes import Answer, Call, Question, ToolCall
from sayso.agents.parameters import ArgumentsMisfit
from sayso.agents.suggestions import Suggestion, SuggestionRequest
from sayso.agents.told import Told
from sayso.agents.tooloptions import DidNotHappen, Happened
from sayso.agents.tools import Tool
from sayso.app import Sayso
from sayso.base.approvers import Approvers
from sayso.base.breakpoints import Breakpoints
from sayso.base.clock import Clock
from sayso.base.codes import Code
from sayso.base.default import DEFAULT
from sayso.base.directory import Directory, DirectoryPerson
from sayso.base.errors import (
    AgentFailed,
    CancelledCall,
    Conflict,
    DeclarationError,
    InterruptsDisabled,
    JournalMissing,
    LeaseLost,
    ModelFailed,
    NestedCall,
    NotAllowed,
    NotRecordable,
    OpenMessage,
    OutcomeUnknown,
    Problem,
    ReplayMismatch,
    SaysoError,
    StepFailed,
    StoreError,
    StoreUnavailable,
    ThreadTooLarge,
    ToolFailed,
    ToolNotOffered,
    TooManyInterrupts,
    TurnError,
)
from sayso.base.limits import Limits, Quota
from sayso.base.options import AgentOptions, FallbackAnswer, Legacy, Reminder
from sayso.base.records import Principal
from sayso.base.retention import Retention
from sayso.base.scrubbing import Scrub
from sayso.base.signatures import PublicKey
from sayso.http.dialects.copilotkit import CopilotKit
from sayso.http.dialects.session.mount import Sessions
from sayso.http.options import KeepAlive, ServerOptions
from sayso.http.signin.oidc import Oidc
from sayso.schemas.errors import SchemaViolation
from sayso.schemas.secret import Secret
from sayso.schemas.subschemas import strip_keywords
from sayso.stores.aesgcm import AesGcm
from sayso.turns.agents.keyed import KeyedBranch
from sayso.turns.calls.reported import ReportedCall
from sayso.turns.input import TurnInput
from sayso.turns.keys import Ed25519
from sayso.turns.models.model import Speak
from sayso.turns.output.activities import Activity
from sayso.turns.output.messages import Reasoning, TextMessage
from sayso.turns.replay.branch import Pause
from sayso.turns.replay.effects import CallInfo, current_call
from sayso.turns.turn import Turn

__version__ = _version("sayso")

__all__ = [
    "DEFAULT",
    "Activity",
    "AesGcm",
    "AgentFailed",
    "AgentOptions",
    "Answer",
    "Approvers",
    "ArgumentsMisfit",
    "AskFirst",
    "Breakpoints",
    "Call",
    "CallInfo",
    "CancelledCall",
    "Clock",
    "Code",
    "Conflict",
    "CopilotKit",
    "Decision",
    "DeclarationError",
    "DidNotHappen",
    "Directory",
    "DirectoryPerson",
    "Ed25519",
    "FallbackAnswer",
    "Happened",
    "InterruptsDisabled",
    "JournalMissing",
    "KeepAlive",
    "KeyedBranch",
    "LeaseLost",
    "Legacy",
    "Limits",
    "ModelFailed",
    "NestedCall",
    "NotAllowed",
    "NotRecordable",
    "Oidc",
    "OpenMessage",
    "Option",
    "OutcomeUnknown",
    "Pause",
    "Principal",
    "Problem",
    "PublicKey",
    "Question",
    "Quota",
    "Reasoning",
    "Reminder",
    "ReplayMismatch",
    "ReportedCall",
    "Retention",
    "Sayso",
    "SaysoError",
    "SchemaViolation",
    "Scrub",
    "Secret",
    "ServerOptions",
    "Sessions",
    "Speak",
    "StepFailed",
    "StoreError",
    "StoreUnavailable",
    "Suggestion",
    "SuggestionRequest",
    "TextMessage",
    "ThreadTooLarge",
    "Told",
    "TooManyInterrupts",
    "Tool",
    "ToolCall",
    "ToolFailed",
    "ToolNotOffered",
    "Turn",
    "TurnError",
    "TurnInput",
    "approval",
    "auth",
    "current_call",
    "describe",
    "directory",
    "parts",
    "providers",
    "strip_keywords",
]
