"""Operands of instructions as C++ expressions of raw bits."""
import re

from errors import TranslationError
from ptx_types import cast, identifier
from source import split_arguments

_VECTORS = {"%tid": "t->index", "%ntid": "t->block->size", "%ctaid": "t->block->index",
            "%nctaid": "t->block->grid"}
_SCALARS = {"%laneid": "t->lane", "%warpid": "t->warp", "WARP_SZ": "32u",
            "%nwarpid": "((t->block->threads + 31u) / 32u)",
            "%lanemask_lt": "((1u << t->lane) - 1u)", "%lanemask_eq": "(1u << t->lane)",
            "%lanemask_le": "((2u << t->lane) - 1u)", "%lanemask_gt": "(~((2u << t->lane) - 1u))",
            "%lanemask_ge": "(~((1u << t->lane) - 1u))",
            "%dynamic_smem_size": "t->block->dynamic_shared"}


class Instruction:
    """One instruction: "setp.lt.and.f32 %p1, %f1, %f2, %p2" has the name setp, the modifiers lt,
    and, f32 and four arguments."""

    def __init__(self, text):
        opcode, _, arguments = text.partition(" ")
        self.text = text
        self.name, *self.modifiers = opcode.split(".")
        self.arguments = split_arguments(arguments)

    @property
    def type(self):
        return self.modifiers[-1] if self.modifiers else ""

    def unknown(self, scope, why=""):
        return TranslationError(f"unknown instruction '{self.text}'" + (f" ({why})" if why else ""),
                                scope.place)

    def allow(self, scope, *known):
        """Refuses modifiers that nobody knows: one that is passed over would be a guess."""
        for modifier in self.modifiers:
            if modifier not in known:
                raise self.unknown(scope, f"modifier .{modifier}")


class Scope:
    """The names that a function's statements may use, and where in the source they stand."""

    def __init__(self, unit):
        self.unit = unit
        self.symbols = {}       # name: expression of its address or offset
        self.own = set()        # symbols that lie in the thread's own memory
        self.registers = set()
        self.branch_targets = {}
        self.place = ""

    def value(self, text):
        """A source operand."""
        text = text.strip()
        if text.startswith("!"):
            return "!" + self.value(text[1:])
        if (literal := _literal(text)) is not None:
            return literal
        if found := re.fullmatch(r"(%\w+)\.([xyz])", text):
            if found[1] in _VECTORS:
                return f"{_VECTORS[found[1]]}.{found[2]}"
        if text in _SCALARS:
            return _SCALARS[text]
        if (address := self.symbol(text)) is not None:
            return address
        if found := re.fullmatch(r"([%$\w.]+)\s*\+\s*(-?\d+)", text):
            return f"({self.value(found[1])} + {found[2]})"
        return self.register(text)

    def symbol(self, name):
        """The address of a variable, or None."""
        return self.symbols.get(name, self.unit.symbols.get(name))

    def register(self, name):
        """A register, to be read or written."""
        if name not in self.registers:
            raise TranslationError(f"unknown operand '{name}'", self.place)
        return identifier(name)

    def typed(self, ptx_type, text):
        return cast(ptx_type, self.value(text))

    def address(self, text, space):
        """Of "[%rd1+8]", as a pointer."""
        inner = text.strip()[1:-1].replace(" ", "")
        found = re.fullmatch(r"([%$\w.]+?)(?:\+(-?\d+))?", inner)
        if not found:
            raise TranslationError(f"unknown address '{text}'", self.place)
        base, offset = self.value(found[1]), found[2] or "0"
        if space == "shared":
            return f"shared_address(t, {base}, {offset})"
        return f"address_of({base}, {offset})"

    def is_own(self, text):
        """Whether an address names memory of the thread's own."""
        name = re.match(r"\[\s*([%$\w.]+)", text)
        return name is not None and name[1] in self.own


def _literal(text):
    if found := re.fullmatch(r"0[fF]([0-9a-fA-F]{8})", text):
        return f"0x{found[1]}u"
    if found := re.fullmatch(r"0[dD]([0-9a-fA-F]{16})", text):
        return f"0x{found[1]}ull"
    if re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)U?", text):
        number = int(text.rstrip("U"), 0)
        if number == -2 ** 63:
            return "(-9223372036854775807ll - 1)"
        return f"{number}ll" if number < 2 ** 63 else f"{number}ull"
    return None
