"""Build hook: the wheel carries the console's built files, so that `sayso demo` needs no Node."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CONSOLE = Path("web/console/dist")
INSIDE_THE_PACKAGE = "sayso/_console"


class ConsoleFiles(BuildHookInterface[Any]):
    """Places `web/console/dist` at `sayso/_console` in the wheel, or refuses to build one."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the console to the wheel; an editable install reads it from the checkout instead.

        Args:
            version: What is built: `standard`, or `editable` for an install in place.
            build_data: The builder's instructions; `force_include` maps source to destination.

        Raises:
            SystemExit: The web files have not been built.
        """
        if version == "editable":
            return
        built = Path(self.root) / CONSOLE
        if not (built / "index.html").is_file():
            raise SystemExit(
                f"sayso: {CONSOLE}/index.html is missing, so the wheel would have no console. "
                "Build it first: npm ci && npm run build --workspaces"
            )
        if self.target_name == "wheel":
            build_data["force_include"][str(built)] = INSIDE_THE_PACKAGE
