"""Signing in on the server, at a provider of OpenID Connect: a cookie for the console."""
