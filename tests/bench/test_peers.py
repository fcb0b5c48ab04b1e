"""Of the peers that need PyTorch, which is not there: what can be read in them."""
import ast
import unittest

import scripts


def calls_in(name):
    """Names of what is called, in the order of the file."""
    tree = ast.parse((scripts.ROOT / "peers" / name).read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    calls.sort(key=lambda node: (node.lineno, node.col_offset))
    return [ast.unparse(node) for node in calls]


class Rules(unittest.TestCase):
    def test_denormal_numbers_are_zero_before_there_are_threads(self):
        for name in ("step_time.py", "ddp_time.py"):
            calls = [call for call in calls_in(name) if call.startswith("torch.set_")]
            self.assertEqual(calls[0], "torch.set_flush_denormal(True)", name)

    def test_memory_is_counted_from_after_the_imports_on(self):
        for name in ("step_time.py", "ddp_time.py"):
            calls = [call.split("(")[0] for call in calls_in(name)]
            self.assertLess(calls.index("models.import_libraries"),
                            calls.index("clean_slices.Memory"), name)

    def test_clean_slices_speak(self):
        for name in ("step_time.py", "ddp_time.py"):
            self.assertTrue(any(call.startswith("clean_slices.summary(")
                                for call in calls_in(name)), name)


if __name__ == "__main__":
    unittest.main()
