"""Download of an offline model for a client of the service, as a stream of its progress."""

import asyncio
from collections.abc import AsyncGenerator, Mapping

from portico.api.v1 import agent_pb as pb
from portico.domain.errors import InvalidInput
from portico.porter.models.offline.download import PullProgress, pull_model
from portico.porter.models.offline.model_files import find_file
from portico.porter.models.providers import OFFLINE, parse_model_name
from portico.processes.tasks import cancel_and_wait


async def stream_download(name: str, environ: Mapping[str, str]) -> AsyncGenerator[pb.PullModelResponse]:
    """Pull a model; only the latest progress is sent to a slow client. Closing the stream stops the pull."""
    wanted = parse_model_name(name)
    if wanted.provider != OFFLINE:
        raise InvalidInput(f"{name} cannot be downloaded.", suggestion=f"Name an {OFFLINE} model.")
    file = find_file(wanted.model, environ)
    latest: list[PullProgress] = []
    changed, loop = asyncio.Event(), asyncio.get_running_loop()

    def report(progress: PullProgress) -> None:
        latest[:] = [progress]
        # The checksum is verified in a thread.
        loop.call_soon_threadsafe(changed.set)

    pull = asyncio.create_task(pull_model(file, environ, report), name=f"download of {file.name}")
    pull.add_done_callback(lambda _: changed.set())
    try:
        while not pull.done():
            await changed.wait()
            changed.clear()
            if latest:
                yield _message(latest.pop())
        await pull
    finally:
        await cancel_and_wait(pull)


def _message(progress: PullProgress) -> pb.PullModelResponse:
    return pb.PullModelResponse(
        done=progress.done,
        total=progress.total,
        seconds_left=progress.seconds_left,
        checking=progress.step == "checking",
    )
