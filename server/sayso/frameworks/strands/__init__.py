"""Agents of Strands over their middleware, which is public."""

from sayso.frameworks.needs import require

require("strands-agents", extra="strands", least="1.62", below="2")
