import math
import unittest

import scripts  # noqa: F401  finds the module below
from verify_run import is_same_update

DEEP, SHALLOW = 49, 17


class FirstUpdate(unittest.TestCase):
    def test_its_length_tells_another_learning_rate(self):
        for precision in ("fp32", "bf16"):
            self.assertTrue(is_same_update(1.0, 1.0, precision, DEEP))
            self.assertFalse(is_same_update(1.1, 1.0, precision, DEEP))

    def test_rounding_may_turn_it_further_in_deep_networks(self):
        self.assertFalse(is_same_update(1.0, 0.9989, "fp32", SHALLOW))
        self.assertTrue(is_same_update(1.0, 0.9989, "fp32", DEEP))
        self.assertFalse(is_same_update(1.0, 0.98, "fp32", DEEP))

    def test_its_direction_tells_nothing_of_deep_networks_in_bf16(self):
        self.assertFalse(is_same_update(1.0, 0.5, "bf16", SHALLOW))
        self.assertTrue(is_same_update(1.0, 0.5, "bf16", DEEP))

    def test_no_number_is_no_update(self):
        self.assertFalse(is_same_update(math.nan, math.nan, "fp32", SHALLOW))


if __name__ == "__main__":
    unittest.main()
