"""Control flow, and what threads of a block or a warp do together."""
from ptx_types import cpp_type, identifier
from source import split_arguments

_SHUFFLES = {"up": "shuffle_up", "down": "shuffle_down", "bfly": "shuffle_xor",
             "idx": "shuffle_index"}


def _ret(scope, instruction):
    instruction.allow(scope, "uni")
    return "return;"


def _bra(scope, instruction):
    instruction.allow(scope, "uni")
    return f"goto {identifier(instruction.arguments[0])};"


def _brx(scope, instruction):
    instruction.allow(scope, "idx", "uni")
    index, table = instruction.arguments
    targets = scope.branch_targets.get(table)
    if targets is None:
        raise instruction.unknown(scope, f"no targets {table}")
    cases = " ".join(f"case {number}: goto {identifier(target)};"
                     for number, target in enumerate(targets))
    return f"switch ({scope.value(index)}) {{ {cases} default: trap(t); }}"


def _bar(scope, instruction):
    mods, arguments = instruction.modifiers, instruction.arguments
    if "warp" in mods:
        instruction.allow(scope, "warp", "sync")
        return f"warp_sync(t, {scope.typed('u32', arguments[0])});"
    if "red" in mods:
        instruction.allow(scope, "cta", "red", "aligned", "popc", "and", "or", "u32", "pred")
        kind = next(m for m in mods if m in ("popc", "and", "or"))
        barrier = scope.value(arguments[1])
        count = scope.value(arguments[2]) if len(arguments) > 3 else "0"
        call = f"barrier_red_{kind}(t, {barrier}, {count}, {scope.value(arguments[-1])})"
        return f"set({scope.register(arguments[0])}, {call});"
    instruction.allow(scope, "cta", "sync", "arrive", "aligned")
    kind = "arrive" if "arrive" in mods else "sync"
    return f"barrier_{kind}(t, {', '.join(scope.value(a) for a in arguments)});"


def _fence(scope, instruction):
    instruction.allow(scope, "sc", "acq_rel", "acquire", "release", "cta", "cluster", "gpu", "sys",
                      "gl")
    return "fence(t);"


def _nanosleep(scope, instruction):
    instruction.allow(scope, "u32")
    return "ptbench_emulator_yield(t);"


def _trap(scope, instruction):
    return "trap(t);"


def _activemask(scope, instruction):
    instruction.allow(scope, "b32")
    return f"{scope.register(instruction.arguments[0])} = active_mask(t);"


def _shfl(scope, instruction):
    instruction.allow(scope, "sync", "b32", *_SHUFFLES)
    if "sync" not in instruction.modifiers or len(instruction.arguments) != 5:
        raise instruction.unknown(scope)
    kind = next(_SHUFFLES[m] for m in instruction.modifiers if m in _SHUFFLES)
    to, _, predicate = (part.strip() for part in instruction.arguments[0].partition("|"))
    flag = scope.register(predicate) if predicate else "ignored_predicate"
    operands = ", ".join(scope.typed("u32", a) for a in instruction.arguments[1:])
    return f"shfl<Collective::{kind}>(t, {scope.register(to)}, {flag}, {operands});"


def _vote(scope, instruction):
    instruction.allow(scope, "sync", "all", "any", "uni", "ballot", "pred", "b32")
    if "sync" not in instruction.modifiers:
        raise instruction.unknown(scope)
    kind = next(m for m in instruction.modifiers if m in ("all", "any", "uni", "ballot"))
    to, value, mask = instruction.arguments
    call = f"vote_{kind}(t, {scope.value(value)}, {scope.typed('u32', mask)})"
    return f"set({scope.register(to)}, {call});"


def _match(scope, instruction):
    instruction.allow(scope, "any", "all", "sync", "b32", "b64")
    to, value, mask = instruction.arguments
    operands = f"{scope.typed(instruction.type, value)}, {scope.typed('u32', mask)}"
    if "any" in instruction.modifiers:
        return f"set({scope.register(to)}, match_any(t, {operands}));"
    register, _, predicate = (part.strip() for part in to.partition("|"))
    flag = scope.register(predicate) if predicate else "ignored_predicate"
    return f"set({scope.register(register)}, match_all(t, {flag}, {operands}));"


def _redux(scope, instruction):
    instruction.allow(scope, "sync", "add", "min", "max", "and", "or", "xor", "u32", "s32", "b32")
    kind = instruction.modifiers[1]
    to, value, mask = instruction.arguments
    cpp = cpp_type(instruction.type)
    call = f"redux_{kind}<{cpp}>(t, {scope.typed(instruction.type, value)}, {scope.value(mask)})"
    return f"set({scope.register(to)}, {call});"


def _call(scope, instruction):
    instruction.allow(scope, "uni")
    arguments = instruction.arguments
    returns = split_arguments(arguments[0][1:-1]) if arguments[0].startswith("(") else []
    name, *rest = arguments[1 if returns else 0:]
    parameters = split_arguments(rest[0][1:-1]) if rest else []
    if name not in scope.unit.callable:
        raise instruction.unknown(scope, f"there is no function {name}")
    values = ["t"] + [identifier(value) for value in returns + parameters]
    return f"{identifier(name)}({', '.join(values)});"


HANDLERS = {"ret": _ret, "exit": _ret, "bra": _bra, "brx": _brx, "bar": _bar, "barrier": _bar,
            "fence": _fence, "membar": _fence, "nanosleep": _nanosleep, "trap": _trap,
            "activemask": _activemask, "shfl": _shfl, "vote": _vote, "match": _match,
            "redux": _redux, "call": _call}
