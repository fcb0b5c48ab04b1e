import os
import pathlib
import subprocess
import tempfile
import unittest

import scripts  # noqa: F401  finds the module below
import tree_lines


class Lines(unittest.TestCase):
    def test_text_counts_and_data_do_not_now_and_at_a_commit(self):
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)

            def write(path, content):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_bytes(content)

            def git(*arguments):
                subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=root, check=True,
                               stdout=subprocess.DEVNULL, env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull})

            git("init", "-q")
            write("README.md", b"one\n\nthree")
            write("src/a/one.cpp", b"one\ntwo\n")
            write("src/gone.h", b"one\n")
            for data in ("results/one.json", "tests/data/words", "tests/fuzz/corpus/a/one", "tests/x/golden/one.txt"):
                write(data, b"one\n")
            write("src/no_text", b"\0\n")
            write("src/other_text", b"\xff\n")
            git("add", ".")
            git("commit", "-q", "-m", "all")
            (root / "src/gone.h").unlink()
            write("src/a/one.cpp", b"one\n")
            write("src/untracked.h", b"one\n")

            now, before = tree_lines.lines_now(root), tree_lines.lines_at(root, "HEAD")
            self.assertEqual(+now, {".": 3, "src": 1})
            self.assertEqual(+before, {".": 3, "src": 3})
            self.assertEqual(tree_lines.table(now, before)[-1].split(), ["all", "4", "6", "66.7", "%"])
            self.assertEqual(tree_lines.table(now, {})[-1].split(), ["all", "4"])


if __name__ == "__main__":
    unittest.main()
