"""Composition of AgentService for a server: sessions, reviews, catalog and attached windows."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from portico import __version__
from portico.app.catalog import LocalCatalog
from portico.config.paths import config_folder, state_folder
from portico.config.settings import load_settings
from portico.doors.ahp.door import AgentHostDoor
from portico.doors.ahp.host_parts import HostParts
from portico.doors.api.caller_rights import CallerRights
from portico.doors.api.service import MAX_REQUEST_BYTES, ApiService, asgi_application, stream_paths
from portico.processes.tasks import cancel_and_wait
from portico.review.local_reviews import LocalReviews
from portico.server.lifecycle import ServiceApp, ServiceContext
from portico.server.node import NodeOptions, beating, open_node
from portico.sessions.search_index import keep_index_current


@asynccontextmanager
async def open_agent_service(context: ServiceContext) -> AsyncIterator[ServiceApp]:
    """Open the service; its turns end with it. AgentNotFound or InvalidInput for unknown names in the flags."""
    options = context.options
    catalog = LocalCatalog(
        context.environ, workspace=options.workspace, agent=options.agent, page_build=context.page.build
    )
    await catalog.agent("", options.workspace)
    host, switches = context.host, options.chain.components
    settings = load_settings(config_folder(context.environ), options.workspace)
    host.components.check((*switches.on, *switches.off), settings)
    reviews = LocalReviews(host.service, host.ports, host.reviews)
    service = ApiService(host.service, host.ports, reviews, catalog, context.closing, host.windows)
    await service.cleanup.begin()
    cleanup = asyncio.create_task(service.cleanup.run(), name="session cleanup")
    index = asyncio.create_task(keep_index_current(host.store, host.clock), name="search index")
    agent_host = AgentHostDoor(
        HostParts(
            service=host.service,
            store=host.store,
            clock=host.clock,
            turn_queue=service.turn_queue,
            drafts=service.drafts,
            cleanup=service.cleanup,
            reviews=reviews,
            catalog=catalog,
            version=__version__,
        ),
        context.closing,
    )
    try:
        if options.node is None:
            yield ServiceApp(
                app=asgi_application(service, CallerRights(host.service)),
                agent_host=agent_host,
                streams=stream_paths(),
                max_body=MAX_REQUEST_BYTES,
            )
        else:
            async with _open_node_service(context, options.node, service, agent_host) as app:
                yield app
    finally:
        await agent_host.close()
        await cancel_and_wait(cleanup)
        await cancel_and_wait(index)
        await service.turn_queue.close()


@asynccontextmanager
async def _open_node_service(
    context: ServiceContext, options: NodeOptions, service: ApiService, agent_host: AgentHostDoor
) -> AsyncIterator[ServiceApp]:
    """The service on a node of a team, which forwards the calls about sessions of other nodes."""
    # Late: most servers are no nodes.
    from portico.server.session_router import SessionRouter

    host = context.host
    state = state_folder(context.environ)
    async with (
        open_node(host.store, options, state, context.url) as node,
        beating(node, host.service, service.turn_queue, host.store),
    ):
        router = SessionRouter(node, host.service, context.options.workspace)
        yield ServiceApp(
            app=asgi_application(service, CallerRights(host.service), router),
            agent_host=agent_host,
            streams=stream_paths(),
            max_body=MAX_REQUEST_BYTES,
            node_token=node.token_for(node.name),
        )
