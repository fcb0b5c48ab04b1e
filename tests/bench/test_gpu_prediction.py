"""What is predicted of a training step on an H100, and the document that says so."""
import unittest

import scripts
import gpu_prediction
from gpu_prediction import HIGH, LOW, PEAK, Counts, predict

DOCUMENT = (scripts.ROOT / "docs" / "gpu_steps.md").read_text(encoding="utf-8")
COUNTS = {(counts.workload, counts.precision): counts for counts in gpu_prediction.counts_in(DOCUMENT)}
DEEP = COUNTS["resnet50", "bf16"]


def samples_per_second(counts):
    """From the cautious end to the other."""
    return [counts.batch / predict(counts, assumed).step for assumed in (LOW, HIGH)]


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
        for text in ("0.75 to 0.85", "0.18 to 0.22", "0.5 to 0.7", "3 to 1 µs", "25 to 50 GB/s", "10 to 20 GB/s",
                     "5 to 2 µs", "## Left out"):
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
        self.assertAlmostEqual(step.copy, 256 * 3 * 224 * 224 * 4 / 25e9, delta=1e-4)

    def test_a_step_takes_no_less_than_the_host(self):
        step = predict(COUNTS["linear", "fp32"], HIGH)
        self.assertEqual(step.step, step.host)
        self.assertGreater(step.host, step.launches)

    def test_launches_cost_time_beside_their_bytes(self):
        self.assertGreater(predict(DEEP._replace(own_launches=1000), LOW).step, predict(DEEP, LOW).step)


if __name__ == "__main__":
    unittest.main()
