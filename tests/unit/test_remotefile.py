"""Agents of a file that are elsewhere: `type: remote_agent`."""

from pathlib import Path

import pytest

from sayso.ops.agentfile import app_of
from sayso.ops.yamlfile import YamlFileError
from sayso.testing import Conversation
from tests.frameworks.agui.endpoint import Endpoint

TOKEN = "tok-never-told"  # noqa: S105 - of no service
FILE = """
store: "memory:"
agents:
  - name: partner
    description: Elsewhere.
    spec:
      type: remote_agent
      url: ${PARTNER_URL}
      headers: {authorization: "Bearer ${PARTNER_TOKEN}", x-shop: a}
      approve: {"pay*": deny}
      silence: 30
"""


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of the file."""
    monkeypatch.setenv("PARTNER_TOKEN", TOKEN)
    monkeypatch.setenv("PARTNER_URL", "https://partner.example/agent")


def file(folder: Path, text: str = FILE) -> Path:
    path = folder / "agents.yaml"
    path.write_text(text)
    return path


def test_a_file_alone_serves_an_agent_that_is_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Endpoint() as endpoint:
        monkeypatch.setenv("PARTNER_URL", endpoint.url)
        with Conversation(app_of(file(tmp_path)), "partner") as talk:
            assert talk.say("hello").text == "You said hello."
        (headers,) = endpoint.headers
        assert headers["authorization"] == f"Bearer {TOKEN}"
        assert headers["x-shop"] == "a"


@pytest.mark.parametrize(
    ("before", "after", "key", "says"),
    [
        ("url: ${PARTNER_URL}", "again: true", "type", "'url' is missing"),
        ("${PARTNER_URL}", "ftp://partner.example", "spec.url", "must begin with https"),
        ("Bearer ${PARTNER_TOKEN}", TOKEN, "headers.authorization", "put it into the environment"),
        ("${PARTNER_TOKEN}", "${NO_SUCH}", "headers.authorization", "NO_SUCH is not set"),
        ("silence: 30", "silence: never", "silence", "seconds above zero"),
        ("silence: 30", "again: 1", "again", "true or false"),
        ("silence: 30", "tries: 3", "spec", "unknown key 'tries'"),
        ("deny}", "{ask: true, editable: true}}", "approve.pay*", "tools of this server"),
        ("    description", "    import: a:b\n    description", "import", "no code of its own"),
    ],
)
def test_each_problem_is_told_with_its_key_and_without_a_value(
    tmp_path: Path, before: str, after: str, key: str, says: str
) -> None:
    assert before in FILE
    with pytest.raises(YamlFileError) as error:
        app_of(file(tmp_path, FILE.replace(before, after)))
    text = str(error.value)
    assert says in text
    assert key in text
    assert " line " in text
    assert TOKEN not in text
