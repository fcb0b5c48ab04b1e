import random
import unittest

import scripts  # noqa: F401  finds the modules below
import evidence


class Intervals(unittest.TestCase):
    def test_two_values_have_none(self):
        self.assertIsNone(evidence.ratio([1.0, 1.1]).low)
        self.assertIsNotNone(evidence.ratio([1.0, 1.1, 1.05]).low)

    def test_they_cover_the_truth_as_often_as_they_say(self):
        source = random.Random(1)
        covered = 0
        for _ in range(2000):
            found = evidence.mean([source.gauss(3, 1) for _ in range(5)])
            covered += found.low <= 3 <= found.high
        self.assertGreater(covered, 1860)
        self.assertLess(covered, 1940)

    def test_within_means_that_the_high_end_is(self):
        wide = evidence.Interval(1.045, 0.71, 1.53, 2)
        self.assertFalse(evidence.is_within(wide, 1.01))
        self.assertTrue(evidence.is_within(evidence.Interval(1.0, 0.99, 1.01, 9), 1.01))
        self.assertFalse(evidence.is_within(evidence.Interval(1.0, None, None, 2), 1.01))

    def test_proportions_are_exact(self):
        found = evidence.proportion(38, 40)  # Clopper and Pearson's, as R's binom.test has it
        self.assertAlmostEqual(found.low, 0.8308, 4)
        self.assertAlmostEqual(found.high, 0.9939, 4)
        self.assertEqual(evidence.proportion(0, 40).low, 0)
        self.assertAlmostEqual(evidence.proportion(0, 40).high, 0.0881, 4)
        self.assertEqual(evidence.proportion(40, 40).high, 1)
        with self.assertRaises(ValueError):
            evidence.proportion(1, 0)


class Told(unittest.TestCase):
    def told(self, value, low, high):
        return evidence.with_interval(value, low, high, lambda number: f"{number:.2f}", lambda half: f"{half:.1f}")

    def test_intervals_are_told_as_they_are(self):
        self.assertEqual(self.told(10, 9.5, 10.5), "10.00 ± 0.5")
        self.assertEqual(self.told(10, 9, 11.3), "10.00 (9.00 to 11.30)")
        self.assertEqual(self.told(1.74, 0.85, 3.56), "0.85 to 3.56")
        self.assertEqual(self.told(1, -0.1, 0.5), "-0.10 to 0.50")
        self.assertEqual(self.told(1, 1, 1), "1.00 ± 0.0")


class Origins(unittest.TestCase):
    CLEAN = {"git_commit": "abc", "build_type": "Release"}

    def test_one_clean_release_build_is_named(self):
        self.assertEqual(evidence.require_origin([self.CLEAN, dict(self.CLEAN)]), "abc")

    def test_others_are_refused(self):
        for other in ({"git_commit": "abc-dirty"}, {"git_commit": None}, {"build_type": "Debug"}):
            with self.assertRaises(evidence.Unpublishable):
                evidence.require_origin([{**self.CLEAN, **other}])
        with self.assertRaisesRegex(evidence.Unpublishable, "2 commits"):
            evidence.require_origin([self.CLEAN, {**self.CLEAN, "git_commit": "def"}])


if __name__ == "__main__":
    unittest.main()
