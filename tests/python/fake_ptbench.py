"""ptbench's side of ptbench.steps/1, as far as tests of clients need it."""

import json
import os
import pathlib
import socket
import tempfile

DEADLINE = 20.0


class Connection:
    """One program's process."""

    def __init__(self, end):
        self.end = end
        self.end.settimeout(DEADLINE)
        self.hello = self.read()

    def read(self):
        """The next message; None at the end of the connection."""
        try:
            packet = self.end.recv(1 << 17)
        except ConnectionError:
            return None
        assert len(packet) <= 65_536, len(packet)
        return json.loads(packet) if packet else None

    def grant(self, upto, **more):
        self.end.send(json.dumps({"grant": upto, **more}).encode())

    def error(self, text):
        self.end.send(json.dumps({"error": text}).encode())

    def reports_to(self, number):
        """Messages until the one with step `number`, which must be the last step in it."""
        reports = []
        while not reports or reports[-1]["steps"][-1][0] < number:
            message = self.read()
            assert message is not None, f"the program left before step {number}: {reports}"
            reports.append(message)
        assert reports[-1]["steps"][-1][0] == number
        return reports

    def reports_to_end(self):
        reports = []
        while (message := self.read()) is not None:
            reports.append(message)
        return reports

    def close(self):
        self.end.close()


class FakePtbench:
    """Listens in a folder of its own; `environment` is that of programs that are to find it."""

    def __enter__(self):
        self.connections = []
        self.folder = tempfile.TemporaryDirectory()
        path = str(pathlib.Path(self.folder.name) / "steps")
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(path)
        self.listener.listen(16)
        self.listener.settimeout(DEADLINE)
        self.environment = {**os.environ, "PTBENCH_STEPS": path}
        return self

    def accept(self):
        self.connections.append(Connection(self.listener.accept()[0]))
        return self.connections[-1]

    def __exit__(self, *_):
        for connection in self.connections:
            connection.close()
        self.listener.close()
        self.folder.cleanup()


def all_steps(reports):
    return [tuple(step) for report in reports for step in report["steps"]]


def check_steps(steps):
    """Raises where they break the protocol's rules."""
    last = 0
    for at, (number, begin, end) in enumerate(steps):
        assert number == steps[0][0] + at, f"step {number} at place {at}"
        assert last <= begin <= end, f"step {number}: {begin} to {end}, after {last}"
        last = end
