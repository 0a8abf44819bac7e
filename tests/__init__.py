"""Every suite that needs no browser."""
