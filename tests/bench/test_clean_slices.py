import unittest

import scripts  # noqa: F401  finds the modules below
import clean_slices


class Rule(unittest.TestCase):
    def clean(self, seconds=0.5, busy=1.0, stolen=0.0, own=1.0):
        return clean_slices.is_clean(seconds, 2, busy, stolen, own)

    def test_own_time_is_not_foreign(self):
        self.assertTrue(self.clean())
        self.assertTrue(self.clean(busy=0.98))  # ticks

    def test_load_and_steal_are_told(self):
        self.assertFalse(self.clean(own=0.9))
        self.assertFalse(self.clean(stolen=0.02))

    def test_short_slices_tell_nothing(self):
        self.assertFalse(self.clean(seconds=0.2, busy=0.4, own=0.4))


class Summary(unittest.TestCase):
    def test_clean_slices_speak(self):
        found = clean_slices.summary([(True, [1, 2, 3]), (False, [9, 9, 9]), (True, [2, 4, 6])])
        self.assertEqual(found, {"step_seconds": 3, "clean_slices": 2, "slices": 3, "steps": 9})

    def test_without_one_all_do_and_it_is_said(self):
        found = clean_slices.summary([(False, [1]), (False, [3])])
        self.assertEqual((found["step_seconds"], found["clean_slices"]), (2, 0))


class OwnMemory(unittest.TestCase):
    def test_memory_before_does_not_count(self):
        before = bytearray(64 << 20)
        memory = clean_slices.Memory()
        self.assertLess(memory.increase(), 4 << 20)
        more = bytearray(32 << 20)
        self.assertGreater(memory.increase(), 31 << 20)
        self.assertEqual((len(before), len(more)), (64 << 20, 32 << 20))


if __name__ == "__main__":
    unittest.main()
