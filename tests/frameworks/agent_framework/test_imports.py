"""Who does not serve an agent of Agent Framework does not load it."""

import subprocess
import sys


def test_the_package_loads_no_framework_until_an_adapter_is_imported() -> None:
    code = (
        "import sys, sayso; assert 'agent_framework' not in sys.modules; "
        "import sayso.agent_framework; assert 'agent_framework' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 - our own line
