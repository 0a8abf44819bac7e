"""Agents of other frameworks, served as they are; a package or a module for each framework."""
