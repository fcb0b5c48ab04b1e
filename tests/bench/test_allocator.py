import os
import unittest
from unittest import mock

import scripts  # noqa: F401  finds the module below
import allocator


class Allocator(unittest.TestCase):
    def preloaded(self, before, is_there=True):
        """LD_PRELOAD of the program that is started anew; None where none is."""
        environment = {} if before is None else {"LD_PRELOAD": before}
        with mock.patch.dict(os.environ, environment, clear=True), \
                mock.patch.object(allocator, "is_there", lambda: is_there), \
                mock.patch.object(os, "execv") as execv:
            allocator.start_with_tcmalloc()
            return os.environ["LD_PRELOAD"] if execv.called else None

    def test_the_program_is_started_anew_with_tcmalloc(self):
        self.assertEqual(self.preloaded(None), allocator.LIBRARY)

    def test_what_is_preloaded_besides_stays(self):
        self.assertEqual(self.preloaded("/opt/malloc/libomp.so.5"), f"{allocator.LIBRARY}:/opt/malloc/libomp.so.5")

    def test_an_allocator_that_is_named_stays(self):
        self.assertIsNone(self.preloaded(allocator.LIBRARY))
        self.assertIsNone(self.preloaded("/usr/lib/libjemalloc.so.2"))
        self.assertIsNone(self.preloaded("libomp.so.5 libscudo.so"))
        self.assertIsNone(self.preloaded("libasan.so.8"))

    def test_without_tcmalloc_the_program_goes_on(self):
        self.assertIsNone(self.preloaded(None, is_there=False))


if __name__ == "__main__":
    unittest.main()
