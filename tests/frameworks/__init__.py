"""Adapters: what every framework's agents have in common on this server, and each one's own."""
