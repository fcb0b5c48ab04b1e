#!/usr/bin/env python3
"""Links between network namespaces that hold every frame back for a while, as a distance does.

Each namespace has a TAP device in the place of a cable. A process, the relay, is the switch between them: what one
host sends it gives to the other after the delay, and in order. For kernels without netem; a rate is `tc`'s business.
Frames cross it as the kernel hands them to a network card that cuts and checks them itself, up to 64 KiB at once, so
that a link of 1 Gbit/s is some thousand frames a second. Only Python's standard library is used.

    with DelayedLinks() as links:
        links.plug("ptb1h0", "eth0")    # a device of that name in that namespace; the first host
        links.start()
        links.set_delay(1e-3)           # seconds, each way
"""
import argparse
import collections
import contextlib
import fcntl
import gc
import json
import os
import select
import struct
import subprocess
import sys
import time

TUN = "/dev/net/tun"
# <linux/if_tun.h>
TUNSETIFF, TUNSETOFFLOAD = 0x400454CA, 0x400454D0
IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
TUN_F_CSUM, TUN_F_TSO4, TUN_F_TSO6 = 0x01, 0x02, 0x04
VNET_BYTES = 10              # struct virtio_net_hdr, before each frame
FRAME_BYTES = (1 << 16) + 64
FRAMES_AT_ONCE = 32          # of one host, before others and frames that are due have their turn
MOST_WAITING = 128 << 20     # bytes; what comes then is lost
PRIORITY = 10                # of SCHED_FIFO: so that ranks that compute do not delay frames further
LATE = 1e-3                  # seconds


def open_tap(name):
    """The descriptor of a new device of that name, which lives as long as somebody has it open."""
    tap = os.open(TUN, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI | IFF_VNET_HDR))
        fcntl.ioctl(tap, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6)
    except OSError:
        os.close(tap)
        raise
    return tap


class DelayedLinks:
    """The devices and their relay. OSError where this machine cannot make them."""

    def __init__(self):
        self.taps = []
        self.relay = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def plug(self, space, name):
        """A device in that namespace, down and without address."""
        outside = f"ptb{os.getpid() % 100000}t{len(self.taps)}"
        self.taps.append(open_tap(outside))
        done = subprocess.run(["ip", "link", "set", outside, "netns", space, "name", name],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise OSError(f"{outside} cannot be moved to {space}: {done.stderr.strip()}")

    def start(self):
        """From now on frames pass, without delay."""
        self.relay = subprocess.Popen([sys.executable, "-B", __file__, *map(str, self.taps)], pass_fds=self.taps,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.ask("count")

    def set_delay(self, seconds):
        """Each way."""
        self.ask(f"delay {seconds!r}")

    def cut(self, host):
        """Nothing that this host, by number, sends or is sent arrives; its device knows nothing of it."""
        self.ask(f"cut {host}")

    def mend(self, host):
        self.ask(f"mend {host}")

    def count(self):
        """What passed since this was asked last: frames, bytes, those that were lost, how late frames left."""
        return json.loads(self.ask("count"))

    def ask(self, command):
        try:
            self.relay.stdin.write(command + "\n")
            self.relay.stdin.flush()
            answer = self.relay.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise OSError(f"the relay of delayed links ended with {self.relay.wait()}")
        return answer

    def close(self):
        """Devices go with their last descriptor."""
        if self.relay is not None:
            self.relay.stdin.close()
            self.relay.wait()
            self.relay.stdout.close()
            self.relay = None
        while self.taps:
            os.close(self.taps.pop())


class Relay:
    """The switch: the one process's loop over all devices."""

    def __init__(self, taps):
        self.taps = taps
        self.delay = 0.0
        self.cut = set()
        self.places = {}                    # hardware address → descriptor of the device behind which it was seen
        self.waiting = collections.deque()  # (when due, descriptors, frame)
        self.bytes_waiting = 0
        self.begin_count()

    def begin_count(self):
        self.frames = self.bytes = self.lost = self.late = 0
        self.lateness = self.worst = 0.0
        self.since = time.monotonic(), time.process_time()

    def run(self):
        """Until standard input ends."""
        commands = os.fdopen(0, "rb", buffering=0)
        unread = b""
        while True:
            ready, _, _ = select.select([*self.taps, commands], [], [], self.seconds_left())
            for tap in ready:
                if tap is not commands:
                    self.take(tap)
            self.release()
            if commands in ready:
                part = commands.read(4096)
                if not part:
                    return
                *lines, unread = (unread + part).split(b"\n")
                for line in lines:
                    print(json.dumps(self.obey(*line.decode().split())), flush=True)

    def seconds_left(self):
        return max(0.0, self.waiting[0][0] - time.monotonic()) if self.waiting else None

    def take(self, tap):
        for _ in range(FRAMES_AT_ONCE):
            try:
                frame = os.read(tap, FRAME_BYTES)
            except OSError:  # nothing more, or the device is down
                return
            to, source = frame[VNET_BYTES:VNET_BYTES + 6], frame[VNET_BYTES + 6:VNET_BYTES + 12]
            self.places[source] = tap
            known = self.places.get(to)
            targets = [known] if known is not None else [other for other in self.taps if other != tap]
            if tap in self.cut:
                continue
            if self.bytes_waiting > MOST_WAITING:
                self.lost += 1
                continue
            self.waiting.append((time.monotonic() + self.delay, targets, frame))
            self.bytes_waiting += len(frame)

    def release(self):
        while self.waiting:
            due, targets, frame = self.waiting[0]
            late = time.monotonic() - due
            if late < 0:
                return
            self.waiting.popleft()
            self.bytes_waiting -= len(frame)
            for target in targets:
                if target not in self.cut:
                    with contextlib.suppress(OSError):  # of a device that is down
                        os.write(target, frame)
            self.frames += 1
            self.bytes += len(frame) - VNET_BYTES
            self.lateness += late
            self.worst = max(self.worst, late)
            self.late += late > LATE

    def obey(self, command, value=None):
        if command == "delay":
            self.delay = float(value)
        elif command == "cut":
            self.cut.add(self.taps[int(value)])
        elif command == "mend":
            self.cut.discard(self.taps[int(value)])
        wall, processor = self.since
        told = {"frames": self.frames, "bytes": self.bytes, "lost": self.lost, "late": self.late,
                "mean_lateness_seconds": self.lateness / max(1, self.frames), "worst_lateness_seconds": self.worst,
                "share_of_a_core": (time.process_time() - processor) / max(1e-9, time.monotonic() - wall)}
        if command == "count":
            self.begin_count()
        return told


def relay(taps):
    gc.disable()
    with contextlib.suppress(OSError):  # frames leave later then, and the count says so
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    with contextlib.suppress(OSError), open("/proc/self/timerslack_ns", "w", encoding="ascii") as slack:
        slack.write("1")
    Relay(taps).run()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("taps", nargs="+", type=int, metavar="DESCRIPTOR")
    relay(parser.parse_args().taps)
