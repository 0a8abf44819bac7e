"""The declarations of authors, and what they get back. Pure."""
