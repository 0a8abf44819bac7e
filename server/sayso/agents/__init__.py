"""What authors declare, and what they get back. Pure."""
