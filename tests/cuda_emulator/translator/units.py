"""A unit of PTX as C++: its variables, and a function for each of its functions."""
import re

import arithmetic
import movement
import threads
from errors import TranslationError
from operands import Instruction, Scope
from ptx_types import identifier, size_of
from source import parse_variable, split_arguments

HANDLERS = arithmetic.HANDLERS | movement.HANDLERS | threads.HANDLERS

# Between static shared variables, so that an access that runs over one is seen.
_RED_ZONE = 16
_WITHOUT_EFFECT = (".pragma", ".callprototype", ".branchtargets")


def _aligned(number, align):
    return (number + align - 1) // align * align


class Unit:
    """`source`: a source.Source; `number` keeps units apart."""

    def __init__(self, source, number):
        self.source = source
        self.namespace = f"unit{number}"
        self.symbols = {}
        self.callable = {f.name for f in source.functions if f.has_body} | {"__assertfail"}
        self.variables = []
        for variable, is_constant in source.globals:
            self.symbols[variable.name] = f"reinterpret_cast<U64>({identifier(variable.name)})"
            self.variables.append((variable, is_constant))
        self.bodies = [Body(self, f) for f in source.functions if f.has_body]

    @property
    def kernels(self):
        return [body for body in self.bodies if body.function.is_entry]

    def cpp(self):
        lines = [f"namespace {self.namespace} {{"]
        lines += [_global_definition(variable) for variable, _ in self.variables]
        lines += [body.signature() + ";" for body in self.bodies]
        for body in self.bodies:
            lines += body.cpp()
        return lines + ["}"]


def _global_definition(variable):
    bytes_each = size_of(variable.ptx_type)
    values = variable.initial.strip("{} \n")
    values = re.sub(r"0[fF]([0-9a-fA-F]{8})", r"0x\1u", values)
    values = re.sub(r"0[dD]([0-9a-fA-F]{16})", r"0x\1ull", values)
    if not re.fullmatch(r"[\s0-9a-fxA-FuUlL,{}-]*", values):
        raise TranslationError(f"variable {variable.name} begins with an address")
    parts = [f"static_cast<U{8 * bytes_each}>({part.strip()})" for part in
             values.replace("{", "").replace("}", "").split(",") if part.strip()]
    return (f"alignas({max(variable.align, 16)}) static U{8 * bytes_each} "
            f"{identifier(variable.name)}[{max(variable.count, 1)}] = {{{', '.join(parts)}}};")


class Body:
    """A function with its statements in C++."""

    def __init__(self, unit, function):
        self.unit, self.function = unit, function
        self.scope = Scope(unit)
        self.layout = []          # (offset, bytes) of each static shared variable
        self.parameters = []      # (offset, bytes)
        self._lay_out_parameters()
        self._lay_out_shared()
        self.lines = self._translated()

    @property
    def parameter_bytes(self):
        return max((at + size for at, size in self.parameters), default=0)

    def _lay_out_parameters(self):
        at = 0
        for variable in self.function.parameters:
            if self.function.is_entry:
                at = _aligned(at, variable.align)
                expression = f"reinterpret_cast<U64>(param + {at})"
                self.parameters.append((at, variable.size))
                at += variable.size
            else:
                expression = f"reinterpret_cast<U64>({identifier(variable.name)})"
            self.scope.symbols[variable.name] = expression
            self.scope.own.add(variable.name)
        for variable in self.function.returns:
            self.scope.symbols[variable.name] = f"reinterpret_cast<U64>({identifier(variable.name)})"
            self.scope.own.add(variable.name)

    def _lay_out_shared(self):
        """Static variables with red zones, then the dynamic one."""
        texts = " ".join(s.text for s in self.function.statements)
        variables = [parse_variable(s.text) for s in self.function.statements
                     if s.kind == "directive" and re.match(r"(\.extern\s+)?\.shared", s.text)]
        variables += [v for v in self.unit.source.shared
                      if re.search(rf"(?<![\w$]){re.escape(v.name)}(?![\w$])", texts)]
        at = _RED_ZONE
        for variable in variables:
            if variable.count == 0:
                continue
            at = _aligned(at, max(variable.align, 16))
            self.scope.symbols[variable.name] = f"{at}u"
            self.layout.append((at, variable.size))
            at += variable.size + _RED_ZONE
        self.dynamic_shared = max(_aligned(at, 128), 128)
        for variable in variables:
            if variable.count == 0:
                self.scope.symbols[variable.name] = f"{self.dynamic_shared}u"

    def _translated(self):
        out = []
        statements = self.function.statements
        for index, statement in enumerate(statements):
            following = statements[index + 1] if index + 1 < len(statements) else None
            if (statement.kind == "label" and following and
                    following.text.startswith(".branchtargets")):
                names = following.text[len(".branchtargets"):]
                self.scope.branch_targets[statement.text] = split_arguments(names)
        for statement in statements:
            out.append(self._translate(statement))
        return [line for line in out if line]

    def _translate(self, statement):
        if statement.kind == "open":
            return "{"
        if statement.kind == "close":
            return "}"
        if statement.kind == "label":
            if statement.text in self.scope.branch_targets:
                return ""
            return f"[[maybe_unused]] {identifier(statement.text)}:;"
        if statement.kind == "directive":
            return self._directive(statement.text)
        instruction = Instruction(statement.text)
        handler = HANDLERS.get(instruction.name)
        if handler is None:
            raise instruction.unknown(self.scope)
        code = handler(self.scope, instruction)
        if statement.predicate:
            negated = "!" if statement.predicate.startswith("!") else ""
            register = self.scope.register(statement.predicate.lstrip("!"))
            return f"if ({negated}{register}) {{ {code} }}"
        return code

    def _directive(self, text):
        if found := re.match(r"\.reg\s*\.(\w+)\s+(.*)", text, re.S):
            return self._registers(found[1], found[2])
        if found := re.match(r"\.loc\s+(\d+)\s+(\d+)", text):
            return self._line(found[1], found[2])
        if re.match(r"(\.extern\s+)?\.shared", text) or text.startswith(_WITHOUT_EFFECT):
            return ""
        if text.startswith((".local", ".param")):
            variable = parse_variable(text)
            name = identifier(variable.name)
            self.scope.symbols[variable.name] = f"reinterpret_cast<U64>({name})"
            self.scope.own.add(variable.name)
            return (f"[[maybe_unused]] alignas({variable.align}) U8 {name}"
                    f"[{max(variable.size, 1)}];")
        raise TranslationError(f"unknown directive '{text}'", self.scope.place)

    def _registers(self, ptx_type, names):
        cpp = "bool" if ptx_type == "pred" else f"U{size_of(ptx_type) * 8}"
        registers = []
        for name in split_arguments(names):
            numbered = re.fullmatch(r"(%?[\w$]+)<(\d+)>", name)
            registers += ([f"{numbered[1]}{i}" for i in range(int(numbered[2]))] if numbered
                          else [name])
        self.scope.registers.update(registers)
        return f"[[maybe_unused]] {cpp} {', '.join(identifier(r) for r in registers)};"

    def _line(self, file, line):
        """Own sources only: what headers bring is told as the line that uses it."""
        path = self.unit.source.files.get(file, "")
        if not path or "/include/" in path:
            return ""
        self.scope.place = f"{path}:{line}"
        return f'\n#line {line} "{path}"\n'

    def signature(self):
        name = identifier(self.function.name)
        if self.function.is_entry:
            return f"static void {name}([[maybe_unused]] const U8* param, [[maybe_unused]] Thread* t)"
        names = [identifier(v.name) for v in self.function.returns + self.function.parameters]
        values = ["[[maybe_unused]] Thread* t"] + [f"[[maybe_unused]] U8* {n}" for n in names]
        return f"static void {name}({', '.join(values)})"

    def cpp(self):
        # One line until the next #line: the lines after it would count up.
        return [self.signature() + " {",
                "[[maybe_unused]] Ignored ignored; [[maybe_unused]] bool ignored_predicate = false; "
                + " ".join(self.lines), "}"]
