"""The formulas of bench/scaling_model.py, and that the tables of docs/scaling-out.md are its own."""
import math
import unittest

import scripts  # noqa: F401  (finds bench/)
import scaling_model as model

LINK = model.Link(1e-6, 1e9)
NET = model.Link(1e-5, 1e8)
CLUSTER = model.Cluster(4, LINK, NET)
WORK = model.Model("work", 1e6, 100, 100)  # a second a step, 4 MB of gradients


class Formulas(unittest.TestCase):
    def test_one_rank_or_host_costs_nothing(self):
        self.assertEqual(model.ring(1e6, 1, LINK), 0)
        self.assertEqual(model.tree(1e6, 1, LINK), 0)
        self.assertEqual(model.step_seconds(WORK, 1, CLUSTER, model.ALGORITHMS["ring"], 1e6), 1)

    def test_ring_and_tree(self):
        self.assertAlmostEqual(model.ring(8e6, 4, LINK), 6 * (1e-6 + 2e-3))
        self.assertAlmostEqual(model.tree(8e6, 5, LINK), 6e-6 + 16e-3)

    def test_leaders_pay_both_links(self):
        self.assertAlmostEqual(model.ALGORITHMS["leaders, ring"](8e6, 16, CLUSTER),
                               model.ring(8e6, 4, LINK) + model.ring(8e6, 4, NET))

    def test_without_overlap_costs_add_up(self):
        step = model.step_seconds(WORK, 8, CLUSTER, model.ALGORITHMS["ring"], math.inf, overlap=False)
        self.assertAlmostEqual(step, 1 + model.ring(4e6, 8, NET))

    def test_what_overlaps_is_all_but_the_last_bucket(self):
        step = model.step_seconds(WORK, 8, CLUSTER, model.ALGORITHMS["ring"], 1e6)
        self.assertAlmostEqual(step, 1 + model.ring(1e6, 8, NET))


class Document(unittest.TestCase):
    def test_tables_are_up_to_date(self):
        text = model.DOCUMENT.read_text(encoding="utf-8")
        self.assertEqual(model.rewritten(text), text)
        self.assertEqual(len(model.BLOCK.findall(text)), len(model.TABLES))


if __name__ == "__main__":
    unittest.main()
