"""Messages of clients as prompts: their text, and attached files and bytes."""

import asyncio
import base64
import binascii
from pathlib import Path

from portico.domain.errors import InvalidInput
from portico.doors.ahp import _schema as ahp
from portico.doors.ahp.uris import file_path
from portico.sessions.content.attachments import AttachedBytes, AttachedFile, read_attachments
from portico.sessions.content.mentions import links_in
from portico.sessions.turn import TurnPrompt


async def read_prompt(message: ahp.Message, workspace: Path) -> TurnPrompt:
    """The prompt of a message. InvalidInput for an attachment that cannot be read."""
    attached = [_read(one, workspace) for one in message.attachments or ()]
    blocks = await read_attachments([one for one in attached if one is not None])
    links = await asyncio.to_thread(links_in, message.text, workspace)
    return TurnPrompt(text=message.text, blocks=(*blocks, *links))


def _read(attachment: ahp.MessageAttachment, workspace: Path) -> AttachedFile | AttachedBytes | None:
    match attachment:
        case ahp.MessageResourceAttachment(uri=uri, label=label):
            path = file_path(uri)
            if path is None or not path.is_relative_to(workspace):
                raise InvalidInput(
                    f"{label} cannot be attached.", suggestion=f"Attach a file of the folder {workspace}."
                )
            return AttachedFile(path, workspace)
        case ahp.MessageEmbeddedResourceAttachment(label=label, data=data):
            try:
                return AttachedBytes(name=label, data=base64.b64decode(data, validate=True))
            except binascii.Error as error:
                raise InvalidInput(f"{label} is not valid base64.") from error
        case ahp.SimpleMessageAttachment(label=label, model_representation=str() as text):
            return AttachedBytes(name=label, data=text.encode())
        case _:
            return None
