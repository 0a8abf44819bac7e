"""Processes that die at the worst moments."""
