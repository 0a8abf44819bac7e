"""Models and their providers: what is asked, what comes back, and how each protocol writes it."""
