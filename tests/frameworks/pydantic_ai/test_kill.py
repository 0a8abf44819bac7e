"""Real servers that are killed while an agent of Pydantic AI works."""

from tests.frameworks.killing import Killed


class TestKilled(Killed):
    """The tests of every adapter."""

    app = "tests.frameworks.pydantic_ai.mortal:app"
    loads = ("sayso.pydantic_ai", "tests.frameworks.pydantic_ai.models")
