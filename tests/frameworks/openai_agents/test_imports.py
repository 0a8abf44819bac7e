"""Who does not serve an agent of the Agents SDK does not load it."""

import subprocess
import sys


def test_the_package_loads_no_framework_until_an_adapter_is_imported() -> None:
    code = (
        "import sys, sayso; assert 'agents' not in sys.modules; "
        "import sayso.openai_agents; assert 'agents' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 - our own line
