import argparse
import os
import unittest
import unittest.mock

import scripts  # noqa: F401  finds the module below
import evidence  # noqa: I001
import native_and_pytorch as both

ORIGIN = {"version": "0.1.0", "git_commit": "abc1234", "build_type": "Release"}


def record(engine, seconds, ratio=None, memory=2**20, clean=range(8), pairs=8):
    versus = ratio and {"run": "x", "step_time_ratio": ratio, "step_time_ratio_ci95": [ratio - 0.1, ratio + 0.1],
                        "pairs_in_turns": pairs}
    return {"engine": engine, "step_seconds": {"median": seconds, "ci95": [0.9 * seconds, 1.1 * seconds]},
            "versus": versus, "reason": None, "throughput": {"value": 1000.0, "ci95": [980, 1020]}, "warnings": [],
            "memory": {"peak_bytes": 3 * 2**20 + memory, "before_bytes": 4 * 2**20,
                       "data_bytes": 2**20},
            "compute": {"utilization": 0.5, "effective_utilization": 0.6},
            "repetitions": [{"lockstep": f"set-{at}", "clean_slices": int(at in clean)} for at in range(8)]}


def cell(*peers, own=None):
    return {"generator": ORIGIN,
            "cpu": {"model": "Some CPU", "cores": 2}, "os": "Debian GNU/Linux 13 (trixie)", "created": "2026-01-02T00:00:00Z", "command": "ptbench sweep",
            "runs": [own or record("native", 0.01), *peers]}


class Command(unittest.TestCase):
    def preloaded(self, libraries):
        with unittest.mock.patch.dict(os.environ, {"LD_PRELOAD": libraries}):
            return both.preloaded()

    def test_names_what_the_caller_preloads(self):
        self.assertEqual(self.preloaded(""), [])
        self.assertEqual(self.preloaded("/home/me/mkl.so"), ["LD_PRELOAD=mkl.so"])
        self.assertEqual(self.preloaded("libtcmalloc.so.4:/opt/a.so b.so"), ["LD_PRELOAD=libtcmalloc.so.4:a.so:b.so"])


class Table(unittest.TestCase):
    def test_the_better_engine_of_pytorch_is_the_one_beside_which_ptbench_is_least_ahead(self):
        row = both.row_of("mlp-fp32-serial", cell(record("pytorch", 0.03, 3.0, memory=2**22),
                                                  record("pytorch-compiled", 0.02, 2.0, memory=2**21,
                                                         clean=range(5, 8))))
        self.assertEqual(row, ["`mlp`", "fp32", "serial", "10 ± 1 ms", "3.00 [2.90, 3.10]", "2.00 [1.90, 2.10]",
                               "compiled", "50 ± 1 %", "60 ± 1 %", "1 of 2 MiB, 0.50", "8, 3 of them clean", ""])

    def test_rounds_are_clean_where_both_are(self):
        self.assertEqual(both.clean_rounds(record("native", 1, clean=range(4)),
                                           record("pytorch", 1, clean=range(4, 8))), 0)

    def test_what_was_measured_apart_is_not_compared(self):
        row = both.row_of("mlp-fp32-serial", cell(record("pytorch", 0.03, 3.0, pairs=0),
                                                  record("pytorch-compiled", 0.02, 2.0)))
        self.assertEqual(row[4:7], ["", "2.00 [1.90, 2.10]", "compiled"])

    def test_a_cell_whose_losses_disagree_has_no_ratio(self):
        failed = {"reason": "does not train as ptbench does: losses differ"}
        peers = record("pytorch", 0.03) | failed, record("pytorch-compiled", 0.02) | failed
        row = both.row_of("mlp-fp32-ddp", cell(*peers))
        self.assertEqual(row[2:5], ["`ddp`, 2 ranks", f"pytorch: {failed['reason']}", ""])
        self.assertEqual(len(row), len(both.HEADINGS))

    def test_engines_without_an_interval_are_not_compared(self):
        row = both.row_of("mlp-fp32-serial", cell(record("pytorch", 0.03, 3.0), record("pytorch-compiled", 0.02)))
        self.assertEqual(row[4:7], ["3.00 [2.90, 3.10]", "", "eager"])
        row = both.row_of("mlp-fp32-serial", cell(record("pytorch", 0.03), record("pytorch-compiled", 0.02)))
        self.assertEqual(row[3], "no interval")

    def test_builds_that_are_several_are_not_published(self):
        file = {"pytorch": "2", "cells": {"mlp-fp32-serial": cell(), "mlp-fp32-ddp": cell()}}
        self.assertEqual(both.origin_of(file), "Some CPU, 2 cores, Debian GNU/Linux 13 (trixie); commit abc1234, 2026-01-02; PyTorch 2")
        file["cells"]["mlp-fp32-ddp"]["generator"] = {**ORIGIN, "git_commit": "def5678"}
        with self.assertRaises(evidence.Unpublishable):
            both.origin_of(file)

    def test_figures_have_no_powers_of_ten(self):
        self.assertEqual([both.plain(value, 2) for value in (1234.5, 180.2, 9.96, 1.23, 0.0123)],
                         ["1234", "180", "10", "1.2", "0.012"])


class Commands(unittest.TestCase):
    def test_engines_are_told_the_same_and_take_turns(self):
        arguments = argparse.Namespace(ptbench="ptbench", python="python", threads=2, max_time=4, rounds=8)
        self.assertEqual(len(both.CELLS), 16)
        for name, (workload, _, strategy) in both.CELLS.items():
            command = both.sweep_of(name, arguments)
            ranks = 2 if strategy == "ddp" else 1
            self.assertEqual(command[:4], ["ptbench", "sweep", "--engine", "native,pytorch,pytorch-compiled"])
            self.assertEqual(command[command.index("--batch-size") + 1], str(both.BATCH[workload] // ranks))
            self.assertEqual(command[command.index("--threads") + 1], str(2 // ranks))
            self.assertEqual(command[command.index("--scaling") + 1], "off")
            self.assertNotIn("--verify", command)

    def test_runs_are_known_by_their_ids(self):
        for engine, run in {"native": "mlp/serial/n1/b128/fp32", "pytorch": "mlp/serial/n1/b128/fp32/engine=pytorch",
                            "pytorch-compiled": "mlp/ddp/n2/b64/bf16/threads=1/engine=pytorch-compiled"}.items():
            self.assertEqual(both.engine_of({"id": run}), engine)

    def test_what_was_compared_is_told(self):
        verification = {"status": "passed", "max_relative_error": 2e-7}
        self.assertEqual(both.verified_text({"engine": "pytorch", "verification": verification}), "pytorch passed 2e-07")
        self.assertEqual(both.verified_text({"engine": "native", "verification": {
            "status": "not_run", "max_relative_error": None}}), "native not_run")


if __name__ == "__main__":
    unittest.main()
