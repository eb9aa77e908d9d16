"""A tool as a profile shows it to a model: with a shorter description, and fewer parameters."""

import msgspec

from portico.domain import codecs
from portico.porter.models.model import ToolSpec
from portico.porter.profiles.profile import ModelProfile


def shown_spec(spec: ToolSpec, profile: ModelProfile) -> ToolSpec:
    described = profile.descriptions.get(spec.name)
    if described is not None:
        spec = msgspec.structs.replace(spec, description=described)
    names = profile.parameters.get(spec.name)
    if names is None:
        return spec
    schema = codecs.decode_json(spec.schema)
    properties = schema.get("properties", {})
    schema["properties"] = {name: properties[name] for name in names if name in properties}
    return msgspec.structs.replace(spec, schema=msgspec.json.encode(schema))
