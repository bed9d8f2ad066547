"""Runs a command-line tool, and counts what went right."""

import subprocess
import sys


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err


class Suite:
    """Checks by name; `finish` prints the counts and gives the exit code."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, name, ok, why=""):
        if ok:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED {name}: {why}")

    def skip(self, name, why):
        self.skipped += 1
        print(f"SKIP: {name}: {why}")

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        sys.exit(1 if self.failed else 0)


def run(*command, timeout=120):
    done = subprocess.run([str(c) for c in command], capture_output=True, timeout=timeout,
                          stdin=subprocess.DEVNULL)
    return Result(done.returncode, done.stdout.decode(errors="replace"),
                  done.stderr.decode(errors="replace"))
