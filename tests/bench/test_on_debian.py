"""scripts/on-debian refuses with exit codes that tell what to do. Programs that it starts are stubs."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from scripts import ROOT


class OnDebian(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "scripts").mkdir()
        (self.folder / "bin").mkdir()
        shutil.copy(ROOT / "scripts" / "on-debian", self.folder / "scripts")
        self.stub("scripts/setup", 1)
        for program in ("sudo", "unshare", "debootstrap", "apt-get"):
            self.stub(f"bin/{program}", 1)

    def stub(self, path, status):
        """A program that only leaves its arguments, in a file beside it."""
        program = self.folder / path
        program.write_text(f'#!/bin/sh\necho "$@" >>"$0.started"\nexit {status}\n')
        program.chmod(0o755)

    def started(self, path):
        arguments = self.folder / f"{path}.started"
        return arguments.read_text() if arguments.exists() else ""

    def run_script(self, *arguments):
        environment = {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "HOME": str(self.folder)}
        return subprocess.run([self.folder / "scripts" / "on-debian", *arguments], env=environment, timeout=30,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    def check_refusal(self, result, message):
        self.assertEqual(result.returncode, 77, result.stderr)
        self.assertIn(message, result.stderr)
        self.assertFalse((self.folder / ".cache" / "ptbench-roots" / "debian-13").exists())

    def test_an_unknown_release_is_a_mistake(self):
        for arguments in ((), ("11",), ("trixie", "true")):
            result = self.run_script(*arguments)
            self.assertEqual(result.returncode, 1)
            self.assertIn("usage: scripts/on-debian 12|13", result.stderr)
        self.assertFalse((self.folder / ".cache").exists())

    @unittest.skipIf(os.geteuid() == 0, "root needs no sudo")
    def test_sudo_that_refuses_is_no_failure(self):
        self.check_refusal(self.run_script("13", "true"), "sudo refused")
        self.assertIn("-n", self.started("bin/sudo").split())

    @unittest.skipUnless(os.geteuid() == 0, "only root gets that far")
    def test_without_the_right_to_mount_nothing_is_installed(self):
        self.check_refusal(self.run_script("13", "true"), "does not let root mount")
        self.assertIn("mount -t proc", self.started("bin/unshare"))
        self.assertEqual(self.started("scripts/setup"), "")

    @unittest.skipUnless(os.geteuid() == 0, "only root gets that far")
    def test_a_set_up_that_fails_is_no_failure(self):
        self.stub("bin/unshare", 0)
        self.check_refusal(self.run_script("13", "true"), "debootstrap cannot be installed")
        self.assertEqual(self.started("scripts/setup"), "roots\n")

    @unittest.skipUnless(os.geteuid() == 0, "only root gets that far")
    def test_a_root_that_is_not_complete_is_removed(self):
        self.stub("scripts/setup", 0)
        # The probe may mount; debootstrap fails.
        (self.folder / "bin/unshare").write_text('#!/bin/sh\ncase "$*" in *debootstrap*) exit 1 ;; esac\n')
        (self.folder / "bin/apt-get").write_text("#!/bin/sh\necho http://debian.invalid/ bookworm main\n")
        self.check_refusal(self.run_script("13", "true"), "debootstrap failed")


if __name__ == "__main__":
    unittest.main()
