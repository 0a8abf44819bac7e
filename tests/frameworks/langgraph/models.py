"""A model of LangChain's that says what a shop's plan says, in pieces."""

import json
import re
from collections.abc import AsyncIterator, Sequence
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from tests.frameworks.shop import Reply, Said, Shop

ROLES = {"human": "user", "ai": "model", "tool": "tool"}


class PlannedChat(BaseChatModel):
    """A chat model without a network."""

    shop: Any

    @property
    def _llm_type(self) -> str:
        return "planned"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> "PlannedChat":
        """The plan knows them."""
        return self

    def _plan(self, messages: Sequence[BaseMessage]) -> Reply:
        told = [Said(ROLES[m.type], str(m.text)) for m in messages if m.type in ROLES]
        shop: Shop = self.shop
        return shop.reply(told)

    def _generate(self, messages: Any, *args: Any, **options: Any) -> ChatResult:
        reply = self._plan(messages)
        calls = [
            {"id": call.id, "name": call.name, "args": call.arguments, "type": "tool_call"}
            for call in reply.calls
        ]
        message = AIMessage(reply.text, tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _astream(
        self, messages: Any, *args: Any, **options: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        reply = self._plan(messages)
        for piece in re.findall(r"\S+\s*", reply.text):
            yield ChatGenerationChunk(message=AIMessageChunk(content=piece))
        if reply.calls:
            chunks: list[Any] = [
                {
                    "id": call.id,
                    "name": call.name,
                    "args": json.dumps(call.arguments),
                    "index": number,
                }
                for number, call in enumerate(reply.calls)
            ]
            yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=chunks))
