"""Finds PTX and register counts in a module: an ELF file with fat binaries, as nvcc writes it."""
import pathlib
import struct

from errors import TranslationError

_MAGIC = struct.pack("<I", 0xBA55ED50)
_PTX, _CUBIN = 1, 2
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


def _sections(elf):
    """(name, info) of each section of a 64-bit ELF."""
    table = struct.unpack_from("<Q", elf, 40)[0]
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQII", elf, table + index * size) for index in range(count)]
    text = headers[names][4]
    for name, _, _, _, _, _, _, info in headers:
        begin = text + name
        yield elf[begin:elf.index(b"\0", begin)].decode(), info


def read_register_counts(path, architecture):
    """{kernel: registers a thread}, from the machine code for that architecture."""
    data = pathlib.Path(path).read_bytes()
    counts = {}
    for kind, its_architecture, flags, payload in _entries(data):
        if kind != _CUBIN or its_architecture != architecture or flags & _COMPRESSED:
            continue
        for name, info in _sections(payload):
            if name.startswith(".text."):
                counts[name[len(".text."):]] = info >> 24
    return counts
