import argparse
import unittest

import scripts  # noqa: F401  finds the module below
import native_and_pytorch as both  # noqa: I001

PASSED = {"verification": "passed", "max_relative_error": 1e-7}
FAILED = {"verification": "failed", "max_relative_error": 0.5}


def result(seconds, placement="near", clean=True, memory=1 << 20):
    return {"seconds": seconds, "placement": placement, "clean": clean, "memory": memory}


def row(own, eager, compiled, **more):
    return {"cell": "mlp-fp32-serial", "ptbench": result(own), "eager": result(eager, **more),
            "compiled": result(compiled, **more)}


class Table(unittest.TestCase):
    def test_ratios_are_pytorchs_time_over_ptbenchs(self):
        (line,) = both.lines_of("mlp-fp32-serial", [row(0.01, 0.02, 0.03)] * 3, PASSED)
        self.assertIn("2.00 [2.00, 2.00] (3 rounds) | 3.00 [3.00, 3.00] (3 rounds) | eager", line)

    def test_near_and_far_stay_apart_and_unclean_rounds_do_not_count(self):
        rounds = [row(0.01, 0.02, 0.03)] * 3 + [row(0.01, 0.5, 0.5, placement="far")] + \
            [row(0.01, 0.5, 0.5, clean=False)]
        (line,) = both.lines_of("mlp-fp32-serial", rounds, PASSED)
        self.assertIn("near", line)
        self.assertIn("2.00 [2.00, 2.00] (3 rounds)", line)

    def test_a_cell_whose_losses_disagree_has_no_ratio(self):
        (line,) = both.lines_of("mlp-fp32-serial", [row(0.01, 0.02, 0.03)] * 3, FAILED)
        self.assertIn("losses disagree", line)
        self.assertNotIn("2.00", line)


class Commands(unittest.TestCase):
    def test_both_sides_are_told_the_same(self):
        arguments = argparse.Namespace(ptbench="ptbench", python="python", threads=2, max_time=4)
        for cell, (workload, _, strategy) in both.CELLS.items():
            chosen = both.options_of(cell, 2)
            ranks = 2 if strategy == "ddp" else 1
            self.assertEqual(chosen[chosen.index("--batch-size") + 1], str(both.BATCH[workload] // ranks))
            commands = [both.command_of(cell, engine, arguments) for engine in ("ptbench", "eager", "compiled")]
            self.assertEqual([command.pop(3) for command in commands], ["native", "pytorch", "pytorch-compiled"])
            self.assertEqual(commands[0], commands[1])
            self.assertEqual(commands[0], commands[2])
            self.assertEqual(commands[0][3:3 + len(chosen)], chosen)


if __name__ == "__main__":
    unittest.main()
