import math
import unittest

import scripts  # noqa: F401  finds the modules below
import slowdown


def samples(steps, warmup, turn, share, drift=0.0):
    """Steps of 10 ms whose speed drifts, every other turn longer by a share."""
    return [0.01 * (1 + drift * at) * (1 + share * (at // turn % 2))
            for at in range(warmup, warmup + steps)]


class Turns(unittest.TestCase):
    def test_whole_turns_are_found_behind_a_warm_up(self):
        turns = slowdown.turns_of(samples(60, 33, 10, 0.05), 33, 10)
        self.assertEqual([dragged for dragged, _ in turns], [False, True, False, True, False])
        for dragged, seconds in turns:
            self.assertAlmostEqual(seconds, 0.0105 if dragged else 0.01)

    def test_the_share_is_found_while_speed_drifts(self):
        turns = slowdown.turns_of(samples(2000, 30, 10, 0.05, drift=1e-4), 30, 10)
        for found in slowdown.slowdowns_of(turns):
            self.assertAlmostEqual(found, math.log(1.05), 5)

    def record(self, steps, slices):
        return {"runs": [{"samples": {"steps_per_sample": 1, "step_seconds": steps,
                                      "warmup_discarded": 30, "slowdown_realized": 0.05,
                                      "slices": slices}}]}

    def test_turns_outside_of_clean_slices_do_not_count(self):
        steps = samples(600, 30, 10, 0.05)
        steps[200:400] = [1.0 + at for at in range(200)]
        slices = [{"first": 200 * at, "count": 200, "clean": at != 1} for at in range(3)]
        found = slowdown.process_slowdown(self.record(steps, slices), 10)
        self.assertAlmostEqual(found[0], 0.05)
        self.assertEqual(found[2], 18)

    def test_few_clean_turns_tell_nothing(self):
        steps = samples(100, 30, 10, 0.05)
        slices = [{"first": 0, "count": 100, "clean": True}]
        self.assertIsNone(slowdown.process_slowdown(self.record(steps, slices), 10))


if __name__ == "__main__":
    unittest.main()
