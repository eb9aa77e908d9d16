"""Report of a run as one HTML page without scripts: each case with its rule, and its conversation drawn."""

from collections.abc import Sequence
from html import escape

from portico.conformance.case import STATUSES, CaseResult
from portico.conformance.dialogue import RecordedFrame
from portico.conformance.reports import shorten_line
from portico.conformance.runner import Run

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --good: #1a7f37; --bad: #cf222e; --quiet: #6e7781; }
@media (prefers-color-scheme: dark) { :root { --good: #3fb950; --bad: #f85149; --quiet: #9198a1; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } code { font-family: ui-monospace, monospace; font-size: .9em; }
.verdict { font-weight: 600; } .passed { color: var(--good); }
.failed, .blocked { color: var(--bad); } .quiet { color: var(--quiet); }
details { border-top: 1px solid var(--line); padding: .4rem 0; }
summary { cursor: pointer; display: grid; grid-template-columns: 8rem 7rem 16rem 1fr; gap: .5rem; }
.about { margin: .3rem 0 .3rem 1rem; } a { color: inherit; }
.lanes { margin: .6rem 1rem; border-left: 2px solid var(--line); border-right: 2px solid var(--line); }
.heads { display: flex; justify-content: space-between; margin: 0 .3rem; font-weight: 600; }
.frame { padding: .25rem .6rem; } .frame.received { text-align: right; }
.frame .arrow { display: flex; align-items: center; gap: .5rem; color: var(--quiet); font-size: .85em; }
.frame.received .arrow { flex-direction: row-reverse; }
.frame .arrow i { flex: 1; border-top: 1px solid currentColor; }
.frame.sent .arrow i { margin-right: -.55rem; } .frame.received .arrow i { margin-left: -.55rem; }
.frame pre { margin: .1rem 0; white-space: pre-wrap; overflow-wrap: anywhere; text-align: left; font-size: .85em; }
.frame.received pre { margin-left: 20%; } .frame.sent pre { margin-right: 20%; }
@media (max-width: 45rem) { summary { grid-template-columns: 1fr; } }
"""


def write_page(run: Run, kind: str, command: Sequence[str]) -> str:
    """The page. Cases that failed are open, and the worst come first."""
    worst_first = sorted(run.results, key=lambda one: (not one.counts_against, STATUSES.index(one.status)))
    verdict = "Conformant" if run.conforms else "Not conformant"
    color = "passed" if run.conforms else "failed"
    counts = ", ".join(f"{run.count(status)} {status}" for status in STATUSES if run.count(status))
    head = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{verdict}: {escape(command[0])}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>{_STYLE}</style></head><body>
<h1>Conformance of the {escape(kind)} <code>{escape(" ".join(command))}</code></h1>
<p><span class="verdict {color}">{verdict}</span>: {counts}, in {run.seconds:.1f} s.</p>
"""
    return head + "\n".join(_draw_case(result, kind) for result in worst_first) + "\n</body></html>\n"


def _draw_case(result: CaseResult, kind: str) -> str:
    color = result.status if result.status in ("passed", "failed", "blocked") else "quiet"
    opened = " open" if result.counts_against else ""
    source = escape(result.source)
    reason = f'<p class="about">{escape(result.reason)}</p>' if result.reason else ""
    conversation = _draw_conversation(result.frames, kind) if result.frames else ""
    return f"""<details{opened}><summary><span class="{color}">{result.status}</span><span>{result.level}</span>
<code>{escape(result.id)}</code><span>{escape(result.rule)}</span></summary>
{reason}<p class="about quiet">Source: <a href="{source}">{source}</a></p>
{conversation}</details>"""


def _draw_conversation(frames: Sequence[RecordedFrame], kind: str) -> str:
    """Two lanes, the kit on the left and the program on the right, with an arrow for each frame."""
    drawn = "\n".join(_draw_frame(frame) for frame in frames)
    heads = f'<div class="heads"><span>kit</span><span>{escape(kind)}</span></div>'
    return f'<div class="lanes">{heads}\n{drawn}\n</div>'


def _draw_frame(frame: RecordedFrame) -> str:
    label = "" if frame.message is None else frame.message.method
    name = label if isinstance(label, str) and label else "no message" if frame.message is None else "answer"
    head = "▶" if frame.direction == "sent" else "◀"
    caption = f"{frame.connection}.{frame.number} {escape(name)}, {frame.seconds:.3f} s"
    return (
        f'<div class="frame {frame.direction}"><div class="arrow"><span>{caption}</span><i></i>{head}</div>'
        f"<pre>{escape(shorten_line(frame))}</pre></div>"
    )
