#!/usr/bin/env python3
"""Starts ptbench by launchers of others, for real, and looks at what came of it.

    tests/launchers/launchers.py [hand|mpirun|mpiexec|slurm|torchrun]… [-o FILE.md]

Each is two ranks of `ddp` on this host, verified; then what goes wrong with that launcher: strategies
of one process, variables that are missing, shells around the ranks, two jobs at once. Slurm is one of
its own, for which nothing on the machine is changed (slurm_here.py). Exit code 77: a launcher that was
named is absent here; 1: something is not as it should be. Only Python's standard library is used.
"""
import argparse
import contextlib
import datetime
import json
import os
import pathlib
import platform
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from slurm_here import Absent, slurm_here

DEADLINE = 180  # seconds for one command
ROOT = pathlib.Path(__file__).resolve().parents[2]
TRAIN = ["-w", "linear", "--threads", "1", "--steps", "20", "--timeout", "30"]
# Open MPI refuses root, and more ranks than cores, unless it is told.
OPEN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def find(*names):
    """The first of these programs that is there."""
    for name in names:
        if found := shutil.which(name):
            return found
    raise Absent(f"there is no {names[0]}")


def version_of(*command, variables=None):
    said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=DEADLINE,
                          env={**os.environ, **(variables or {})})
    lines = [line for line in said.stdout.splitlines() if line.strip()]
    numbered = [line for line in lines if any(letter.isdigit() for letter in line)]
    return " ".join((numbered or lines or ["unknown"])[0].split())


class Scene:
    """A folder, the program, and what was seen."""

    def __init__(self, folder, ptbench):
        self.folder = pathlib.Path(folder)
        self.ptbench = ptbench
        self.seen = []
        self.count = 0

    def start(self, command, variables):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("OMPI_", "PMI", "SLURM_", "MPI_", "PTBENCH_"))}
        environment |= {"XDG_CACHE_HOME": str(self.folder / "cache"), **variables}
        return subprocess.Popen(command, cwd=self.folder, env=environment, text=True, start_new_session=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def finish(self, process):
        try:
            output, errors = process.communicate(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # ranks too, which hold the pipes
            output, errors = process.communicate(timeout=DEADLINE)
            raise AssertionError(f"{process.args} did not end: {errors}") from None
        return process.returncode, output, errors

    def run(self, command, variables=None):
        return self.finish(self.start(command, variables or {}))

    def tell(self, version, command, result):
        shown = shlex.join(str(word) for word in command)
        for long, short in ((str(self.ptbench), "ptbench"), (f"{self.folder}/", ""), (f"{ROOT}/", ""),
                            ("/usr/bin/", "")):
            shown = shown.replace(long, short)
        self.seen.append((version, shown, result))

    def new_output(self):
        self.count += 1
        return self.folder / f"r{self.count}.json"

    def engines(self, *names):
        """Those of these communicators that were built beside the program."""
        modules = self.ptbench.parent / "lib" / "ptbench"
        return [name for name in names if (modules / f"libptbench_{name}.so").exists()]

    def check_record(self, path, ranks, communicator="shm"):
        record = json.loads(path.read_text())["runs"][0]
        assert record["status"] == "ok", record["reason"]
        assert record["strategy"]["world_size"] == ranks, record["strategy"]
        assert record["strategy"]["communicator"] == communicator, record["strategy"]
        assert record["verification"]["status"] == "passed", record["verification"]
        code, _, errors = self.run([self.ptbench, "validate", path])
        assert code == 0, errors


class Launcher:
    """One, with what it is called on standard error."""

    def __init__(self, scene, source, version, command, variables=None):
        self.scene = scene
        self.source = source
        self.version = version
        self.command = command
        self.variables = variables or {}

    def started(self, *arguments, before=()):
        command = [*self.command, *before, self.scene.ptbench, *arguments]
        return command, self.scene.run(command, self.variables)

    def ddp(self, before=(), strategy="ddp", communicator="shm"):
        """Two ranks that train and are verified; rank 0 alone reports."""
        path = self.scene.new_output()
        more = [] if communicator == "shm" else ["--communicator", communicator]
        command, (code, output, errors) = self.started("run", "-s", strategy, *TRAIN, *more, "-o", path,
                                                       before=before)
        assert code == 0, errors
        told = [line for line in errors.splitlines() if "ranks from" in line]
        assert len(told) == 1, errors
        assert f"ranks from {self.source}: 2 on 1 host (" in told[0], told
        assert told[0].endswith(f"), communicator {communicator}"), told
        assert output.count("verified") == 1, output
        self.scene.check_record(path, 2, communicator)
        self.scene.tell(self.version, command, told[0].removeprefix("ptbench: ") + "; verified")

    def collectives(self, communicator):
        """Of two ranks, all of them, with every value as it should be."""
        command, (code, output, errors) = self.started(
            "comm", "--communicator", communicator, "--sizes", "4,1M", "--iters", "3", "--json",
            "--collective", "all_reduce,reduce_scatter,all_gather,broadcast,reduce,gather")
        assert code == 0, errors
        rows = json.loads(output)
        assert len(rows) == 12, output
        assert {(row["communicator"], row["ranks"], row["wrong"]) for row in rows} == {
            (communicator, 2, 0)}, output
        self.scene.tell(self.version, command, "every value is right")

    def refused(self, says, *arguments, before=()):
        """By each rank in the same words."""
        command, (code, output, errors) = self.started("run", *arguments, before=before)
        lines = [line for line in errors.splitlines() if "ptbench: error: " in line]
        told = {line[line.index("ptbench: error: "):] for line in lines}
        assert code != 0 and not output.strip(), (code, output, errors)
        assert len(told) == 1 and says in told.pop(), errors
        self.scene.tell(self.version, command, f"refused: {says}")

    def one_process(self):
        self.refused(f"strategy 'serial' is one process, and there are 2 ranks from {self.source}",
                     "-s", "serial", *TRAIN)

    def without(self, variable, beside):
        self.refused(f"{beside} is set, and {variable} is not", "-s", "ddp", *TRAIN,
                     before=("env", "-u", variable))

    def two_jobs(self):
        """Which start at once and must not meet."""
        paths = [self.scene.new_output() for _ in range(2)]
        commands = [[*self.command, self.scene.ptbench, "run", "-s", "ddp", *TRAIN, "-o", path]
                    for path in paths]
        jobs = [self.scene.start(command, self.variables) for command in commands]
        for path, job in zip(paths, jobs):
            code, _, errors = self.scene.finish(job)
            assert code == 0, errors
            assert "sent away" not in errors, errors
            self.scene.check_record(path, 2)
        self.scene.tell(self.version, commands[0], "twice at once: two jobs, both verified")

    def sweep(self, text):
        path = self.scene.new_output()
        command = [self.scene.ptbench, "sweep", "-w", "linear", "-s", "ddp", "-n", "1,2", "--threads", "1",
                   "--steps", "20", "--rounds", "1", "--launcher", text, "-o", path]
        code, _, errors = self.scene.run(command, self.variables)
        assert code == 0, errors
        runs = json.loads(path.read_text())["runs"]
        launched = [run for run in runs if run["strategy"].get("launcher")]
        assert {run["status"] for run in runs} == {"ok"}, runs
        assert [run["strategy"]["world_size"] for run in launched] == [2], launched
        assert launched[0]["scaling"]["efficiency"] is not None, launched
        self.scene.tell(self.version, command, "all rows measured, with their efficiency")


def strangers_at(address):
    """Connections to where ranks meet, once rank 0 listens there: many that are silent, some that talk
    nonsense."""
    key = 0xcbf29ce484222325
    for byte in f"PTBENCH_ADDR {address}".encode():
        key = (key ^ byte) * 0x100000001b3 % 2**64
    end = time.monotonic() + DEADLINE
    strangers = []
    for number in range(200):
        one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        while one.connect_ex(f"\0ptbench-ranks/{os.getuid()}/{key:016x}"):
            assert time.monotonic() < end, "rank 0 does not listen"
            time.sleep(0.01)
        if number % 4 == 0:
            one.send(b"GET / HTTP/1.1\r\n\r\n")
        strangers.append(one)
    return strangers


def check_hand(scene):
    """PTBENCH_RANK and its companions, and no launcher; a port that something else uses, and a flood of
    strangers before rank 1 comes."""
    path = scene.new_output()
    command = [scene.ptbench, "run", "-s", "ddp", *TRAIN, "-o", path]
    with contextlib.ExitStack() as stack:
        used = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        address = f"localhost:{used.getsockname()[1]}"
        places = [{"PTBENCH_RANK": str(rank), "PTBENCH_WORLD_SIZE": "2", "PTBENCH_ADDR": address}
                  for rank in range(2)]
        ranks = [scene.start(command, places[0])]
        for one in strangers_at(address):
            stack.enter_context(one)
        ranks.append(scene.start(command, places[1]))
        results = [scene.finish(rank) for rank in ranks]
    assert [code for code, _, _ in results] == [0, 0], results
    assert "ranks from PTBENCH_RANK: 2 on 1 host (" in results[0][2], results
    assert results[1][1:] == ("", ""), results
    scene.check_record(path, 2)
    assert results[0][2].count("and was sent away") == 1, results[0][2]
    told = [line for line in results[0][2].splitlines() if "ranks from" in line][0].removeprefix("ptbench: ")
    shell = [f"PTBENCH_RANK={{0,1}} PTBENCH_WORLD_SIZE=2 PTBENCH_ADDR={address}", *command]
    scene.tell("by hand", shell, told + "; verified; its port was in use, and 200 strangers came before rank 1")


def check_mpirun(scene):
    program = find("mpirun.openmpi", "mpirun")
    version = version_of(program, "--version")
    if "Open" not in version:  # "(OpenRTE)", or "(Open MPI)" before and after it
        raise Absent("mpirun is not Open MPI's")
    mpi = Launcher(scene, "Open MPI", version, [program, "-n", "2"], OPEN_MPI)
    mpi.ddp()
    for communicator in scene.engines("gloo", "mpi"):
        for strategy in ("ddp", "ddp-flat", "ddp-central"):
            mpi.ddp(strategy=strategy, communicator=communicator)
        mpi.collectives(communicator)
    mpi.one_process()
    mpi.without("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK")
    mpi.two_jobs()
    mpi.sweep(f"{program} -n {{n}}")


def check_mpiexec(scene):
    program = find("mpiexec.mpich", "mpiexec.hydra")
    version = "MPICH's hydra, " + version_of(program, "--version")
    mpich = Launcher(scene, "MPICH or Intel MPI", version, [program, "-n", "2"])
    mpich.ddp()
    mpich.ddp(before=("sh", "-c", '"$@"; exit $?', "sh"))
    mpich.one_process()
    mpich.without("PMI_SIZE", "PMI_RANK")
    mpich.two_jobs()
    mpich.sweep(f"{program} -n {{n}}")


def check_slurm(scene):
    with slurm_here(scene.folder / "slurm") as variables:
        version = version_of("srun", "--version", variables=variables)
        steps = {kind: Launcher(scene, "Slurm", version, ["srun", f"--mpi={kind}", "-n", "2"],
                                variables) for kind in ("none", "pmi2", "pmix")}
        # Under pmi2 ranks have PMI_RANK and PMI_SIZE too, which no MPI set.
        steps["none"].ddp()
        steps["pmi2"].ddp()
        offered = scene.run(["srun", "-n", "1", "--mpi=pmix", "true"], variables)
        if offered[0] == 0:
            steps["pmix"].ddp()
        else:
            scene.tell(version, ["srun", "--mpi=pmix"], "not tried: " + offered[2].splitlines()[0])
        steps["none"].one_process()
        steps["none"].without("SLURM_PROCID", "SLURM_STEP_NUM_TASKS")
        check_batch(scene, version, variables)
        check_allocation(scene, version, variables)


def check_batch(scene, version, variables):
    """The script of docs/launching.md: a step of two tasks; then a run in the script itself."""
    text = (ROOT / "docs" / "launching.md").read_text()
    script = text.split("```bash\n#!/bin/bash\n#SBATCH", 1)[1].split("```", 1)[0]
    script = "#!/bin/bash\n#SBATCH" + script.replace("ptbench run", f"{scene.ptbench} run")
    (scene.folder / "job.sh").write_text(script)
    code, _, errors = scene.run(["sbatch", "--wait", "-o", "job.log", "job.sh"], variables)
    log = (scene.folder / "job.log").read_text()
    assert code == 0, (errors, log)
    assert "ranks from Slurm: 2 on 1 host (" in log, log
    assert log.count("ranks from") == 1, log  # the script's own process is no rank
    scene.check_record(scene.folder / "ddp.json", 2)
    scene.tell(version, ["sbatch", "job.sh"], "the script of docs/launching.md: verified")


def check_allocation(scene, version, variables):
    """Launchers of MPI inside an allocation are theirs."""
    for names, source, more in ((["mpirun.openmpi"], "Open MPI", OPEN_MPI),
                                (["mpiexec.mpich"], "MPICH or Intel MPI", {})):
        with contextlib.suppress(Absent):
            inside = Launcher(scene, source, version, ["salloc", "-Q", "-n", "2", find(*names), "-n", "2"],
                              {**variables, **more})
            inside.ddp()


def check_torchrun(scene):
    program = find(str(ROOT / "build/peers/venv/bin/torchrun"), "torchrun")
    python = pathlib.Path(program).parent / "python3"
    version = "torch " + version_of(str(python), "-c", "import torch; print(torch.__version__)")
    command = [program, "--no-python", "--nproc-per-node", "2", "--master-port",
               str(20000 + os.getpid() % 40000)]
    torch = Launcher(scene, "torchrun", version, command)
    torch.ddp()
    torch.sweep(f"{program} --no-python --nproc-per-node {{n}}")


CHECKS = {"hand": check_hand, "mpirun": check_mpirun, "mpiexec": check_mpiexec, "slurm": check_slurm,
          "torchrun": check_torchrun}


def report(arguments, version, seen, absent):
    lines = ["# Launchers, started for real", "",
             f"- date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC",
             f"- machine: {os.cpu_count()} cores; {platform.system()} {platform.release()}",
             f"- {version}",
             f"- command: `tests/launchers/launchers.py {' '.join(arguments.launchers)}`", "",
             "Each row went as `tests/launchers` demands: two ranks on this host, one report, by rank 0; "
             "\"verified\" is the record's word; what is refused is refused by all ranks in one sentence.",
             "", "| launcher | command | what came of it |", "|---|---|---|"]
    for row in seen:
        cells = [cell.replace("|", "\\|") for cell in row]
        lines.append(f"| {cells[0]} | `{cells[1]}` | {cells[2]} |")
    lines += ["", *[f"Absent, and not tried: {text}." for text in absent]]
    return "\n".join(lines).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("launchers", nargs="*", metavar="LAUNCHER", help=", ".join(CHECKS))
    parser.add_argument("--ptbench", default="build/release/ptbench")
    parser.add_argument("-o", "--output", help="Markdown file")
    arguments = parser.parse_args()
    arguments.launchers = arguments.launchers or list(CHECKS)
    if unknown := [name for name in arguments.launchers if name not in CHECKS]:
        parser.error(f"no such launcher: {', '.join(unknown)}")
    ptbench = pathlib.Path(arguments.ptbench).resolve()
    absent = []
    with tempfile.TemporaryDirectory(prefix="launchers-") as folder:
        scene = Scene(folder, ptbench)
        for name in arguments.launchers:
            try:
                CHECKS[name](scene)
            except Absent as reason:
                absent.append(str(reason))
                print(f"skipped: {reason}: scripts/setup launchers")
    for version, command, result in scene.seen:
        print(f"{version}: {command}\n    {result}")
    if arguments.output:
        version = subprocess.run([ptbench, "--version"], capture_output=True, text=True, check=True)
        pathlib.Path(arguments.output).write_text(
            report(arguments, version.stdout.splitlines()[0], scene.seen, absent))
    return 77 if absent else 0


if __name__ == "__main__":
    sys.exit(main())
