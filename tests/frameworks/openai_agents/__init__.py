"""The OpenAI Agents SDK, in an environment of its own."""
