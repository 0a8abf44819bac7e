"""Real servers that are killed while an agent of Strands works."""

from tests.frameworks.killing import Killed


class TestKilled(Killed):
    """The tests of every adapter."""

    app = "tests.frameworks.strands.mortal:app"
    loads = ("sayso.strands", "tests.frameworks.strands.models")
