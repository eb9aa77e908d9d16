"""Owns the public fakes, above all a scripted ACP agent; only tests may import them.

Names are imported when they are first used: the scripted agent is a program inside this package, and must not pay
at each start for what only the tests around it need.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from portico.testing.agent.script import ScriptError
    from portico.testing.agent.streams import stream_delta, stream_numbers, stream_text
    from portico.testing.clock import ManualClock
    from portico.testing.command import Script, Step, TranscriptLine, read_transcript, scripted_agent_command
    from portico.testing.frames import FrameChecker, FrameProblem, InvalidFrames, check_tap_file

_HOMES = {
    "FrameChecker": "frames",
    "FrameProblem": "frames",
    "InvalidFrames": "frames",
    "ManualClock": "clock",
    "Script": "command",
    "ScriptError": "agent.script",
    "Step": "command",
    "TranscriptLine": "command",
    "check_tap_file": "frames",
    "read_transcript": "command",
    "scripted_agent_command": "command",
    "stream_delta": "agent.streams",
    "stream_numbers": "agent.streams",
    "stream_text": "agent.streams",
}

__all__ = [
    "FrameChecker",
    "FrameProblem",
    "InvalidFrames",
    "ManualClock",
    "Script",
    "ScriptError",
    "Step",
    "TranscriptLine",
    "check_tap_file",
    "read_transcript",
    "scripted_agent_command",
    "stream_delta",
    "stream_numbers",
    "stream_text",
]


# Out of sight of the type checker, which would take any name for a good one.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
