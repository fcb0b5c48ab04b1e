"""Lets tests import what is in bench/ and peers/."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
for folder in ("peers/pytorch", "peers", "bench"):  # of two modules of one name, bench has the first
    sys.path.insert(0, str(ROOT / folder))
