"""What Portico says to itself over ACP, in methods of its own that begin with `_portico/`.

A client that is Portico announces it in `initialize`, under `_meta.portico` of its capabilities;
nobody else is sent any of these.
"""

import msgspec
from msgspec import Raw

from portico.acp import _schema as schema
from portico.rpc.messages import Fault, FaultKind

FAULT = "_portico/fault"


class FaultNotification(schema.Wire, frozen=True, kw_only=True):
    """Something malformed that the agent sent and the conductor passed over."""

    kind: FaultKind
    detail: str
    sample: str
    size: int


def fault_from(params: Raw) -> Fault:
    told = msgspec.json.decode(params, type=FaultNotification)
    return Fault(told.kind, told.detail, told.sample, told.size)


def fault_notification(fault: Fault) -> FaultNotification:
    return FaultNotification(kind=fault.kind, detail=fault.detail, sample=fault.sample, size=fault.size)
