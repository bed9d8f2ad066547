#!/usr/bin/env python3
"""Every rule of checks.py finds what it is there to find, in a repository of a few made-up files."""

import unittest

import checks
from repository import Repository

GOOD = {
    "src/symtile/CMakeLists.txt":
        "symtile_room(base)\nsymtile_room(op DEPENDS base)\n"
        "symtile_room(backend_llvm PATH backend/llvm DEPENDS base LIBRARIES x)\n"
        "symtile_room(runtime DEPENDS base)\nsymtile_room(transform DEPENDS op)\n",
    "src/symtile/base/check.h": "#include <string>\n",
    "src/symtile/op/ops.def": "// keep-sorted\nOP(add)\nOP(mul)\n",
    "src/symtile/op/elementwise/add.cpp": '#include "symtile/base/check.h"\nconst OpRecord add_op = {};\n',
    "src/symtile/op/elementwise/mul.cpp": "const OpRecord mul_op = {};\n",
    "src/symtile/backend/llvm/emit.cpp": '#include "symtile/base/check.h"\n',
    "src/symtile/library/calls.def": "LIBRARY_CALL(top_k)\n",
    "src/symtile/library/top_k.cpp": "const LibraryCall top_k_call = {};\n",
    "src/symtile/runtime/builtins/builtins.def": "BUILTIN(top_k)\n",
    "src/symtile/runtime/builtins/top_k.cpp": "void top_k_builtin(BuiltinContext& c) {\n}\n",
    "src/symtile/transform/passes.def": 'PASS(fuse, graph, "merge, or not")\n',
    "src/symtile/transform/graph/fuse.cpp": "void fuse(Module& m, PassContext& c) {\n}\n",
    "src/symtile/frontend/onnx/ops.def": "// keep-sorted.\nONNX_DIRECT(Add, add)\nONNX_OP(If, import_if)\n",
    "src/symtile/frontend/onnx/ops/if.cpp": "void import_if(ImportContext& c) {\n}\n",
    "src/symtile/diag/diagnostics.def": 'DIAGNOSTIC(bad_text, "text, wrong")\n',
    "src/symtile/op/op_test.cpp": "EXPECT_EQ(id, DiagId::bad_text);\n",
    "test/transform/fuse.sym": "graph @main() {}\n",
    "README.md": "~/.cache\n",
}
GOOD["src/symtile/CMakeLists.txt"] += "symtile_room(library)\nsymtile_room(frontend)\nsymtile_room(diag)\n"


class ChecksTest(unittest.TestCase):
    def expect(self, check, changes, *fragments):
        """With `changes` (None: deleted) the check reports one problem for each fragment."""
        files = {path: text for path, text in {**GOOD, **changes}.items() if text is not None}
        problems = check(Repository(files))
        self.assertEqual(len(problems), len(fragments), problems)
        for problem, fragment in zip(problems, fragments):
            self.assertIn(fragment, problem)

    def test_good(self):
        for check in checks.CHECKS:
            self.expect(check, {})

    def test_include_arrows(self):
        wrong = {"src/symtile/backend/llvm/emit.cpp": '#include "symtile/op/op.h"\n'}
        self.expect(checks.include_arrows, wrong, "room backend_llvm may not include symtile/op/op.h")
        self.expect(checks.include_arrows, {"src/symtile/base/x.h": '#include "other.h"\n'}, "not included as")
        self.expect(checks.include_arrows, {"src/symtile/new/x.h": ""}, "belongs to no room")
        self.expect(checks.include_arrows, {"src/symtile/op/x.h": '#include "symtile/symtile.h"\n'}, "public API")
        self.expect(checks.include_arrows, {"examples/a.cpp": '#include "symtile/op/op.h"\n'}, "public API only")
        self.expect(checks.include_arrows, {"include/symtile/symtile.h": '#include "symtile/base/check.h"\n'},
                    "public header")
        cycle = GOOD["src/symtile/CMakeLists.txt"].replace("symtile_room(base)", "symtile_room(base DEPENDS op)")
        self.expect(checks.include_arrows, {"src/symtile/CMakeLists.txt": cycle}, "not declared before")
        transitive = {"src/symtile/transform/graph/fuse.cpp": '#include "symtile/base/check.h"\n'}
        self.expect(checks.include_arrows, transitive)

    def test_file_sizes(self):
        self.expect(checks.file_sizes, {"tools/a.cpp": "\n" * 800})
        self.expect(checks.file_sizes, {"tools/a.cpp": "\n" * 801}, "801 lines")

    def test_tables(self):
        self.expect(checks.tables, {"src/symtile/op/elementwise/mul.cpp": None}, "'mul' has no file")
        self.expect(checks.tables, {"src/symtile/op/elementwise/sub.cpp": "const OpRecord sub_op = {};\n"},
                    "'sub' has no line")
        self.expect(checks.tables, {"src/symtile/op/ops.def": "// keep-sorted\nOP(mul)\nOP(add)\n"}, "out of order")
        self.expect(checks.tables, {"src/symtile/library/top_k.cpp": ""}, "'top_k' has no file")
        self.expect(checks.tables, {"src/symtile/runtime/builtins/a.cpp": "void a_builtin(BuiltinContext& c) {\n"},
                    "'a' has no line")
        self.expect(checks.tables, {"src/symtile/transform/tile/x.cpp": "void x(Module& m, PassContext&) {\n"},
                    "'x' has no line")
        self.expect(checks.tables, {"src/symtile/frontend/onnx/ops/if.cpp": ""}, "import_if of If is not defined")
        self.expect(checks.tables, {"src/symtile/frontend/onnx/ops/x.cpp": "void import_x(ImportContext& c) {\n"},
                    "import_x has no line")
        self.expect(checks.tables, {"src/symtile/frontend/onnx/ops.def": "ONNX_DIRECT(A, no)\nONNX_OP(If, import_if)\n"},
                    "no core operator")

    def test_diagnostics(self):
        self.expect(checks.diagnostics, {"src/symtile/op/op_test.cpp": None}, "no test raises 'bad_text'")
        self.expect(checks.diagnostics, {"src/symtile/op/op_test.cpp": None, "test/ir/fail.sym": "// error[bad_text]"})

    def test_pass_tests(self):
        self.expect(checks.pass_tests, {"test/transform/fuse.sym": None}, "no test/transform/fuse.sym")
        self.expect(checks.pass_tests, {"test/transform/x.sym": ""}, "no pass 'x'")

    def test_forbidden_strings(self):
        self.expect(checks.forbidden_strings, {"README.md": "see /home" + "/me/x\n"}, "absolute path")
        self.expect(checks.forbidden_strings, {"README.md": f"from {checks.REGISTRY_HOSTS[0]}\n"}, "registry host")


if __name__ == "__main__":
    unittest.main()
