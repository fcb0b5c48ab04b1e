import unittest

import scripts  # noqa: F401  finds the modules below
import step_time

COMPUTE = {"utilization": 0.78, "effective_utilization": 0.93}


def round_of(own, other, placement="near", clean=True):
    return {"record": {"runs": [{"compute": COMPUTE}]},
            "programs": {"ptbench": {"seconds": own, "placement": placement, "clean": True},
                         "peer": {"seconds": other, "placement": placement, "clean": clean}}}


class Summary(unittest.TestCase):
    def test_ratios_have_intervals(self):
        rounds = [round_of(0.01, 0.02), round_of(0.01, 0.021), round_of(0.01, 0.019)]
        self.assertIn("20.000 ms, 2.00× [1.76, 2.26] (3 rounds)",
                      step_time.summary(rounds, ["peer"], "near"))

    def test_two_rounds_have_none(self):
        rounds = [round_of(0.01, 0.02), round_of(0.01, 0.021)]
        self.assertIn("no interval", step_time.summary(rounds, ["peer"], "near"))

    def test_near_and_far_rounds_stay_apart(self):
        rounds = [round_of(0.01, 0.02)] * 3 + [round_of(0.01, 0.05, "far")] * 3
        self.assertIn("2.00× [2.00, 2.00] (3", step_time.summary(rounds, ["peer"], "near"))
        self.assertIn("5.00× [5.00, 5.00] (3", step_time.summary(rounds, ["peer"], "far"))

    def test_rounds_without_a_clean_slice_do_not_count(self):
        rounds = [round_of(0.01, 0.02)] * 3 + [round_of(0.01, 9, clean=False)] * 3
        self.assertIn("2.00× [2.00, 2.00] (3", step_time.summary(rounds, ["peer"], "near"))

    def test_utilization_is_executed_and_effective(self):
        self.assertIn("78 % / 93 %", step_time.summary([round_of(1, 1)], ["peer"], "near"))

    def test_memory_is_what_came_after_start_up(self):
        record = {"runs": [{"step_seconds": {"median": 1}, "memory": {"peak_bytes": 50,
                                                                      "before_bytes": 20},
                            "samples": {"repetitions": [{"clean_slices": 2}]}}]}
        self.assertEqual(step_time.own_result(record)["memory"], 30)


if __name__ == "__main__":
    unittest.main()
