"""Builds AgentService for a server, on the host and this machine."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from portico.cli.reviewing import LocalReviews
from portico.cli.serving import OpenedService, ServiceContext
from portico.cli.surroundings import LocalSurroundings
from portico.doors.connect.service import MAX_REQUEST_BYTES, Service, application, stream_paths
from portico.sessions.deadlines import put_down


@asynccontextmanager
async def open_agent_service(context: ServiceContext) -> AsyncIterator[OpenedService]:
    """The service, and the end of the turns that it runs. AgentNotFound for an agent nobody has."""
    options = context.options
    surroundings = LocalSurroundings(
        context.environ, workspace=options.workspace, agent=options.agent, page_build=context.page.build
    )
    await surroundings.agent("", options.workspace)
    host = context.host
    reviews = LocalReviews(host.service, host.ports, host.reviews)
    service = Service(host.service, host.ports, reviews, surroundings, context.closing, host.windows)
    await service.housekeeping.begin()
    keeping_house = asyncio.create_task(service.housekeeping.run(), name="keeping house")
    try:
        yield OpenedService(app=application(service), streams=stream_paths(), max_body=MAX_REQUEST_BYTES)
    finally:
        await put_down(keeping_house)
        await service.dispatcher.close()
