"""The trip through the example of an adapter: each has the same shop."""

from sayso import Sayso
from sayso.testing import Conversation


def refunds_once(app: Sayso, before: str = "Let me see. I refund it. ") -> None:
    """Ask for a refund, restart, edit it; `before` is what the agent says until it asks."""
    with Conversation(app) as talk:
        assert talk.say("hello").text == "Say which order to refund."
        assert talk.say("refund A-17").text == before
        assert talk.question.args == {"order_id": "A-17", "amount": 240.0}
        talk.restart()
        talk.question.edit(amount=20.0)
        assert "refunded 20.00 for A-17" in talk.texts[-1]
        assert [name for name in talk.effects if name != "model"] == ["look_up", "issue_refund"]
