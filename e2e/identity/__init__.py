"""Signing in at a provider: one to sign in at, and an app that has it."""
