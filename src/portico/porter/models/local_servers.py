"""Model servers on the usual ports of this machine: Ollama, LM Studio, llama.cpp and vLLM."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from portico.domain.catalog import ModelServerEntry
from portico.domain.errors import AuthRequired, PorticoError
from portico.porter.models.clients import is_loopback
from portico.porter.models.model_server import list_models
from portico.porter.models.providers import BUILT_IN

_SECONDS = 2.0
_TITLES = {"library": "Ollama", "llamacpp": "llama.cpp", "vllm": "vLLM"}
"""By what a server calls the owner of its models."""


USUAL = (
    ModelServerEntry("LM Studio", "http://127.0.0.1:1234/v1"),
    ModelServerEntry("llama.cpp", "http://127.0.0.1:8080/v1"),
    ModelServerEntry("vLLM", "http://127.0.0.1:8000/v1"),
)


def usual_servers(environ: Mapping[str, str]) -> list[ModelServerEntry]:
    """Return where servers of models usually are. Ollama may have another address, but only on this machine."""
    ollama = BUILT_IN["ollama"].address_in(environ) or ""
    return [*([ModelServerEntry("Ollama", ollama)] if is_loopback(ollama) else []), *USUAL]


def find_servers(candidates: Sequence[ModelServerEntry]) -> list[ModelServerEntry]:
    """Return those that answer, with their models. Blocks."""
    with ThreadPoolExecutor(len(candidates), "local model servers") as pool:
        return [found for found in pool.map(_ask, candidates) if found is not None]


def _ask(candidate: ModelServerEntry) -> ModelServerEntry | None:
    try:
        models = list_models(BUILT_IN["openai-chat"], candidate.address, None, seconds=_SECONDS)
    except AuthRequired:
        return candidate
    except PorticoError:  # another program, or none
        return None
    if not models:
        return None
    title = _TITLES.get(models[0].owner, candidate.title)
    return ModelServerEntry(title, candidate.address, tuple(model.name for model in models))
