"""Each framework has an environment of its own: where one is missing its tests are none."""

from importlib.util import find_spec
from pathlib import Path

FRAMEWORKS = {"langgraph": "langgraph", "pydantic_ai": "pydantic_ai"}
"""The module of each framework, by the folder of its tests."""

HERE = Path(__file__).parent
collect_ignore = [
    str(HERE / folder) for folder, module in FRAMEWORKS.items() if not find_spec(module)
]
