"""Client of Amazon Bedrock, built on `botocore`.

The client's defaults would retry failed requests silently, and send a key from the environment to any configured
address.
"""

from importlib import import_module
from typing import Any

from portico.domain.errors import AuthRequired, InvalidInput

_SILENCE = 300.0
_CONNECTING = 20.0


def bedrock_client(*, key: str | None, address: str | None, region: str | None, direct: bool) -> Any:
    """Create a client. Without a key it uses the credentials of the AWS tools. `direct` bypasses proxies.

    Raises AuthRequired without credentials, and InvalidInput without a region.
    """
    session = import_module("botocore.session").get_session()
    region = region or session.get_config_variable("region")
    if region is None:
        raise InvalidInput(
            "The AWS region for Bedrock is not set.", suggestion="Set AWS_REGION, as in AWS_REGION=us-east-1"
        )
    if key is None and session.get_credentials() is None:
        raise AuthRequired(
            "No credentials for bedrock.",
            suggestion="Set AWS_BEARER_TOKEN_BEDROCK, sign in with: portico auth login bedrock, "
            "or set up the AWS tools with: aws configure",
        )
    session.register_component("token_provider", _NoTokens())
    options: dict[str, Any] = {} if key is None else {"signature_version": import_module("botocore").UNSIGNED}
    if direct:
        options["proxies"] = {}
    config = import_module("botocore.config").Config(
        connect_timeout=_CONNECTING, read_timeout=_SILENCE, retries={"total_max_attempts": 1}, **options
    )
    client = session.create_client("bedrock-runtime", region_name=region, endpoint_url=address, config=config)
    if key is not None:

        def add_key(request: Any, **_: object) -> None:
            request.headers["Authorization"] = f"Bearer {key}"

        client.meta.events.register_last("request-created.bedrock-runtime", add_key)
    return client


class _NoTokens:
    """A token provider for botocore that ignores the environment."""

    def load_token(self, **_: object) -> None:
        return None
