import json
import pathlib
import tempfile
import unittest

import scripts  # noqa: F401  finds the modules below
import evidence
import figures


class Claims(unittest.TestCase):
    def test_claims_outside_of_blocks_are_found(self):
        self.assertEqual(figures.claims_outside("It is 1.5 × as fast.\n"), ["1.5 ×"])
        self.assertEqual(figures.claims_outside("at 236 GFLOP/s"), ["236 GFLOP/s"])
        self.assertEqual(figures.claims_outside("93 % of the peak"), ["93 % of the peak"])

    def test_sizes_formulas_and_blocks_are_no_claims(self):
        self.assertEqual(figures.claims_outside("3×3 convolutions, 2 × 300 round trips"), [])
        self.assertEqual(figures.claims_outside("`1.5 ×`\n\n    2 × as code\n"), [])
        block = "<!-- figures: gate -->\n1.5 ×\n<!-- /figures -->\n"
        self.assertEqual(figures.claims_outside(block), [])


class Gate(unittest.TestCase):
    REPORT = """# The gate

- date: 2026-11-22 11:53 UTC
- machine: CPU, 2 cores; Linux
- ptbench 0.1.0, commit {commit}, Release

| side | same | faster | slower | ambiguous |
|---|---|---|---|---|
| A/A | 38 | 0 | 0 | 2 |
| 5 % slower | 1 | 0 | 37 | 2 |

| pair | A/A |
|---|---|
| 1 | same |
"""

    def source(self, folder, commit):
        source = figures.Source("gate.md")
        source.path = pathlib.Path(folder) / "gate.md"
        source.path.write_text(self.REPORT.format(commit=commit), encoding="utf-8")
        return source

    def test_shares_have_exact_intervals(self):
        with tempfile.TemporaryDirectory() as folder:
            lines = figures.gate_table(self.source(folder, "abc"))
        self.assertEqual(lines[2], "| A/A | 38 of 40 (83 to 99 %) | 2 of 40 (1 to 17 %) "
                                   "| 0 of 40 (0 to 9 %) |")
        self.assertIn("| 37 of 40 ", lines[3])
        self.assertIn("| 1 of 40 ", lines[3])
        self.assertEqual(lines[-1], "CPU, 2 cores; commit abc, 2026-11-22; "
                                    "[the file](../results/gate.md).")

    def test_dirty_builds_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(evidence.Unpublishable):
                figures.gate_table(self.source(folder, "abc-dirty"))


class Records(unittest.TestCase):
    def run_of(self, ci95):
        return {"status": "ok", "throughput": {"value": 1000.0, "ci95": ci95}}

    def test_without_an_interval_there_is_no_figure(self):
        self.assertEqual(figures.throughput_cell(self.run_of(None)), "no interval")
        self.assertEqual(figures.throughput_cell(self.run_of([980, 1020])), "1000 ± 20")

    def test_dirty_builds_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            source = figures.Source("run.json")
            source.path = pathlib.Path(folder) / "run.json"
            source.path.write_text(json.dumps({
                "generator": {"git_commit": "abc-dirty", "build_type": "Release"},
                "runs": [self.run_of([980, 1020])]}), encoding="utf-8")
            with self.assertRaises(evidence.Unpublishable):
                figures.measured(source)


class Documents(unittest.TestCase):
    def test_links_fit_the_document(self):
        text = "<!-- figures: gate-quiet -->\n<!-- /figures -->\n"
        readme = figures.written(text, figures.ROOT / "README.md")
        self.assertIn("](results/", readme)
        self.assertIn("](../results/", figures.written(text, figures.ROOT / "docs" / "x.md"))


if __name__ == "__main__":
    unittest.main()
