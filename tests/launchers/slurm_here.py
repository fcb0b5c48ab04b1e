"""A Slurm of one node, for tests: its daemons run as this user, out of a folder, on ports of their own.

It has more cores than the machine, so that no step waits for the one before to be cleared away.
"""
import contextlib
import os
import shutil
import socket
import subprocess
import time

START = 30  # seconds for the daemons to take a job

CONFIGURATION = """\
ClusterName=here
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
MpiDefault=none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=16
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


class Absent(Exception):
    """A launcher that this machine lacks."""


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def daemon(name):
    """Where it lies: these are in /usr/sbin, which users' paths need not have."""
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not found:
        raise Absent(f"there is no {name}")
    return found


def munge(folder):
    """A munged with a key of its own, and where its socket is."""
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    files = [f"--{name}={folder}/munge.{suffix}" for name, suffix in
             (("key-file", "key"), ("socket", "socket"), ("pid-file", "pid"), ("log-file", "log"),
              ("seed-file", "seed"))]
    return [daemon("munged"), "--foreground", "--force", "--num-threads=2", *files]


def wait_until_ready(variables):
    end = time.monotonic() + START
    while True:
        tried = subprocess.run(["srun", "-Q", "--immediate=1", "-n", "1", "true"], env=variables,
                               capture_output=True, text=True, check=False, timeout=START)
        if tried.returncode == 0:
            return
        if time.monotonic() > end:
            raise AssertionError(f"Slurm did not start within {START} s: {tried.stderr}")
        time.sleep(0.2)


@contextlib.contextmanager
def slurm_here(folder):
    """Gives the variables with which srun finds it. Raises Absent where Slurm is not installed."""
    controller, node = daemon("slurmctld"), daemon("slurmd")
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    ports = free_ports(2)
    configuration = folder / "slurm.conf"
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    configuration.write_text(CONFIGURATION.format(
        host=socket.gethostname().partition(".")[0], controller_port=ports[0], node_port=ports[1], user=user,
        folder=folder))
    variables = {"SLURM_CONF": str(configuration)}
    log = (folder / "daemons.log").open("wb")
    with contextlib.ExitStack() as stack:
        stack.enter_context(log)
        for command in (munge(folder), [controller, "-D"], [node, "-D"]):
            started = subprocess.Popen(command, env={**os.environ, **variables}, stdout=log, stderr=log)
            stack.callback(started.wait)
            stack.callback(started.terminate)
            end = time.monotonic() + START
            while command[0].endswith("munged") and not (folder / "munge.socket").exists():
                if started.poll() is not None:
                    raise AssertionError(f"munged ended: {(folder / 'daemons.log').read_text()}")
                if time.monotonic() > end:
                    raise AssertionError("munged did not start")
                time.sleep(0.05)
        wait_until_ready({**os.environ, **variables})
        yield variables
