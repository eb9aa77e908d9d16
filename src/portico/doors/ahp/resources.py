"""Content that the state of channels refers to: both sides of a change, in a proposal or in a tool call."""

from portico.domain.errors import FileMissing
from portico.doors.ahp import _schema as ahp
from portico.doors.ahp.host import AgentHost
from portico.doors.ahp.uris import content_of


async def read_resource(host: AgentHost, params: ahp.ResourceReadParams) -> ahp.ResourceReadResult:
    """The text of a content address. FileMissing for any other: this host shares no files."""
    found = content_of(params.uri)
    text: str | None = None
    if found is not None:
        _, owner, item, side = found
        channel = await host.channel(params.uri)
        changeset = channel.state.changesets.get(owner)
        if changeset is None:
            text = channel.state.turns.text_of(owner, item, side)
        else:
            contents = await host.parts.reviews.contents(channel.session_id, owner, [item])
            text = next((one.old_text if side == "before" else one.new_text for one in contents), None)
    if text is None:
        raise FileMissing(f"There is no content at {params.uri}.")
    return ahp.ResourceReadResult(data=text, encoding="utf-8", content_type="text/plain")
