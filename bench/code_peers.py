"""Questions about three real packages and a storm of edits, asked of Portico, Serena and agent-lsp in one run."""

import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from pathlib import Path

import msgspec

from bench.code_contenders import CONTENDERS, Contender, Start, install_peers, memory
from bench.code_corpus import LANGUAGES, Corpus, Language, fetch_sources, load
from bench.report import Budget, Line, MeasurementFailed, Section
from bench.samples import Samples, take_turns

EDITS = 500
_ROUNDS = 3
_STORM_SECONDS = 180.0
_OURS = "Portico"
_UNKNOWN = ("Not known yet", "does not confirm the file is clean")


class _Run(msgspec.Struct, frozen=True):
    """One contender on one package: seconds, bytes, and the kinds of questions that it answered rightly."""

    first_answer: Samples
    warm: Samples
    memory: Samples
    right: Counter[str]
    right_again: int

    @classmethod
    def joined(cls, runs: Sequence["_Run"]) -> "_Run":
        """Several runs as one: all their times, and the worst of their answers."""
        first, warm, memory = (
            Samples(tuple(value for run in runs for value in samples(run).values))
            for samples in (_first_answer, _warm, _memory)
        )
        worst = min(runs, key=lambda run: run.right.total())
        return cls(first, warm, memory, worst.right, min(run.right_again for run in runs))


_first_answer, _warm, _memory = (attrgetter(name) for name in ("first_answer", "warm", "memory"))


class _Storm(msgspec.Struct, frozen=True):
    taken: Samples
    stale: int
    unknown: int


def measure() -> Section:
    install_peers()
    corpora = load()
    runs = {
        (language, name): run
        for language in LANGUAGES
        for name, run in answer_in_turns(language, corpora[language]).items()
    }
    storms = {name: _storm(start, corpora["python"]) for name, start in CONTENDERS.items()}
    _check_ours(corpora, runs, storms[_OURS])
    asked: Counter[str] = Counter(
        question.kind for corpus in corpora.values() for question in corpus.questions
    )
    return Section(
        title="Code questions: Portico beside Serena and agent-lsp, with the same language servers",
        lines=(*_lines(runs), *_storm_lines(storms)),
        notes=(
            f"Right answers at first asking, of {asked.total()} questions:",
            *(f"  {name}: {_score(name, runs, asked)}" for name in CONTENDERS),
            *(f"  {name}, edits: {_describe_storm(storm)}" for name, storm in storms.items()),
        ),
    )


def answer_in_turns(language: Language, corpus: Corpus) -> dict[str, _Run]:
    """Every contender in turns; the first round, which finds no file in the machine's cache, does not count."""
    contenders = {
        name: partial(_answer_questions, start, language, corpus) for name, start in CONTENDERS.items()
    }
    return {name: _Run.joined(runs) for name, runs in take_turns(contenders, _ROUNDS).items()}


def _answer_questions(start: Start, language: Language, corpus: Corpus) -> _Run:
    started = time.perf_counter()
    with _contender(start, language, corpus) as contender:
        right: Counter[str] = Counter()
        first_answer = 0.0
        for question in corpus.questions:
            right[question.kind] += question.is_answered_by(contender.find(question))
            first_answer = first_answer or time.perf_counter() - started
        taken, again = [], 0
        for question in corpus.questions:
            asked_at = time.perf_counter()
            found = contender.find(question)
            taken.append(time.perf_counter() - asked_at)
            again += question.is_answered_by(found)
        used = Samples((float(memory()),))
        return _Run(Samples((first_answer,)), Samples(tuple(taken)), used, right, again)


@contextmanager
def _contender(start: Start, language: Language, corpus: Corpus) -> Iterator[Contender]:
    sources = fetch_sources(language, corpus.package)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        folder = Path(place).resolve() / "workspace"
        shutil.copytree(sources, folder)
        with start(language, folder, Path(place).resolve() / "home") as contender:
            yield contender


def _storm(start: Start, corpus: Corpus) -> _Storm:
    """Change two files again and again, and ask for the problems of one of them after each change.

    Every change leaves a name in the problems that no other change leaves, so an answer about an older version is
    noticed. Every second change is made as the person makes it, behind the contender's back.
    """
    taken, stale, unknown = [], 0, 0
    with _contender(start, "python", corpus) as contender:
        for path in ("storm_user.py", "storm_module.py"):
            (contender.folder / path).write_text("\n")
        contender.find(corpus.questions[0])
        began = time.perf_counter()
        for number in range(EDITS):
            _change(contender, number)
            asked_at = time.perf_counter()
            told = contender.problems("storm_user.py")
            taken.append(time.perf_counter() - asked_at)
            is_unknown = any(words in told for words in _UNKNOWN)
            unknown += is_unknown
            stale += not is_unknown and not _is_current(told, number)
            if time.perf_counter() - began > _STORM_SECONDS:
                break
    return _Storm(Samples(tuple(taken)), stale, unknown)


def _change(contender: Contender, number: int) -> None:
    changes = {"storm_user.py": f"import httpx\nprint(missing_{number})\n"}
    if number % 4 >= 2:
        # The user takes a name from the module that only other versions of the module have.
        taken = f"from storm_module import storm_{number}, missing_{number}\n"
        changes = {"storm_user.py": taken, "storm_module.py": f"storm_{number} = 1\n"}
    for path, text in changes.items():
        if number % 2:
            (contender.folder / path).write_text(text)
        else:
            contender.write(path, text)


def _is_current(told: str, number: int) -> bool:
    names = set(re.findall(r"\b(storm|missing)_(\d+)\b", told))
    return ("missing", str(number)) in names and {one for _, one in names} == {str(number)}


def _check_ours(
    corpora: dict[Language, Corpus], runs: dict[tuple[Language, str], _Run], storm: _Storm
) -> None:
    for language, corpus in corpora.items():
        wrong = len(corpus.questions) - runs[language, _OURS].right.total()
        if wrong:
            raise MeasurementFailed(f"{wrong} answers about {corpus.package} were wrong")
    if storm.stale:
        raise MeasurementFailed(f"{storm.stale} of {len(storm.taken.values)} answers were stale")


def _lines(runs: dict[tuple[Language, str], _Run]) -> Iterator[Line]:
    for language in LANGUAGES:
        for name in CONTENDERS:
            run = runs[language, name]
            what = f"{language}, {name}"
            yield Line(what=f"{what}: first answer", samples=run.first_answer, unit="seconds")
            yield Line(what=f"{what}: warm", samples=run.warm, unit="seconds")
            yield Line(what=f"{what}: memory", samples=run.memory, unit="bytes")
        peers = [runs[language, name] for name in CONTENDERS if name != _OURS]
        ours = runs[language, _OURS]
        for what, mine, theirs in (
            ("first answer", ours.first_answer, [peer.first_answer for peer in peers]),
            ("warm", ours.warm, [peer.warm for peer in peers]),
            ("memory", ours.memory, [peer.memory for peer in peers]),
        ):
            medians = [one.median for one in theirs]
            yield _beside(f"{language}: {what}, over the best peer", mine.median, medians)


def _beside(what: str, mine: float, theirs: list[float]) -> Line:
    return Line(what=what, samples=Samples((mine / min(theirs),)), unit="ratio", budget=Budget("at most", 1))


def _storm_lines(storms: dict[str, _Storm]) -> Iterator[Line]:
    for name, storm in storms.items():
        yield Line(what=f"{name}: problems after an edit", samples=storm.taken, unit="seconds")


def _score(name: str, runs: dict[tuple[Language, str], _Run], asked: Counter[str]) -> str:
    mine = [runs[language, name] for language in LANGUAGES]
    right = sum((run.right for run in mine), Counter[str]())
    kinds = ", ".join(f"{kind} {right[kind]}/{count}" for kind, count in asked.items())
    again = sum(run.right_again for run in mine)
    return f"{right.total()} ({kinds}); {again} when asked again"


def _describe_storm(storm: _Storm) -> str:
    return f"{len(storm.taken.values)}, of these {storm.stale} stale answers, {storm.unknown} not known"
