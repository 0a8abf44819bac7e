"""A framework is loaded by who imports its adapter, and by nobody else."""

import subprocess
import sys

__all__ = ["is_loaded_by_its_adapter_alone"]


def is_loaded_by_its_adapter_alone(framework: str, adapter: str) -> None:
    """Import the package, then the adapter, up to where that loads the framework.

    The framework itself is kept away there: to load it for nothing takes seconds of CPU.
    """
    code = (
        f"import sys, sayso; assert '{framework}' not in sys.modules; "
        f"sys.modules['{framework}'] = None; print('so far'); import {adapter}"
    )
    ran = subprocess.run(  # noqa: S603 - our own line
        [sys.executable, "-c", code], capture_output=True, check=False, text=True
    )
    assert ran.stdout == "so far\n", ran.stderr
    assert f"import of {framework} halted" in ran.stderr
