"""Cuts the text of PTX into declarations, functions and statements."""
import re
from dataclasses import dataclass, field

from errors import TranslationError
from ptx_types import size_of


@dataclass
class Variable:
    """.shared, .local, .param, .global, .const: what a declaration says."""
    name: str
    ptx_type: str
    count: int        # of elements; 0: as many as the launch gives
    align: int
    initial: str = ""

    @property
    def size(self):
        return size_of(self.ptx_type) * self.count


@dataclass
class Statement:
    """`kind`: label, open, close, directive or instruction."""
    kind: str
    text: str = ""
    predicate: str = ""   # "!%p1"


@dataclass
class Function:
    name: str
    is_entry: bool
    parameters: list
    returns: list
    max_threads: int = 0
    statements: list = field(default_factory=list)
    has_body: bool = False


def split_arguments(text):
    """At commas that lie in no brackets."""
    parts, depth, current = [], 0, ""
    for letter in text:
        if letter in "{([":
            depth += 1
        elif letter in "})]":
            depth -= 1
        if letter == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += letter
    if current.strip():
        parts.append(current.strip())
    return parts


def parse_variable(text):
    """".param .align 8 .b8 name[16]", with an initial value where there is one."""
    place, _, initial = text.partition("=")
    place = re.sub(r"\.ptr\b(\s*\.(global|shared|const|local))?(\s*\.align\s+\d+)?", "", place)
    name = re.search(r"([%$\w.]+)\s*((\[\s*\d*\s*\]\s*)*)$", place.strip())
    ptx_type = re.search(r"\.([busf](?:8|16|32|64)|b128)\b", place)
    if not name or not ptx_type or ptx_type[1] == "b128":
        raise TranslationError(f"unknown declaration '{text.strip()}'")
    count = 1
    for extent in re.findall(r"\[\s*(\d*)\s*\]", name[2]):
        count *= int(extent or 0)
    align = re.search(r"\.align\s+(\d+)", place)
    return Variable(name[1], ptx_type[1], count, int(align[1]) if align else size_of(ptx_type[1]),
                    initial.strip())


def _cleaned(text):
    """Without comments, debug sections and headers; .loc ends with a semicolon."""
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^\s*\.section.*?^\s*\}", "", text, flags=re.S | re.M)
    text = re.sub(r"^\s*\.(version|target|address_size|file)\b[^\n]*$", "", text, flags=re.M)
    return re.sub(r"^\s*\.loc\s+(\d+)\s+(\d+)[^\n]*$", r".loc \1 \2;", text, flags=re.M)


def _closing(text, at):
    """Where the brace that opens at `at` is closed."""
    depth = 0
    for index in range(at, len(text)):
        depth += (text[index] == "{") - (text[index] == "}")
        if depth == 0:
            return index
    raise TranslationError("a brace is never closed")


def _parse_header(text):
    found = re.search(r"\.(entry|func)\s*(?:\(([^)]*)\))?\s*([$\w]+)\s*(?:\(([^)]*)\))?(.*)", text,
                      re.S)
    returns, parameters = ([parse_variable(part) for part in split_arguments(found[group] or "")]
                           for group in (2, 4))
    function = Function(found[3], found[1] == "entry", parameters, returns)
    for directive, values in re.findall(r"\.(\w+)((?:\s*\d+\s*,?)*)", found[5]):
        if directive in ("maxntid", "reqntid"):
            function.max_threads = 1
            for extent in re.findall(r"\d+", values):
                function.max_threads *= int(extent)
        elif directive not in ("minnctapersm", "noreturn", "maxnreg"):
            raise TranslationError(f"unknown directive '.{directive}' of function {function.name}")
    return function


def _parse_statement(text):
    text = text.strip()
    if text.startswith("."):
        return Statement("directive", text)
    predicate = ""
    if found := re.match(r"@(!?\s*%?[\w$]+)\s+(.*)", text, re.S):
        predicate, text = found[1].replace(" ", ""), found[2]
    return Statement("instruction", " ".join(text.split()), predicate)


def parse_body(text):
    """The statements of a function, without its outer braces."""
    statements, current, at = [], "", 0
    while at < len(text):
        letter = text[at]
        if letter in "{}" and not current.strip():
            statements.append(Statement("open" if letter == "{" else "close"))
        elif letter == "{":
            end = _closing(text, at)
            current += text[at:end]
            at = end - 1
            current += "}"
            at += 1
        elif letter == ";":
            if current.strip():
                statements.append(_parse_statement(current))
            current = ""
        elif letter == ":" and text[at:at + 2] != "::" and re.fullmatch(r"\s*[$%\w]+", current):
            statements.append(Statement("label", current.strip()))
            current = ""
        else:
            current += letter
        at += 1
    return statements


class Source:
    """A unit of PTX: its files, variables and functions in their order."""

    def __init__(self, text):
        self.files = dict(re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', text, re.M))
        self.globals, self.shared, self.functions = [], [], []
        text = _cleaned(text)
        at = 0
        while at < len(text):
            if text[at].isspace() or text[at] == ";":
                at += 1
                continue
            head = re.compile(r"[^;{]*").match(text, at)[0]
            if re.search(r"\.(entry|func)\b", head):
                at = self._take_function(text, at, head)
            elif head.startswith(".loc"):
                at += len(head)
            else:
                at = self._take_variable(text, at)

    def _take_function(self, text, at, head):
        function = _parse_header(head)
        self.functions.append(function)
        end = at + len(head)
        if text[end] == ";":
            return end + 1
        close = _closing(text, end)
        function.has_body = True
        function.statements = parse_body(text[end + 1:close])
        return close + 1

    def _take_variable(self, text, at):
        end = at
        while text[end] != ";":
            end = _closing(text, end) + 1 if text[end] == "{" else end + 1
        declaration = text[at:end]
        if ".shared" in declaration.partition("=")[0]:
            self.shared.append(parse_variable(declaration))
        elif re.search(r"\.(global|const)\b", declaration):
            is_constant = ".const" in declaration.partition("=")[0]
            self.globals.append((parse_variable(declaration), is_constant))
        else:
            raise TranslationError(f"unknown declaration '{declaration.strip()[:60]}'")
        return end + 1
