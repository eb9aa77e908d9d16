"""`portico models` and `portico auth`, as a person and as a program would use them."""

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.model_endpoint import BAD_KEY, Answer, ModelEndpoint, Refuse, Reply, Say
from tests.support.offline import gguf, have_offline_model
from tests.support.program import Portico
from tests.support.serving import Server, detach

# As much of the `keyring` package as is used, with a file for a keyring.
KEYRING = """
import json, os, pathlib
from keyring.errors import KeyringError
class _Ring:
    _file = pathlib.Path(os.environ["TEST_KEYRING"])
    def _all(self):
        return json.loads(self._file.read_text()) if self._file.exists() else {}
    def get_password(self, service, name):
        if "TEST_KEYRING_LOCKED" in os.environ:
            raise KeyringError("it is locked")
        return self._all().get(f"{service}/{name}")
    def set_password(self, service, name, value):
        if "TEST_KEYRING_LOCKED" in os.environ:
            raise KeyringError("it is locked")
        self._file.write_text(json.dumps(self._all() | {f"{service}/{name}": value}))
    def delete_password(self, service, name):
        kept = self._all()
        del kept[f"{service}/{name}"]
        self._file.write_text(json.dumps(kept))
def get_keyring():
    return _Ring()
"""


@contextmanager
def serving(*script: Reply) -> Iterator[ModelEndpoint]:
    """A scripted endpoint for a program in another process."""
    ready, loop = threading.Event(), asyncio.new_event_loop()
    endpoint: list[ModelEndpoint] = []
    ended = asyncio.Event()

    async def serve() -> None:
        async with ModelEndpoint(*script) as one:
            endpoint.append(one)
            ready.set()
            await ended.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), name="model endpoint")
    thread.start()
    assert ready.wait(30)
    try:
        yield endpoint[0]
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(30)
        loop.close()


@pytest.fixture
def keyring(portico: Portico) -> dict[str, str]:
    """The variables that give a program a keyring."""
    package = portico.home / "python" / "keyring"
    (package / "backends").mkdir(parents=True)
    (package / "__init__.py").write_text(KEYRING)
    (package / "errors.py").write_text("class KeyringError(Exception): pass\n")
    (package / "backends" / "__init__.py").write_text("")
    (package / "backends" / "fail.py").write_text("class Keyring: pass\n")
    return {
        "PYTHONPATH": str(package.parent),
        "TEST_KEYRING": str(portico.home / "ring.json"),
        # Nothing answers there, so that no test asks a real provider about a key.
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
    }


def saved(portico: Portico) -> dict[str, object]:
    found = json.loads((portico.home / "portico" / "config" / "settings.json").read_text())
    assert isinstance(found, dict)
    return found


def test_the_list_says_who_is_ready_and_what_the_others_need(portico: Portico) -> None:
    listed = portico.run("models", "list", environ={"ANTHROPIC_API_KEY": "secret-key"})
    assert listed.code == 0
    assert "✓ anthropic" in listed.text
    assert "ANTHROPIC_API_KEY in the environment" in listed.text
    assert "· google" in listed.text
    assert "portico auth login google" in listed.text
    assert "portico models pull qwen2.5-coder" in listed.text
    assert "secret-key" not in listed.text + listed.err


def test_a_program_gets_the_list_as_one_object(portico: Portico) -> None:
    api = portico.run("models", "list", "--api").api
    assert api["status"] == "ok"
    assert api["model"] is None
    assert {one["name"] for one in api["providers"]} >= {"anthropic", "openai", "google", "ollama", "offline"}


def test_the_models_of_a_company_come_with_windows_and_prices(portico: Portico) -> None:
    api = portico.run("models", "list", "anthropic", "--api").api
    (one,) = [model for model in api["models"] if model["name"] == "claude-sonnet-5-5"]
    assert one == {"name": "claude-sonnet-5-5", "window": 1_000_000, "inputPrice": 2.0, "outputPrice": 10.0}


def test_a_server_of_ones_own_is_asked_for_its_models(portico: Portico) -> None:
    with serving() as endpoint:
        portico.settings({"models": {"mine": {"address": f"{endpoint.address}/v1"}}})
        listed = portico.run("models", "list", "mine")
    assert listed.text == "mine:scripted\n"


def test_use_writes_the_choice_and_keeps_the_rest_of_the_settings(portico: Portico) -> None:
    portico.settings('{\n  // mine\n  "agent": "porter"\n}')
    ran = portico.run("models", "use", "anthropic:claude-sonnet-5-5")
    assert ran.code == 0
    assert "not ready yet" in ran.text
    text = (portico.home / "portico" / "config" / "settings.json").read_text()
    assert "// mine" in text
    assert '"model": "anthropic:claude-sonnet-5-5"' in text
    assert portico.run("models", "list", "--api").api["model"] == "anthropic:claude-sonnet-5-5"


def test_use_with_an_address_adds_a_server_of_ones_own_that_then_answers(portico: Portico) -> None:
    with serving(Answer(Say("ready"))) as endpoint:
        address = f"{endpoint.address}/v1"
        used = portico.run("models", "use", "mine:qwen", "--address", address, "--key-variable", "MY_KEY")
        assert used.code == 0
        assert saved(portico)["models"] == {"mine": {"address": address, "keyVariable": "MY_KEY"}}
        checked = portico.run("models", "check", environ={"MY_KEY": "my-own-key"})
        assert endpoint.requests[0].key == "my-own-key"
    assert checked.code == 0
    assert "✓ mine:qwen answers: ready" in checked.text


@pytest.mark.parametrize("name", ["claude", "antropic:claude", "offline:gpt", "mine:qwen"])
def test_a_model_that_cannot_be_is_refused_and_nothing_is_written(portico: Portico, name: str) -> None:
    ran = portico.run("models", "use", name, "--api")
    assert ran.code == 5
    assert ran.api["diagnostics"]["error_code"] == "INVALID_INPUT"
    assert ran.api["diagnostics"]["suggestion"]
    assert not (portico.home / "portico" / "config" / "settings.json").exists()


def test_an_address_that_is_none_is_refused(portico: Portico) -> None:
    assert portico.run("models", "use", "mine:qwen", "--address", "file:///etc/passwd").code == 5


def test_check_says_why_a_model_does_not_answer(portico: Portico) -> None:
    with serving(BAD_KEY) as endpoint:
        portico.settings({"models": {"mine": {"address": f"{endpoint.address}/v1"}}})
        ran = portico.run("models", "check", "mine:qwen", "--api")
    assert ran.code == 3
    assert ran.api["status"] == "failed"
    assert ran.api["diagnostics"]["error_code"] == "AUTH_REQUIRED"
    assert ran.api["model"] == {"name": "mine:qwen"}


def test_check_tells_of_each_new_attempt(portico: Portico) -> None:
    again = Refuse(429, "slow down", type="rate_limit_error", headers={"retry-after-ms": "1"})
    with serving(again, Answer(Say("ready"))) as endpoint:
        portico.settings({"models": {"mine": {"address": f"{endpoint.address}/v1"}}})
        ran = portico.run("models", "check", "mine:qwen", "--api")
    assert ran.code == 0
    assert ran.api["model"]["retries"] == 1
    assert "limits the rate of requests" in ran.err


def test_check_without_a_model_says_how_to_choose_one(portico: Portico) -> None:
    ran = portico.run("models", "check")
    assert ran.code == 5
    assert "portico models use" in ran.err


def test_the_offline_model_is_used_when_it_is_there_and_nothing_else_was_chosen(portico: Portico) -> None:
    have_offline_model(portico.environ())
    ran = portico.run("models", "check", "--api")
    assert ran.code == 0
    assert ran.api["model"]["name"] == "offline:smollm2"
    assert ran.api["model"]["answer"]
    assert ran.api["model"]["tokensPerSecond"] > 0
    assert portico.run("models", "pull", "smollm2", "--api").api["fetched"] is False


def test_a_model_file_of_the_user_is_pulled_listed_and_deleted(portico: Portico, tmp_path: Path) -> None:
    path = tmp_path / "mine.gguf"
    path.write_bytes(gguf(**{"general.license": "mit"}))
    pulled = portico.run("models", "pull", str(path), "--api").api
    assert (pulled["model"], pulled["license"]) == ("offline:mine", "mit")
    listed = portico.run("models", "list")
    assert "offline:mine  mine; 0 MiB, mit" in listed.text
    assert "Porter uses offline:mine." in listed.text
    (one,) = portico.run("models", "list", "--api").api["offline"]
    assert (one["name"], one["size"]) == ("offline:mine", path.stat().st_size)
    assert "freed" in portico.run("models", "rm", "mine").text
    assert portico.run("models", "list", "--api").api["offline"] == []
    assert path.exists()
    assert portico.run("models", "rm", "mine").code == 5


def test_use_of_a_model_that_was_not_pulled_says_how_to_pull_it(portico: Portico) -> None:
    ran = portico.run("models", "use", "offline:qwen2.5-coder")
    assert "portico models pull qwen2.5-coder" in ran.text


def test_pull_of_something_unknown_names_what_there_is(portico: Portico) -> None:
    ran = portico.run("models", "pull", "gpt")
    assert ran.code == 5
    assert "smollm2" in ran.err


def test_a_pull_that_cannot_fetch_says_so(portico: Portico, tmp_path: Path) -> None:
    ran = portico.run(
        "models", "pull", "smollm2", "--api", environ={"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": ""}
    )
    assert ran.code == 2
    assert ran.api["diagnostics"]["error_code"] == "NETWORK_TIMEOUT"
    assert "--wheel" in ran.api["diagnostics"]["suggestion"]


def test_a_workspace_that_is_not_trusted_chooses_no_model_and_no_address(portico: Portico) -> None:
    portico.workspace_settings(
        {"model": "openai:their-choice", "models": {"openai": {"address": "http://thief.example"}}}
    )
    api = portico.run("models", "list", "--api", environ={"OPENAI_API_KEY": "secret"}).api
    assert api["model"] is None
    assert "thief" not in json.dumps(api)


def test_a_key_goes_into_the_keyring_and_out_again(portico: Portico, keyring: dict[str, str]) -> None:
    login = portico.run("auth", "login", "anthropic", stdin=b"sk-very-secret\n", environ=keyring)
    assert login.code == 0
    assert "It could not be checked: anthropic at http://127.0.0.1:9 cannot be reached" in login.text
    status = portico.run("auth", "status", "anthropic", "--api", environ=keyring)
    (key,) = status.api["keys"]
    assert key == {"provider": "anthropic", "variable": "ANTHROPIC_API_KEY", "source": "keyring"}
    assert "✓ anthropic" in portico.run("models", "list", environ=keyring).text
    for ran in (login, status):
        assert "sk-very-secret" not in ran.text + ran.err
    assert portico.run("auth", "logout", "anthropic", "--api", environ=keyring).api["removed"] == [
        "ANTHROPIC_API_KEY"
    ]
    assert "source" not in portico.run("auth", "status", "anthropic", "--api", environ=keyring).api["keys"][0]
    assert (portico.home / "ring.json").read_text() == "{}"


def test_a_key_that_its_provider_refuses_is_not_stored(portico: Portico, keyring: dict[str, str]) -> None:
    with serving() as endpoint:
        endpoint.key = "sk-good"
        around = {**keyring, "ANTHROPIC_BASE_URL": endpoint.address}
        refused = portico.run("auth", "login", "anthropic", "--api", stdin=b"sk-wrong", environ=around)
        assert refused.code == 3
        assert "It was not stored" in refused.api["error"]
        assert not (portico.home / "ring.json").exists()
        stored = portico.run("auth", "login", "anthropic", "--api", stdin=b"sk-good", environ=around)
        assert stored.api["verdict"] == "accepted"


def test_a_stored_key_that_has_expired_is_removed_after_the_person_was_told(
    portico: Portico, keyring: dict[str, str]
) -> None:
    with serving() as endpoint:
        around = {**keyring, "ANTHROPIC_BASE_URL": endpoint.address, "OPENAI_API_KEY": "sk-of-the-shell"}
        portico.run("auth", "login", "anthropic", stdin=b"sk-good", environ=around)
        assert "✓ anthropic  accepted" in portico.run("auth", "check", environ=around).text
        endpoint.key = "sk-newer"
        told = portico.run("auth", "check", environ=around)
    assert "✗ anthropic  anthropic rejected the key (401)." in told.text
    assert "· openai  openai at http://127.0.0.1:9/v1 cannot be reached" in told.text
    assert "Removed from the keyring: ANTHROPIC_API_KEY." in told.text
    assert (portico.home / "ring.json").read_text() == "{}"


def test_servers_of_models_on_this_machine_are_found(portico: Portico) -> None:
    with serving() as endpoint:
        around = {"OLLAMA_BASE_URL": f"{endpoint.address}/v1"}
        found = portico.run("models", "find", "--api", environ=around).api["servers"]
        assert {"title": "Ollama", "address": f"{endpoint.address}/v1", "models": ["scripted"]} in found
        said = portico.run("models", "find", environ=around).text
    assert f"Ollama at {endpoint.address}/v1: scripted" in said
    assert f":scripted --address {endpoint.address}/v1" in said


def test_a_key_in_the_keyring_is_sent_to_its_provider(portico: Portico, keyring: dict[str, str]) -> None:
    portico.run("auth", "login", "openai-chat", stdin=b"sk-very-secret", environ=keyring)
    with serving(Answer(Say("ready"))) as endpoint:
        portico.settings({"models": {"openai-chat": {"address": f"{endpoint.address}/v1"}}})
        assert portico.run("models", "check", "openai-chat:gpt", environ=keyring).code == 0
        assert endpoint.requests[0].key == "sk-very-secret"


def test_a_keyring_that_is_locked_is_said_to_be(portico: Portico, keyring: dict[str, str]) -> None:
    portico.run("auth", "login", "anthropic", stdin=b"sk-very-secret", environ=keyring)
    ran = portico.run("models", "check", "anthropic:x", environ={**keyring, "TEST_KEYRING_LOCKED": "1"})
    assert ran.code == 3
    assert "it is locked" in ran.text
    assert "ANTHROPIC_API_KEY" in ran.text


def test_a_keyring_that_is_locked_is_told_by_the_status_of_keys_and_of_no_other(
    portico: Portico, keyring: dict[str, str]
) -> None:
    portico.run("auth", "login", "anthropic", stdin=b"sk-very-secret", environ=keyring)
    around = {**keyring, "TEST_KEYRING_LOCKED": "1", "MISTRAL_API_KEY": "another"}
    ran = portico.run("auth", "status", environ=around)
    assert ran.code == 0
    assert "it is locked" in ran.text
    assert "✓ mistral" in ran.text


def test_a_keyring_that_is_locked_takes_no_key_and_keeps_no_session_from_beginning(
    portico: Portico, keyring: dict[str, str], server: Server
) -> None:
    portico.run("auth", "login", "anthropic", stdin=b"sk-very-secret", environ=keyring)
    around = {**keyring, "TEST_KEYRING_LOCKED": "1"}
    refused = portico.run("auth", "login", "anthropic", "--api", stdin=b"sk-another", environ=around)
    assert refused.code == 3
    assert "it is locked" in refused.api["error"]
    detach(portico, environ=around)
    begun = server.ask("StartSession", {"workspace": str(portico.workspace)})
    session_id = begun["session"]["summary"]["sessionId"]
    server.stream("Invoke", {"sessionId": session_id, "text": "/help"}).until("/search")


def test_without_a_keyring_the_environment_is_named(portico: Portico) -> None:
    ran = portico.run("auth", "login", "anthropic", "--api", stdin=b"sk-very-secret")
    assert ran.code == 3
    assert "ANTHROPIC_API_KEY" in ran.api["diagnostics"]["suggestion"]
    assert "sk-very-secret" not in ran.text + ran.err


@pytest.mark.parametrize(
    "words", [("auth", "login"), ("auth", "login", "offline"), ("auth", "login", "nobody")]
)
def test_a_login_to_nobody_is_refused(portico: Portico, words: tuple[str, ...]) -> None:
    assert portico.run(*words, stdin=b"key").code == 5


@pytest.mark.parametrize("text", ["{", "5"])
def test_names_of_keys_that_cannot_be_read_are_a_matter_for_the_log(portico: Portico, text: str) -> None:
    portico.state.mkdir(parents=True)
    (portico.state / "secrets.json").write_text(text)
    for words in (("auth", "status"), ("auth", "status", "--api"), ("models", "list")):
        ran = portico.run(*words)
        assert (ran.code, ran.err) == (0, "")
        assert "anthropic" in ran.text
    assert "the names of secrets" in (portico.state / "portico.log").read_text()


def test_an_empty_key_is_no_key(portico: Portico, keyring: dict[str, str]) -> None:
    assert portico.run("auth", "login", "anthropic", stdin=b"\n", environ=keyring).code == 5
    assert not (portico.home / "ring.json").exists()


def test_no_part_of_a_provider_is_imported_before_a_model_is_called() -> None:
    import subprocess

    program = (
        "import sys, portico.cli.main, portico.cli.models, portico.cli.auth, portico.porter.agent\n"
        "heavy = {'pydantic', 'pydantic_ai', 'genai_prices', 'httpx2', 'openai', 'anthropic', 'xllamacpp', 'keyring'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )
