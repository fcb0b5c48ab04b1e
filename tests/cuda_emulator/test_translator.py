"""The translator: what it makes of PTX, and what it refuses.

    python3 tests/cuda_emulator/test_translator.py [PROGRAM…]

PROGRAMs are those that run every instruction; without them that one test is skipped.
"""
import pathlib
import re
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "translator"))

from errors import TranslationError  # noqa: E402
from fat_binary import read_ptx, read_register_counts  # noqa: E402
from source import Source, parse_variable, split_arguments  # noqa: E402
from units import HANDLERS, Unit  # noqa: E402

PROGRAMS = []
HEADER = '.version 8.0\n.target sm_80\n.address_size 64\n.file 1 "/home/me/scale.cu"\n'


def translated(body, registers=".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>;"):
    """The C++ of a kernel with these statements."""
    text = (HEADER + ".visible .entry k(.param .u64 k_0, .param .u32 k_1) {\n" + registers +
            "\n.loc 1 7 3\n" + body + "\nret;\n}\n")
    return "\n".join(Unit(Source(text), 0).cpp())


class Instructions(unittest.TestCase):
    def test_arithmetic_has_types_and_modifiers(self):
        for ptx, cpp in {
            "add.s32 %r1, %r2, -4;": "set(R_r1, ptx_add(as<S32>(R_r2), as<S32>(-4ll)));",
            "mul.wide.u32 %rd1, %r2, %r3;":
                "set(R_rd1, ptx_mul_wide(as<U32>(R_r2), as<U32>(R_r3)));",
            "fma.rn.ftz.f32 %r1, %r2, 0f3F800000, %r3;":
                "set(R_r1, flushed(ptx_fma(flushed(as<float>(R_r2)), flushed(as<float>(0x3F800000u)),"
                " flushed(as<float>(R_r3)))));",
            "add.rz.sat.f32 %r1, %r2, %r3;":
                "set(R_r1, saturated(ptx_add<Rounding::zero>(as<float>(R_r2), as<float>(R_r3))));",
        }.items():
            self.assertIn(cpp, translated(ptx))

    def test_memory_names_space_width_and_order(self):
        for ptx, cpp in {
            "ld.param.u64 %rd1, [k_0];":
                "load<U64, 1, Space::own, Order::weak>(t, address_of(reinterpret_cast<U64>(param + 0)"
                ", 0), R_rd1);",
            "ld.global.nc.v2.f32 {%r1, %r2}, [%rd1+16];":
                "load<float, 2, Space::device, Order::weak>(t, address_of(R_rd1, 16), R_r1, R_r2);",
            "st.volatile.shared.u32 [%r1], %r2;":
                "store<U32, 1, Space::device, Order::strong>(t, shared_address(t, R_r1, 0),",
            "atom.global.add.f32 %r1, [%rd1], %r2;": "atom_add<float>(t, address_of(R_rd1, 0)",
            "red.global.max.s32 [%rd1], %r2;": "atom_max<S32>(t, address_of(R_rd1, 0)",
        }.items():
            self.assertIn(cpp, translated(ptx))

    def test_predicates_guard_one_instruction(self):
        self.assertIn("if (!R_p1) { goto L_L_end; }", translated("@!%p1 bra $L_end;\n$L_end:"))

    def test_lines_are_those_of_the_source(self):
        self.assertIn('#line 7 "/home/me/scale.cu"', translated("add.s32 %r1, %r2, %r3;"))

    def test_switches_go_to_their_targets(self):
        cpp = translated("brx.idx %r1, $L_t;\n$L_t: .branchtargets $L_a, $L_b;\n$L_a:\n$L_b:")
        self.assertIn("case 0: goto L_L_a; case 1: goto L_L_b;", cpp)


class Refusals(unittest.TestCase):
    def check_refused(self, body, why):
        with self.assertRaises(TranslationError) as refused:
            translated(body)
        self.assertIn(why, str(refused.exception))

    def test_what_is_unknown_is_named_with_its_line(self):
        self.check_refused("wmma.load.a.sync.f16 {%r1}, [%rd1];",
                           "/home/me/scale.cu:7: unknown instruction 'wmma.load.a.sync.f16")
        self.check_refused("add.xorsign.f32 %r1, %r2, %r3;", "modifier .xorsign")
        self.check_refused("add.u8 %r1, %r2, %r3;", "unknown instruction")
        self.check_refused("add.rz.f64 %rd1, %rd2, %rd3;", "unknown instruction")
        self.check_refused("cvt.rn.satfinite.f16.f32 %r1, %r2;", "modifier .satfinite")
        self.check_refused("ld.global.multimem.u32 %r1, [%rd1];", "modifier .multimem")
        self.check_refused("setp.like.s32 %p1, %r2, %r3;", "comparison .like")
        self.check_refused("mov.u32 %r1, %clock;", "unknown operand '%clock'")
        self.check_refused("call.uni vprintf, ();", "there is no function vprintf")
        self.check_refused(".tex .u32 picture;", "unknown directive")

    def test_functions_and_variables_too(self):
        for text in (".visible .entry k() .reqnctapercluster 2 { ret; }",
                     ".global .texref picture;",
                     ".global .u64 table[2] = {first, second};"):
            with self.assertRaises(TranslationError):
                Unit(Source(HEADER + text), 0).cpp()


class Declarations(unittest.TestCase):
    def test_variables(self):
        variable = parse_variable(".shared .align 16 .b8 tile[512]")
        self.assertEqual((variable.name, variable.size, variable.align), ("tile", 512, 16))
        self.assertEqual(parse_variable(".param .u64 .ptr .align 1 k_0").size, 8)
        self.assertEqual(parse_variable(".extern .shared .align 4 .b8 cells[]").count, 0)

    def test_arguments_keep_brackets_together(self):
        self.assertEqual(split_arguments("{%r1, %r2}, [%rd1+8], 5"),
                         ["{%r1, %r2}", "[%rd1+8]", "5"])

    def test_parameters_and_shared_variables_have_places(self):
        text = (HEADER + ".visible .entry k(.param .u32 a, .param .u64 b, .param .align 8 .b8 c[12])"
                "\n.maxntid 128, 2, 1\n{\n.shared .align 4 .b8 one[20];\n.shared .align 8 .b8 two[8];\n"
                ".reg .b32 %r<2>;\nmov.u32 %r1, one;\nret;\n}\n")
        body = Unit(Source(text), 0).kernels[0]
        self.assertEqual(body.parameters, [(0, 4), (8, 8), (16, 12)])
        self.assertEqual(body.layout, [(16, 20), (64, 8)])
        self.assertEqual(body.function.max_threads, 256)


class FatBinaries(unittest.TestCase):
    @staticmethod
    def entry(kind, flags, payload):
        head = struct.pack("<HHIQ", kind, 0, 64, len(payload)).ljust(28, b"\0")
        head += struct.pack("<I", 80) + bytes(8) + struct.pack("<Q", flags)
        return head.ljust(64, b"\0") + payload

    def read(self, *entries):
        body = b"".join(entries)
        with tempfile.NamedTemporaryFile(suffix=".so") as file:
            file.write(b"\x7fELF" + bytes(60) + struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body))
                       + body)
            file.flush()
            return read_ptx(file.name)

    def test_ptx_is_found(self):
        self.assertEqual(self.read(self.entry(2, 0, b"code"), self.entry(1, 0, b".version 8.0\0")),
                         (80, [".version 8.0"]))
        self.assertEqual(self.read(), (0, []))

    def test_compressed_or_missing_ptx_is_refused(self):
        with self.assertRaisesRegex(TranslationError, "-compress=false"):
            self.read(self.entry(1, 0x8000, b"\1\2"))
        with self.assertRaisesRegex(TranslationError, "no PTX"):
            self.read(self.entry(2, 0, b"code"))


class Coverage(unittest.TestCase):
    def test_every_instruction_is_run(self):
        """Each that the translator knows occurs in the programs whose results are checked."""
        if not PROGRAMS:
            self.skipTest("no programs were named")
        seen, kernels = set(), {}
        for program in PROGRAMS:
            architecture, texts = read_ptx(program)
            kernels.update(read_register_counts(program, architecture))
            for text in texts:
                seen.update(re.findall(r"^\s*(?:@!?%\w+\s+)?([a-z][a-z0-9]*)[.;\s]", text, re.M))
                seen.update(re.findall(r"[{;]\s*([a-z][a-z0-9]*)[.;]", text))
        self.assertEqual(sorted(set(HANDLERS) - seen), [])
        self.assertGreater(len(kernels), 100)
        self.assertTrue(all(0 < count <= 255 for count in kernels.values()))


if __name__ == "__main__":
    PROGRAMS = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
