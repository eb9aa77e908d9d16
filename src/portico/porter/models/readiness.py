"""Readiness of a model provider: whether it can be used now, and what it needs if not."""

from collections.abc import Mapping

from portico.domain.errors import AuthRequired
from portico.porter.models.keys import find_key
from portico.porter.models.offline.model_files import QWEN_CODER, pulled_files
from portico.porter.models.providers import OFFLINE, ModelProvider


def readiness(provider: ModelProvider, environ: Mapping[str, str]) -> tuple[bool, str]:
    """Return whether a provider can be used, and a phrase that says with what, or what it needs."""
    if not provider.installed:
        return False, f"not installed: pip install 'portico[{provider.extra}]'"
    if provider.kind == OFFLINE:
        names = ", ".join(file.name for file in pulled_files(environ))
        if names:
            return True, f"ready: {names}"
        return False, f"download one with: portico models pull {QWEN_CODER.name}"
    try:
        key = find_key(provider, environ)
    except AuthRequired as error:
        return False, error.message
    if key is not None:
        return True, f"key from {key.variable} in the {key.source}"
    if provider.needs_key:
        return False, f"no key: set {provider.key_variables[0]}, or portico auth login {provider.name}"
    if provider.name == "bedrock":
        return True, f"with the credentials of the AWS tools; or set {provider.key_variables[0]}"
    address = provider.address_in(environ)
    return True, f"no key needed; at {address}" if address else "no key needed"
