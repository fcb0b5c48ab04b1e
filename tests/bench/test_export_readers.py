import pathlib
import tempfile
import unittest

import scripts  # noqa: F401  finds the modules below
import export_readers
from export_readers import Reading


class Readers(unittest.TestCase):
    def test_a_reader_whose_checkout_or_library_is_absent_is_left_out(self):
        needs_folder = Reading("r", "bmf", [], "bencher", [], [])
        self.assertIn("--bencher", export_readers.missing(needs_folder, {}))
        self.assertEqual(export_readers.missing(needs_folder, {"bencher": "/there"}), "")
        needs_module = Reading("r", "bmf", ["no_such_module"], "", [], [])
        self.assertIn("no_such_module", export_readers.missing(needs_module, {}))

    def test_what_a_reader_does_not_say_is_a_problem(self):
        def outcome(text, code=0):
            command = ["/bin/sh", "-c", f"echo {text}; exit {code}"]
            reading = Reading("r", "bmf", [], "", command, [r"p = \d"])
            with tempfile.TemporaryDirectory() as folder:
                return export_readers.read(reading, pathlib.Path(folder), "").problem

        self.assertEqual(outcome("'p = 0.1'"), "")
        self.assertIn("did not say", outcome("'p is small'"))
        self.assertIn("ended with 3", outcome("'p = 0.1'", 3))

    def test_names_of_runs_are_looked_for_as_they_are(self):
        for reading in export_readers.readings(["a+b(c)"], {}):
            for pattern in reading.says:
                self.assertNotIn("a+b(c)", pattern)


if __name__ == "__main__":
    unittest.main()
