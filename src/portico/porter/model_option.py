"""The ACP session option that selects the model."""

from collections.abc import Sequence

from portico.acp import _schema as schema
from portico.acp.extensions import OptionMeta, to_meta
from portico.domain.catalog import ModelEntry

OPTION_ID = "model"
DEFAULT = "default"
"""Selects the model of the scenario, the environment or the settings."""


def model_option(
    chosen: str | None, default: str | None, known: Sequence[ModelEntry]
) -> list[schema.SessionConfigOption]:
    """Return the model option, with the default first. Any other name is accepted too."""
    named = {model.name: model for model in known}
    for name in filter(None, (default, chosen)):
        named.setdefault(name, ModelEntry(name))
    usual = schema.SessionConfigSelectEntry(
        value=DEFAULT,
        name=f"Default ({default})" if default else "No model",
        description="the model of the settings",
    )
    return [
        schema.SessionConfigSelect(
            id=OPTION_ID,
            name="Model",
            description="model that answers free text; any provider:model",
            category="model",
            current_value=chosen or DEFAULT,
            options=[
                usual,
                *(
                    schema.SessionConfigSelectEntry(
                        value=model.name, name=model.name, description=model.about or None
                    )
                    for model in named.values()
                ),
            ],
            meta=to_meta(OptionMeta(open=True)),
        )
    ]
