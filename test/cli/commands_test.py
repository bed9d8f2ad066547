"""commands_test.py SYMTILE SYMTILE_OPT: every subcommand on a small model."""

import json
import struct
import sys
import tempfile
from pathlib import Path

import onnx_writer as w
from tool import Suite, run

symtile, symtile_opt = sys.argv[1:3]
suite = Suite()
folder = Path(tempfile.mkdtemp(prefix="symtile_cli_"))
model = folder / "small.onnx"
model.write_bytes(w.small_model())
artifact = folder / "small.symtile"


def good(name, *command, code=0):
    """Runs a command that must end with `code`; its stdout."""
    result = run(*command)
    suite.check(name, result.code == code, f"exit code {result.code}: {result.err[:400]}")
    return result.out


def good_json(name, *command, code=0):
    text = good(name, *command, code=code)
    try:
        return json.loads(text)
    except ValueError as error:
        suite.check(name + " (JSON)", False, f"{error}: {text[:200]}")
        return {}


def has(name, text, *words):
    missing = [word for word in words if word not in text]
    suite.check(name, not missing, f"{missing} not in: {text[:400]}")


def read_npy(path):
    content = path.read_bytes()
    length = struct.unpack("<H", content[8:10])[0]
    header = content[10:10 + length].decode()
    count = (len(content) - 10 - length) // 4
    return header, struct.unpack(f"<{count}f", content[10 + length:])


def reference(x):
    """The small model on rows of four numbers, in Python."""
    weight = [i / 32 - 0.4 for i in range(32)]
    rows = [[max(0.0, sum(row[k] * weight[k * 8 + j] for k in range(4)) + j / 8 - 0.5)
             for j in range(8)] for row in x]
    return rows, [2 * sum(r[j] for r in rows) for j in range(8)]


def check_compile():
    out = good("compile", symtile, "compile", model, "-o", artifact)
    has("compile prints a summary", out, "operators", "kernels", "constants", "memory", "B", "W")
    out = good("compile --quiet", symtile, "compile", model, "-o", folder / "q.symtile", "--quiet",
               "--verify-each", "--dim", "B=1..64", "--dim", "W=8")
    suite.check("compile --quiet is quiet", out == "", out)


def check_run():
    for rows in (1, 3, 17):
        x = [[(i * 7 + k * 3) % 11 / 5 - 1 for k in range(4)] for i in range(rows)]
        flat = [v for row in x for v in row]
        path = folder / "x.npy"
        path.write_bytes(w.npy("<f4", f"(1, {rows}, 4)", w.floats(flat)))
        for file in (artifact, model):
            name = f"run {file.name} at W={rows}"
            out = good(name, symtile, "run", file, "--input", f"x={path}", "--output-dir", folder)
            has(name + " prints", out, f"y f32 (1, {rows}, 8)", "s f32 (1, 8)")
            header, y = read_npy(folder / "y.npy")
            has(name + " header", header, "<f4", f"(1, {rows}, 8)")
            want, total = reference(x)
            error = max(abs(a - b) for a, b in zip(y, [v for r in want for v in r]))
            suite.check(name + " y", error < 1e-4, f"off by {error}")
            error = max(abs(a - b) for a, b in zip(read_npy(folder / "s.npy")[1], total))
            suite.check(name + " s", error < 1e-3, f"off by {error}")
    fortran = folder / "fortran.npy"
    fortran.write_bytes(w.npy("", "", w.floats([1, 5, 2, 6, 3, 7, 4, 8]), header="{'descr': '<f4', "
                              "'fortran_order': True, 'shape': (1, 2, 4), }"))
    good("run on Fortran order", symtile, "run", artifact, "--input", f"x={fortran}",
         "--output-dir", folder)
    want, _ = reference([[1, 2, 3, 4], [5, 6, 7, 8]])
    error = max(abs(a - b) for a, b in zip(read_npy(folder / "y.npy")[1], want[0] + want[1]))
    suite.check("Fortran order is transposed", error < 1e-4, f"off by {error}")


def check_bench():
    bench = good_json("bench --json", symtile, "bench", model, "--dim", "B=2", "--dim", "W=5",
                      "--runs", "7", "--threads", "1", "--json")
    suite.check("bench keys", set(bench) == {
        "model", "dims", "threads", "runs", "median_ms", "p90_ms", "min_ms", "arena_bytes",
        "constant_bytes", "held_bytes", "compile_s", "kernels"}, str(sorted(bench)))
    suite.check("bench dims", bench.get("dims") == {"B": 2, "W": 5}, str(bench.get("dims")))
    suite.check("bench runs", bench.get("runs") == 7 and bench.get("threads") == 1)
    suite.check("bench order", bench.get("min_ms", 1) <= bench.get("median_ms", 0) <=
                bench.get("p90_ms", 0), str(bench))
    suite.check("bench kernels", len(bench.get("kernels", [])) > 0)
    out = good("bench of an artifact", symtile, "bench", "--dim", "x=2x5x4", artifact)
    has("bench prints", out, "median", "kernel", "share", "B=2", "W=5")


def check_inspect():
    out = good("inspect", symtile, "inspect", model)
    has("inspect prints the module", out, "graph @main", "call_tile", "arena")
    out = good("inspect --after import", symtile, "inspect", model, "--after", "import")
    has("the module as imported", out, "matmul", "(B, W, 4)")
    kernels = good_json("inspect --kernels", symtile, "inspect", model, "--kernels", "--json")
    name = kernels["kernels"][0]["name"]
    for view, words in {"compute": ["tile @"], "scheduled": ["tile @"], "llvm": ["define"],
                        "assembly": ["ret"]}.items():
        out = good(f"inspect --view {view}", symtile, "inspect", model, "--kernel", name, "--view", view)
        has(f"the kernel as {view}", out, *words)
    memory = good_json("inspect --memory", symtile, "inspect", model, "--memory", "--dim", "B=2",
                       "--dim", "W=5", "--json")
    bench = good_json("bench", symtile, "bench", model, "--dim", "B=2", "--dim", "W=5", "--json",
                      "--runs", "1")
    suite.check("memory agrees with the artifact",
                memory["arena"]["bytes"] == bench["arena_bytes"], f"{memory['arena']}")
    suite.check("intermediates", memory["intermediates"]["bytes"] >= 2 * 5 * 8 * 4)
    has("inspect --memory as text", good("inspect --memory", symtile, "inspect", model, "--memory"),
        "arena", "intermediates", "constants", "placement")
    has("inspect --fusion", good("inspect --fusion", symtile, "inspect", model, "--fusion"),
        "operators in", "kernels")
    fusion = good_json("inspect --fusion --json", symtile, "inspect", model, "--fusion", "--json")
    suite.check("every kernel has one anchor",
                all(sum(m["role"] == "anchor" for m in k["members"]) == 1 for k in fusion["kernels"]),
                str(fusion["kernels"]))
    suite.check("every refusal has a reason", all(r["reason"] for r in fusion["refusals"]))
    has("schedules", good("schedules", symtile, "schedules", model, "--kernel", name), "schedules")
    space = good_json("schedules --json", symtile, "schedules", model, "--kernel", name, "--json")
    suite.check("a schedule space is not empty and not large", 1 <= len(space["schedules"]) <= 200,
                str(len(space["schedules"])))
    has("program", good("inspect --program", symtile, "inspect", model, "--program"), "launch_kernel")
    info = good_json("inspect ARTIFACT --json", symtile, "inspect", artifact, "--json")
    suite.check("artifact inputs", info["inputs"] == [
        {"name": "x", "dtype": "f32", "dims": ["B", "W", "4"]}], str(info["inputs"]))
    suite.check("artifact sections", {s["kind"] for s in info["sections"]} ==
                {"manifest", "program", "constants", "code info", "code"}, str(info["sections"]))
    suite.check("artifact levels", len(info["levels"]) == 1 and info["levels"][0]["code_bytes"] > 0)
    has("inspect ARTIFACT", good("inspect ARTIFACT", symtile, "inspect", artifact), "input", "output",
        "level", "section", "kernels", "producer")
    has("inspect ARTIFACT --memory", good("inspect ARTIFACT --memory", symtile, "inspect", artifact,
                                          "--memory", "--dim", "B=2", "--dim", "W=5"), "arena")


def write_case(where, model_bytes, inputs, outputs):
    (where / "test_data_set_0").mkdir(parents=True)
    (where / "model.onnx").write_bytes(model_bytes)
    for kind, tensors in (("input", inputs), ("output", outputs)):
        for i, t in enumerate(tensors):
            (where / "test_data_set_0" / f"{kind}_{i}.pb").write_bytes(t)


def check_conform():
    cases = folder / "cases"
    x = w.tensor("x", w.FLOAT, [1, 4], w.floats([-1, 0, 2, -3]))
    y = w.tensor("y", w.FLOAT, [1, 4], w.floats([0, 0, 2, 0]))
    write_case(cases / "relu", w.unary(), [x], [y])
    write_case(cases / "unknown", w.unary("Frobnicate"), [x], [y])
    squeeze = w.model(w.graph([w.node("Squeeze", ["x", "a"], ["y"])],
                              [w.value_info("x", w.FLOAT, [1, 4]), w.value_info("a", w.INT64, [1])],
                              [w.value_info("y", w.FLOAT, [4])]))
    write_case(cases / "axes_as_input", squeeze, [x, w.tensor("a", w.INT64, [1], w.int64s([0]))],
               [w.tensor("y", w.FLOAT, [4], w.floats([-1, 0, 2, -3]))])
    out = good("conform", symtile, "conform", cases)
    has("conform counts", out, "2 passed, 0 failed, 1 skipped", "Relu", "Frobnicate")
    has("conform --reference", good("conform --reference", symtile, "conform", cases, "--reference"),
        "2 passed, 0 failed, 1 skipped")
    has("conform --symbolic", good("conform --symbolic", symtile, "conform", cases / "relu",
                                   "--symbolic"), "1 passed, 0 failed, 0 skipped")
    write_case(cases / "wrong", w.unary(), [x], [x])
    write_case(cases / "no_model", b"nothing", [x], [y])
    report = good_json("conform --json", symtile, "conform", cases, "--json", "--jobs", "2", code=1)
    status = {c["name"]: c["status"] for c in report["cases"]}
    suite.check("conform statuses", status == {
        "relu": "passed", "unknown": "unsupported", "wrong": "wrong", "no_model": "error",
        "axes_as_input": "passed"}, str(status))
    has("conform --filter", good("conform --filter", symtile, "conform", cases, "--filter", "re*"),
        "1 passed, 0 failed, 0 skipped")
    out = run(symtile, "conform", cases / "relu", "--timeout", "0.000001")
    suite.check("conform reports what hangs", out.code == 1 and "crashed" in out.out, out.out[:300])
    good("conform without cases", symtile, "conform", cases, "--filter", "nothing", code=1)
    good("conform of no folder", symtile, "conform", folder / "nowhere", code=3)


def check_verify():
    out = good("verify", symtile, "verify", model, "--dim", "B=2", "--dim", "W=5")
    has("verify prints", out, "ok", "y", "s")
    report = good_json("verify --json", symtile, "verify", model, "--dim", "x=1x9x4", "--json")
    suite.check("verify agrees", report.get("agree") is True, str(report))


def check_opt():
    text = good("symtile-opt reads ONNX", symtile_opt, model)
    source = folder / "small.sym"
    source.write_text(text)
    again = good("symtile-opt prints what it reads", symtile_opt, source)
    suite.check("the text form is stable", again == text)
    out = good("symtile-opt --pass", symtile_opt, "--pass", "legalize,dead_code", source,
               "--verify-each", "--time", "--explain")
    has("symtile-opt lowers", out, "call_tile", "tile @")
    lowered = folder / "lowered.sym"
    lowered.write_text(out)
    has("passes one by one", good("symtile-opt again", symtile_opt, "--pass=fuse,plan_memory", lowered),
        "arena")
    has("symtile-opt --list", good("symtile-opt --list", symtile_opt, "--list"), "legalize", "fuse")
    out = good_json("symtile-opt --json", symtile_opt, source, "--pass", "legalize", "--json")
    suite.check("symtile-opt JSON", out["passes"][0]["name"] == "legalize" and "tile @" in out["module"])
    good("symtile-opt with an unknown pass", symtile_opt, "--pass", "frobnicate", source, code=2)
    good("symtile-opt without a file", symtile_opt, code=2)
    out = good("module text compiles", symtile, "compile", source, "-o", folder / "text.symtile")
    has("summary of module text", out, "kernels")


def check_device():
    both = folder / "both.symtile"
    good("compile for two targets", symtile, "compile", model, "-o", both, "--target", "cpu,opencl")
    info = good_json("inspect of two targets", symtile, "inspect", both, "--json")
    suite.check("device sections", {"device info", "device code"} <= {s["kind"] for s in info["sections"]},
                str(info["sections"]))
    suite.check("devices", [d["device"] for d in info["devices"]] == ["opencl"], str(info["devices"]))
    has("inspect ARTIFACT names the device", good("inspect", symtile, "inspect", both), "device  opencl")
    name = good_json("inspect --kernels", symtile, "inspect", model, "--kernels", "--json")["kernels"][0]["name"]
    kernel = ["inspect", model, "--kernel", name, "--target", "opencl"]
    has("a kernel as OpenCL", good("inspect --target opencl", symtile, *kernel), "__kernel", "get_group_id")
    has("its schedule", good("--view scheduled", symtile, *kernel, "--view", "scheduled"), "grid_block")
    good("a view that a device lacks", symtile, *kernel, "--view", "assembly", code=1)
    good("a source that a processor lacks", symtile, "inspect", model, "--kernel", name, "--view", "source", code=1)
    result = run(symtile, "compile", model, "-o", folder / "z.symtile", "--target", "abacus")
    suite.check("unknown target", result.code == 1 and "unknown_name" in result.err, result.err)
    result = run(symtile, "bench", artifact, "--dim", "B=1", "--dim", "W=2", "--device", "opencl")
    suite.check("an artifact without the device", result.code == 1 and "--target opencl" in result.err,
                result.err)
    result = run(symtile, "bench", both, "--dim", "B=2", "--dim", "W=5", "--device", "opencl", "--runs", "2")
    if result.code == 3:
        return suite.skip("runs on a device", result.err.strip())
    suite.check("bench --device", result.code == 0, result.err)
    report = good_json("verify --device", symtile, "verify", model, "--dim", "B=2", "--dim", "W=5",
                       "--device", "opencl", "--json")
    suite.check("verify --device agrees", report.get("agree") is True, str(report))
    x = [[i / 7 for i in range(4)], [1, -1, 2, -2]]
    path = folder / "d.npy"
    path.write_bytes(w.npy("<f4", "(1, 2, 4)", w.floats([v for row in x for v in row])))
    good("run --device", symtile, "run", both, "--input", f"x={path}", "--output-dir", folder,
         "--device", "opencl")
    error = max(abs(a - b) for a, b in zip(read_npy(folder / "y.npy")[1],
                                           [v for row in reference(x)[0] for v in row]))
    suite.check("run --device y", error < 1e-4, f"off by {error}")


def check_usage():
    good("--help", symtile, "--help")
    good("no subcommand", symtile, code=2)
    good("unknown subcommand", symtile, "frobnicate", code=2)
    good("unknown option", symtile, "compile", model, "-o", artifact, "--frobnicate", code=2)
    good("missing option", symtile, "compile", model, code=2)
    good("unknown CPU level", symtile, "compile", model, "-o", artifact, "--cpu", "z80", code=2)
    good("option that is no number", symtile, "bench", model, "--runs", "many", code=2)


check_compile()
check_run()
check_bench()
check_inspect()
check_conform()
check_verify()
check_opt()
check_device()
check_usage()
suite.finish()
