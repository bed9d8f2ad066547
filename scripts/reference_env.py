"""A Python environment with ONNX Runtime, in the cache: scripts run themselves again in it.

    import reference_env
    reference_env.enter()        # returns only inside the environment
    import numpy, onnxruntime

Where the packages cannot be installed it prints `SKIP: reason` and exits with 77, which ctest
counts as skipped.
"""

import hashlib
import importlib.util
import os
import pathlib
import subprocess
import sys

SKIPPED = 77
REQUIREMENTS = pathlib.Path(__file__).with_name("requirements-reference.txt")


def cache_dir():
    return pathlib.Path(os.environ.get("SYMTILE_CACHE") or pathlib.Path.home() / ".cache/symtile")


def run(command, what):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        wanted = [line for line in lines if line.startswith("ERROR")]
        print(f"SKIP: {what} cannot be installed: {(wanted or lines or ['no message'])[-1]}")
        sys.exit(SKIPPED)


def environment(requirements, what):
    """The Python of an environment made for these requirements; makes it when it is not there."""
    tag = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:12]
    folder = cache_dir() / f"{requirements.stem.removeprefix('requirements-')}-{tag}"
    python = folder / "bin/python"
    complete = folder / "complete"
    if not complete.exists():
        run([sys.executable, "-m", "venv", str(folder)], what)
        run([str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries=1",
             "--timeout=60", "-r", str(requirements)], what)
        complete.touch()
    return python


def enter(requirements=REQUIREMENTS, modules=("numpy", "onnx", "onnxruntime"),
          variable="SYMTILE_REFERENCE_ENV", what="ONNX Runtime"):
    if os.environ.get(variable) or all(importlib.util.find_spec(name) for name in modules):
        return
    python = str(environment(requirements, what))
    os.environ[variable] = "1"
    sys.stdout.flush()
    os.execv(python, [python] + sys.argv)
