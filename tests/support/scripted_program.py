"""A program that speaks ptbench.steps/1 and does as it is told, for tests: `KEY=VALUE...`.

durations=MS,...  of its steps, in turn, by a clock of its own: nothing takes that long
n=N               starts N processes of itself, one a rank; slow=MS makes rank 1 slower by that
stop=N            closes its connection after N steps; exit=CODE ends with that
at=N fault=NAME   misbehaves before it reports step N: see FAULTS
hello=JSON        members of its hello, in place of the usual ones
loss=X            of each step; phases=1 tells phases where they are wanted
meet=MS           with phases, ranks meet in the last so many ms of a step, late=MS fewer on rank 1;
                  meet_as=NAME is what they call that
real=MS           each step really sleeps so long, and is timed; unit=N tells its times in N ns
before=NAME       what it does first: talk, read, wander, daemon, loader, connect, silence
"""
import json
import os
import signal
import socket
import subprocess
import sys
import time

MS = 1_000_000
connections = []
options = dict(word.split("=", 1) for word in sys.argv[1:])


def start_ranks(count):
    ranks = []
    for rank in range(count):
        words = [word for word in sys.argv[1:] if not word.startswith("n=")]
        words += [f"rank={rank}", f"world={count}"]
        ranks.append(subprocess.Popen([sys.executable, __file__, *words]))
    sys.exit(max(abs(rank.wait()) for rank in ranks))


def begin(what):
    if what == "talk":
        for _ in range(40_000):
            print("some words of a program that talks much, line after line after line")
        sys.stdout.flush()
    elif what == "read":
        print("read", len(sys.stdin.read()), flush=True)
    elif what == "wander":
        os.chdir("/")
    elif what == "daemon":
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                with open(options["pidfile"], "w") as file:
                    file.write(str(os.getpid()))
                time.sleep(600)
            os._exit(0)
        while not os.path.exists(options["pidfile"]) or not open(options["pidfile"]).read():
            time.sleep(0.01)
    elif what == "loader":  # which never has enough in its queue
        owner = os.getpid()
        if os.fork() == 0:
            while os.getppid() == owner:
                pass
            os._exit(0)
    elif what == "connect":
        for _ in range(200):
            more = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            more.connect(os.environ["PTBENCH_STEPS"])
            connections.append(more)
    elif what == "silence":
        time.sleep(600)


class Link:
    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(os.environ["PTBENCH_STEPS"])
        hello = {"protocol": "ptbench.steps/1", "rank": int(options.get("rank", 0)),
                 "world_size": int(options.get("world", 1)), "samples": 64, "device": "cpu",
                 "framework": {"name": "scripted", "version": "1.0"}, "pid": os.getpid()}
        hello.update(json.loads(options.get("hello", "{}")))
        self.send(hello)
        self.granted, self.wants_phases = 0, False

    def send(self, message):
        try:
            self.socket.send(message if isinstance(message, bytes) else json.dumps(message).encode())
        except OSError:
            pass  # ptbench has closed the connection: the next read tells

    def more(self):
        """Waits until more is granted; False at the end."""
        before = self.granted
        while self.granted <= before:
            text = self.socket.recv(65536)
            if not text:
                return False
            message = json.loads(text)
            if "error" in message:
                print("told:", message["error"], file=sys.stderr)
                return False
            self.granted = message.get("grant", self.granted)
            self.wants_phases = message.get("phases", False)
        return True


FAULTS = {
    "garbage": lambda link, step: link.send(b"\x00\xff{"),
    "list": lambda link, step: link.send([1, 2]),
    "long": lambda link, step: link.send(b"[" * 70_000),
    "skip": lambda link, step: link.send({"steps": [[step + 5, 1, 2]]}),
    "ahead": lambda link, step: link.send({"steps": [[n, n * MS, (n + 1) * MS]
                                                     for n in range(step, step + 1000)]}),
    "backwards": lambda link, step: link.send({"steps": [[step, 10**15, 1]]}),
    "nan": lambda link, step: link.send(b'{"steps": [[%d, 1, NaN]]}' % step),
    "diverge": lambda link, step: link.send({"steps": [[step, 10**15, 10**15]],
                                             "losses": [[step, None]]}),
    "flood": lambda link, step: [link.send({"chatter": n}) for n in range(100_000)],
    "hang": lambda link, step: time.sleep(600),
    "die": lambda link, step: os.kill(os.getpid(), signal.SIGKILL),
    "crash": lambda link, step: sys.exit("the script: something is broken"),
    "linger": lambda link, step: None,
}


def report(link, steps, phases):
    message = {"steps": steps}
    if "loss" in options:
        message["losses"] = [[steps[0][0], float(options["loss"]) + steps[0][0]]]
    if phases:
        message["phases"] = []
        for number, start, end in steps:
            third = (end - start) // 4
            message["phases"] += [[number, "forward", start, start + third],
                                  [number, "backward", start + third, start + 3 * third],
                                  [number, "unheard-of", start, end]]
        if "meet" in options:
            late = float(options.get("late", 0)) if options.get("rank") == "1" else 0
            meeting = round((float(options["meet"]) - late) * MS)
            message["phases"] = [phase for number, start, end in steps for phase in
                                 ([number, "backward", start, end - meeting],
                                  [number, options.get("meet_as", "communication"), end - meeting, end])]
    link.send(message)


def train():
    link = Link()
    durations = [round(float(text) * MS) for text in options.get("durations", "1").split(",")]
    if options.get("rank") == "1":
        durations = [one + round(float(options.get("slow", 0)) * MS) for one in durations]
    number, clock, batch = 0, 1000, []
    fault_at, stop = int(options.get("at", -1)), int(options.get("stop", -1))
    while True:
        if number >= link.granted:
            if batch:
                report(link, batch, link.wants_phases and "phases" in options)
                batch = []
            if not link.more():
                break
        number += 1
        if number == fault_at:
            FAULTS[options["fault"]](link, number)
        if "real" in options:
            unit, start = int(options.get("unit", 1)), time.monotonic_ns()
            time.sleep(float(options["real"]) / 1000)
            batch.append([number, start // unit, time.monotonic_ns() // unit])
        else:
            end = clock + durations[number % len(durations)]
            batch.append([number, clock, end])
            clock = end
        if number == stop:
            report(link, batch, False)
            link.socket.close()
            break
        if len(batch) == 1000:
            report(link, batch, link.wants_phases and "phases" in options)
            batch = []
    if options.get("fault") == "linger":
        time.sleep(600)
    print("the loop has ended", flush=True)
    sys.exit(int(options.get("exit", 0)))


if "n" in options:
    start_ranks(int(options["n"]))
begin(options.get("before", ""))
train()
