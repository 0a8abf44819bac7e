"""A call of a tool as a call of the turn: asked about first, run once, recorded whole.

All that the framework does to run a tool, with the toolsets that its author put around it, is one
effect: it happens once, and its result is what the journal has. Only what the mount names in
`parts` is none: it runs other agents, whose calls are recorded for themselves.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError
from pydantic_ai import RunContext, ToolDenied
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, ToolFailed
from pydantic_ai.messages import ModelResponse, ToolCallPart, ToolReturn
from pydantic_ai.toolsets import ToolsetTool, WrapperToolset
from pydantic_core import SchemaValidator, to_json, to_jsonable_python

from sayso import (
    ArgumentsMisfit,
    AskFirst,
    Call,
    NotRecordable,
    Question,
    Told,
    Tool,
    ToolCall,
    Turn,
    current_call,
)
from sayso.frameworks.pydantic_ai.replaying import unit_done
from sayso.frameworks.pydantic_ai.results import ended, restored, returned, told
from sayso.frameworks.pydantic_ai.running import Running, effect_of, entered, in_effect, running

LEFT = "left"
"""The kind of a record of a call whose result comes from elsewhere."""
CANCELLED = "cancelled"
"""The kind of a record of a call whose tool has cancelled the run (`ctx.cancel()`)."""


@dataclass
class TurnToolset(WrapperToolset[Any]):
    """The toolset of an agent inside a turn: the turn makes its calls."""

    capability: Any

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Have the turn make the call, unless the code is inside a recorded effect already."""
        run = running()
        if run is None or effect_of() is not None:
            return await super().call_tool(name, tool_args, ctx, tool)
        kind = run.kinds.get((id(self.capability), name), tool.tool_def.kind)
        if kind == "external":
            return await left(run, name, tool_args)
        return await _Execution(self, run, name, kind, tool_args, ctx, tool).result()


@dataclass
class _Execution:
    """One call, as far as one run of the code brings it."""

    toolset: TurnToolset
    run: Running
    name: str
    kind: str
    args: dict[str, Any]
    ctx: RunContext[Any]
    tool: ToolsetTool[Any]
    proposed: Mapping[str, Any] | None = None
    ran: bool = False

    async def result(self) -> Any:
        """The tool's result as the framework takes it, or how the call ended instead."""
        outcome = await self._call()
        unit_done(executed=self.ran)
        if not outcome.executed:
            return _not_executed(outcome)
        record = outcome.value
        if record is None:  # it ran, and what came of it could not be recorded
            return outcome.text
        if record["kind"] == LEFT:
            return await left(self.run, self.name, self.args, record["metadata"])
        if record["kind"] == CANCELLED:
            turn = self.run.turn
            await turn.parked(turn.cancel(f"tool {self.name!r} has cancelled the run"))
        value = restored(record)
        return _with_edit(value, outcome, self._declared()) if outcome.edited else value

    async def _call(self) -> Call[Any]:
        """Make the call with the arguments as the model wrote them, else as they were read."""
        turn, toolbox, tool = self.run.turn, self.run.toolbox, self._declared()
        turn.add_tools(tool)
        body = self._part if self.name in toolbox.parts else self._effect
        misfit: ArgumentsMisfit | NotRecordable | None = None
        for arguments in self._forms():
            self.proposed = arguments
            call = ToolCall(tool, arguments, call=body, told_as=self.ctx.tool_call_id)
            try:
                return await turn.parked(turn.call(call))
            except (ArgumentsMisfit, NotRecordable) as error:  # nothing was sent
                misfit = error
        raise ModelRetry(str(misfit))

    def _declared(self) -> Tool[..., Any]:
        validator = self.tool.args_validator
        own = validator if isinstance(validator, SchemaValidator) else None
        return self.run.toolbox.tool(self.tool.tool_def, self.kind, own)

    def _forms(self) -> list[dict[str, Any]]:
        """The arguments as JSON, in the forms that may fit the schema.

        What the model wrote comes first where that is what runs. Where the framework read it in
        another way (a text as a number, an object as the only argument) the other forms fit.
        """
        read = to_jsonable_python(self.args, by_alias=True, serialize_unknown=True)
        forms = [read, *(value for value in read.values() if isinstance(value, dict))]
        written = _written(self.ctx)
        if written is not None:
            same = written == read or self._reads_as_given(written)
            forms.insert(0 if same else len(forms), written)
        return forms

    def _reads_as_given(self, written: dict[str, Any]) -> bool:
        try:
            return bool(self._read(written) == self.args)
        except (ValidationError, ValueError):
            return False

    def _read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments of JSON as the tool gets them."""
        read: dict[str, Any] = self.tool.args_validator.validate_json(
            to_json(arguments), context=getattr(self.ctx, "validation_context", None)
        )
        return read

    async def _effect(self, arguments: Mapping[str, Any]) -> Told[Any]:
        self.ran = True
        with in_effect(self.toolset.capability):
            return await self._run(arguments)

    async def _part(self, turn: Turn, arguments: Mapping[str, Any]) -> Told[Any]:
        """Run it as an inner agent: its own code runs on each entry, what it calls only once."""
        inner = self.run.toolbox.parts[self.name]

        async def body(inner_turn: Turn) -> Told[Any]:
            key = f"{self.run.key}/{self.ctx.tool_call_id}"
            with entered(Running(inner_turn, self.run.toolbox, key)):
                return await inner_turn.resting(self._run(arguments))

        result: Told[Any] = await turn.delegate(body, name=inner.name or self.name)
        return result

    async def _run(self, arguments: Mapping[str, Any]) -> Told[Any]:
        info = current_call()
        approved = bool(info.approvals) or info.answer is not None
        ctx = replace(
            self.ctx,
            tool_call_approved=self.ctx.tool_call_approved or approved,
            # What a tool would send on from here would be lost when the code is entered again.
            pending_messages=None,
        )
        wishes: list[str] = []
        # The framework would cut the call off; it ends, is recorded, and the turn ends behind it.
        vars(ctx)["cancel"] = lambda: wishes.append(CANCELLED)
        try:
            values = self.args if arguments == self.proposed else await self._edited(arguments)
            value = await self.toolset.wrapped.call_tool(self.name, values, ctx, self.tool)
        except ApprovalRequired as asks:
            raise AskFirst(metadata=to_jsonable_python(asks.metadata)) from None
        except CallDeferred as leaves:
            record = {"kind": LEFT, "metadata": to_jsonable_python(leaves.metadata)}
            return Told(record, "Not run here: its result comes from elsewhere.")
        except (ModelRetry, ToolFailed, ValidationError) as error:
            return ended(error)
        if wishes:
            return Told({"kind": CANCELLED}, told(self.name, value))
        return returned(self.name, value)

    async def _edited(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Read arguments of a person as the model's own would be."""
        values = self._read(arguments)
        look = getattr(self.tool, "args_validator_func", None)
        if look is not None:
            looked = look(self.ctx, **values)
            if hasattr(looked, "__await__"):
                await looked
        return values


async def left(
    run: Running, name: str, args: Mapping[str, Any], metadata: Mapping[str, Any] | None = None
) -> Any:
    """A call that is made elsewhere: by the page if it offers such a tool, else by a person."""
    turn = run.turn
    arguments = to_jsonable_python(dict(args), serialize_unknown=True)
    if run.offers(name):
        outcome: Call[Any] = await turn.parked(turn.client_tool(name, arguments, again=True))
        return outcome.value if outcome.executed else _not_executed(outcome)
    question = Question(
        reason="pydantic-ai:result",
        message=f"What is the result of {name}?",
        schema={},
        metadata={"tool": name, "arguments": arguments, **(metadata or {})},
    )
    (answer,) = await turn.parked(turn.interrupt_all([question]))
    if answer.resolved:
        return answer.value
    raise ToolFailed(f"No result: {answer.status}.")


def _not_executed(outcome: Call[Any]) -> ToolDenied:
    """Tell the model of a call that brought no result.

    Raises:
        ToolFailed: the tool ran, and failed.
    """
    if outcome.failed:
        raise ToolFailed(outcome.text)
    return ToolDenied(outcome.text)


def _with_edit(value: Any, outcome: Call[Any], tool: Tool[..., Any]) -> Any:
    """The result of a call whose arguments a person changed: the model hears what ran."""
    if isinstance(value, str):
        return outcome.text
    ran = to_json(tool.shown(outcome.args)).decode()
    said = f"A reviewer changed the arguments; the call ran with {ran}."
    if isinstance(value, ToolReturn):
        content = value.content
        more = [] if content is None else [content] if isinstance(content, str) else [*content]
        return replace(value, content=[said, *more])
    return ToolReturn(return_value=value, content=said)


def _written(ctx: RunContext[Any]) -> dict[str, Any] | None:
    """The arguments as the model wrote them, out of its last reply."""
    for message in reversed(ctx.messages):
        if isinstance(message, ModelResponse):
            for part in message.parts:
                if isinstance(part, ToolCallPart) and part.tool_call_id == ctx.tool_call_id:
                    try:
                        return dict(part.args_as_dict())
                    except (ValueError, AssertionError):
                        return None
            return None
    return None
