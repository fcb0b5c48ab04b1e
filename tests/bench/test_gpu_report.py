import json
import unittest

import scripts
import gpu_report

STEPS = (scripts.ROOT / "docs" / "gpu_steps.md").read_text(encoding="utf-8")
ABOUT = {"device": {"id": "cuda:0", "name": "NVIDIA H100 80GB HBM3", "description": "80 GB | SXM"},
         "emulated": False, "driver": "580.1", "commit": "abc", "dirty": False,
         "date": "2026-01-02T03:04:05+00:00"}
DOCTOR = {"cuda:0": [{"name": "copy_bytes_per_second", "state": "note", "value": 2.5e12, "detail": "copies"},
                     {"name": "numa_node", "state": "note", "value": None, "detail": "unknown"}]}
RUN = {"status": "ok", "reason": None, "id": "mlp/serial/n1/b128/fp32", "strategy": {"graph": True},
       "throughput": {"value": 2e6, "ci95": [1.9e6, 2.1e6]}, "samples": {"repetitions": [1, 2, 3]},
       "compute": {"peak_flops_per_second": 5e13, "utilization": 0.5, "peak_source": "measured"},
       "memory": {"peak_bytes": 1}, "warnings": [{"code": "noise"}]}


def row(status="passed", **more):
    return {"workload": "mlp", "precision": "fp32", "batch": 128, "graph": "auto", "status": status,
            "figures": gpu_report.figures(RUN), "pytorch": None, "pytorch_compiled": None} | more


def step(status):
    return {"name": "doctor", "status": status, "detail": "", "seconds": 1.5, "command": "ptbench doctor"}


def found(*rows, steps=("passed",), **about):
    return gpu_report.report(ABOUT | about, [step(status) for status in steps], DOCTOR, list(rows), STEPS)


class Predictions(unittest.TestCase):
    def test_every_row_of_the_document_is_read(self):
        predicted = gpu_report.predictions(STEPS)
        self.assertEqual(len(predicted), STEPS.count("| `") / 2)  # its other table is of what was counted
        low, high = predicted["mlp", "fp32", 128]
        self.assertGreater(low, 1e6)
        self.assertGreater(high, low)

    def test_they_are_for_one_kind_of_device(self):
        self.assertTrue(gpu_report.is_predicted("NVIDIA H100 80GB HBM3"))
        for name in ("NVIDIA H100 PCIe", "NVIDIA H100 NVL", "NVIDIA H200", "emulated sm_80"):
            self.assertFalse(gpu_report.is_predicted(name), name)


class Rows(unittest.TestCase):
    def test_a_run_stands_beside_its_prediction_and_its_peer(self):
        peer = {"samples_per_second": 1e6, "ci95": [0.9e6, 1.1e6]}
        compiled = {"samples_per_second": 1.6e6, "ci95": [1.5e6, 1.7e6]}
        kept = found(row(pytorch=peer, pytorch_compiled=compiled))["runs"][0]
        self.assertEqual(kept["ratio_to_pytorch"], 2)
        self.assertEqual(kept["ratio_to_pytorch_compiled"], 1.25)
        low, high = kept["predicted_samples_per_second"]
        self.assertTrue(low < 2e6 < high)
        self.assertEqual(kept["beside_prediction"], "within")

    def test_a_run_is_below_within_or_above_what_is_predicted(self):
        for value, expected in ((9, "below"), (10, "within"), (20, "within"), (21, "above")):
            self.assertEqual(gpu_report.beside_range(value, [10, 20]), expected)

    def test_other_devices_have_no_prediction(self):
        kept = found(row(), device=ABOUT["device"] | {"name": "NVIDIA H200"})["runs"][0]
        self.assertIsNone(kept["beside_prediction"])

    def test_what_was_cut_short_has_no_ratio(self):
        kept = found(row("left out"))
        self.assertIsNone(kept["runs"][0]["beside_prediction"])
        self.assertIn("| left out |", gpu_report.as_markdown(kept))


class Texts(unittest.TestCase):
    def test_the_summary_has_intervals_and_measurements(self):
        text = gpu_report.as_markdown(found(row(), row(figures=None, status="failed")))
        self.assertIn("2,000,000 (1,900,000 to 2,100,000) | 50 %", text)
        self.assertIn("2,500,000,000,000", text)
        self.assertIn("80 GB \\| SXM", text)
        self.assertNotIn("None", text)

    def test_the_outcome_counts_what_did_not_pass(self):
        self.assertEqual(found(steps=["passed", "skipped"])["outcome"], "passed")
        self.assertEqual(found(steps=["failed", "left out", "failed"])["outcome"], "2 failed, 1 left out")

    def test_a_dirty_build_is_called_dirty(self):
        self.assertIn("abc (dirty", gpu_report.as_markdown(found(dirty=True)))

    def test_the_file_is_json_without_infinities(self):
        self.assertEqual(json.loads(gpu_report.as_json(found(row())))["schema"], gpu_report.SCHEMA)
        with self.assertRaises(ValueError):
            gpu_report.as_json({"value": float("inf")})


if __name__ == "__main__":
    unittest.main()
