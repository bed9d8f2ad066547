"""aarch64_test.py SYMTILE RUN_PATTERN SOURCE_DIR: runs generated AArch64 code, under an emulator.

The runtime is built for AArch64 with a cross compiler and run by QEMU's user emulation; its outputs
are compared with those of the same model on this machine. Skipped where g++-aarch64-linux-gnu or
qemu-user is not installed.
"""

import array
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile

symtile, native, source = sys.argv[1:4]
source = pathlib.Path(source)
sys.path[:0] = [str(source / "test/cli"), str(source / "scripts")]
import fetch_models  # noqa: E402
from tool import Suite, run  # noqa: E402

SYSROOT = "/usr/aarch64-linux-gnu"
suite = Suite()
missing = [tool for tool in ("aarch64-linux-gnu-g++", "qemu-aarch64") if not shutil.which(tool)]
if missing:
    print(f"SKIP: {' and '.join(missing)} not found (packages g++-aarch64-linux-gnu, qemu-user)")
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(77)


def cross_build(folder):
    """run_pattern with the whole runtime in it."""
    includes = folder / "include"
    includes.mkdir()
    (includes / "fmt").symlink_to("/usr/include/fmt")  # header-only; nothing else of this machine
    files = [str(source / "test/cross/run_pattern.cpp")]
    for room in ("base", "diag", "format", "runtime"):
        files += [str(f) for f in (source / "src/symtile" / room).rglob("*.cpp")
                  if not f.name.endswith("_test.cpp")]
    program = folder / "run_pattern"
    objects = []
    for i, file in enumerate(files):
        objects.append((f"{folder}/{i}.o", subprocess.Popen(
            ["aarch64-linux-gnu-g++", "-std=c++20", "-O1", "-DFMT_HEADER_ONLY", '-DSYMTILE_VERSION="cross"',
             f"-I{source}/src", f"-I{source}/include", "-isystem", str(includes), "-c", file,
             "-o", f"{folder}/{i}.o"])))
        if i % 2:
            for _, process in objects[-2:]:
                process.wait()
    if any(process.wait() for _, process in objects):
        sys.exit("the runtime does not compile for AArch64")
    subprocess.run(["aarch64-linux-gnu-g++", "-o", str(program), *[o for o, _ in objects], "-pthread", "-ldl"],
                   check=True)
    return program


def outputs(command, out):
    """[(element type, bytes)]"""
    result = run(*command, timeout=600)
    if result.code:
        raise RuntimeError(f"exit code {result.code}: {result.err.strip()[:500]}")
    data, found = out.read_bytes(), []
    for line in result.out.splitlines():
        dtype, size = line.split()
        found.append((dtype, data[:int(size)]))
        data = data[int(size):]
    return found


def floats_differ(a, b):
    for i, (p, q) in enumerate(zip(array.array("f", a), array.array("f", b))):
        if p == q or math.isnan(p) and math.isnan(q):
            continue
        if not abs(p - q) <= 1e-4 * max(1.0, abs(p)):
            return f"element {i}: {p} against {q}"
    return ""


def difference(ours, theirs):
    """f32 agree to 1e-4, everything else to the bit."""
    if [(d, len(b)) for d, b in ours] != [(d, len(b)) for d, b in theirs]:
        return "outputs of other types or sizes"
    for i, ((dtype, a), (_, b)) in enumerate(zip(ours, theirs)):
        if a == b:
            continue
        why = floats_differ(a, b) if dtype == "f32" else f"{dtype} differ"
        if why:
            return f"output {i}: {why}"
    return ""


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    program = cross_build(folder)
    cases = [(source / "test/cross/operators.sym", shapes) for shapes in
             (("5x37", "37x19"), ("1x1", "1x1"), ("0x8", "8x3"), ("64x129", "129x65"))]
    cases += [(fetch_models.model_path("blazeface"), ("1x256x256x3",)),
              (fetch_models.model_path("ocr_rec"), ("1x3x48x40",))]
    for model, shapes in cases:
        label = f"{model.name} at {' '.join(shapes)}"
        if not model.exists():
            suite.skip(label, "not fetched; run scripts/fetch_models.py")
            continue
        artifact, ours, theirs = folder / "model.symtile", folder / "ours", folder / "theirs"
        compiled = run(symtile, "compile", model, "-o", artifact, "--quiet", "--cpu", "x86-64-v2",
                       "--cpu", "armv8")
        if compiled.code:
            suite.check(label, False, compiled.err)
            continue
        try:
            why = difference(outputs((native, artifact, ours, *shapes), ours),
                             outputs(("qemu-aarch64", "-L", SYSROOT, program, artifact, theirs, *shapes), theirs))
        except RuntimeError as error:
            why = str(error)
        suite.check(label, not why, why)
suite.finish()
