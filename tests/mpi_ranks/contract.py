#!/usr/bin/env python3
"""Runs the contract suites of communicators over Open MPI.

    tests/mpi_ranks/contract.py PROGRAM RANKS

Those tests in which a rank gives up ([surrender]) have an mpirun each, since a process begins MPI once;
all others share one. A test has passed where rank 0 says so of every rank. Exit code 77: there is no
mpirun of Open MPI. Only Python's standard library is used.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

DEADLINE = 400  # seconds for one mpirun
ROOT_MAY = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def open_mpi():
    """The launcher, or None."""
    program = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
    if program is None:
        return None
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=60)
    return program if "Open" in said.stdout else None


def run(launcher, program, ranks, selection):
    """What it said, and whether every rank has passed."""
    with tempfile.TemporaryDirectory(prefix="mpi-ranks-") as meeting:
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("OMPI_", "PMI", "SLURM_"))}
        environment |= {"PTBENCH_TEST_MEETING": meeting, **ROOT_MAY}
        process = subprocess.Popen([launcher, "-n", str(ranks), "--bind-to", "none", program, selection],
                                   env=environment, text=True, start_new_session=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            output, _ = process.communicate(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # ranks too, which hold the pipe
            output, _ = process.communicate(timeout=60)
            output += f"\nit did not end within {DEADLINE} s\n"
    told = [f"verdict of rank {rank}: passed" in output for rank in range(ranks)]
    return output, all(told)


def main():
    program, ranks = sys.argv[1], int(sys.argv[2])
    launcher = open_mpi()
    if launcher is None:
        print("skipped: there is no mpirun of Open MPI: scripts/setup launchers")
        return 77
    listed = subprocess.run([program, "--list-test-names-only", "[surrender]"], capture_output=True,
                            text=True, check=False, timeout=60)
    alone = [line.strip() for line in listed.stdout.splitlines() if line.strip()]
    assert alone, listed
    failed = 0
    for selection in ["~[surrender]", *(name.replace(",", "\\,") for name in alone)]:
        output, passed = run(launcher, program, ranks, selection)
        print(f"{'passed' if passed else 'FAILED'}: {selection}")
        if not passed:
            print(output)
        failed += not passed
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
