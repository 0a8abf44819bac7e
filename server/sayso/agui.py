"""Agents that are streams of AG-UI events: `from sayso.agui import mount_events, mount_remote`."""

from sayso.frameworks.agui.mounting import mount_events as mount_events
from sayso.frameworks.agui.mounting import mount_remote as mount_remote
from sayso.frameworks.agui.mounting import run as run
