import unittest

import scripts  # noqa: F401  finds the modules below
import ddp_scaling


def step(seconds, placement=ddp_scaling.ONE_CORE, clean=True):
    return {"step_seconds": seconds, "placement": placement, "clean": clean}


def rounds_of(*programs):
    return ddp_scaling.Rounds([{"programs": row} for row in programs])


def one_rank(*ratios):
    return rounds_of(*({"serial": step(1.0), "ddp n=1": step(ratio)} for ratio in ratios))


class OneRank(unittest.TestCase):
    def verdict(self, *ratios):
        return "".join(ddp_scaling.one_rank_verdict(one_rank(*ratios)))

    def test_a_wide_interval_is_not_within_the_limit(self):
        self.assertIn("is open", self.verdict(0.8, 1.05, 1.4))

    def test_within_means_that_the_high_end_is(self):
        self.assertIn("within 1.01 × serial", self.verdict(1.001, 1.002, 1.0015, 1.002))

    def test_more_means_that_the_low_end_is(self):
        self.assertIn("more than 1.01 × serial", self.verdict(1.101, 1.102, 1.1015, 1.102))

    def test_two_rounds_tell_nothing(self):
        self.assertIn("no interval", self.verdict(1.045, 1.04))


class Ratios(unittest.TestCase):
    def test_near_and_far_rounds_are_never_of_one_ratio(self):
        rounds = rounds_of(*({"ddp n=2": step(1.0, place), "dp n=2": step(ratio, place)}
                             for place, ratio in [("near", 1.1)] * 3 + [("far", 2.0)] * 3))
        row = next(line for line in ddp_scaling.ratios_table(rounds)
                   if line.startswith("| dp n=2 / ddp n=2"))
        self.assertEqual(row, "| dp n=2 / ddp n=2 | – | 1.100 [1.100, 1.100] (3) "
                              "| 2.000 [2.000, 2.000] (3) |")

    def test_unclean_measurements_do_not_count(self):
        rounds = rounds_of({"serial": step(1.0), "ddp n=1": step(1.5, clean=False)})
        self.assertEqual(rounds.ratios("ddp n=1", "serial"), [])
        self.assertEqual(rounds.of("ddp n=1"), [])


class Origins(unittest.TestCase):
    RECORD = {"environment": {"cpu": {}, "libraries": {}},
              "generator": {"git_commit": "abc", "build_type": "Release"}}

    def test_a_second_commit_is_refused(self):
        results = ddp_scaling.load(None)
        ddp_scaling.note_origin(results, self.RECORD)
        other = {**self.RECORD, "generator": {"git_commit": "def", "build_type": "Release"}}
        with self.assertRaises(SystemExit):
            ddp_scaling.note_origin(results, other)


if __name__ == "__main__":
    unittest.main()
