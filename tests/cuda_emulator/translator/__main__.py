"""Translates the PTX in a CUDA module to C++ that one thread of a kernel runs.

    python3 tests/cuda_emulator/translator MODULE… >kernels.cpp

MODULE is a shared library with fat binaries, built with nvcc's -Xfatbin=-compress=false, or a file
of PTX. The C++ calls the functions of tests/cuda_emulator/ptx, one for each instruction. What is not
known here or there is an error, never a guess.
"""
import argparse
import pathlib
import sys

from errors import TranslationError
from fat_binary import read_ptx, read_register_counts
from ptx_types import identifier
from source import Source
from units import HANDLERS, Unit


def _rows(name, ranges):
    """A table of ranges, which must not be empty."""
    values = ", ".join(f"{{{at}, {size}}}" for at, size in ranges) or "{0, 0}"
    return f"static const Range {name}[] = {{{values}}};"


def _kernel_tables(units, registers):
    lines, rows, seen = [], [], set()
    for unit in units:
        for body in unit.kernels:
            name = body.function.name
            if name in seen:  # a template's instance in several files
                continue
            seen.add(name)
            number = len(rows)
            lines += [_rows(f"parameters{number}", body.parameters),
                      _rows(f"shared{number}", body.layout)]
            declared = sum(size for _, size in body.layout)
            rows.append(f'{{"{name}", {unit.namespace}::{identifier(name)}, parameters{number}, '
                        f"{len(body.parameters)}, {body.parameter_bytes}, shared{number}, "
                        f"{len(body.layout)}, {body.dynamic_shared}, {declared}, "
                        f"{body.function.max_threads}, {registers.get(name, 0)}}},")
    return lines + ["static const Kernel kernels[] = {"] + rows + ["{}};"], len(rows)


def _variable_table(units):
    rows, seen = [], set()
    for unit in units:
        for variable, is_constant in unit.variables:
            if variable.name in seen:
                continue
            seen.add(variable.name)
            rows.append(f'{{"{variable.name}", {unit.namespace}::{identifier(variable.name)}, '
                        f"{variable.size}, {'true' if is_constant else 'false'}}},")
    return ["static const Variable variables[] = {"] + rows + ["{}};"], len(rows)


def translate(paths):
    """The C++ text for these files."""
    units, registers = [], {}
    for path in paths:
        architecture, texts = read_ptx(path)
        if architecture:
            registers.update(read_register_counts(path, architecture))
        units += [Unit(Source(text), len(units) + index) for index, text in enumerate(texts)]
    lines = ['#include "tests/cuda_emulator/ptx/operations.h"',
             "using namespace ptbench::emulator;"]
    for unit in units:
        lines += unit.cpp()
    lines += ["#line 1 \"tables\""]
    kernels, kernel_count = _kernel_tables(units, registers)
    variables, variable_count = _variable_table(units)
    lines += kernels + variables
    lines += ['extern "C" __attribute__((visibility("default"))) const KernelLibrary '
              f"ptbench_emulator_kernels = {{kernels, {kernel_count}, variables, {variable_count}, "
              "kChecks};"]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(
        prog="translator", description="Translates the PTX in a CUDA module to C++.")
    parser.add_argument("modules", nargs="*", metavar="MODULE", type=pathlib.Path,
                        help="a shared library with fat binaries, or a file of PTX")
    parser.add_argument("--list-instructions", action="store_true",
                        help="print the names of all instructions that are known, and end")
    options = parser.parse_args()
    if options.list_instructions:
        print("\n".join(sorted(HANDLERS)))
        return
    try:
        sys.stdout.write(translate(options.modules))
    except (TranslationError, OSError) as error:
        sys.exit(f"translator: {error}")


if __name__ == "__main__":
    main()
