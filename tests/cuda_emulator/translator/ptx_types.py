"""PTX's types, and how C++ spells them and its names."""
import re

_CPP = {"pred": "bool", "f32": "float", "f64": "double", "f16": "F16", "bf16": "Bf16",
        "f16x2": "F16x2", "bf16x2": "Bf16x2"}

SIGNED = ("s16", "s32", "s64")
UNSIGNED = ("u16", "u32", "u64")
INTEGERS = UNSIGNED + SIGNED
BITS = ("b16", "b32", "b64")
SINGLES = ("f32", "f64")
HALVES = ("f16", "bf16")
PAIRS = ("f16x2", "bf16x2")
FLOATS = SINGLES + HALVES + PAIRS


def is_type(word):
    """Whether this part of an opcode is a type."""
    return word in _CPP or re.fullmatch(r"[bus](8|16|32|64)", word) is not None


def cpp_type(ptx_type):
    """"u32" is U32, "b16" is U16, "f32" is float."""
    if ptx_type in _CPP:
        return _CPP[ptx_type]
    return {"b": "U", "u": "U", "s": "S"}[ptx_type[0]] + ptx_type[1:]


def size_of(ptx_type):
    """In bytes."""
    if ptx_type in PAIRS:
        return 4
    return int(re.sub(r"\D", "", ptx_type)) // 8


def is_float(ptx_type):
    return ptx_type in FLOATS


def identifier(name):
    """A PTX name as one of C++: "%rd1" is R_rd1, "$L__BB0_2" is L_L__BB0_2."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name.replace("%", "R_").replace("$", "L_"))


def cast(ptx_type, value):
    """The expression of a register's bits as a value of that type."""
    return f"as<{cpp_type(ptx_type)}>({value})"
