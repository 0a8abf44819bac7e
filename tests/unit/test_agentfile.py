"""Agents declared in a file: what is wrong is said with its line and key, and nothing is served."""

import json
from pathlib import Path
from textwrap import dedent

import pytest

from sayso import Legacy, Sayso
from sayso.base.options import AgentOptions, OptionValues
from sayso.base.retention import Retention
from sayso.ops.agentfile import BACKENDS, app_of
from sayso.ops.yamlfile import YamlFileError
from sayso.stores.aesgcm import add_key
from sayso.stores.redis.store import RedisStore
from sayso.stores.sqlite.memory import MemoryStore
from sayso.stores.sqlite.store import SqliteStore
from tests.contract.rest import call
from tests.contract.test_signatures import new_key

ELSEWHERE = {"expires_in", "interrupts_enabled", "on_reminder", "breakpoints"}
"""Options that a file says in another place, or that need Python."""
AGENTS = '''
from sayso import Sayso, Tool, Turn, approval

app = Sayso(store="memory:")

@app.tool(approval=approval.always)
async def pay(amount: float) -> str:
    return "paid"

async def support(turn: Turn) -> None:
    """Answers customers."""
    await turn.call(pay, amount=1.0)

async def sales(turn: Turn) -> None:
    await turn.say("hello")

def plain(turn): ...
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """A working directory with a module of agents, under a name of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "desk_agents.py").write_text(AGENTS)
    (tmp_path / "broken_agents.py").write_text("import no_such_module_at_all\n")
    (tmp_path / "failing_agents.py").write_text("x = 1\nraise RuntimeError('no key')\n")
    return tmp_path


def app(folder: Path, text: str, *, store: str | None = None) -> Sayso:
    path = folder / "agents.yaml"
    path.write_text(dedent(text))
    return app_of(path.relative_to(folder), store=store)


def wrong(folder: Path, text: str) -> list[str]:
    with pytest.raises(YamlFileError) as error:
        app(folder, text)
    return str(error.value).splitlines()


def test_agents_are_served_as_the_file_says(folder: Path) -> None:
    """Name, version, description, type, tools of the module, and the checkpoint."""
    made = app(
        folder,
        """
        agents:
          - name: support
            import: desk_agents:support
            version: "2"
            spec:
              type: langgraph
              interrupt:
                enabled: true
                checkpoint: {backend: memory, ttl_seconds: 3600}
            options:
              refusals: recover
          - name: sales
            import: desk_agents:sales
            description: Sells.
            spec: {interrupt: {enabled: false}}
        """,
    )
    support, sales = made._agents.newest("support"), made._agents.newest("sales")
    assert support is not None
    assert sales is not None
    assert (support.version, support.kind) == ("2", "langgraph")
    assert support.description == "Answers customers."
    assert (support.options.expires_in, support.options.refusals) == (3600, "recover")
    assert support.options.interrupts_enabled
    assert (sales.description, sales.options.interrupts_enabled) == ("Sells.", False)
    assert [tool.name for tool in made.tools] == ["pay"]
    assert isinstance(made._engine.store, MemoryStore)


def test_a_file_takes_every_option_of_an_agent_that_needs_no_python(folder: Path) -> None:
    """Those of the documented table; what is said elsewhere in it, or is code, is no key there."""
    chosen = {
        "refusals": "recover",
        "client": "assistant-ui",
        "legacy": {"emission": "both", "answers": False},
        "unknown_entries": "ignore",
        "partial": "accumulate",
        "on_message": "answer",
        "on_disconnect": "cancel",
        "subagents": True,
        "on_expire": "hold",
        "remind_at": 0.5,
        "tool_errors": "fail",
        "unattended_timeout": None,
        "max_consecutive_expiries": None,
        "run_breakpoints": "allow",
    }
    assert {*chosen, *ELSEWHERE} == {*AgentOptions.__dataclass_fields__}
    text = f"agents: [{{name: a, import: 'desk_agents:sales', options: {json.dumps(chosen)}}}]"
    made = app(folder, text)._agents.newest("a")
    assert made is not None
    read = {name: getattr(made.options, name) for name in chosen}
    assert read == {**chosen, "legacy": Legacy(emission="both", answers=False)}


@pytest.mark.parametrize(
    ("said", "path", "status"),
    [("true", "/copilotkit", 200), ("/ck", "/ck", 200), ("false", "/copilotkit", 404)],
)
async def test_a_file_may_serve_its_agents_to_copilotkit(
    folder: Path, said: str, path: str, status: int
) -> None:
    """Design 5: as `app.mount(CopilotKit())` does."""
    one = "store: 'memory:'\nagents: [{name: a, import: 'desk_agents:sales'}]"
    made = app(folder, f"copilotkit: {said}\n{one}")
    assert (await call(made, "GET", f"{path}/info")).status == status


def test_a_file_says_where_threads_are_kept(folder: Path) -> None:
    """The command's store goes before the file's, the file's before the backend's own."""
    one = "agents: [{name: a, import: 'desk_agents:sales'}]"
    assert isinstance(app(folder, one).store, SqliteStore)
    assert isinstance(app(folder, f"store: 'memory:'\n{one}").store, MemoryStore)
    given = app(folder, f"store: sqlite:///a.db\n{one}", store="memory:")
    assert isinstance(given._engine.store, MemoryStore)


def test_a_key_file_encrypts_the_store_and_shows_no_checkpoints(folder: Path) -> None:
    """What is encrypted is not shown in clear beside it; a file that is not there is named."""
    text = """
        store: redis://127.0.0.1:1/0
        key_file: keys/sayso.key
        agents:
          - name: support
            import: desk_agents:support
            spec: {type: custom, interrupt: {checkpoint: {backend: redis}}}
    """
    (problem,) = wrong(folder, text)
    assert "line 3" in problem
    assert "sayso key new keys/sayso.key" in problem
    (folder / "keys").mkdir()
    add_key(folder / "keys" / "sayso.key")
    store = app(folder, text).store
    assert store.codec is not None
    assert store.codec.ids == ("1",)


async def test_a_file_says_who_signs(folder: Path) -> None:
    """By the keys of a file, or a hook by its import path; what cannot sign has its line."""
    agents = "agents: [{name: a, import: 'desk_agents:sales'}]"
    text = f"signer: {{ed25519: keys/sign.pem}}\n{agents}"
    (problem,) = wrong(folder, text)
    assert "line 1" in problem
    assert "keys/sign.pem" in problem
    (folder / "keys").mkdir()
    new_key(folder / "keys" / "sign.pem")
    own = "signer: 'desk_signer:sign'\n"
    (folder / "desk_signer.py").write_text(
        "from sayso import Ed25519\n\nsign = Ed25519.from_file('keys/sign.pem')\n"
    )
    listed = []
    for by_file in (app(folder, text), app(folder, own + agents)):
        async with by_file.lifespan():
            listed.append((await call(by_file, "GET", "/audit/keys")).json["items"])
    assert listed[0] == listed[1]
    assert len(listed[0]) == 1
    problems = wrong(folder, f"signer: {{pem: keys/sign.pem}}\n{agents}")
    assert all("line 1" in problem for problem in problems)


def test_a_file_says_for_how_long_what_is_kept(folder: Path) -> None:
    """With the members of `Retention`, whose problems name the line."""
    agents = "agents: [{name: a, import: 'desk_agents:sales'}]"
    kept = app(folder, f"retention: {{threads: 90, keeper: 'role:legal'}}\n{agents}")
    assert kept._engine.retention._retention == Retention(threads=90, keeper="role:legal")
    (problem,) = wrong(folder, f"retention: {{trail: 0}}\n{agents}")
    assert problem.startswith("agents.yaml line 1, column 12, retention: trail of Retention")


def test_checkpoints_in_redis_are_shown(folder: Path) -> None:
    """Design 6: by the file that names the backend, on the store that it names or the usual one."""
    agents = """
        agents:
          - name: a
            import: desk_agents:sales
            spec: {interrupt: {checkpoint: {backend: redis}}}
    """
    stores = {
        "": "redis://127.0.0.1:6379/0",
        "rediss://h/1": "rediss://h/1",
        "valkey://h/1?durability=relaxed": "redis://h/1",
    }
    for named, url in stores.items():
        store = app(folder, (f"store: {named}" if named else "") + dedent(agents)).store
        assert isinstance(store, RedisStore)
        assert (store._url, store._checkpoints) == (url, True)
    plain = "store: redis://h\nagents: [{name: a, import: 'desk_agents:sales'}]"
    store = app(folder, plain).store
    assert isinstance(store, RedisStore)
    assert not store._checkpoints


def test_every_problem_names_its_line_and_key(folder: Path) -> None:
    """All at once, in the order of the lines."""
    found = wrong(
        folder,
        """\
        stores: here
        agents:
          - name: a
            import: desk_agents:nobody
            spec:
              interupt: {}
              interrupt:
                enabled: "yes"
                checkpoint:
                  backend: mongo
                  ttl_seconds: -5
          - import: desk_agents:sales
            options: {refusals: never, colour: red}
        """,
    )
    assert found == [
        "agents.yaml line 1, column 1: unknown key 'stores'; there are store, authenticate, "
        "sign_in, revoked, authorize, directory, signer, retention, hosts, origins, copilotkit, "
        "default_approval, four_eyes, key_file, agents",
        "agents.yaml line 4, column 13, agents[0].import: there is no 'nobody' in 'desk_agents'",
        "agents.yaml line 6, column 7, agents[0].spec: unknown key 'interupt'; there are type, "
        "interrupt",
        "agents.yaml line 8, column 18, agents[0].spec.interrupt.enabled: must be true or false",
        "agents.yaml line 11, column 24, agents[0].spec.interrupt.checkpoint.ttl_seconds: must be "
        "seconds above zero, or null for no end",
        "agents.yaml line 12, column 5, agents[1]: 'name' is missing",
        "agents.yaml line 13, column 32, agents[1].options: unknown key 'colour'; there are "
        + ", ".join(name for name in OptionValues.__annotations__ if name not in ELSEWHERE),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("agents: []", "agents: there is no agent in it"),
        ("agents: {a: 1}", "must be a list"),
        ("- a", "must be a mapping with store, authenticate"),
        ("store: 'memory:'", "'agents' is missing"),
        ("agents: [", "line 1, column 10: expected the node content"),
        ("agents: [{name: 7, import: 'desk_agents:sales'}]", "put it in quotes"),
        ("agents: [{name: '', import: 'desk_agents:sales'}]", "must be a text"),
        ("agents: [{name: a/b, import: 'desk_agents:sales'}]", "leave out spaces and"),
        ("agents: [{name: a, import: 'desk_agents:plain'}]", "must be an `async def` function"),
        ("agents: [{name: a, import: desk_agents}]", "must be an `async def` function"),
        ("agents: [{name: a, import: 'no_such:x'}]", "there is no module 'no_such'"),
        ("agents: [{name: a, import: 'desk agents:x'}]", "not an import path"),
        ("agents: [{name: a, import: 'desk_agents:Sales'}]", "did you mean 'sales'?"),
        (
            "agents: [{name: a, import: 'broken_agents:x'}]",
            "needs the module 'no_such_module_at_all'",
        ),
        ("agents: [{name: a, import: 'failing_agents:x'}]", "RuntimeError: no key ("),
        ("agents: [{name: a, import: 'failing_agents:x'}]", "failing_agents.py line 2)"),
        ("agents: [{name: a, name: b, import: 'desk_agents:sales'}]", "'name' stands here twice"),
        (
            "agents: [{name: a, import: 'desk_agents:sales', options: {refusals: never}}]",
            "refusals must be one of 'error', 'recover', not 'never'",
        ),
        (
            "agents: [{name: a, import: 'desk_agents:sales', options: {legacy: {value: all}}}]",
            "options.legacy: value of Legacy must be one of 'interrupt', 'message', not 'all'",
        ),
        (
            "agents: [{name: a, import: 'desk_agents:sales', options: {legacy: {mode: both}}}]",
            "options.legacy: unknown key 'mode'; there are emission, value, answers",
        ),
        (
            "agents: [{name: a, import: 'desk_agents:sales', tools: ['desk_agents:sales']}]",
            "is no tool",
        ),
        (
            "store: redis://x/main\nagents: [{name: a, import: 'desk_agents:sales'}]",
            "databases of Redis have numbers",
        ),
        ("copilotkit: ck\nagents: [{name: a, import: 'desk_agents:sales'}]", "begins with '/'"),
        ("copilotkit: /agents\nagents: [{name: a, import: 'desk_agents:sales'}]", "/agents"),
        ("hosts: ['a/b']\nagents: [{name: a, import: 'desk_agents:sales'}]", "no host name"),
        (
            "authenticate: {jwt: {jwks: 'http://x.example/k', issuer: i, audience: a}}\n"
            "agents: [{name: a, import: 'desk_agents:sales'}]",
            "is no https address",
        ),
        (
            "authenticate: {jwt: {issuer: i}}\nagents: [{name: a, import: 'desk_agents:sales'}]",
            "authenticate.jwt: 'jwks' is missing",
        ),
        (
            "authenticate: {basic: x}\nagents: [{name: a, import: 'desk_agents:sales'}]",
            "unknown key 'basic'; there are jwt",
        ),
        ("authenticate: no_such:x\nagents: [{name: a, import: 'desk_agents:sales'}]", "no_such"),
    ],
)
def test_what_cannot_be_served_is_said(folder: Path, text: str, said: str) -> None:
    """Bad input of every kind."""
    assert any(said in line for line in wrong(folder, text)), wrong(folder, text)


def test_two_agents_of_one_name_and_version_are_refused(folder: Path) -> None:
    """Two versions of one name may stand side by side."""
    text = """\
        agents:
          - {name: a, import: "desk_agents:sales"}
          - {name: a, import: "desk_agents:support"}
    """
    (line,) = wrong(folder, text)
    assert line.startswith("agents.yaml line 3, column 12, agents[1].name: there are two agents")
    both = app(folder, text.replace('support"}', 'support", version: "2"}'))
    newest = both._agents.newest("a")
    assert newest is not None
    assert newest.version == "2"


def test_a_backend_that_is_not_there_is_answered_with_those_that_are(folder: Path) -> None:
    """Design 6: a table; what joins it is named here at once."""
    (line,) = wrong(
        folder,
        """
        agents:
          - name: a
            import: desk_agents:sales
            spec: {interrupt: {checkpoint: {backend: dynamo}}}
        """,
    )
    assert f"must be one of {', '.join(BACKENDS)}" in line
    assert "dynamo" not in line


def test_a_backend_on_other_machines_needs_its_url(folder: Path) -> None:
    """Design 6: nobody guesses where PostgreSQL is; with a URL the two words agree."""
    agents = """\
        agents:
          - name: a
            import: desk_agents:sales
            spec: {interrupt: {checkpoint: {backend: postgres}}}
        """
    (line,) = wrong(folder, agents)
    assert "is 'postgres', which needs a URL: add `store:` with it to the file" in line
    assert app(folder, "        store: postgresql://u@h/db\n" + agents) is not None


def test_all_agents_of_a_server_share_one_store(folder: Path) -> None:
    """Two backends in one file, or one beside another store, are refused where they stand."""
    lines = wrong(
        folder,
        """\
        agents:
          - name: a
            import: desk_agents:sales
            spec: {interrupt: {checkpoint: {backend: memory}}}
          - name: b
            import: desk_agents:sales
            spec: {interrupt: {checkpoint: {backend: sqlite}}}
        """,
    )
    assert len(lines) == 1
    assert "line 7" in lines[0]
    assert "an agent above is 'memory'" in lines[0]


def test_a_file_that_is_not_there_is_said(folder: Path) -> None:
    """The usual mistake."""
    with pytest.raises(YamlFileError, match=r"nope\.yaml cannot be read: No such file"):
        app_of(Path("nope.yaml"))


def test_a_file_that_nests_without_end_is_said(folder: Path) -> None:
    """One line, and no traceback."""
    (folder / "deep.yaml").write_text("agents: " + "[" * 100_000)
    with pytest.raises(YamlFileError, match=r"deep\.yaml is nested too deeply"):
        app_of(folder / "deep.yaml")


def test_a_file_may_name_an_issuer_of_tokens(folder: Path) -> None:
    """Then the server listens on any address: callers have to say who they are."""
    made = app(
        folder,
        """
        authenticate:
          jwt: {jwks: "https://id.example.org/keys", issuer: "https://id.example.org/", audience: a}
        agents: [{name: a, import: "desk_agents:sales"}]
        """,
    )
    assert made._authenticates
