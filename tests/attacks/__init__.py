"""Hostile clients against real servers, while others are served."""
