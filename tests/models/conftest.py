"""What all tests of models stand on: both embedded stores."""

import pytest

from tests.stores.backends import EMBEDDED


@pytest.fixture(params=EMBEDDED)
def kind(request: pytest.FixtureRequest) -> str:
    """The name of a backend."""
    name: str = request.param
    return name
