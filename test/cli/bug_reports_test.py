"""bug_reports_test.py SYMTILE: faults that users of other compilers and runtimes reported in public.

Each case runs with numbers as dimensions, with names for those of its data, and with all inputs but
the first as constants; the right answer follows the ONNX specification, then numpy.
"""

import itertools
import math
import struct
import sys
import tempfile
from pathlib import Path

import onnx_writer as w
from tool import Suite, run

symtile = sys.argv[1]
suite = Suite()
root = Path(tempfile.mkdtemp(prefix="symtile_reports_"))
INF = math.inf
#           dtype: (descr, struct code)
CODES = {w.FLOAT: ("<f4", "f"), w.DOUBLE: ("<f8", "d"), w.UINT8: ("|u1", "B"), w.INT8: ("|i1", "b"),
         w.INT32: ("<i4", "i"), w.INT64: ("<i8", "q"), w.BOOL: ("|b1", "?")}
# Inputs that must be constants.
FIXED = ("axes", "steps")
DTYPES = {descr: code for descr, code in CODES.values()}


def pack(dtype, values):
    return struct.pack(f"<{len(values)}{CODES[dtype][1]}", *values)


def f32(shape, values):
    return w.FLOAT, list(shape), [float(v) for v in values]


def i64(shape, values):
    return w.INT64, list(shape), list(values)


def arange(shape, start=0):
    return f32(shape, range(start, start + math.prod(shape)))


def read_npy(path):
    content = path.read_bytes()
    length = struct.unpack("<H", content[8:10])[0]
    header = eval(content[10:10 + length].decode())
    payload = content[10 + length:]
    code = DTYPES[header["descr"]]
    return header["shape"], struct.unpack(f"<{len(payload) // struct.calcsize(code)}{code}", payload)


def same(got, want, tolerance):
    if math.isnan(want):
        return math.isnan(got)
    return got == want or abs(got - want) <= tolerance * max(1.0, abs(want))


def difference(path, shape, values, tolerance):
    """What is wrong with an output; nothing when it is right."""
    if not path.exists():
        return f"{path.name} is missing"
    got_shape, got = read_npy(path)
    if tuple(got_shape) != tuple(shape):
        return f"shape {got_shape}, not {tuple(shape)}"
    wrong = [(i, g, v) for i, (g, v) in enumerate(zip(got, values)) if not same(g, v, tolerance)]
    return f"{len(wrong)} elements differ; [{wrong[0][0]}] is {wrong[0][1]}, not {wrong[0][2]}" if wrong else ""


def symtile_run(folder, model, inputs):
    folder.mkdir()
    (folder / "m.onnx").write_bytes(model)
    command = [symtile, "run", folder / "m.onnx", "--output-dir", folder]
    for name, (dtype, shape, values) in inputs.items():
        dims = "(" + "".join(f"{d}, " for d in shape) + ")"
        (folder / f"{name}.in.npy").write_bytes(w.npy(CODES[dtype][0], dims, pack(dtype, values)))
        command += ["--input", f"{name}={folder}/{name}.in.npy"]
    return run(*command)


def variants(inputs, named):
    """(what, the inputs of the model with their dimensions, constants)"""
    first = next(iter(inputs))
    numbers = {n: shape for n, (_, shape, _) in inputs.items() if n not in FIXED}
    names = {n: [f"{n}_{k}" for k in range(len(shape))] if n in (named or [first]) else shape
             for n, shape in numbers.items()}
    yield "numbers", numbers, [n for n in inputs if n in FIXED]
    yield "names", names, [n for n in inputs if n in FIXED]
    if len(inputs) > 1:
        yield "constants", {first: names[first]}, [n for n in inputs if n != first]


def build(nodes, inputs, dims, constants, outputs, opset):
    return w.model(w.graph(
        nodes, [w.value_info(n, inputs[n][0], d) for n, d in dims.items()],
        [w.value_info(o, dtype, None) for o, dtype in outputs],
        [w.tensor(n, inputs[n][0], inputs[n][1], pack(inputs[n][0], inputs[n][2]))
         for n in constants]), opset=opset, ir_version=8)


def check(name, nodes, inputs, *wants, opset=17, tolerance=1e-5, only=None, named=()):
    """`wants`: the outputs y, y1, ... as (dtype, shape, values)."""
    outputs = [("y" if i == 0 else f"y{i}", want[0]) for i, want in enumerate(wants)]
    for what, dims, constants in variants(inputs, named):
        if only and what not in only:
            continue
        folder = root / f"{name}_{what}".replace("/", "_").replace(" ", "_")
        model = build(nodes, inputs, dims, constants, outputs, opset)
        result = symtile_run(folder, model, {n: inputs[n] for n in dims})
        why = "" if result.code == 0 else f"exit code {result.code}: {result.err[:300]}"
        for (output, _), (_, shape, values) in zip(outputs, wants):
            why = why or difference(folder / f"{output}.npy", shape, values, tolerance)
        suite.check(f"{name} ({what})", not why, why)


def check_refused(name, nodes, inputs, *words, opset=17, only=None, named=()):
    """Ends with exit code 1 and a paragraph that holds the words."""
    for what, dims, constants in variants(inputs, named):
        if only and what not in only:
            continue
        folder = root / f"{name}_{what}".replace("/", "_").replace(" ", "_")
        model = build(nodes, inputs, dims, constants, [("y", inputs[next(iter(inputs))][0])], opset)
        result = symtile_run(folder, model, {n: inputs[n] for n in dims})
        missing = [word for word in words if word not in result.err]
        suite.check(f"{name} ({what})", result.code == 1 and not missing,
                    f"exit code {result.code}, {missing} not in: {result.err[:300]}")


def slices():
    def case(name, x, starts, ends, axes, steps, want):
        check(f"slice {name}", [w.node("Slice", ["x", "starts", "ends", "axes", "steps"], ["y"])],
              {"x": x, "starts": i64([1], [starts]), "ends": i64([1], [ends]),
               "axes": i64([1], [axes]), "steps": i64([1], [steps])}, want)
    ten = arange([10])
    case("9:0:-1", ten, 9, 0, 0, -1, f32([9], range(9, 0, -1)))
    case("9:0:-3", ten, 9, 0, 0, -3, f32([3], [9, 6, 3]))
    case("9:2:-1", ten, 9, 2, 0, -1, f32([7], range(9, 2, -1)))
    case("rows 2:0:-1", arange([3, 4]), 2, 0, 0, -1, f32([2, 4], [8, 9, 10, 11, 4, 5, 6, 7]))
    case("19:0:-3", arange([20]), 19, 0, 0, -3, f32([7], range(19, 0, -3)))
    case("to the front", ten, -1, -(1 << 63), 0, -4, f32([3], [9, 5, 1]))
    case("beyond the end", ten, 7, (1 << 63) - 1, 0, 2, f32([2], [7, 9]))


def negative_indices():
    check("gather", [w.node("Gather", ["x", "i"], ["y"], axis=0)],
          {"x": f32([5], range(1, 6)), "i": i64([3], [-1, -3, 0])}, f32([3], [5, 3, 1]),
          named=("x", "i"))
    check("gather elements", [w.node("GatherElements", ["x", "i"], ["y"], axis=1)],
          {"x": arange([3, 4]), "i": i64([3, 4], [-1] * 12)},
          f32([3, 4], [3] * 4 + [7] * 4 + [11] * 4), named=("x", "i"))
    check("gather nd", [w.node("GatherND", ["x", "i"], ["y"])],
          {"x": arange([3, 4]), "i": i64([2, 2], [-1, -1, 0, -2])}, f32([2], [11, 2]))
    check("scatter nd", [w.node("ScatterND", ["x", "i", "u"], ["y"])],
          {"x": f32([3, 4], [0] * 12), "i": i64([2, 1], [-1, 0]), "u": f32([2, 4], range(1, 9))},
          f32([3, 4], [5, 6, 7, 8, 0, 0, 0, 0, 1, 2, 3, 4]))
    check("scatter elements", [w.node("ScatterElements", ["x", "i", "u"], ["y"], axis=0)],
          {"x": f32([3], [0] * 3), "i": i64([2], [-1, -3]), "u": f32([2], [7, 9])},
          f32([3], [9, 0, 7]))
    rows = [[1, 0, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1]]
    check("one hot", [w.node("OneHot", ["i", "depth", "v"], ["y"])],
          {"i": i64([4], [0, 2, 4, -1]), "depth": i64([1], [5]), "v": f32([2], [0, 1])},
          f32([4, 5], itertools.chain(*rows)))
    check_refused("gather out of range", [w.node("Gather", ["x", "i"], ["y"], axis=0)],
                  {"x": f32([5], range(5)), "i": i64([1], [5])}, "Gather", "5")
    for index in (-4, 3, 1 << 40):
        check_refused(f"scatter at {index}", [w.node("ScatterND", ["x", "i", "u"], ["y"])],
                      {"x": f32([3], [0] * 3), "i": i64([1, 1], [index]), "u": f32([1], [1])},
                      str(index))
        check_refused(f"elements at {index}", [w.node("GatherElements", ["x", "i"], ["y"], axis=0)],
                      {"x": f32([3], [0] * 3), "i": i64([1], [index])}, str(index))
    check_refused("gather nd out of range", [w.node("GatherND", ["x", "i"], ["y"], batch_dims=1)],
                  {"x": arange([3, 3]), "i": i64([2, 1], [1, 2])})


def scans():
    check("cumsum along a run-time axis", [w.node("CumSum", ["x", "axis"], ["y"])],
          {"x": arange([3, 4], 1), "axis": (w.INT32, [], [1])},
          f32([3, 4], [1, 3, 6, 10, 5, 11, 18, 26, 9, 19, 30, 42]))
    check("cumsum along axis -2", [w.node("CumSum", ["x", "axis"], ["y"])],
          {"x": arange([2, 3]), "axis": (w.INT32, [], [-2])}, f32([2, 3], [0, 1, 2, 3, 5, 7]))


def reshapes():
    def empty(name, first, second, want, **attributes):
        nodes = [w.node("Reshape", ["x", "a"], ["h"]),
                 w.node("Reshape", ["h", "b"], ["y"], **attributes)]
        check(name, nodes, {"x": f32([0, 8, 2], []), "a": i64([len(first)], first),
                            "b": i64([len(second)], second)}, f32(want, []), only=("constants",))
    empty("reshape allowzero", [4, 2, -1], [0, 0, 4], (0, 0, 4), allowzero=1)
    check("reshape with -1", [w.node("Reshape", ["x", "s"], ["y"], allowzero=1)],
          {"x": arange([1, 32, 5, 5]), "s": i64([6], [-1, 2, 4, 4, 5, 5])},
          arange([1, 2, 4, 4, 5, 5]))
    check_refused("reshape 0 beside -1", [w.node("Reshape", ["x", "s"], ["y"], allowzero=1)],
                  {"x": f32([0, 4], []), "s": i64([2], [0, -1])}, "Reshape")


def windows():
    check("average with pads", [w.node("AveragePool", ["x"], ["y"], kernel_shape=[2, 2],
                                       pads=[0, 0, 1, 1], count_include_pad=1)],
          {"x": f32([1, 1, 2, 2], [1] * 4)}, f32([1, 1, 2, 2], [1, .5, .5, .25]))
    x = [2.0903, 4.6493, 1.632, -3.2051, 4.6975, 4.7296, 3.3653, -1.5815, -2.3832]
    check("average with ceil_mode", [w.node("AveragePool", ["x"], ["y"], kernel_shape=[7],
                                            strides=[3], pads=[3, 3], ceil_mode=1,
                                            count_include_pad=1)],
          {"x": f32([1, 1, 9], x)}, f32([1, 1, 4], [.73807, 2.56557, .80323, -.09990]),
          tolerance=1e-4)
    check("average without pads, ceil_mode", [w.node("AveragePool", ["x"], ["y"], strides=[2, 2],
                                                     kernel_shape=[3, 3], ceil_mode=1)],
          {"x": arange([1, 1, 4, 4], 1)}, f32([1, 1, 2, 2], [6, 7.5, 12, 13.5]))
    check("resize channels last", [w.node("Resize", ["x", "", "", "sizes"], ["y"], mode="linear")],
          {"x": f32([1, 1, 1, 1], [1]), "sizes": i64([4], [1, 2, 2, 1])}, f32([1, 2, 2, 1], [1] * 4))
    check("transposed convolution SAME_UPPER",
          [w.node("ConvTranspose", ["x", "w"], ["y"], auto_pad="SAME_UPPER")],
          {"x": f32([1, 1, 2, 2], range(2, 6)), "w": f32([1, 1, 3, 3], range(2, 11))},
          f32([1, 1, 2, 2], [49, 63, 91, 105]))
    check("transposed convolution, output_padding",
          [w.node("ConvTranspose", ["x", "w"], ["t"], strides=[2, 2], pads=[1, 1, 1, 1],
                  output_padding=[1, 1]), w.node("Shape", ["t"], ["y"])],
          {"x": f32([1, 1, 28, 28], [0] * 784), "w": f32([1, 1, 3, 3], [0] * 9)},
          i64([4], [1, 1, 56, 56]))
    rows = [[1, 1.2, 1, 1.2], [2.3, 3.4, 2.3, 3.4], [4.5, 5.7, 4.5, 5.7]]
    check("reflection wider than the input", [w.node("Pad", ["x", "pads"], ["y"], mode="reflect")],
          {"x": f32([3, 2], [1, 1.2, 2.3, 3.4, 4.5, 5.7]), "pads": i64([4], [0, 2, 0, 0])},
          f32([3, 4], itertools.chain(*rows)))


def integers():
    exact = [4999999990253223936, -4999999990253223936, 999999986991104, 7]
    check("f32 to i64", [w.node("Cast", ["x"], ["y"], to=w.INT64)],
          {"x": f32([4], [5e18, -5e18, 1e15, 7.7])}, i64([4], exact), tolerance=0)
    check("u8 products wrap", [w.node("Mul", ["a", "b"], ["y"])],
          {"a": (w.UINT8, [4], [200, 100, 50, 10]), "b": (w.UINT8, [4], [200, 3, 6, 30])},
          (w.UINT8, [4], [64, 44, 44, 44]))
    check("i8 sums wrap", [w.node("Add", ["a", "b"], ["y"])],
          {"a": (w.INT8, [4], [100, 127, -128, -100]), "b": (w.INT8, [4], [100, 10, -10, -50])},
          (w.INT8, [4], [-56, -119, 118, 106]))
    check("i8 differences wrap", [w.node("Sub", ["a", "b"], ["y"])],
          {"a": (w.INT8, [4], [-128, 127, -1, 0]), "b": (w.INT8, [4], [1, -128, -127, 100])},
          (w.INT8, [4], [127, -1, 126, -100]))
    check("x - (x + 1)", [w.node("Add", ["x", "one"], ["t"]), w.node("Sub", ["x", "t"], ["y"])],
          {"x": (w.INT32, [3], [0, 7, 2147483647]), "one": (w.INT32, [1], [1])},
          (w.INT32, [3], [-1, -1, -1]))


def normalisation():
    y = [(v - 8.5) / math.sqrt(21.25 + 1e-5) for v in range(1, 17)]
    check("group norm over all channels",
          [w.node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=1, epsilon=1e-5)],
          {"x": arange([1, 4, 2, 2], 1), "s": f32([4], [1] * 4), "b": f32([4], [0] * 4)},
          f32([1, 4, 2, 2], y), opset=21)
    x = [0.5 * i - 2 for i in range(10)]
    check("batch norm of rank 1",
          [w.node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"])],
          {"x": f32([10], x), "s": f32([1], [2]), "b": f32([1], [3]), "m": f32([1], [.5]),
           "v": f32([1], [4])},
          f32([10], [(v - .5) / math.sqrt(4 + 1e-5) * 2 + 3 for v in x]), only=("numbers",))


def empty_tensors():
    check("matmul without rows", [w.node("MatMul", ["a", "b"], ["y"])],
          {"a": f32([1, 0, 1030], []), "b": f32([1030, 768], [0] * (1030 * 768))},
          f32([1, 0, 768], []), named=("a", "b"))
    check("matmul over nothing", [w.node("MatMul", ["a", "b"], ["y"])],
          {"a": f32([2, 0], []), "b": f32([0, 3], [])}, f32([2, 3], [0] * 6), named=("a", "b"))
    check("the largest of none", [w.node("ReduceMax", ["x", "axes"], ["y"], keepdims=0)],
          {"x": f32([0, 4], []), "axes": i64([1], [0])}, f32([4], [-INF] * 4), opset=20)
    check("the sum of none", [w.node("ReduceSum", ["x", "axes"], ["y"], keepdims=1)],
          {"x": f32([0, 0], []), "axes": i64([1], [0])}, f32([1, 0], []))
    check("gather from nothing", [w.node("Gather", ["x", "i"], ["y"], axis=0)],
          {"x": f32([1, 8400, 0], []), "i": i64([], [0])}, f32([8400, 0], []))
    check("an empty product", [w.node("Mul", ["a", "b"], ["y"])],
          {"a": f32([0, 3], []), "b": f32([1, 3], [1] * 3)}, f32([0, 3], []), named=("a", "b"))
    # Chunks of two, and what is left: one element, then none.
    check("split into more than there is",
          [w.node("Split", ["x"], ["y", "y1", "y2", "y3"], num_outputs=4)], {"x": arange([5])},
          f32([2], [0, 1]), f32([2], [2, 3]), f32([1], [4]), f32([0], []), opset=18)


def signals():
    x = [math.sin(0.3 * i) for i in range(8)]
    def part(k, trig):
        return sum(v * trig(2 * math.pi * k * i / 8) for i, v in enumerate(x))
    bins = [(part(k, math.cos), -part(k, math.sin)) for k in range(5)]
    check("one-sided spectrum", [w.node("DFT", ["x"], ["y"], axis=1, onesided=1)],
          {"x": f32([1, 8, 1], x)}, f32([1, 5, 2], itertools.chain(*bins)), tolerance=1e-4,
          only=("numbers",))
    check("the triangle of infinities",
          [w.node("Trilu", ["x", "k"], ["t"], upper=1), w.node("Add", ["t", "one"], ["y"])],
          {"x": f32([2, 2], [-INF] * 4), "k": i64([], [1]), "one": f32([2, 2], [1] * 4)},
          f32([2, 2], [1, -INF, 1, 1]))


def shapes_at_run_time():
    check("concatenated shapes",
          [w.node("NonZero", ["x"], ["z"]), w.node("Transpose", ["z"], ["t"]),
           w.node("Concat", ["t", "more"], ["c"], axis=0), w.node("Shape", ["c"], ["y"])],
          {"x": f32([2, 3], [1, 0, 2, 0, 0, 3]), "more": i64([2, 2], [0] * 4)}, i64([2], [5, 2]))
    check("broadcast batch", [w.node("MatMul", ["a", "b"], ["t"]), w.node("Shape", ["t"], ["y"])],
          {"a": f32([4, 64, 128], [0] * 32768), "b": f32([1, 128, 256], [0] * 32768)},
          i64([3], [4, 64, 256]), named=("a", "b"))
    check("a product of products",
          [w.node("MatMul", ["a", "b"], ["t"]), w.node("MatMul", ["t", "c"], ["y"])],
          {"a": f32([2, 1, 2], [1, 2, 3, 4]), "b": f32([2, 2], [1, 1, 0, 1]),
           "c": f32([2, 1], [1, 2])}, f32([2, 1, 1], [7, 17]), named=("a", "b", "c"))
    # One artifact at a large shape, then at the smallest, and large again.
    folder = root / "sessions"
    folder.mkdir()
    (folder / "m.onnx").write_bytes(w.small_model())
    compiled = run(symtile, "compile", folder / "m.onnx", "-o", folder / "m.symtile")
    suite.check("one artifact", compiled.code == 0, compiled.err[:300])
    for n in (32, 1, 33):
        (folder / "x.npy").write_bytes(w.npy("<f4", f"({n}, 1, 4)", w.floats([1.0] * (4 * n))))
        result = run(symtile, "run", folder / "m.symtile", "--input", f"x={folder}/x.npy",
                     "--output-dir", folder)
        shape = read_npy(folder / "y.npy")[0] if result.code == 0 else None
        suite.check(f"one artifact at {n}", shape == (n, 1, 8), f"{shape}: {result.err[:300]}")


for group in (slices, negative_indices, scans, reshapes, windows, integers, normalisation,
              empty_tensors, signals, shapes_at_run_time):
    group()
suite.finish()
