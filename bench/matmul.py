#!/usr/bin/env python3
"""How close matrix products come to what the machine can multiply and add, both measured in one run.

    bench/matmul.py                         1024 x 1024 x 1024 on one thread and on two
    bench/matmul.py --sizes 512 2039 --threads 1 2 4 --rounds 5

The peak is a program of this compiler too: independent multiply-adds in registers, nothing else. It
and the products take turns, round after round, and the best of each counts (a slow spell of the
machine must not look like a slow program). All dimensions of the products are symbolic.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

# 20 accumulators of 16 lanes hide the latency of every machine; the factors change every step, so
# that no product is computed ahead of the loop.
PEAK = """
tile @peak<n, t>(%x: Buffer[(2, 16), f32]) -> (%y: Buffer[(t, VECTORS, LANES), f32]) {
  for p in 0 to t parallel {
    alloc %acc: Buffer[(VECTORS, LANES), f32, local] {
      for i in 0 to VECTORS unrolled { for j in 0 to LANES vectorized { %acc[i, j] = 0.0f32 } }
      for r in 0 to n { for i in 0 to VECTORS unrolled { for j in 0 to LANES vectorized {
        %acc[i, j] = %acc[i, j] + %x[r % 2, j] * %x[1, j] } } }
      for i in 0 to VECTORS unrolled { for j in 0 to LANES vectorized { %y[p, i, j] = %acc[i, j] } }
    }
  }
}
graph @main(%x: Tensor[(2, 16), f32], %n: Tensor[(n), i8], %t: Tensor[(t), i8])
    -> Tensor[(t, VECTORS, LANES), f32] {
  %0 = call_tile @peak(%x) [n, t] : Tensor[(t, VECTORS, LANES), f32]
  return %0
}
"""

PRODUCTS = {
    "f32": """
graph @main(%a: Tensor[(m, k), f32], %b: Tensor[(k, n), f32]) -> Tensor[(m, n), f32] {
  %0 = matmul(%a, %b) : Tensor[(m, n), f32]
  return %0
}
""",
    "i8": """
graph @main(%a: Tensor[(m, k), u8], %b: Tensor[(k, n), i8]) -> Tensor[(m, n), i32] {
  %0 = matmul_integer(%a, %b) : Tensor[(m, n), i32]
  return %0
}
""",
}


def bench(symtile, artifact, dims, threads):
    command = [symtile, "bench", str(artifact), "--threads", str(threads), "--json", "--runs", "20"]
    for name, value in dims.items():
        command += ["--dim", f"{name}={value}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr.strip()}")
    return json.loads(done.stdout)["min_ms"] * 1e-3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1024])
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cpu", default="native")
    parser.add_argument("--lanes", type=int, default=16, help="of one register, for the peak")
    parser.add_argument("--symtile", default=str(ROOT / "build/release/tools/symtile"))
    parser.add_argument("--json", metavar="FILE", help="write the numbers there too")
    args = parser.parse_args()

    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def compile_text(stem, text):
            (folder / f"{stem}.sym").write_text(text)
            command = [args.symtile, "compile", str(folder / f"{stem}.sym"), "-o", str(folder / f"{stem}.symtile"),
                       "--cpu", args.cpu, "--quiet"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{' '.join(command)}\n{done.stderr.strip()}")
            return folder / f"{stem}.symtile"

        vectors = 20 if args.lanes == 16 else 10
        peak = compile_text("peak", PEAK.replace("VECTORS", str(vectors)).replace("LANES", str(args.lanes)))
        products = {kind: compile_text(kind, text) for kind, text in PRODUCTS.items()}
        print(f"{'size':>6} {'threads':>7} {'type':>5} {'ms':>9} {'Gop/s':>8} {'peak f32':>9} {'share':>6}")
        for threads in args.threads:
            steps, tasks = 20_000 * threads, 256  # so many that the runtime finds them worth its threads
            top = 0.0
            best = {}
            for _ in range(args.rounds):
                seconds = bench(args.symtile, peak, {"n": steps, "t": tasks}, threads)
                top = max(top, 2e-9 * steps * tasks * vectors * args.lanes / seconds)
                for size in args.sizes:
                    for kind, artifact in products.items():
                        seconds = bench(args.symtile, artifact, {"m": size, "k": size, "n": size}, threads)
                        best[size, kind] = min(best.get((size, kind), seconds), seconds)
            for (size, kind), seconds in best.items():
                rate = 2e-9 * size**3 / seconds
                results.append({"size": size, "threads": threads, "type": kind, "ms": seconds * 1e3,
                                "gops": rate, "peak_gops": top, "share": rate / top})
                print(f"{size:6} {threads:7} {kind:>5} {seconds * 1e3:9.3f} {rate:8.1f} {top:9.1f} "
                      f"{rate / top:6.0%}", flush=True)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
