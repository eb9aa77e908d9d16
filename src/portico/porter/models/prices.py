"""What tokens cost: by the person's own price list, or by the one that is published with `genai-prices`."""

from typing import TYPE_CHECKING

from portico.config.model_settings import PriceSetting
from portico.porter.models.port import Usage

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse

_MILLION = 1_000_000


def own_cost(usage: Usage, price: PriceSetting) -> float:
    plain = usage.input - usage.cache_read - usage.cache_write
    cache_read = price.input if price.cache_read is None else price.cache_read
    cache_write = price.input if price.cache_write is None else price.cache_write
    dollars = (
        plain * price.input
        + usage.cache_read * cache_read
        + usage.cache_write * cache_write
        + usage.output * price.output
    )
    return dollars / _MILLION


def listed_cost(response: "ModelResponse") -> float | None:
    """None when the list does not have the model, or the provider did not count."""
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        return None
