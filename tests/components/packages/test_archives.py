"""Malicious archives are refused with words, and leave nothing behind."""

import gzip
import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from portico.components.packages.archives.member import UnpackLimits
from portico.components.packages.archives.unpack import unpack
from portico.components.packages.cache import PackageArchive, PackageCache
from portico.components.packages.errors import PackageRefused
from portico.components.packages.package import PackageName

LIMITS = UnpackLimits(
    archive_bytes=1_000_000, unpacked_bytes=4_000_000, files=200, ratio=50, ratio_from_bytes=200_000
)
_PLAIN = tarfile.TarInfo("package/fine.txt")


def tar(*members: tarfile.TarInfo | tuple[str, bytes], format: int = tarfile.PAX_FORMAT) -> bytes:  # noqa: A002
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz", format=format) as archive:
        archive.addfile(_PLAIN)
        for member in members:
            if isinstance(member, tuple):
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1]))
            else:
                archive.addfile(member)
    return raw.getvalue()


def special(name: str, kind: bytes, target: str = "", **pax: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.pax_headers = kind, target, dict(pax)
    return info


def zipped(*members: tuple[str, bytes], mode: int = 0o100644, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", method) as archive:
        archive.writestr("fine.txt", b"fine")
        for name, data in members:
            info = zipfile.ZipInfo(name)
            info.create_system, info.external_attr, info.compress_type = 3, mode << 16, method
            archive.writestr(info, data)
    return raw.getvalue()


def edited(data: bytes, change: Callable[[bytearray], None]) -> bytes:
    """A tar whose bytes are changed after it was packed, with its first header's checksum made right again."""
    raw = bytearray(gzip.decompress(data))
    change(raw)
    raw[148:156] = b" " * 8
    raw[148:156] = f"{sum(raw[:512]):06o}\0 ".encode()
    return gzip.compress(bytes(raw))


def header(name: str, size: int, kind: bytes = b"0") -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info.tobuf(tarfile.GNU_FORMAT)


def set_size(raw: bytearray) -> None:
    raw[124:136] = b"\x80" + (1 << 60).to_bytes(11, "big")


def set_negative_size(raw: bytearray) -> None:
    raw[124:136] = b"\xff" * 12


def encrypted(data: bytes) -> bytes:
    raw = bytearray(data)
    for signature, place in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        start = 0
        while (start := raw.find(signature, start)) >= 0:
            raw[start + place] |= 1
            start += 4
    return bytes(raw)


def overlapping() -> bytes:
    """Many names for the same bytes, as in a bomb whose files share their data."""
    base = zipped(("big.txt", b"0" * 3_000_000))
    end = base.rfind(b"PK\x05\x06")
    count, size, start = struct.unpack_from("<HII", base, end + 10)
    central = base[start : start + size]
    entry = central[central.rfind(b"PK\x01\x02") :]
    more = b"".join(entry.replace(b"big.txt", b"big%03d." % number) for number in range(100))
    directory = central + more
    tail = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, count + 100, count + 100, len(directory), start, 0)
    return base[:start] + directory + tail


def many_listed() -> bytes:
    return (
        b"PK\x03\x04" + b"\0" * 30 + struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 60_000, 60_000, 900, 34, 0)
    )


def large_directory() -> bytes:
    return b"PK\x03\x04" + b"\0" * 30 + struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 2, 2, 800_000, 34, 0)


def zip64() -> bytes:
    data = zipped()
    end = data.rfind(b"PK\x05\x06")
    return data[:end] + b"PK\x06\x07" + b"\0" * 16 + data[end:]


CORPUS: dict[str, tuple[bytes, str]] = {
    "tar: climbs out": (tar(("../evil", b"x")), "climbs out"),
    "tar: climbs out in the middle": (tar(("package/a/../../../evil", b"x")), "climbs out"),
    "tar: only dots": (tar(("..", b"x")), "climbs out"),
    "tar: absolute": (tar(("/etc/cron.d/evil", b"x")), "absolute"),
    "tar: drive letter": (tar(("C:/Windows/evil", b"x")), "absolute"),
    "tar: backslashes": (tar(("package\\..\\..\\evil", b"x")), "backslash"),
    "tar: share of Windows": (tar(("\\\\host\\share", b"x")), "absolute"),
    "tar: climbs by a pax header": (tar(special("package/x", b"0", path="../../evil")), "climbs out"),
    "tar: climbs by a long name": (
        tar((f"package/{'a/' * 60}{'../' * 70}evil", b"x"), format=tarfile.GNU_FORMAT),
        "climbs out",
    ),
    "tar: link to an absolute path": (tar(special("package/l", tarfile.SYMTYPE, "/etc/passwd")), "absolute"),
    "tar: link that climbs": (tar(special("package/l", tarfile.SYMTYPE, "../../../etc")), "leads out"),
    "tar: link that climbs late": (tar(special("package/l", tarfile.SYMTYPE, "a/../../../x")), "leads out"),
    "tar: file through a link": (
        tar(special("package/l", tarfile.SYMTYPE, "/tmp"), ("package/l/evil", b"x")),
        "absolute",
    ),
    "tar: hard link outside": (tar(special("package/h", tarfile.LNKTYPE, "../../etc/passwd")), "leads out"),
    "tar: absolute hard link": (tar(special("package/h", tarfile.LNKTYPE, "/etc/passwd")), "absolute"),
    "tar: link by a pax header": (
        tar(special("package/l", tarfile.SYMTYPE, "x", linkpath="/etc/shadow")),
        "absolute",
    ),
    "tar: character device": (tar(special("package/d", tarfile.CHRTYPE)), "device"),
    "tar: block device": (tar(special("package/d", tarfile.BLKTYPE)), "device"),
    "tar: named pipe": (tar(special("package/p", tarfile.FIFOTYPE)), "named pipe"),
    "tar: unknown kind": (tar(special("package/u", b"Z")), "unknown kind"),
    "tar: sparse file": (tar(special("package/s", b"S")), "sparse"),
    "tar: sparse by a pax header": (
        tar(special("package/s", b"0", **{"GNU.sparse.major": "1", "GNU.sparse.minor": "0"})),
        "sparse",
    ),
    "tar: twice the same file": (tar(("package/a", b"1"), ("package/a", b"2")), "twice"),
    "tar: same file, other spelling": (tar(("package/a", b"1"), ("package/./a", b"2")), "twice"),
    "tar: file as folder": (tar(("package/a", b"1"), ("package/a/b", b"2")), "twice"),
    "tar: same letters, other bytes": (tar(("é", b"1"), ("e\u0301", b"2")), "twice"),
    "tar: text turned around": (tar(("package/\u202egpj.exe", b"x")), "U+202E"),
    "tar: invisible letter": (tar(("package/a\u200bb", b"x")), "U+200B"),
    "tar: escape sequence": (tar(("package/\x1b[2J", b"x")), "U+001B"),
    "tar: newline": (tar(("package/a\nb", b"x")), "U+000A"),
    "tar: bytes that are no text": (tar(("package/\udcff", b"x")), "cannot be seen"),
    "tar: name too long": (tar((f"package/{'a' * 300}", b"x")), "too long"),
    "tar: path too long": (tar(("package/" + "/".join(["a" * 60] * 30), b"x")), "too long"),
    "tar: too deep": (tar(("a/" * 60 + "x", b"x")), "too deep"),
    "tar: too many files": (tar(*((f"f{number}", b"") for number in range(201))), "more than 200"),
    "tar: bomb": (tar(("bomb", bytes(3_000_000))), "times its size"),
    "tar: too large": (tar(("big", bytes(range(256)) * 20_000)), "times its size"),
    "tar: bomb in a skipped link": (
        gzip.compress(header("package/l", 3_000_000, b"2") + bytes(3_000_320)),
        "times its size",
    ),
    "tar: size of an exabyte": (edited(tar(), set_size), "breaks off"),
    "tar: negative size": (edited(tar(), set_negative_size), "negative"),
    "tar: huge pax header": (gzip.compress(header("x", 2_000_000, b"x") + bytes(10_000)), "a header has"),
    "tar: huge long name": (gzip.compress(header("x", 2_000_000, b"L") + bytes(10_000)), "a header has"),
    "tar: malformed pax header": (gzip.compress(header("x", 10, b"x") + b"99 path=x\n" + bytes(502)), "pax"),
    "tar: pax size that is no number": (tar(special("package/s", b"0", size="９")), "number"),
    "tar: broken off": (gzip.compress(gzip.decompress(tar(("a", b"x" * 2000)))[:1700]), "breaks off"),
    "tar: cut in half": (tar(("a", bytes(range(256)) * 50))[:-40], "damaged"),
    "tar: wrong checksum of a header": (gzip.compress(b"y" + header("x", 0)[1:]), "checksum"),
    "tar: empty": (gzip.compress(bytes(1024)), "no files"),
    "tar: only links": (gzip.compress(header("a", 0, b"2") + bytes(1024)), "no files"),
    "zip: climbs out": (zipped(("../evil", b"x")), "climbs out"),
    "zip: absolute": (zipped(("/etc/evil", b"x")), "absolute"),
    "zip: backslashes": (zipped(("..\\evil", b"x")), "backslash"),
    "zip: drive letter": (zipped(("d:evil", b"x")), "absolute"),
    "zip: link": (zipped(("link", b"/etc/passwd"), mode=0o120777), "absolute"),
    "zip: link that climbs": (zipped(("link", b"../../x"), mode=0o120777), "leads out"),
    "zip: device": (zipped(("device", b""), mode=0o020666), "device"),
    "zip: named pipe": (zipped(("pipe", b""), mode=0o010666), "named pipe"),
    "zip: encrypted": (encrypted(zipped(("secret", b"x"))), "encrypted"),
    "zip: rare compression": (zipped(("a", b"x"), method=zipfile.ZIP_BZIP2), "not supported"),
    "zip: bomb": (zipped(("bomb", bytes(3_500_000))), "times its size"),
    "zip: bomb of shared data": (overlapping(), "refused"),
    "zip: claims many files": (many_listed(), "lists 60,000"),
    "zip: claims a large directory": (large_directory(), "800,000 bytes"),
    "zip: directory for more": (zip64(), "65,535"),
    "zip: twice the same file": (zipped(("a", b"1"), ("./a", b"2")), "twice"),
    "zip: too many files": (zipped(*((f"f{number}", b"") for number in range(201))), "lists 202"),
    "zip: damaged": (zipped(("a", b"x" * 100)).replace(b"fine", b"fane", 1), "damaged"),
    "zip: invisible letter": (zipped(("a\u2066b", b"x")), "U+2066"),
    "no archive": (b"MZ" + bytes(100), "neither"),
    "no bytes": (b"", "neither"),
    "larger than the limit": (bytes(1_000_001), "1,000,001 bytes"),
    "gzip of nothing": (gzip.compress(b""), "no files"),
    "gzip with garbage": (b"\x1f\x8b\x08" + zlib.compress(b"x"), "damaged"),
}  # fmt: skip


@pytest.mark.parametrize("name", CORPUS)
def test_a_malicious_archive_is_refused_with_words(tmp_path: Path, name: str) -> None:
    data, words = CORPUS[name]
    archive, folder = tmp_path / "archive", tmp_path / "folder"
    archive.write_bytes(data)
    folder.mkdir()
    with pytest.raises(PackageRefused) as refused:
        unpack(archive, folder, LIMITS)
    assert words in refused.value.message
    assert refused.value.message.isprintable()
    assert {path.name for path in tmp_path.iterdir()} == {"archive", "folder"}
    assert not any(path.is_symlink() for path in folder.rglob("*"))


def test_nothing_of_a_refused_archive_is_in_the_cache(tmp_path: Path) -> None:
    cache = PackageCache({"PORTICO_HOME": str(tmp_path)}, limits=LIMITS)
    archive = tmp_path / "archive"
    archive.write_bytes(CORPUS["zip: climbs out"][0])
    with pytest.raises(PackageRefused):
        cache.add(PackageArchive(name=PackageName("npm", "x"), version="1.0.0", path=archive, source="test"))
    assert cache.list() == []
    assert [path for path in cache.folder.rglob("*") if path.is_file()] == []


def test_a_good_archive_is_unpacked_without_its_modes_and_inner_links(tmp_path: Path) -> None:
    script = tarfile.TarInfo("package/run.sh")
    script.mode, script.uid = 0o4777, 0
    inner = special("package/LICENSE", tarfile.SYMTYPE, "docs/LICENSE")
    archive = tmp_path / "archive"
    archive.write_bytes(
        tar(script, inner, ("package/docs/LICENSE", b"free"), (f"package/{'n' * 150}", b"long"))
    )
    folder = tmp_path / "folder"
    folder.mkdir()
    result = unpack(archive, folder, LIMITS)
    assert (result.files, result.links) == (4, 1)
    assert (folder / "package/docs/LICENSE").read_bytes() == b"free"
    assert (folder / f"package/{'n' * 150}").read_bytes() == b"long"
    assert (folder / "package/run.sh").stat().st_mode & 0o7777 == 0o600
    assert not (folder / "package/LICENSE").exists()
