"""Real servers that are killed while an agent of the OpenAI Agents SDK works."""

from tests.frameworks.killing import Killed


class TestKilled(Killed):
    """The tests of every adapter."""

    app = "tests.frameworks.openai_agents.mortal:app"
    loads = ("sayso.openai_agents", "tests.frameworks.openai_agents.models")
