#!/usr/bin/env python3
"""Counts the lines of the tree that somebody has to read, by folder.

    bench/tree_lines.py                    # of the tracked files as they are in the working tree
    bench/tree_lines.py --since COMMIT     # beside those of a commit, with the ratio

Every line of a tracked text file counts: sources, tests, build files, scripts and prose, comments and blank lines
too. Data do not: files with an ending of DATA, files without text (those with a NUL byte or another encoding than
UTF-8), and what tests read as input or compare with (`tests/data`, `tests/fuzz/corpus`, folders called `golden`).
Only Python's standard library is used.
"""
import argparse
import collections
import io
import pathlib
import subprocess
import tarfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = {".json", ".csv", ".svg", ".png", ".gz", ".safetensors"}
DATA_FOLDERS = ("tests/data/", "tests/fuzz/corpus/")


def counts(path):
    """Whether a file of that path, relative to the root, is to be read by people."""
    return (pathlib.PurePosixPath(path).suffix not in DATA and not path.startswith(DATA_FOLDERS)
            and "/golden/" not in path)


def lines_of(content):
    """How many lines these bytes have, the last one with or without its end; 0 where they are not text."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return 0
    return 0 if "\0" in text else text.count("\n") + (text != "" and not text.endswith("\n"))


def git(root, *arguments):
    return subprocess.run(["git", "-C", str(root), *arguments], stdout=subprocess.PIPE, check=True).stdout


def by_folder(files):
    """Lines by folder, "." the root's, of pairs of a path and what the file holds."""
    found = collections.Counter()
    for path, content in files:
        if counts(path):
            found[path.split("/")[0] if "/" in path else "."] += lines_of(content)
    return found


def lines_now(root):
    """Of the tracked files, as they are in the working tree."""
    paths = git(root, "ls-files", "-z").decode().split("\0")[:-1]
    return by_folder((path, (root / path).read_bytes()) for path in paths if (root / path).is_file())


def lines_at(root, commit):
    """Of a commit's files."""
    with tarfile.open(fileobj=io.BytesIO(git(root, "archive", "--format=tar", commit))) as files:
        return by_folder((entry.name, files.extractfile(entry).read()) for entry in files if entry.isfile())


def table(now, before):
    """One line a folder and one for all; with what was before, that and the ratio beside it."""
    rows = [(name, now.get(name, 0), before.get(name, 0)) for name in sorted({*now, *before})]
    rows.append(("all", sum(now.values()), sum(before.values())))
    return [f"{name:12} {count:8}" + (f" {old:8} {100 * count / old:6.1f} %" if old else "") for name, count, old in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--since", metavar="COMMIT", help="compare with this commit")
    arguments = parser.parse_args()
    before = lines_at(ROOT, arguments.since) if arguments.since else {}
    print("\n".join(table(lines_now(ROOT), before)))


if __name__ == "__main__":
    main()
