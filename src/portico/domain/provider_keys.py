"""Environment variables that hold keys of model providers, or the address of the log with its password.

They go to the agents that need them, and to nothing else that is started.
"""

import re
from collections.abc import Collection, Mapping

STORE_VARIABLE = "PORTICO_STORE"
"""The database that holds the log; without it, the log is a file of this machine."""
_PROVIDERS = (
    "ANTHROPIC|CLAUDE|CLAUDE_CODE|OPENAI|AZURE_OPENAI|CODEX|GEMINI|GOOGLE|GOOGLE_GENERATIVE_AI|MISTRAL|CODESTRAL"
    "|GROQ|OPENROUTER|OLLAMA|DEEPSEEK|XAI|GROK|COHERE|CO|TOGETHER|TOGETHERAI|FIREWORKS|CEREBRAS|PERPLEXITY|VOYAGE"
    "|HF|HUGGINGFACE|HUGGING_FACE|HUGGINGFACEHUB|REPLICATE|DASHSCOPE|QWEN|BAILIAN_CODING_PLAN|MOONSHOT|KIMI|ZAI"
    "|ZHIPU|ZHIPUAI|MINIMAX|NVIDIA|CURSOR|AI_GATEWAY|LITELLM|OPENCODE"
)
_KEY = re.compile(
    rf"(?:{_PROVIDERS})_(?:(?:API|ADMIN|SECRET|HUB)_?)?(?:KEY|TOKEN|AUTH_TOKEN|OAUTH_TOKEN|ACCESS_TOKEN)S?"
    rf"|AWS_BEARER_TOKEN_BEDROCK|PORTICO_[A-Z0-9_]+_KEY|{STORE_VARIABLE}"
)


def is_provider_key(name: str) -> bool:
    return _KEY.fullmatch(name.upper()) is not None


def without_provider_keys(environ: Mapping[str, str], *, keep: Collection[str] = ()) -> dict[str, str]:
    """An environment without keys of providers, except for those named."""
    return {name: value for name, value in environ.items() if name in keep or not is_provider_key(name)}
