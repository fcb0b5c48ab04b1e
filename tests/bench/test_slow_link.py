"""The cost formula of bench/slow_link.py: what of a step crosses the link of a host."""
import unittest

import scripts  # noqa: F401  (finds bench/)
import slow_link as model
from slow_link import Case, Cost, Link


class Formula(unittest.TestCase):
    def test_links_are_rates_and_delays(self):
        self.assertEqual(model.link_of("1000"), Link(1000, 0))
        self.assertEqual(model.link_of("0/1.5"), Link(0, 1.5))
        self.assertEqual(model.text_of(Link(0, 1)), "no limit, 1 ms")
        self.assertEqual(model.text_of(Link(250, 0)), "250 Mbit/s")

    def test_buckets_are_those_of_mlp(self):
        self.assertEqual(model.PARAMETERS, 4 * 1_863_690)
        self.assertEqual(model.buckets(Case(1, "gloo", 64)), 1)
        self.assertEqual(model.buckets(Case(1, "gloo", 8)), 2)      # the last layer, and the others
        self.assertEqual(model.buckets(Case(1, "gloo", 1)), 1 + 5 + 4)

    def test_leaders_send_as_one_rank_a_host(self):
        for hosts in (2, 4):
            for count in (model.crossing, model.messages):
                self.assertEqual(count(hosts, Case(2, "shm+gloo", 8)), count(hosts, Case(1, "gloo", 8)))

    def test_shares_that_cross(self):
        self.assertAlmostEqual(model.crossing(2, Case(1, "gloo", 8)), 0.5 + 0.5)
        self.assertAlmostEqual(model.crossing(2, Case(2, "gloo", 8)), 2 * 2 / 4 + 3 / 4)
        self.assertAlmostEqual(model.crossing(4, Case(2, "gloo", 8)), 2 * 6 / 8 + 7 / 8)

    def test_messages_are_those_of_gloo(self):
        self.assertEqual(model.messages(2, Case(1, "gloo", 64)), 1 + 1 + 1)
        self.assertEqual(model.messages(4, Case(1, "gloo", 8)), 2 * (1 + 3) + 3)
        self.assertEqual(model.messages(2, Case(2, "gloo", 8)), 2 * (1 + 3) + 1)

    def test_what_the_link_takes_longer_is_added(self):
        case = Case(1, "gloo", 64)
        step = model.predicted(2, case, 0.05, Cost(2e-3, 8e-9), Cost(1e-3, 1e-9))
        self.assertAlmostEqual(step, 0.05 + 3 * 1e-3 + 1.0 * model.PARAMETERS * 7e-9)


if __name__ == "__main__":
    unittest.main()
