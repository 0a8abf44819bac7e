"""Real servers that are killed in a graph."""

from tests.frameworks.killing import Killed, ShopServer, text_of
from tests.server import resolved, until


class TestKilled(Killed):
    """The tests of every adapter."""

    app = "tests.frameworks.langgraph.mortal:app"
    loads = ("tests.frameworks.langgraph.graphs", "tests.frameworks.langgraph.test_contract")

    def test_a_server_dies_in_a_node_and_a_person_says_what_happened(
        self, server: ShopServer
    ) -> None:
        server.agent = "line"
        server.dies("t1", text="go")
        until("the unclear node is asked about", lambda: bool(server.open("t1")))
        (unclear,) = server.open("t1")
        assert "'charge'" in unclear["message"]
        events = server.run("t1", resume=[resolved(unclear, {"action": "skip"})])
        assert text_of(events) == "Shipped."
        assert server.done() == ["charge", "ship"]
