"""hostile_test.py SYMTILE: malformed files and wrong inputs.

Each must give one paragraph on stderr that says what is wrong, nothing on stdout, and exit code 1
(3 where a file is missing): no crash, no hang, no internal error.
"""

import os
import struct
import sys
import tempfile
from pathlib import Path

import onnx_writer as w
from tool import Suite, run

symtile = sys.argv[1]
suite = Suite()
folder = Path(tempfile.mkdtemp(prefix="symtile_hostile_"))


def write(name, content):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def expect(name, result, says, code=1):
    """`says`: words that the message must have, in any case of letters."""
    text = result.err.strip()
    missing = [s for s in says if s.lower() not in text.lower()]
    if result.code != code:
        suite.check(name, False, f"exit code {result.code}, not {code}: {text[:300]}")
    elif not text or "\n\n" in text or len(text) > 4000:
        suite.check(name, False, f"not one paragraph: {text[:300]!r}")
    elif "internal error" in text:
        suite.check(name, False, text)
    elif result.out:
        suite.check(name, False, f"printed to stdout: {result.out[:200]!r}")
    else:
        suite.check(name, not missing, f"does not say {missing}: {text[:300]}")


def bad_model(name, content, says, file=None):
    path = write(file or f"{name}.onnx", content)
    expect(name, run(symtile, "compile", path, "-o", folder / "out.symtile"), says)


def model_with_weight(external):
    return w.model(w.graph(
        [w.node("Add", ["x", "k"], ["y"])], [w.value_info("x", w.FLOAT, ["N", 4])],
        [w.value_info("y", w.FLOAT, ["N", 4])],
        [w.tensor("k", w.FLOAT, [4], external=external)]))


def files_that_are_no_model():
    good = w.small_model()
    bad_model("truncated", good[:len(good) // 2], ["truncated or corrupt"])
    bad_model("cut by one byte", good[:-1], ["truncated or corrupt"])
    bad_model("empty", b"", ["empty"])
    bad_model("text", "just a line of text\n" * 20, ["not an ONNX model"])
    bad_model("zeros", b"\0" * 4096, ["zeros"])
    bad_model("random bytes", bytes(i * 73 % 251 for i in range(5000)), ["not an ONNX model"])
    bad_model("git-lfs pointer", "version https://git-lfs.github.com/spec/v1\n"
              "oid sha256:0000\nsize 123\n", ["Git-LFS"])
    bad_model("html page", "<!DOCTYPE html>\n<html><body>404</body></html>\n", ["HTML"])
    bad_model("zip archive", b"PK\x03\x04" + b"\0" * 100, ["zip"])
    bad_model("no graph", w.model(None), ["no graph"])
    bad_model("no ir version", w.model(w.graph([], [], []), ir_version=None), ["IR version"])
    bad_model("future ir version", w.model(w.graph([], [], []), ir_version=9999), ["IR version"])
    bad_model("future opset", w.model(w.graph([w.node("Relu", ["x"], ["y"])],
                                              [w.value_info("x", w.FLOAT, [4])],
                                              [w.value_info("y", w.FLOAT, [4])]), opset=9999),
              ["operator set", "9999"])
    bad_model("no outputs", w.model(w.graph([w.node("Relu", ["x"], ["y"])],
                                            [w.value_info("x", w.FLOAT, [4])], [])), ["outputs"])
    bad_model("module text that does not parse", "graph @main(%x: Tensor[(n), f32]) -> {\n",
              ["bad_text"], file="bad.sym")
    bad_model("module text without main", "", ["main"], file="empty.sym")
    bad_model("binary module text", bytes(range(256)), ["bad_text"], file="binary.sym")
    bad_model("deeply nested module text", "graph @main(%x: Tensor[(" + "(" * 100000 + "n", ["bad_text"],
              file="deep.sym")


def graphs_that_are_wrong():
    x = [w.value_info("x", w.FLOAT, ["N", 4])]
    y = [w.value_info("y", w.FLOAT, None)]

    def graph(name, nodes, says, inputs=None, initializers=()):
        bad_model(name, w.model(w.graph(nodes, inputs or x, y, initializers)), says)

    graph("cyclic graph", [w.node("Add", ["x", "b"], ["a"]), w.node("Relu", ["a"], ["b"]),
                           w.node("Relu", ["b"], ["y"])], ["cycle"])
    graph("node that feeds itself", [w.node("Add", ["x", "y"], ["y"])], ["cycle"])
    graph("value that nobody makes", [w.node("Add", ["x", "ghost"], ["y"])], ["ghost"])
    graph("value made twice", [w.node("Relu", ["x"], ["y"], name="one"),
                               w.node("Relu", ["x"], ["y"], name="two")], ["y"])
    graph("output that nobody makes", [w.node("Relu", ["x"], ["z"])], ["y"])
    graph("unknown operator", [w.node("Frobnicate", ["x"], ["y"])], ["unsupported", "Frobnicate"])
    graph("unknown domain", [w.node("Relu", ["x"], ["y"], domain="com.example")],
          ["unsupported", "com.example"])
    graph("too few operands", [w.node("MatMul", ["x"], ["y"])], ["MatMul"])
    graph("shapes that cannot meet", [w.node("MatMul", ["x", "k"], ["y"])], ["MatMul", "4", "5"],
          initializers=[w.tensor("k", w.FLOAT, [5, 2], w.floats([0] * 10))])
    graph("dtypes that cannot meet", [w.node("Add", ["x", "k"], ["y"])], ["f32", "i64"],
          initializers=[w.tensor("k", w.INT64, [4], w.int64s([0] * 4))])
    graph("rank that is too low", [w.node("Conv", ["x", "k"], ["y"])], ["Conv"],
          initializers=[w.tensor("k", w.FLOAT, [1, 4, 3, 3], w.floats([0] * 36))])
    graph("axis out of range", [w.node("Softmax", ["x"], ["y"], axis=7)], ["axis", "7"])
    graph("attribute out of range", [w.node("Transpose", ["x"], ["y"], perm=[0, 0])], ["perm"])
    graph("negative extent of a constant", [w.node("Add", ["x", "k"], ["y"])], ["k", "-4"],
          initializers=[w.tensor("k", w.FLOAT, [-4], w.floats([0] * 4))])
    graph("huge extents of a constant", [w.node("Add", ["x", "k"], ["y"])], ["k"],
          initializers=[w.tensor("k", w.FLOAT, [1 << 40, 1 << 40], b"")])
    graph("constant with too few bytes", [w.node("Add", ["x", "k"], ["y"])], ["k"],
          initializers=[w.tensor("k", w.FLOAT, [4], w.floats([0] * 3))])
    graph("constant of an unknown type", [w.node("Add", ["x", "k"], ["y"])], ["k"],
          initializers=[w.tensor("k", 99, [4], b"\0" * 16)])
    graph("huge dimension of an input", [w.node("Relu", ["x"], ["y"])], ["too_large"],
          inputs=[w.value_info("x", w.FLOAT, [1 << 62, 4])])
    graph("input without a rank", [w.node("Relu", ["x"], ["y"])], ["rank"],
          inputs=[w.value_info("x", w.FLOAT, None)])
    graph("input of strings", [w.node("Identity", ["x"], ["y"])], ["string"],
          inputs=[w.value_info("x", w.STRING, [4])])
    graph("reshape to the wrong size", [w.node("Reshape", ["k", "s"], ["y"])], ["Reshape"],
          initializers=[w.tensor("k", w.FLOAT, [6], w.floats([0] * 6)),
                        w.tensor("s", w.INT64, [2], w.int64s([4, 2]))])


def external_data():
    write("weights/outside.bin", b"\0" * 16)
    inside = folder / "external"
    inside.mkdir()
    (inside / "short.bin").write_bytes(b"\0" * 10)
    os.symlink(folder / "weights/outside.bin", inside / "link.bin")
    os.link(folder / "weights/outside.bin", inside / "hard.bin")
    os.symlink(folder / "weights", inside / "linked_folder")
    places = {
        "missing external data": ("nothing.bin", "nothing.bin"),
        "external data above the folder": ("../weights/outside.bin", "outside"),
        "external data hidden above the folder": ("sub/../../weights/outside.bin", "outside"),
        "absolute external data": (str(folder / "weights/outside.bin"), "absolute"),
        "external data behind a symlink": ("link.bin", "link"),
        "external data behind a linked folder": ("linked_folder/outside.bin", "link"),
        "external data with a second name": ("hard.bin", "hard link"),
        "external data that is too short": ("short.bin", "short.bin"),
        "external data that is a folder": (".", "external_data"),
        "external data without a place": ("", "external_data"),
    }
    for name, (location, says) in places.items():
        bad_model(name, model_with_weight([("location", location)]), ["external_data", says],
                  file=f"external/{name}.onnx")
    bad_model("external data at a negative offset",
              model_with_weight([("location", "short.bin"), ("offset", "-8")]), ["external_data"],
              file="external/negative.onnx")
    bad_model("external data at a huge offset",
              model_with_weight([("location", "short.bin"), ("offset", str(1 << 63))]),
              ["external_data"], file="external/huge.onnx")


def inputs_of_a_run():
    model = write("unary.onnx", w.unary())
    zeros = w.floats([0] * 8)
    good = w.npy("<f4", "(2, 4)", zeros)

    def bad_input(name, content, says, code=1, extra=()):
        path = write(f"inputs/{name}.npy", content)
        expect(name, run(symtile, "run", model, "--input", f"x={path}", *extra), says, code)

    bad_input("npy: empty", b"", ["bad_npy"])
    bad_input("npy: bad magic", b"\x93NUMPI" + good[6:], ["bad_npy", "magic"])
    bad_input("npy: unknown version", b"\x93NUMPY\x09" + good[7:], ["bad_npy", "version"])
    bad_input("npy: header cut short", good[:20], ["bad_npy", "cut short"])
    bad_input("npy: data cut short", good[:-1], ["bad_npy", "32 bytes"])
    bad_input("npy: too much data", good + b"\0", ["bad_npy", "32 bytes"])
    bad_input("npy: objects", w.npy("|O", "(2, 4)", zeros), ["bad_npy", "|O"])
    bad_input("npy: big-endian", w.npy(">f4", "(2, 4)", zeros), ["bad_npy", "little-endian"])
    bad_input("npy: complex", w.npy("<c8", "(4,)", zeros), ["bad_npy", "<c8"])
    bad_input("npy: records", w.npy("", "", zeros, header="{'descr': [('a', '<f4')], "
              "'fortran_order': False, 'shape': (8,), }"), ["bad_npy", "structured"])
    bad_input("npy: no shape", w.npy("", "", zeros, header="{'descr': '<f4', "
              "'fortran_order': False, }"), ["bad_npy", "shape"])
    bad_input("npy: negative extent", w.npy("<f4", "(-2, 4)", zeros), ["bad_npy", "-2"])
    bad_input("npy: extent that is no number", w.npy("<f4", "(L,)", zeros), ["bad_npy", "L"])
    bad_input("npy: huge extents", w.npy("<f4", f"({1 << 62}, 64)", zeros), ["bad_npy", "64 bits"])
    bad_input("npy: more than it has", w.npy("<f4", f"({1 << 40}, 4)", zeros), ["bad_npy"])
    bad_input("npy: header without end", w.npy("<f4", "(2, 4", zeros, header="{'descr': '<f4"),
              ["bad_npy"])
    bad_input("npy: a text file", "1.0 2.0 3.0\n", ["bad_npy"])
    bad_input("wrong dtype", w.npy("<f8", "(2, 2)", w.floats([0] * 8)), ["x", "f64", "f32"])
    bad_input("wrong rank", w.npy("<f4", "(8,)", zeros), ["x", "rank"])
    bad_input("wrong extent", w.npy("<f4", "(4, 2)", zeros), ["x", "2", "4"])
    bad_input("unknown input", good, ["ghost"], extra=("--input", f"ghost={model}"))
    bad_input("out of the range of a fact", good, ["N", "2"], extra=("--dim", "N=3..9"))
    expect("missing input", run(symtile, "run", model), ["x"])
    expect("input without a file", run(symtile, "run", model, "--input", "x"), ["NAME=FILE.npy"])
    expect("input file that is missing",
           run(symtile, "run", model, "--input", f"x={folder}/no.npy"), ["no.npy"], 3)
    expect("model that is missing", run(symtile, "run", folder / "no.onnx"), ["no.onnx"], 3)
    expect("model that is a folder", run(symtile, "compile", folder, "-o", folder / "o"),
           ["directory"], 3)
    expect("output that cannot be written",
           run(symtile, "compile", model, "-o", folder / "no/where.symtile", "--quiet"), ["where"], 3)


def facts():
    model = write("facts.onnx", w.unary(dims=("N", "N")))
    for name, fact, says in [
            ("fact about an unknown dimension", "Q=4", ["Q", "N"]),
            ("fact that is no fact", "N=many", ["N=many"]),
            ("fact with ends exchanged", "N=9..3", ["N=9..3"]),
            ("fact with a negative dimension", "N=-4", ["N=-4"]),
            ("fact beyond the largest dimension", "N=0..99999999999999999", ["bad_shape_fact"]),
            ("fact beyond 64 bits", "N=99999999999999999999999", ["bad_shape_fact"]),
            ("fact that is empty", "", ["bad_shape_fact"])]:
        expect(name, run(symtile, "compile", model, "-o", folder / "o", "--dim", fact), says)
    expect("facts that contradict",
           run(symtile, "compile", model, "-o", folder / "o", "--dim", "N=4", "--dim", "N=5"), ["N"])
    for name, dims, says in [
            ("bench without a dimension", [], ["N", "--dim"]),
            ("bench with an unknown dimension", ["Q=4"], ["Q", "N"]),
            ("bench with a negative dimension", ["N=-1"], ["N=-1"]),
            ("bench with text as dimension", ["N=x"], ["N=x"]),
            ("bench with a huge dimension", ["N=1000000000"], ["x"]),
            ("bench with a shape of the wrong rank", ["x=2x2x2"], ["x", "rank"]),
            ("bench with a shape against a dimension", ["N=3", "x=2x2"], ["N"])]:
        expect(name, run(symtile, "bench", model, *[a for d in dims for a in ("--dim", d)]), says)


def artifacts():
    model = write("small.onnx", w.small_model())
    good = folder / "small.symtile"
    done = run(symtile, "compile", model, "-o", good, "--quiet")
    suite.check("the small model compiles", done.code == 0, done.err)
    if done.code != 0:
        return
    content = good.read_bytes()

    def bad_artifact(name, changed, says):
        path = write(f"artifacts/{name}.symtile", changed)
        expect(name, run(symtile, "run", path), says)
        expect(name + " (inspected)", run(symtile, "inspect", path), says)

    def flipped(at):
        return content[:at] + bytes([content[at] ^ 0x40]) + content[at + 1:]

    for share in (0.1, 0.5, 0.9):
        bad_artifact(f"artifact cut at {share}", content[:int(len(content) * share)], ["artifact"])
    bad_artifact("artifact cut in its header", content[:20], ["artifact"])
    bad_artifact("artifact with a byte more", content + b"\0", ["artifact"])
    bad_artifact("artifact of a newer version",
                 content[:8] + struct.pack("<I", 999) + content[12:], ["999"])
    bad_artifact("artifact with another section count",
                 content[:12] + struct.pack("<I", 0xFFFFFFF) + content[16:], ["artifact"])
    for share in (0.02, 0.3, 0.6, 0.95):
        at = int(len(content) * share)
        while content[at] == 0 and content[at - 1] == 0:  # not in the padding
            at += 1
        bad_artifact(f"artifact with a bit flipped at {share}", flipped(at), ["artifact"])
    expect("IR of an artifact", run(symtile, "inspect", good, "--after", "fuse"), ["no IR"])
    expect("artifact compiled again", run(symtile, "compile", good, "-o", folder / "o"),
           ["artifact"])


files_that_are_no_model()
graphs_that_are_wrong()
external_data()
inputs_of_a_run()
facts()
artifacts()
suite.finish()
