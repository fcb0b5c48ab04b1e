"""What is counted and predicted of a training step on an H100, and the document that says so."""
import collections
import importlib.machinery
import importlib.util
import unittest
import unittest.mock

import scripts
import gpu_prediction
from gpu_prediction import HIGH, LOW, PEAK, Counts, predict

LOADER = importlib.machinery.SourceFileLoader("predict_steps", str(scripts.ROOT / "scripts" / "predict-steps"))
predict_steps = importlib.util.module_from_spec(importlib.util.spec_from_loader("predict_steps", LOADER))
LOADER.exec_module(predict_steps)
DOCUMENT = (scripts.ROOT / "docs" / "gpu_steps.md").read_text(encoding="utf-8")
COUNTS = {(counts.workload, counts.precision): counts for counts in gpu_prediction.counts_in(DOCUMENT)}
DEEP = COUNTS["resnet50", "bf16"]


def samples_per_second(counts):
    """From the cautious end to the other."""
    return [counts.batch / predict(counts, assumed).step for assumed in (LOW, HIGH)]


def counted(_program, row, batch, steps):
    """In place of a run on an emulated device: in each step 2 launches of a pass and 1 of the update, of which the
    pass and a product touch more with each sample; and one launch before the first step."""
    work, kinds = predict_steps.Work, collections.defaultdict(predict_steps.Work)
    kinds["cast_kernel"] = work(1, 100, 0) + work(2, 1000 * batch, 500 * batch) * steps
    kinds["sgd_kernel"] = work(1, 4000, 2000) * steps
    record = {"workload": {"input_shape": [3, 4], "flops_per_sample": 1e9}}
    return predict_steps.Kinds(kinds, work(1, 600 * batch, 100) * steps, work(2, 48 * batch, 48 * batch) * steps), record


class Counting(unittest.TestCase):
    def test_a_step_is_the_difference_of_two_runs_grown_to_its_batch(self):
        row = predict_steps.Row("small", "bf16", 10, True)
        with unittest.mock.patch.object(predict_steps, "counted", counted):
            counts = predict_steps.counts_of("ptbench", row)
        self.assertEqual(counts, Counts("small", "bf16", 10, 3, 1, 2, 2, 240, 15000 + 6000, 6100, 12100,
                                        2.24, 1e10))


class Document(unittest.TestCase):
    def test_it_follows_from_its_counts(self):
        self.assertEqual(gpu_prediction.document(COUNTS.values()), DOCUMENT,
                         "run scripts/predict-steps --predict")

    def test_counts_are_read_as_they_were_written(self):
        counts = Counts("mlp", "bf16", 128, 10, 8, 9, 5, 401408, 50.66e6, 0, 53.9e6, 1.254, 1.2242e9)
        line = gpu_prediction.counts_line(counts)
        self.assertEqual(gpu_prediction.counts_line(gpu_prediction.shown(counts)), line)
        self.assertEqual(gpu_prediction.shown(counts).own_bytes, 50.7e6)

    def test_each_assumption_names_both_of_its_ends(self):
        for text in ("0.75 to 0.85", "0.18 to 0.22", "0.5 to 0.7", "3 to 1 µs", "25 to 50 GB a second",
                     "10 to 20 GB of floats a second", "4 to 8", "5 to 2 µs", "## Left out"):
            self.assertIn(text, DOCUMENT)


class Ranges(unittest.TestCase):
    def test_resnet50_stays_below_what_fused_kernels_were_published_with(self):
        low, high = samples_per_second(DEEP)
        self.assertTrue(3500 < low < high < 0.8 * gpu_prediction.MLPERF, (low, high))

    def test_the_share_of_convolutions_lies_where_published_steps_put_it(self):
        of_a100 = gpu_prediction.share_of_convolutions(gpu_prediction.A100, DEEP)
        most, least = of_a100, of_a100 * (gpu_prediction.BANDWIDTH / gpu_prediction.A100.bandwidth) / (
            PEAK["bf16"] / gpu_prediction.A100.peak)
        self.assertTrue(least < LOW.products["bf16"] < HIGH.products["bf16"] < most)
        whole = gpu_prediction.MLPERF * DEEP.flops / DEEP.batch / PEAK["bf16"]
        self.assertAlmostEqual(LOW.products["bf16"], whole, delta=0.01)
        of_v100 = gpu_prediction.share_of_convolutions(gpu_prediction.V100, COUNTS["resnet50", "fp32"])
        self.assertLess(HIGH.products["fp32"], of_v100)

    def test_the_low_end_waits_for_the_copy_of_the_input(self):
        step = predict(DEEP, LOW)
        self.assertAlmostEqual(step.step, step.own + step.library + step.launches +
                               step.copy)
        self.assertAlmostEqual(step.copy, 256 * 3 * 224 * 224 * 2 / 25e9, delta=1e-4)

    def test_large_batches_are_gathered_by_several_threads_from_floats(self):
        calls = (DEEP.copies + 1) * LOW.call
        floats = 256 * 3 * 224 * 224 * 4
        self.assertAlmostEqual(predict(DEEP, LOW).host - calls, floats / (LOW.threads * LOW.gather), delta=1e-4)
        wide = COUNTS["resnet50", "fp32"]
        self.assertAlmostEqual(predict(wide, LOW).host, predict(DEEP, LOW).host, delta=1e-4)
        small = COUNTS["mlp", "bf16"]
        self.assertAlmostEqual(predict(small, HIGH).host - (small.copies + 1) * HIGH.call,
                               128 * 784 * 4 / HIGH.gather, delta=1e-6)

    def test_a_step_takes_no_less_than_the_host(self):
        step = predict(COUNTS["linear", "fp32"], HIGH)
        self.assertEqual(step.step, step.host)
        self.assertGreater(step.host, step.launches)

    def test_launches_cost_time_beside_their_bytes(self):
        self.assertGreater(predict(DEEP._replace(own_launches=1000), LOW).step, predict(DEEP, LOW).step)


if __name__ == "__main__":
    unittest.main()
