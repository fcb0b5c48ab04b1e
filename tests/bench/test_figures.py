import json
import pathlib
import tempfile
import unittest

import scripts  # noqa: F401  finds the modules below
import evidence
import figures
import first_screen


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

    def row(self, folder, commit):
        source = self.source(folder, commit)
        return figures.trials_row("gates", figures.gate_rows(source), source)

    def test_shares_have_exact_intervals(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.row(folder, "abc"), [
                "gates", "75 of 80 (86 to 98 %)", "4", "1 of 80 (0 to 7 %)",
                "CPU; commit abc, 2026-11-22; [the file](../bench/results/gate.md)"])

    def test_the_verdict_that_is_right_depends_on_the_side(self):
        with tempfile.TemporaryDirectory() as folder:
            source = self.source(folder, "abc")
            for side, right in (("A/A", "1 of 3"), ("mlp: A/A", "1 of 3"), ("5 % slower", "2 of 3")):
                row = figures.trials_row("gates", {side: {"same": 1, "slower": 2, "faster": 0}}, source)
                self.assertTrue(row[1].startswith(right), row)

    def test_tables_of_gates_in_lockstep_give_their_counts(self):
        with tempfile.TemporaryDirectory() as folder:
            source = figures.Source("gates.md")
            source.path = pathlib.Path(folder) / "gates.md"
            source.path.write_text("""# Gates
| case | detect | gates | same | faster | slower | ambiguous |
|---|---|---|---|---|---|---|
| mlp: A/A | 5 % | 16 | 16 (79.4–100.0 %) | 0 (0.0–20.6 %) | 0 (0.0–20.6 %) | 0 (0.0–20.6 %) |
""", encoding="utf-8")
            self.assertEqual(figures.lockstep_rows(source),
                             {"mlp: A/A": {"same": 16, "faster": 0, "slower": 0, "ambiguous": 0}})

    def test_dirty_builds_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(evidence.Unpublishable):
                self.row(folder, "abc-dirty")


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


class Answer(unittest.TestCase):
    def test_it_is_the_command_and_all_lines_of_the_conclusion(self):
        with tempfile.TemporaryDirectory() as folder:
            text = figures.Source("sweep.txt")
            text.path = pathlib.Path(folder) / "sweep.txt"
            text.path.write_text("$ ptbench sweep -n 2\nrows\nconclusion   `ddp` is\n             faster.\nsaved\n",
                                 encoding="utf-8")
            lines = figures.answer(text, figures.SCALING)
        self.assertEqual(lines[:5], ["```", "$ ptbench sweep -n 2", "```", "", "> `ddp` is faster."])
        self.assertIn("95 % interval", lines[-1])


class FirstScreen(unittest.TestCase):
    def sweep_of(self, clean):
        return {"runs": [{"id": "a", "status": "ok", "samples": {"repetitions": [
            {"clean_slices": slices} for slices in clean]}}]}

    def test_only_a_clean_sweep_is_shown(self):
        self.assertIsNone(first_screen.unreliable(self.sweep_of([2, 1, 1, 0])))
        self.assertIn("2 repetitions of a", first_screen.unreliable(self.sweep_of([2, 1, None])))
        failed = {"runs": [{"id": "a", "status": "failed"}]}
        self.assertIn("failed", first_screen.unreliable(failed))


class Documents(unittest.TestCase):
    def test_links_fit_the_document(self):
        text = "<!-- figures: slowdown -->\n<!-- /figures -->\n"
        readme = figures.written(text, figures.ROOT / "README.md")
        self.assertIn("](bench/results/", readme)
        self.assertIn("](../bench/results/", figures.written(text, figures.ROOT / "docs" / "x.md"))


if __name__ == "__main__":
    unittest.main()
