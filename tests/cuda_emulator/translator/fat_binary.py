"""Finds PTX and machine code in a module: an ELF file with fat binaries, as nvcc writes it."""
import pathlib
import struct
import typing

from errors import TranslationError

_MAGIC = struct.pack("<I", 0xBA55ED50)
_PTX, _CUBIN = 1, 2
_NO_BITS = 8  # type of a section of which the file has nothing
_COMPRESSED = 0xA000  # flags of an entry: either way of compressing


def _entries(data):
    """(kind, architecture, flags, payload) of every entry of every fat binary."""
    at = 0
    while (at := data.find(_MAGIC, at)) >= 0:
        _, _, header, size = struct.unpack_from("<IHHQ", data, at)
        entry, end = at + header, at + header + size
        while entry < end:
            kind, _, head, padded = struct.unpack_from("<HHIQ", data, entry)
            architecture = struct.unpack_from("<I", data, entry + 28)[0]
            flags = struct.unpack_from("<Q", data, entry + 40)[0]
            yield kind, architecture, flags, data[entry + head:entry + head + padded]
            entry += head + padded
        at = end if end > at else at + len(_MAGIC)


def read_ptx(path):
    """(architecture, texts): the PTX for the lowest architecture in the file, a text for each unit
    that was compiled. A text file is taken as PTX itself; a library without device code has none."""
    data = pathlib.Path(path).read_bytes()
    if not data.startswith(b"\x7fELF"):
        return 0, [data.decode()]
    texts, has_code = {}, False
    for kind, architecture, flags, payload in _entries(data):
        has_code = has_code or kind == _CUBIN
        if kind != _PTX:
            continue
        if flags & _COMPRESSED:
            raise TranslationError(f"{path}: the PTX is compressed: build with nvcc's option "
                                   "-Xfatbin=-compress=false")
        texts.setdefault(architecture, []).append(payload.split(b"\0")[0].decode())
    if not texts and not has_code:
        return 0, []
    if not texts:
        raise TranslationError(f"{path}: there is no PTX in it: build with nvcc's option "
                               "-gencode arch=compute_80,code=[compute_80,sm_80]")
    architecture = min(texts)
    return architecture, texts[architecture]


class Section(typing.NamedTuple):
    """Of a 64-bit ELF file."""
    name: str
    size: int
    info: int
    content: bytes  # none of memory that is only reserved


def sections(elf):
    """Every section of an ELF file, in order."""
    table = struct.unpack_from("<Q", elf, 40)[0]
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQII", elf, table + index * size) for index in range(count)]
    text = headers[names][4]
    for name, kind, _, _, offset, length, _, info in headers:
        begin = text + name
        yield Section(elf[begin:elf.index(b"\0", begin)].decode(), length, info,
                      b"" if kind == _NO_BITS else elf[offset:offset + length])


def read_machine_code(path):
    """(architecture, ELF file) of each unit that was compiled and each architecture."""
    for kind, architecture, flags, payload in _entries(pathlib.Path(path).read_bytes()):
        if kind == _CUBIN and not flags & _COMPRESSED:
            yield architecture, payload


def read_register_counts(path, architecture):
    """{kernel: registers a thread}, from the machine code for that architecture."""
    return {section.name.removeprefix(".text."): section.info >> 24
            for its_architecture, elf in read_machine_code(path) if its_architecture == architecture
            for section in sections(elf) if section.name.startswith(".text.")}
