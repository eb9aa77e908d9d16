"""Program that serves an offline model over OpenAI's API on loopback, until standard input ends.

    python -m portico.porter.models.offline MODEL_FILE RECORD_FILE WINDOW

There is one process for each record file, on which it holds a lock. The record has the address and a random key,
and is readable by its owner only.
"""

import os
import secrets
import signal
import sys
from pathlib import Path
from types import FrameType

import msgspec
import xllamacpp

from portico.files.locks import lock
from portico.porter.models.offline.endpoint_record import EndpointRecord, lock_file, write_record
from portico.porter.models.offline.machine import threads, total_memory

_SLOTS = 2
_LONGEST_ANSWER = 2048
_PROMPT_CACHE_SHARE = 16
"""Prompts of sessions that wait may take this fraction of the memory, as a divisor."""
_MIB = 1024 * 1024
_IDLE_SECONDS = 600
_TEMPERATURE = 0.2
_REPEAT_PENALTY = 1.1


def main() -> int:
    model, record, window = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    descriptor = os.open(lock_file(record), os.O_RDWR | os.O_CREAT, 0o600)
    if not lock(descriptor, wait=False):
        print("another endpoint serves this record", file=sys.stderr)  # noqa: T201 - read by the parent process
        return 1
    signal.signal(signal.SIGTERM, _end)
    key = secrets.token_urlsafe(32)
    # The server runs as long as this object lives.
    server = _start(model, key, window)
    started = EndpointRecord(address=f"{server.listening_address}/v1", key=key)
    write_record(record, started)
    try:
        sys.stdout.buffer.write(msgspec.json.encode(started) + b"\n")
        sys.stdout.flush()
        # Its output is not read any more, and a full pipe would block it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
        sys.stdin.buffer.read()
    finally:
        record.unlink(missing_ok=True)
        # The server's threads do not end by themselves.
        os._exit(0)


def _start(model: Path, key: str, window: int) -> xllamacpp.Server:
    wanted = xllamacpp.CommonParams()
    wanted.model.path = str(model)
    wanted.model_alias = {model.stem}
    wanted.hostnames = ["127.0.0.1"]
    wanted.port = 0
    wanted.api_keys = [key]
    wanted.n_ctx = window
    # A model this small does not always stop.
    wanted.n_predict = _LONGEST_ANSWER
    wanted.n_parallel = _SLOTS
    wanted.kv_unified = True
    wanted.cpuparams.n_threads = threads()
    # A session goes on in the slot with its prompt, so only what is new is computed. If another session took the
    # slot, the prompt comes back from the cache.
    wanted.cache_prompt = True
    wanted.cache_ram_mib = total_memory() // _PROMPT_CACHE_SHARE // _MIB
    wanted.sleep_idle_seconds = _IDLE_SECONDS
    wanted.sampling.temp = _TEMPERATURE
    wanted.sampling.penalty_repeat = _REPEAT_PENALTY
    wanted.ui = False
    wanted.endpoint_slots = False
    wanted.verbosity = -1
    return xllamacpp.Server(wanted)


def _end(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    sys.exit(main())
