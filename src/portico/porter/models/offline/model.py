"""The offline model behind the same interface as every other model."""

from collections.abc import AsyncGenerator, Mapping

import msgspec

from portico.config.model_settings import ModelSetting, PriceSetting
from portico.porter.models.clients import RequestTarget
from portico.porter.models.model import ModelEvent, ModelFacts, ModelRequest
from portico.porter.models.offline.constrained_calls import stream_constrained
from portico.porter.models.offline.endpoint import OfflineEndpoint, shared_endpoint
from portico.porter.models.offline.machine import context_window
from portico.porter.models.offline.model_files import find_file
from portico.porter.models.providers import BUILT_IN, OFFLINE, ModelName
from portico.porter.models.remote_model import RemoteModel

_SILENCE_SECONDS = 1800.0
_FREE = PriceSetting(input=0.0, output=0.0)


class OfflineModel:
    """Implements `Model`. The endpoint starts with the first request, and is released by `close`."""

    def __init__(self, name: ModelName, setting: ModelSetting, environ: Mapping[str, str]) -> None:
        self._file = find_file(name.model, environ)
        self._environ = environ
        self._setting = setting
        self._endpoint: OfflineEndpoint | None = None
        self._model = RemoteModel(str(name), self._locate, ModelSetting(price=_FREE))

    @property
    def name(self) -> str:
        return self._model.name

    async def facts(self) -> ModelFacts:
        return ModelFacts(
            window=self._setting.window or context_window(self._file),
            tools=self._file.tools,
            images=False,
            tiny=self._file.tiny,
            small=self._setting.small is not False,
        )

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        # A slow machine reads a long prompt for minutes. If the endpoint dies, its connection ends.
        limits = msgspec.structs.replace(
            request.limits, silence=max(request.limits.silence, _SILENCE_SECONDS)
        )
        patient = msgspec.structs.replace(request, limits=limits)
        return stream_constrained(self._model, patient) if request.tools else self._model.stream(patient)

    async def close(self) -> None:
        await self._model.close()
        if self._endpoint is not None:
            endpoint, self._endpoint = self._endpoint, None
            await endpoint.let_go()

    async def _locate(self) -> RequestTarget:
        if self._endpoint is None:
            self._endpoint = shared_endpoint(self._file, self._environ)
            self._endpoint.hold()
        record = await self._endpoint.find()
        return RequestTarget(
            provider=BUILT_IN[OFFLINE],
            model=self._file.name,
            address=record.address,
            key=record.key,
            environ=self._environ,
        )
