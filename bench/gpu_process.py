"""Commands that end at a deadline with all that they started, for scripts/gpu-check."""
import contextlib
import os
import signal
import subprocess
import tempfile

GRACE = 5.0  # seconds between asking a command to end and ending it
SCALE = 1.0  # of all seconds that a command is waited for; tests make them short
NOT_STARTED = 127


class Outcome:
    """Of a command: how it ended, or None where the deadline ended it, and what it printed."""

    def __init__(self, code, output, errors):
        self.code, self.output, self.errors = code, output, errors

    def last_line(self):
        lines = [line for line in (self.errors + "\n" + self.output).splitlines() if line.strip(" =")]
        return lines[-1].strip() if lines else "it said nothing"


class Command:
    """A process in a session of its own, which runs from now on. Its output goes to files, so that nothing that it
    leaves behind can hold up who reads it."""

    def __init__(self, words, folder, environment=None):
        self.process, self.failure = None, ""
        self.files = [tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") for _ in range(2)]
        try:
            self.process = subprocess.Popen(
                [str(word) for word in words], cwd=folder, start_new_session=True, stdin=subprocess.DEVNULL,
                stdout=self.files[0], stderr=self.files[1], env=os.environ | (environment or {}))
        except OSError as error:
            self.failure = str(error)
            self.close()

    def wait(self, seconds):
        """The outcome, after so many seconds at most."""
        if self.process is None:
            return Outcome(NOT_STARTED, "", self.failure)
        try:
            self.process.wait(timeout=max(0.0, seconds) * SCALE)
        except subprocess.TimeoutExpired:
            self.end()
            return self.outcome(None)
        except BaseException:
            self.end()
            self.close()
            raise
        return self.outcome(self.process.returncode)

    def end(self):
        """Ends it, if it still runs, and whatever else is left of its session's first group."""
        if self.process is None or self.process.returncode is not None:
            return
        self.send(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=GRACE * SCALE)
        self.send(signal.SIGKILL)
        self.process.wait()

    def send(self, number):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    def outcome(self, code):
        texts = []
        for file in self.files:
            file.seek(0)
            texts.append(file.read())
        self.close()
        return Outcome(code, *texts)

    def close(self):
        for file in self.files:
            file.close()
