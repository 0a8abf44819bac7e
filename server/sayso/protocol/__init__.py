"""AG-UI in bytes and rules: requests in, events out. Pure."""
