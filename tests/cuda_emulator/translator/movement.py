"""What moves values: cvt, mov, loads, stores, atomics and addresses."""
from arithmetic import ROUNDINGS
from ptx_types import BITS, INTEGERS, PAIRS, SINGLES, cpp_type, is_float, is_type
from source import split_arguments

_TO_INTEGER = {"rni": "nearest", "rzi": "zero", "rmi": "down", "rpi": "up"}
_SPACES = ("global", "shared", "local", "param", "const")
_STRONG = ("volatile", "relaxed", "acquire", "release", "acq_rel", "mmio")
_SCOPES = ("cta", "cluster", "gpu", "sys")
# Hints about caches, which change no value.
_CACHE = ("ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "L1::evict_normal", "L1::evict_unchanged",
          "L1::evict_first", "L1::evict_last", "L1::no_allocate", "L2::64B", "L2::128B", "L2::256B")
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}
_ATOMS = {"add": 1, "min": 1, "max": 1, "and": 1, "or": 1, "xor": 1, "exch": 1, "cas": 2, "inc": 1,
          "dec": 1}


def _cvt(scope, instruction):
    types = [m for m in instruction.modifiers if is_type(m) or m == "tf32"]
    if len(types) != 2:
        raise instruction.unknown(scope)
    to, source = types
    mods = [m for m in instruction.modifiers if m not in types]
    for modifier in mods:
        if modifier not in (*ROUNDINGS, *_TO_INTEGER, "ftz", "sat", "relu"):
            raise instruction.unknown(scope, f"modifier .{modifier}")
    values = [scope.typed(source, a) for a in instruction.arguments[1:]]
    if "ftz" in mods and source == "f32":
        values = [f"flushed({value})" for value in values]
    result = _converted(scope, instruction, to, source, mods, values)
    if is_float(to):
        for modifier, wrapper in (("ftz", "flushed"), ("sat", "saturated"), ("relu", "rectified")):
            if modifier in mods and (modifier != "ftz" or to == "f32"):
                result = f"{wrapper}({result})"
    elif "relu" in mods:
        raise instruction.unknown(scope)
    return f"set({scope.register(instruction.arguments[0])}, {result});"


def _converted(scope, instruction, to, source, mods, values):
    integral = next((_TO_INTEGER[m] for m in mods if m in _TO_INTEGER), None)
    rounding = next((ROUNDINGS[m] for m in mods if m in ROUNDINGS), None)
    operands = ", ".join(values)
    if to == "tf32":
        if mods != ["rna"] or source != "f32":
            raise instruction.unknown(scope)
        return f"round_to_tf32({operands})"
    cpp = cpp_type(to)
    if to in PAIRS:
        if source != "f32" or len(values) != 2 or not rounding:
            raise instruction.unknown(scope)
        return f"cvt_pair<{cpp}, Rounding::{rounding}>({operands})"
    if len(values) != 1:
        raise instruction.unknown(scope)
    if integral:
        if not is_float(source) or (is_float(to) and to != source):
            raise instruction.unknown(scope)
        return f"cvt_to_integer<{cpp}, Rounding::{integral}>({operands})"
    if rounding:
        if not is_float(to) or rounding == "away":
            raise instruction.unknown(scope)
        return f"cvt_rounded<{cpp}, Rounding::{rounding}>({operands})"
    if "sat" in mods and not is_float(to):
        return f"cvt_sat<{cpp}>({operands})"
    return f"cvt<{cpp}>({operands})"


def _mov(scope, instruction):
    ptx_type = instruction.type
    if ptx_type not in BITS + INTEGERS + SINGLES + ("pred",) or len(instruction.modifiers) != 1:
        raise instruction.unknown(scope)
    to, source = instruction.arguments
    cpp = cpp_type(ptx_type)
    if to.startswith("{"):
        parts = ["ignored" if part == "_" else scope.register(part)
                 for part in split_arguments(to[1:-1])]
        return f"unpack<{cpp}>({scope.value(source)}, {', '.join(parts)});"
    if source.startswith("{"):
        parts = [scope.value(part) for part in split_arguments(source[1:-1])]
        return f"set({scope.register(to)}, pack<{cpp}>({', '.join(parts)}));"
    return f"set({scope.register(to)}, as<{cpp}>({scope.value(source)}));"


def _cvta(scope, instruction):
    instruction.allow(scope, "to", "u64", *_SPACES)
    to, source = scope.register(instruction.arguments[0]), scope.value(instruction.arguments[1])
    if "shared" in instruction.modifiers:
        direction = "generic_to_shared" if "to" in instruction.modifiers else "shared_to_generic"
        return f"{to} = {direction}(t, {source});"
    return f"{to} = static_cast<U64>({source});"


def _space(instruction):
    words = [m.split("::")[0] for m in instruction.modifiers]
    return next((space for space in _SPACES if space in words), "generic")


def _shape(scope, instruction, place):
    """The template arguments of an access: type, number, whose memory, order."""
    mods = instruction.modifiers
    vector = next((count for word, count in _VECTORS.items() if word in mods), 1)
    space = _space(instruction)
    own = space in ("param", "local") or scope.is_own(place)
    order = "strong" if any(m in _STRONG for m in mods) else "weak"
    return (f"{cpp_type(instruction.type)}, {vector}, Space::{'own' if own else 'device'}, "
            f"Order::{order}"), vector


def _access_words(instruction):
    return (*_SPACES, "shared::cta", "param::entry", "param::func", "weak", *_STRONG, *_SCOPES,
            *_CACHE, *_VECTORS, instruction.type)


def _registers(data):
    return split_arguments(data[1:-1]) if data.startswith("{") else [data]


def _load(scope, instruction):
    instruction.allow(scope, *_access_words(instruction))
    data, place = instruction.arguments
    shape, vector = _shape(scope, instruction, place)
    names = _registers(data)
    if len(names) != vector:
        raise instruction.unknown(scope)
    registers = ", ".join("ignored" if name == "_" else scope.register(name) for name in names)
    return f"load<{shape}>(t, {scope.address(place, _space(instruction))}, {registers});"


def _store(scope, instruction):
    instruction.allow(scope, *_access_words(instruction))
    place, data = instruction.arguments
    shape, vector = _shape(scope, instruction, place)
    names = _registers(data)
    if len(names) != vector:
        raise instruction.unknown(scope)
    values = ", ".join(scope.typed(instruction.type, name) for name in names)
    return f"store<{shape}>(t, {scope.address(place, _space(instruction))}, {values});"


def _atom(scope, instruction):
    mods = instruction.modifiers
    kind = next((m for m in mods if m in _ATOMS), None)
    instruction.allow(scope, "global", "shared", "shared::cta", "noftz", *_STRONG, *_SCOPES, kind,
                      instruction.type)
    arguments = instruction.arguments[1 if instruction.name == "atom" else 0:]
    if kind is None or len(arguments) != _ATOMS[kind] + 1:
        raise instruction.unknown(scope)
    operands = ", ".join(scope.typed(instruction.type, a) for a in arguments[1:])
    address = scope.address(arguments[0], _space(instruction))
    call = f"atom_{kind}<{cpp_type(instruction.type)}>(t, {address}, {operands})"
    if any(m in ("release", "acq_rel") for m in mods):
        call = f"(fence(t), {call})"
    if instruction.name == "red" or instruction.arguments[0] == "_":
        return f"{call};"
    return f"set({scope.register(instruction.arguments[0])}, {call});"


def _nothing(scope, instruction):
    """Hints that change no value."""
    return ""


HANDLERS = {"cvt": _cvt, "mov": _mov, "cvta": _cvta, "ld": _load, "st": _store, "atom": _atom,
            "red": _atom, "prefetch": _nothing}
