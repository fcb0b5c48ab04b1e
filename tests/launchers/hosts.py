#!/usr/bin/env python3
"""Ranks on several hosts: network namespaces of this machine, each with its own host name.

    tests/launchers/hosts.py [train|refused|comm|cut|mpi|ssh|gpus|four|cut-four|delayed]… [--hosts N] --ptbench FILE

Two hosts with an interface each, and a bridge between them; `four` and `cut-four` have four, and --hosts gives all
others as many. Ranks are started by hand, with torchrun's variables, by mpirun, and by `ptbench
launch` over ssh. Needs the right to make namespaces (root) and `ip`: exit code 77, and what is missing, where there is
none. Exit code 1: something is not as it should be. Only Python's standard library is used.
"""
import argparse
import collections
import contextlib
import copy
import json
import os
import pathlib
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from delayed_link import TUN, DelayedLinks  # noqa: E402  lies beside this

DEADLINE = 240  # seconds for one rank
PORT = 29517
EMULATE = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "emulate-gpu"
TRAIN = ["run", "-w", "linear", "--threads", "1", "--steps", "20", "--timeout", "60"]


class Absent(Exception):
    """What a test needs is not here."""


def sh(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=DEADLINE)
    if done.returncode != 0:
        raise Absent(f"`{' '.join(command)}`: {(done.stderr or done.stdout).strip()}")


class Hosts:
    """Namespaces ptb<pid>h0, h1, …, at 10.123.0.1, .2, …, called alpha, beta, …, on a bridge, or (`delayed`) on
    links that can be given a delay."""

    names = ("alpha", "beta", "gamma", "delta")

    def __init__(self, count, folder, ptbench, delayed=False):
        self.count = count
        self.links = DelayedLinks() if delayed else None
        self.folder = pathlib.Path(folder)
        self.ptbench = ptbench
        self.tag = f"ptb{os.getpid() % 100000}"
        self.running = []

    def __enter__(self):
        try:
            self.make()
        except (Absent, OSError) as error:
            self.remove()
            raise Absent(f"no network namespaces can be made here: {error}") from None
        return self

    def __exit__(self, *_):
        for process in self.running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.remove()

    def space(self, host):
        return f"{self.tag}h{host}"

    def make(self):
        if self.links is None:
            sh("ip", "link", "add", f"{self.tag}br", "type", "bridge")
            sh("ip", "link", "set", f"{self.tag}br", "up")
        for host in range(self.count):
            space = self.space(host)
            sh("ip", "netns", "add", space)
            self.plug(host)
            sh("ip", "-n", space, "address", "add", f"{self.address(host)}/24", "dev", "eth0")
            sh("ip", "-n", space, "link", "set", "eth0", "up")
            sh("ip", "-n", space, "link", "set", "lo", "up")
        if self.links is not None:
            self.links.start()
        sh(*self.inside(0, "true"))

    def plug(self, host):
        if self.links is not None:
            self.links.plug(self.space(host), "eth0")
            return
        outside = f"{self.tag}v{host}"
        sh("ip", "link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", self.space(host))
        sh("ip", "link", "set", outside, "master", f"{self.tag}br", "up")

    def remove(self):
        if self.links is not None:
            self.links.close()
        for host in range(self.count):
            subprocess.run(["ip", "netns", "del", self.space(host)], capture_output=True, check=False)
            subprocess.run(["ip", "link", "del", f"{self.tag}v{host}"], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", f"{self.tag}br"], capture_output=True, check=False)

    def cut(self, host):
        if self.links is not None:
            self.links.cut(host)
        else:
            sh("ip", "link", "set", f"{self.tag}v{host}", "down")

    def mend(self, host):
        if self.links is not None:
            self.links.mend(host)
        else:
            sh("ip", "link", "set", f"{self.tag}v{host}", "up")

    def first(self, count):
        """So many of them, as if there were no others."""
        some = copy.copy(self)
        some.count = count
        return some

    def who(self, each=1):
        """What ptbench says of them: "8 on 4 hosts (alpha, …)"."""
        return f"{each * self.count} on {self.count} hosts ({', '.join(self.names[:self.count])})"

    @staticmethod
    def address(host):
        return f"10.123.0.{host + 1}"

    def inside(self, host, *command, core=None):
        """`command` on that host, as it is started from this one, on that core of this machine or all."""
        if core is not None:
            command = ("taskset", "-c", core, *command)
        return ["ip", "netns", "exec", self.space(host), "unshare", "-u", "sh", "-c",
                f'hostname {self.names[host]} && exec "$@"', "sh", *map(str, command)]

    def start_program(self, host, variables, *command, core=None):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("OMPI_", "PMI", "SLURM_", "MPI_", "PTBENCH_"))}
        environment |= {"XDG_CACHE_HOME": str(self.folder / f"cache{host}"), **variables}
        process = subprocess.Popen(self.inside(host, *command, core=core), cwd=self.folder,
                                   env=environment, text=True, start_new_session=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.running.append(process)
        return process

    def start_ranks(self, each, *arguments, names=True, program=None, more=None, cores=None):
        """`each` ranks on every host, as torchrun's workers are; `more` variables; `cores`: of each host."""
        world = self.count * each
        ranks = []
        for rank in range(world):
            variables = {"RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": str(rank % each),
                         "MASTER_ADDR": self.address(0), "MASTER_PORT": str(PORT)}
            if names:
                variables["LOCAL_WORLD_SIZE"] = str(each)
            variables |= more or {}
            host = rank // each
            ranks.append(self.start_program(host, variables, *(program or (self.ptbench,)), *arguments,
                                            core=None if cores is None else cores[host]))
        return ranks

    def agent(self, core_of):
        """A program in the place of ssh: it takes an address of a host, and a command for it."""
        agent = self.folder / "agent"
        shells = [shlex.join(self.inside(host, "sh", "-c", core=core_of[host])) for host in range(self.count)]
        cases = [f'{self.address(host)}) exec {shell} "$*" ;;\n' for host, shell in enumerate(shells)]
        agent.write_text('#!/bin/sh\nhost=$1\nshift\ncase "$host" in\n' + "".join(cases) + "esac\nexit 1\n")
        agent.chmod(0o700)
        return agent

    def start_launched(self, each, *arguments, cores=None):
        """The same by `ptbench launch` on the first host, with that agent in the place of ssh."""
        core_of = [None] * self.count if cores is None else cores
        hosts = ",".join(f"{self.address(host)}:{each}" for host in range(self.count))
        launch = (self.ptbench, "launch", "--hosts", hosts, "--shell", self.agent(core_of), "--")
        return self.start_program(0, {}, *launch, self.ptbench, *arguments, core=core_of[0])

    def start_mpirun(self, each, *arguments, meet=True, cores=None):
        """The same by mpirun on the first host, which starts ranks of others through an agent in the place of ssh."""
        program = shutil.which("mpirun.openmpi")
        if program is None or not (self.ptbench.parent / "lib" / "ptbench" / "libptbench_mpi.so").exists():
            raise Absent("there is no Open MPI")
        core_of = [None] * self.count if cores is None else cores
        options = {"plm_rsh_agent": self.agent(core_of), "btl_tcp_if_include": "eth0", "oob_tcp_if_include": "eth0",
                   "mpi_yield_when_idle": 1}
        more = ["-x", f"PTBENCH_ADDR={self.address(0)}:{PORT}"] if meet else []
        return self.start_program(
            0, {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}, program,
            "-n", each * self.count, "--host", ",".join(f"{self.address(host)}:{each}" for host in range(self.count)),
            "--bind-to", "none", *(word for name, value in options.items() for word in ("--mca", name, value)), *more,
            self.ptbench, *arguments, core=core_of[0])

    def stop(self, process):
        """Kills what does not end by itself."""
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        self.running.remove(process)

    @staticmethod
    def finish(ranks):
        results = []
        for process in ranks:
            output, errors = process.communicate(timeout=DEADLINE)
            results.append((process.returncode, output, errors))
        return results


def check_record(path, each, hosts, communicator):
    record = json.loads(path.read_text())["runs"][0]
    assert record["status"] == "ok", record["reason"]
    assert record["strategy"]["world_size"] == each * hosts, record["strategy"]
    assert record["strategy"]["communicator"] == communicator, record["strategy"]
    assert record["verification"]["status"] == "passed", record["verification"]
    expected = [Hosts.names[rank // each] for rank in range(each * hosts)]
    assert [rank["host"] for rank in record["ranks"]] == expected, record["ranks"]


def train(hosts):
    """1 and 2 ranks a host, by `auto` and by name, told of the hosts by their launcher or not."""
    for each, strategy, more, names in ((1, "ddp", [], True), (2, "ddp", ["--communicator", "gloo"], False),
                                        (2, "ddp-flat", [], True), (1, "ddp-central", [], True)):
        path = hosts.folder / f"{strategy}{each}.json"
        ranks = hosts.start_ranks(each, *TRAIN, "-s", strategy, *more, "-o", path, names=names)
        results = hosts.finish(ranks)
        assert all(code == 0 for code, _, _ in results), results
        communicator = "gloo" if more else "shm+gloo"
        says = f"ranks from torchrun: {hosts.who(each)}, communicator {communicator}"
        assert says in results[0][2], results[0][2]
        assert all(output == "" for _, output, _ in results[1:]), results
        check_record(path, each, hosts.count, communicator)
        print(f"{strategy}, {each} a host: {says}; verified")
    refused = hosts.finish(hosts.start_ranks(1, *TRAIN, "-s", "ddp", "--communicator", "shm"))
    for code, _, errors in refused:
        assert code == 5 and "several hosts need a communicator between hosts" in errors, refused


def refused(hosts):
    """Two hosts of one name; and ranks by hand, of which nobody says that they are on two, with shared memory."""
    command = [*TRAIN[:-1], "5", "-s", "ddp"]
    hosts.names = ("alpha", "alpha")
    alike = hosts.finish(hosts.start_ranks(1, *command))
    hosts.names = Hosts.names
    for code, _, errors in alike:
        assert code == 1 and "ranks 0 and 1 are on two hosts that are both called 'alpha'" in errors, alike
    begin = time.monotonic()
    zero, one = hosts.start_ranks(1, *command, "--communicator", "shm", names=False)
    (code, _, errors), = hosts.finish([one])
    assert code == 5 and "several hosts need a communicator between hosts" in errors, errors
    took = time.monotonic() - begin
    (code, _, errors), = hosts.finish([zero])
    assert code == 2 and "rank 1 of 2 did not come" in errors, errors
    print(f"two hosts of one name, and two with shared memory (after {took:.1f} s): refused")


def comm(hosts):
    """Every value of every collective, by way of leaders and without."""
    for communicator in ("shm+gloo", "gloo"):
        ranks = hosts.start_ranks(
            2, "comm", "--sizes", "4,1M", "--iters", "3", "--json", "--communicator", communicator, "--collective",
            "all_reduce,reduce_scatter,all_gather,broadcast,reduce,gather,all_to_all,send_receive")
        results = hosts.finish(ranks)
        assert all(code == 0 for code, _, _ in results), results
        rows = json.loads(results[0][1])
        assert len(rows) == 16, rows
        found = {(row["communicator"], row["ranks"], row["wrong"]) for row in rows}
        assert found == {(communicator, 2 * hosts.count, 0)}, rows
        print(f"comm, {hosts.who(2)}, by {communicator}: every value is right")


def cut(hosts, events=("link", "rank"), timeout=8, after=3.0):
    """All end by their deadline where the last host's link is cut, or its rank killed, and name the host."""
    endless = ["run", "-w", "linear", "-s", "ddp", "--threads", "1", "--steps", "1000000000",
               "--verify", "off", "--timeout", timeout]
    last, name = hosts.count - 1, hosts.names[hosts.count - 1]
    for what in events:
        says = f"nothing was heard from it on {name}" if what == "link" else f"its process on {name} ended"
        path = hosts.folder / f"{what}.json"
        ranks = hosts.start_ranks(1, *endless, "-o", path)
        wait_until_met(ranks[0], hosts)
        time.sleep(after)
        begin = time.monotonic()
        if what == "link":
            hosts.cut(last)
        else:
            os.killpg(ranks[last].pid, signal.SIGKILL)
        results = hosts.finish(ranks)
        took = time.monotonic() - begin
        reason = json.loads(path.read_text())["runs"][0]["reason"]
        assert f"rank {last} gave up: {says}" in reason, reason
        assert all(code == 2 for code, _, _ in results[:last]), results
        if what == "link":
            code, _, errors = results[last]
            assert code == 2 and "nothing was heard from it on alpha" in errors, results[last]
            hosts.mend(last)
        assert took < timeout + 20, took
        print(f"{hosts.count} hosts, {what} cut after {after:g} s: all ended after {took:.1f} s: {reason}")


def wait_until_met(process, hosts):
    """Until rank 0 has said who there is, which it does once all have met."""
    end = time.monotonic() + DEADLINE
    said = b""
    while f"on {hosts.count} hosts".encode() not in said:
        ready, _, _ = select.select([process.stderr], [], [], max(0, end - time.monotonic()))
        part = os.read(process.stderr.fileno(), 65536) if ready else b""
        assert part, f"the ranks did not meet: {said.decode()}"
        said += part


def mpi(hosts):
    """By mpirun, told where they meet or not."""
    for meet, says in ((False, "nothing says where they meet"),
                       (True, f"ranks from Open MPI: {hosts.who(2)}, communicator shm+mpi")):
        path = hosts.folder / "mpi.json"
        try:
            process = hosts.start_mpirun(2, *TRAIN, "-s", "ddp", "-o", path, meet=meet)
        except Absent as reason:
            print(f"mpi: not tried: {reason}")
            return
        (code, _, errors), = hosts.finish([process])
        assert (code == 0) == meet and says in errors, (code, errors)
        if meet:
            check_record(path, 2, hosts.count, "shm+mpi")
        print(f"mpirun, 2 a host: {says}")


# A server of ssh as a host of its own has it: with a folder /tmp that holds nothing of another host, keys that only
# this test has, and no other way in.
SERVER = """set -e
keys=$HOME/.ssh
mkdir -p "$keys"
mount -t tmpfs -o mode=700 none "$keys"
cp "$1/key.pub" "$keys/authorized_keys"
cp "$1/host" "$keys/host"
case $2 in /tmp/*) ;; *) mount -t tmpfs none /tmp ;; esac
exec dropbear -F -E -s -r "$keys/host" -p 22 -P "$keys/pid"
"""


@contextlib.contextmanager
def server_of_ssh(hosts, host):
    """Yields the command that reaches that host."""
    sh("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(hosts.folder / "key"))
    sh("dropbearkey", "-t", "ed25519", "-f", str(hosts.folder / "host"))
    server = hosts.start_program(host, {}, "unshare", "-m", "sh", "-c", SERVER, "sh", hosts.folder, hosts.ptbench)
    client = (f"ssh -i {hosts.folder / 'key'} -o BatchMode=yes -o StrictHostKeyChecking=no -o LogLevel=ERROR "
              f"-o UserKnownHostsFile=/dev/null -o IdentitiesOnly=yes")
    try:
        end = time.monotonic() + 20
        while True:
            probe = hosts.start_program(0, {}, *client.split(), hosts.address(host), "hostname")
            output, errors = probe.communicate(timeout=DEADLINE)
            if output.strip() == hosts.names[host]:
                break
            assert server.poll() is None and time.monotonic() < end, (errors, server.communicate()[1])
            time.sleep(0.2)
        yield client
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def ssh(hosts):
    """`run --hosts` and `launch` over a real ssh; a host that is not there; Ctrl-C; a rank that is killed."""
    if any(shutil.which(program) is None for program in ("ssh", "ssh-keygen", "dropbear", "dropbearkey")):
        print("ssh: not tried: there is no ssh, or no dropbear")
        return
    both = ",".join(f"{hosts.address(host)}:2" for host in range(2))
    with server_of_ssh(hosts, 1) as client:
        path = hosts.folder / "ssh.json"
        (code, _, errors), = hosts.finish([hosts.start_program(
            0, {}, hosts.ptbench, "run", "-w", "linear", "--threads", "1", "-s", "ddp", "--hosts", both, "--shell",
            client, "--repeats", "2", "--max-time", "12", "-o", path)])
        says = "4 on 2 hosts (alpha, beta), communicator shm+gloo"
        assert code == 0 and says in errors, (code, errors)
        check_record(path, 2, 2, "shm+gloo")
        assert len(json.loads(path.read_text())["runs"][0]["samples"]["repetitions"]) == 2
        print(f"run --hosts: {says}; verified, 2 repetitions")

        launch = [hosts.ptbench, "launch", "--hosts", both, "--shell", client]
        (code, output, errors), = hosts.finish([hosts.start_program(
            0, {}, *launch, "--", hosts.ptbench, "comm", "--sizes", "4K", "--iters", "3", "--json")])
        assert code == 0 and json.loads(output)[0]["ranks"] == 4, (code, output, errors)

        path = hosts.folder / "scaling.json"
        (code, _, errors), = hosts.finish([hosts.start_program(
            0, {}, hosts.ptbench, "sweep", "-w", "linear", "-s", "ddp", "-n", "2,4", "--threads", "1", "--rounds", "2",
            "--max-time", "2", "--oversubscribe", "--launcher", f"{shlex.join(map(str, launch))} -n {{n}} --",
            "-o", path)])
        assert code == 0, (code, errors)
        rows = [run for run in json.loads(path.read_text())["runs"] if run["strategy"]["name"] == "ddp"]
        assert [(row["status"], row["strategy"]["hosts"]) for row in rows] == [("ok", 1), ("ok", 2)], rows
        print("launch: comm, and a sweep over 1 and 2 hosts")

        endless = ["run", "-w", "linear", "--threads", "1", "-s", "ddp", "--steps", "1000000000", "--verify", "off",
                   "--timeout", "8"]
        for what in ("interrupted", "killed"):
            path = hosts.folder / f"{what}.json"
            run = hosts.start_program(0, {}, *launch, "--", hosts.ptbench, *endless, "-o", path)
            wait_until_met(run, hosts)
            time.sleep(2)
            begin = time.monotonic()
            if what == "interrupted":
                run.send_signal(signal.SIGINT)
            else:
                sh("pkill", "-KILL", "-f", "-n", f"^{hosts.ptbench} run .*{path}$")
            (code, _, errors), = hosts.finish([run])
            took = time.monotonic() - begin
            record = json.loads(path.read_text())["runs"][0]
            wanted = ("interrupted", 130) if what == "interrupted" else ("failed", 2)
            assert (record["status"], code) == wanted and took < 30, (record["status"], code, took, errors)
            print(f"launch: {what}: all ended after {took:.1f} s: {record['reason']}")
    (code, _, errors), = hosts.finish([hosts.start_program(
        0, {}, hosts.ptbench, "run", *endless[1:], "--hosts", both, "--shell", f"{client} -o ConnectTimeout=2",
        "-o", path)])
    reason = json.loads(path.read_text())["runs"][0]["reason"]
    says = f"on {hosts.address(1)}: the --shell command for this host ended with 255"
    assert code == 2 and says in reason, (code, reason, errors)
    print("a host without a server: refused, with its name")


# Who starts ranks on several hosts: its name, who ptbench says it is, by whom ranks then talk, and
# start(hosts, each, *arguments, cores=…), which gives processes of which the first is rank 0's or the launcher's.
Launcher = collections.namedtuple("Launcher", "name source communicator start")
LAUNCHERS = (
    Launcher("by hand", "torchrun", "shm+gloo", Hosts.start_ranks),
    Launcher("launch", "PTBENCH_RANK", "shm+gloo", lambda hosts, *rest, **more: [hosts.start_launched(*rest, **more)]),
    Launcher("mpirun", "Open MPI", "shm+mpi", lambda hosts, *rest, **more: [hosts.start_mpirun(*rest, **more)]),
)


def four(hosts):
    """Each launcher, with 1 and 2 ranks a host."""
    for launcher in LAUNCHERS:
        for each in (1, 2):
            path = hosts.folder / "four.json"
            try:
                results = hosts.finish(launcher.start(hosts, each, *TRAIN, "-s", "ddp", "-o", path))
            except Absent as reason:
                print(f"{launcher.name}: not tried: {reason}")
                break
            assert all(code == 0 for code, _, _ in results), results
            says = f"ranks from {launcher.source}: {hosts.who(each)}, communicator {launcher.communicator}"
            assert says in results[0][2], results[0][2]
            check_record(path, each, hosts.count, launcher.communicator)
            print(f"{launcher.name}, {each} a host: {says}; verified")


def cut_four(hosts):
    cut(hosts, ("link",), timeout=4, after=2.5)


def delayed(hosts):
    """Links of 1 ms: messages take it, ranks train, and a link that is silent in the middle ends all."""
    hosts.links.set_delay(1e-3)
    results = hosts.finish(hosts.start_ranks(1, "comm", "--communicator", "gloo", "--collective", "send_receive",
                                             "--sizes", "4", "--iters", "20", "--json"))
    row, = json.loads(results[0][1])
    assert row["wrong"] == 0 and 1e-3 <= row["seconds"] < 20e-3, row
    path = hosts.folder / "delayed.json"
    results = hosts.finish(hosts.start_ranks(1, *TRAIN, "-s", "ddp", "-o", path))
    assert all(code == 0 for code, _, _ in results), results
    check_record(path, 1, hosts.count, "shm+gloo")
    count = hosts.links.count()
    assert count["frames"] > 0 and count["lost"] == 0, count
    print(f"links of 1 ms: a message and its answer take {1e3 * row['seconds']:.2f} ms; verified")
    cut(hosts, ("link",), timeout=4, after=1.0)


def gpus(hosts):
    """NCCL between hosts, each with emulated GPUs. It says itself by which interface it talks."""
    emulator = hosts.ptbench.parent / "cuda_emulator" / "libcudart.so.13"
    module = hosts.ptbench.parent / "lib" / "ptbench" / "libptbench_nccl.so"
    if not emulator.exists() or not module.exists():
        print("gpus: not tried: there are no emulated GPUs, or no module of NCCL")
        return
    emulated = (EMULATE, "--devices", "2", hosts.ptbench)
    sh(str(EMULATE), "--prepare", "--module", str(module.parent / "libptbench_cuda.so"))
    for arguments, wanted in (([], "eth0"), (["--interface", "lo"], "lo")):
        path = hosts.folder / "gpus.json"
        ranks = hosts.start_ranks(2, *TRAIN, "-s", "ddp", "--device", "cuda", *arguments, "-o", path, program=emulated,
                                  more={"NCCL_DEBUG": "INFO"})
        results = hosts.finish(ranks)
        assert all(code == 0 for code, _, _ in results), results
        says = "ranks from torchrun: 4 on 2 hosts (alpha, beta), communicator nccl"
        assert says in results[0][2], results[0][2]
        assert all(f"Bootstrap: Using {wanted}\n" in output for _, output, _ in results), results
        check_record(path, 2, 2, "nccl")
        print(f"ddp on emulated GPUs, 2 a host: {says}, by {wanted}; verified")


# How many hosts, whether their links can be given a delay, and whether --hosts may say otherwise.
Check = collections.namedtuple("Check", "run hosts delayed any_number", defaults=(2, False, False))
CHECKS = {"train": Check(train, any_number=True), "refused": Check(refused), "comm": Check(comm, any_number=True),
          "cut": Check(cut, any_number=True), "mpi": Check(mpi, any_number=True), "ssh": Check(ssh),
          "gpus": Check(gpus),
          "four": Check(four, hosts=4), "cut-four": Check(cut_four, hosts=4), "delayed": Check(delayed, delayed=True)}


def perform(name, check, count, ptbench):
    if check.delayed and not os.access(TUN, os.R_OK | os.W_OK):
        print(f"{name}: not tried: {TUN} cannot be opened here")
        return
    with tempfile.TemporaryDirectory(prefix="hosts-") as folder, Hosts(count, folder, ptbench, check.delayed) as hosts:
        begin = time.monotonic()
        check.run(hosts)
        print(f"{name}: {time.monotonic() - begin:.1f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=", ".join(CHECKS))
    parser.add_argument("--ptbench", default="build/release/ptbench")
    parser.add_argument("--hosts", type=int, choices=range(2, len(Hosts.names) + 1),
                        help="of " + ", ".join(name for name, check in CHECKS.items() if check.any_number))
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.checks if name not in CHECKS]:
        parser.error(f"no check: {', '.join(unknown)}")
    ptbench = pathlib.Path(arguments.ptbench).resolve()
    try:
        if not (ptbench.parent / "lib" / "ptbench" / "libptbench_gloo.so").exists():
            raise Absent("gloo's module was not built")
        for name in arguments.checks or CHECKS:
            check = CHECKS[name]
            count = arguments.hosts if arguments.hosts and check.any_number else check.hosts
            perform(name, check, count, ptbench)
    except Absent as reason:
        print(f"skipped: {reason}")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
