"""Who does not serve an agent of Agent Framework does not load it."""

from tests.frameworks.late import is_loaded_by_its_adapter_alone


def test_the_package_loads_no_framework_until_an_adapter_is_imported() -> None:
    is_loaded_by_its_adapter_alone("agent_framework", "sayso.agent_framework")
