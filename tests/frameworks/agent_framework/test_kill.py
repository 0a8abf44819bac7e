"""Real servers that are killed while an agent of Agent Framework works."""

from tests.frameworks.killing import Killed


class TestKilled(Killed):
    """The tests of every adapter."""

    app = "tests.frameworks.agent_framework.mortal:app"
    loads = ("sayso.agent_framework", "tests.frameworks.agent_framework.models")
