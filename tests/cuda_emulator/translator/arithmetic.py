"""Arithmetic, logic and comparisons: what computes a register from registers."""
from ptx_types import (BITS, FLOATS, HALVES, INTEGERS, PAIRS, SIGNED, SINGLES, cpp_type,
                       is_float)

ROUNDINGS = {"rn": "nearest", "rz": "zero", "rm": "down", "rp": "up", "rna": "away"}
# Ways to approximate: computed exactly here.
_APPROXIMATE = ("approx", "full")
_RN = ("rn",)
_DIRECTED = ("rn", "rz", "rm", "rp")
_LOGIC = BITS + ("pred",)

# name: (number of sources, types, modifiers); a source of another type is in _SOURCE_TYPES.
_FORMS = {
    "add": (2, INTEGERS + FLOATS, _DIRECTED + ("ftz", "sat")),
    "sub": (2, INTEGERS + FLOATS, _DIRECTED + ("ftz", "sat")),
    "mul": (2, INTEGERS + FLOATS, _DIRECTED + ("ftz", "sat", "lo", "hi", "wide")),
    "mad": (3, INTEGERS + ("f32", "f64"), _DIRECTED + ("ftz", "sat", "lo", "hi", "wide")),
    "fma": (3, FLOATS, _DIRECTED + ("ftz", "sat", "relu")),
    "div": (2, INTEGERS + SINGLES, _RN + _APPROXIMATE + ("ftz",)),
    "rem": (2, INTEGERS, ()),
    "abs": (1, SIGNED + FLOATS, ("ftz",)),
    "neg": (1, SIGNED + FLOATS, ("ftz",)),
    "min": (2, INTEGERS + FLOATS, ("ftz", "NaN")),
    "max": (2, INTEGERS + FLOATS, ("ftz", "NaN")),
    "rcp": (1, SINGLES, _RN + _APPROXIMATE + ("ftz",)),
    "sqrt": (1, SINGLES, _RN + _APPROXIMATE + ("ftz",)),
    "rsqrt": (1, SINGLES, _APPROXIMATE + ("ftz",)),
    "ex2": (1, ("f32",) + HALVES + PAIRS, _APPROXIMATE + ("ftz",)),
    "lg2": (1, ("f32",), _APPROXIMATE + ("ftz",)),
    "sin": (1, ("f32",), _APPROXIMATE + ("ftz",)),
    "cos": (1, ("f32",), _APPROXIMATE + ("ftz",)),
    "tanh": (1, ("f32",) + HALVES + PAIRS, _APPROXIMATE),
    "copysign": (2, SINGLES, ()),
    "and": (2, _LOGIC, ()),
    "or": (2, _LOGIC, ()),
    "xor": (2, _LOGIC, ()),
    "not": (1, _LOGIC, ()),
    "cnot": (1, BITS, ()),
    "shl": (2, BITS, ()),
    "shr": (2, BITS + INTEGERS, ()),
    "shf": (3, ("b32",), ("l", "r", "wrap", "clamp")),
    "popc": (1, BITS, ()),
    "clz": (1, BITS, ()),
    "brev": (1, BITS, ()),
    "bfind": (1, INTEGERS, ("shiftamt",)),
    "bfe": (3, INTEGERS, ()),
    "bfi": (4, BITS, ()),
    "lop3": (4, ("b32",), ()),
    "prmt": (3, ("b32",), ()),
}
_SOURCE_TYPES = {("shl", 1): "u32", ("shr", 1): "u32", ("bfe", 1): "u32", ("bfe", 2): "u32",
                 ("bfi", 2): "u32", ("bfi", 3): "u32"}
_IN_NAME = ("lo", "hi", "wide", "l", "r", "wrap", "clamp", "shiftamt")

_COMPARISONS = {"eq": "CompareEq", "ne": "CompareNe", "lt": "CompareLt", "le": "CompareLe",
                "gt": "CompareGt", "ge": "CompareGe", "num": "CompareNum", "nan": "CompareNan"}
_OF_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_COMBINATIONS = ("and", "or", "xor")


def _compute(scope, instruction):
    name, ptx_type = instruction.name, instruction.type
    count, types, modifiers = _FORMS[name]
    if ptx_type not in types or len(instruction.arguments) != count + 1:
        raise instruction.unknown(scope)
    instruction.allow(scope, ptx_type, *modifiers)
    mods = instruction.modifiers
    flushes = "ftz" in mods
    sources = []
    for index, argument in enumerate(instruction.arguments[1:]):
        its_type = _SOURCE_TYPES.get((name, index), ptx_type)
        if name == "mad" and "wide" in mods and index == 2:
            its_type = ptx_type[0] + str(2 * int(ptx_type[1:]))
        source = scope.typed(its_type, argument)
        sources.append(f"flushed({source})" if flushes and is_float(its_type) else source)
    function = "ptx_" + ("fma" if name == "mad" and is_float(ptx_type) else name)
    function += "".join("_" + m for m in mods if m in _IN_NAME)
    if "NaN" in mods:
        function += "_nan"
    if "sat" in mods and not is_float(ptx_type):
        if ptx_type != "s32" or name not in ("add", "sub"):
            raise instruction.unknown(scope)
        function += "_sat"
    if rounding := next((ROUNDINGS[m] for m in mods if m in ("rz", "rm", "rp")), None):
        if ptx_type != "f32":
            raise instruction.unknown(scope)
        function += f"<Rounding::{rounding}>"
    result = f"{function}({', '.join(sources)})"
    if is_float(ptx_type):
        for modifier, wrapper in (("ftz", "flushed"), ("sat", "saturated"), ("relu", "rectified")):
            if modifier in mods:
                result = f"{wrapper}({result})"
    return f"set({scope.register(instruction.arguments[0])}, {result});"


def _comparison(scope, instruction, word):
    word = _OF_UNSIGNED.get(word, word)
    if word in _COMPARISONS:
        return _COMPARISONS[word]
    if word.endswith("u") and word[:-1] in _COMPARISONS:
        return f"Unordered<{_COMPARISONS[word[:-1]]}>"
    raise instruction.unknown(scope, f"comparison .{word}")


def _operands_of_comparison(scope, instruction):
    operands = [scope.typed(instruction.type, a) for a in instruction.arguments[1:3]]
    if "ftz" in instruction.modifiers and is_float(instruction.type):
        operands = [f"flushed({operand})" for operand in operands]
    return ", ".join(operands)


def _combined(scope, instruction, condition):
    """The condition, with .and, .or or .xor of a further predicate."""
    for word in _COMBINATIONS:
        if word in instruction.modifiers[1:-1]:
            return f"combine_{word}({condition}, {scope.value(instruction.arguments[3])})"
    return condition


def _setp(scope, instruction):
    word, *rest = instruction.modifiers
    ptx_type = instruction.type
    if any(m not in _COMBINATIONS + ("ftz",) for m in rest[:-1]):
        raise instruction.unknown(scope)
    comparison = _comparison(scope, instruction, word)
    operands = _operands_of_comparison(scope, instruction)
    first, _, second = (part.strip() for part in instruction.arguments[0].partition("|"))
    if ptx_type in PAIRS:
        tests = [f"test_{half}<{comparison}>({operands})" for half in ("low", "high")]
    else:
        test = f"{comparison}::test({operands})"
        tests = [test, f"!{test}"]
    # Both are computed before either is written: an operand may be the first predicate.
    out = [f"const bool first_ = {_combined(scope, instruction, tests[0])};"]
    stores = [] if first == "_" else [f"{scope.register(first)} = first_;"]
    if second and second != "_":
        out.append(f"const bool second_ = {_combined(scope, instruction, tests[1])};")
        stores.append(f"{scope.register(second)} = second_;")
    return "{ " + " ".join(out + stores) + " }"


def _set(scope, instruction):
    word, *rest = instruction.modifiers
    to, source = rest[-2], rest[-1]
    if any(m not in _COMBINATIONS + ("ftz",) for m in rest[:-2]):
        raise instruction.unknown(scope)
    comparison = _comparison(scope, instruction, word)
    operands = _operands_of_comparison(scope, instruction)
    register = scope.register(instruction.arguments[0])
    if source in PAIRS:
        if to != source or len(rest) > 2:
            raise instruction.unknown(scope)
        return f"set({register}, set_pair<{cpp_type(to)}, {comparison}>({operands}));"
    test = _combined(scope, instruction, f"{comparison}::test({operands})")
    return f"set({register}, truth_of<{cpp_type(to)}>({test}));"


def _selp(scope, instruction):
    instruction.allow(scope, instruction.type)
    to, yes, no, predicate = instruction.arguments
    return (f"set({scope.register(to)}, {scope.value(predicate)} ? "
            f"{scope.typed(instruction.type, yes)} : {scope.typed(instruction.type, no)});")


def _slct(scope, instruction):
    *mods, ptx_type, of_condition = instruction.modifiers
    if any(m != "ftz" for m in mods) or of_condition not in ("s32", "f32"):
        raise instruction.unknown(scope)
    to, yes, no, condition = instruction.arguments
    return (f"set({scope.register(to)}, {scope.typed(of_condition, condition)} >= 0 ? "
            f"{scope.typed(ptx_type, yes)} : {scope.typed(ptx_type, no)});")


def _testp(scope, instruction):
    word, ptx_type = instruction.modifiers
    if word not in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
        raise instruction.unknown(scope)
    return (f"{scope.register(instruction.arguments[0])} = "
            f"testp_{word}({scope.typed(ptx_type, instruction.arguments[1])});")


HANDLERS = {name: _compute for name in _FORMS} | {
    "setp": _setp, "set": _set, "selp": _selp, "slct": _slct, "testp": _testp}
