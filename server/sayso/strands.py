"""Agents of Strands: `from sayso.strands import mount`."""

from sayso.frameworks.strands.mounting import mount as mount
