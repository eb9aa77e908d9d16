"""Options of the packages component, from `components` in the settings."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from portico.components.component import ComponentUnavailable
from portico.domain import codecs


class PackagesOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    cache_megabytes: Annotated[int, Meta(ge=1)] = 2000
    offline: bool = False
    """Whether only packages that are on this machine are offered, and no registry is asked."""
    research: bool = True
    """Whether package_query is offered."""
    research_seconds: Annotated[float, Meta(ge=0.001, le=3600)] = 240.0
    research_at_once: Annotated[int, Meta(ge=1, le=20)] = 3


def read_options(options: Mapping[str, Any]) -> PackagesOptions:
    try:
        return codecs.convert(dict(options), PackagesOptions)
    except msgspec.ValidationError as error:
        raise ComponentUnavailable(
            f'The options of packages in "components" of the settings are wrong: {error}.'
        ) from error
