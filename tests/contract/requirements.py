"""The decorator by which a test, in tests/ or e2e/, says which rules it proves.

    @requirement("LC-01", "LC-02")
    async def test_a_run_opens_and_closes_once() -> None: ...

A web test cites a rule in brackets, in its name or in a comment beside it: `[CL-01]`.
"""

from collections.abc import Callable
from typing import TypeVar

from tests.contract.manifest import RULES

Test = TypeVar("Test", bound=Callable[..., object])


def requirement(*rules: str) -> Callable[[Test], Test]:
    """Cite rules by id on a test function, which is returned unchanged.

    Raises:
        LookupError: An id is not in the manifest; the import of the test module fails.
    """
    unknown = [rule for rule in rules if rule not in RULES]
    if unknown or not rules:
        raise LookupError(
            f"no such rule in tests/contract/manifest: {', '.join(unknown) or 'none'}"
        )
    return lambda test: test
