#include "symtile/backend/vm/lower_program.h"

#include <gtest/gtest.h>

#include <random>

#include "symtile/diag/diagnostic.h"
#include "symtile/format/print_program.h"
#include "symtile/format/validate.h"

namespace symtile {
namespace {

const DimExpr n = DimExpr::symbol("n");
const DimExpr m = DimExpr::symbol("m");

Type f32(Dims dims) { return Type::tensor(std::move(dims), DType::f32); }

/// A module with the tile function add(a, b) -> out over `elements`, one with two outputs, and
/// an empty main.
struct Fixture {
  Module module;
  GraphFunction main;

  Fixture() {
    module = parse_module(R"(
      tile @add<e>(%a: Buffer[(e), f32], %b: Buffer[(e), f32]) -> (%out: Buffer[(e), f32]) {
        for i in 0 to e parallel { %out[i] = %a[i] + %b[i] }
      }
      tile @split<e>(%a: Buffer[(e), f32])
          -> (%low: Buffer[(e), f32], %high: Buffer[(e), f32]) {
        for i in 0 to e parallel { %low[i] = %a[i]  %high[i] = %a[i] }
      }
      extern @nonzero
    )");
    main.name = "main";
  }

  LoweredProgram lower() {
    module.add(main);
    verify(module);
    LoweredProgram out = lower_to_program(module);
    format::Program placed = out.program;  // as the artifact writer places the constants
    uint64_t offset = 0;
    for (auto& c : placed.constants) {
      c.offset = offset;
      offset += (c.bytes + 63) / 64 * 64;
    }
    format::validate(placed, offset);
    return out;
  }
  std::string text() { return format::to_text(lower().program); }
  std::string error() {
    try {
      lower();
    } catch (const UserError& e) {
      return e.what();
    }
    return {};
  }
};

void expect_lines(const std::string& text, std::initializer_list<std::string> lines) {
  size_t at = 0;
  for (const std::string& line : lines) {
    const size_t found = text.find(line, at);
    EXPECT_NE(found, std::string::npos) << "missing or out of order: " << line << "\n" << text;
    if (found != std::string::npos) at = found;
  }
}

TEST(LowerFormula, AgreesWithEvaluate) {
  const std::vector<std::string> symbols = {"n", "m", "k"};
  const DimExpr k = DimExpr::symbol("k");
  const DimExpr exprs[] = {0,
                           -7,
                           n,
                           -1 * n,
                           n - m,
                           4 * n * n * m - 3 * k + 1,
                           floordiv(n - 5, 3),
                           floormod(n * m - 40, 7),
                           max(n, min(m, k) - 2) * (n + 1),
                           round_up(n * 4, 64) + round_up(m * k, 64),
                           floordiv(n, floordiv(m, 4) + 1),
                           n - floordiv(n + 3, 4) * 4};
  std::mt19937 random(5);
  for (const DimExpr& e : exprs) {
    const format::Formula f = lower_formula(e, symbols);
    EXPECT_EQ(f.text, e.str());
    for (int i = 0; i < 50; ++i) {
      std::vector<int64_t> v(3);
      for (int64_t& x : v) x = static_cast<int64_t>(random() % 100);
      const DimValues values = {{"n", v[0]}, {"m", v[1]}, {"k", v[2]}};
      EXPECT_EQ(format::evaluate(f, v), e.evaluate(values)) << e.str();
    }
  }
  EXPECT_THROW(lower_formula(DimExpr::unknown(), symbols), InternalError);
  EXPECT_THROW(lower_formula(DimExpr::symbol("z"), symbols), InternalError);
}

TEST(LowerFormula, NestedMaximaNeedLittleStack) {
  DimExpr peak = n;
  for (int i = 1; i < 150; ++i) peak = max(i * m + floordiv(n, i + 1), peak + i);
  const format::Formula f = lower_formula(peak, {"n", "m"});  // checks the depth
  EXPECT_EQ(format::evaluate(f, std::vector<int64_t>{7, 5}), peak.evaluate({{"n", 7}, {"m", 5}}));
}

TEST(LowerProgram, PlacesLaunchesAndReturns) {
  Fixture t;
  GraphFunction& f = t.main;
  const ValueId x = f.add_param("x", f32({n}));
  const ValueId y = f.add_param("y", f32({n}));
  const ValueId a = f.bind(TileCall{"add", {x, y}, {n}}, f32({n}), {}, "a");
  const ValueId view = f.bind(OpCall{"reshape", {a}, {}}, f32({1, n}), {}, "view");
  const ValueId flat = f.bind(OpCall{"reshape", {view}, {}}, f32({n}), {}, "flat");
  const ValueId b = f.bind(TileCall{"add", {flat, flat}, {n}}, f32({n}), {}, "b");
  const ValueId c = f.bind(TileCall{"add", {b, x}, {n}}, f32({n}), {}, "c");
  f.value(a).placement = {Placement::Kind::arena, 64, {}};
  f.value(view).placement = {Placement::Kind::alias, {}, a};
  f.value(flat).placement = {Placement::Kind::alias, {}, view};
  f.value(b).placement = {Placement::Kind::alias, {}, a};  // in place
  f.value(c).placement = {Placement::Kind::heap, {}, {}};
  f.arena_bytes = 64 + round_up(4 * n, 64);
  f.results = {c};
  f.result_names = {"sum"};
  f.facts.bound("n", 1, 4096);
  f.facts.assume_divisible(n, 8);

  const LoweredProgram lowered = t.lower();
  const format::Program& p = lowered.program;
  const std::string text = format::to_text(p);
  expect_lines(text, {"bind_dims what=\"input 'x'\" value=%0 dtype=f32 known_rank=true dims=[n :=]",
                      "bind_dims what=\"input 'y'\" value=%1 dtype=f32 known_rank=true dims=[n]",
                      "check_dims relation=<= a=1 b=n", "check_dims relation=<= a=n b=4096",
                      "check_dims relation=== a=n % 8 b=0",
                      "arena bytes=", "arena_tensor result=%2 shape=f32[n] offset=64",
                      "launch_kernel kernel=@add buffers=[%0, %1, %2] symbols=[n]",
                      "view_tensor result=%1 source=%2 shape=f32[1, n]",  // y's register again
                      "view_tensor result=", "view_tensor result=", "launch_kernel kernel=@add",
                      "heap_tensor result=", "output=0", "launch_kernel kernel=@add", "return"});
  EXPECT_EQ(p.outputs[0].name, "sum");
  EXPECT_EQ(p.outputs[0].dims[0].text, "n");
  EXPECT_EQ(p.symbols, std::vector<std::string>{"n"});
  EXPECT_EQ(p.formulas[p.arena_bytes.value].text, f.arena_bytes->str());
  EXPECT_EQ(lowered.kernels, std::vector<std::string>{"add"});
  EXPECT_LE(p.functions[0].registers, 5u);
  EXPECT_EQ(make_manifest(lowered, "test").get("memory"), f.arena_bytes->str());
}

TEST(LowerProgram, SolvesCompoundDimensions) {
  Fixture t;
  const ValueId x = t.main.add_param("x", f32({4 * n}));
  t.main.add_param("y", f32({n, m}));
  const ValueId a = t.main.bind(TileCall{"add", {x, x}, {4 * n}}, f32({4 * n}));
  t.main.results = {a};
  // x's first dimension waits for y, where n stands alone.
  expect_lines(t.text(), {"dims=[arg0.shape.0 :=]", "dims=[n :=, m :=]", "dims=[4*n]"});

  Fixture alone;
  const ValueId z = alone.main.add_param("z", f32({8 * n + 3}));
  alone.main.dim_params = {};
  alone.main.results = {z};
  alone.module.add(alone.main);  // the verifier wants a bare n; the lowering does not
  expect_lines(format::to_text(lower_to_program(alone.module).program),
               {"dims=[arg0.shape.0 :=]", "eval_dim slot=n formula=", "dims=[8*n + 3]"});

  Fixture impossible;
  const ValueId w = impossible.main.add_param("w", f32({n * m}));
  impossible.main.results = {w};
  impossible.module.add(impossible.main);
  try {
    lower_to_program(impossible.module);
    FAIL();
  } catch (const DiagnosticError& e) {
    EXPECT_EQ(e.id(), DiagId::bad_module);
    EXPECT_NE(std::string(e.what()).find("input 'w'"), std::string::npos);
  }
}

TEST(LowerProgram, ChecksComeFirstUnlessTheyNeedLaterSymbols) {
  Fixture t;
  GraphFunction& f = t.main;
  const ValueId x = f.add_param("x", f32({n}));
  f.add_param("z", f32({m}));
  const ValueId d = f.add_param("d", Type::tensor({2}, DType::i64));
  const ValueId a = f.bind(TileCall{"add", {x, x}, {n}}, f32({n}));
  f.bind(CheckDims{2 * n, m, "halves"}, Type::object());
  f.bind(ReadDims{d, {"p", "q"}}, f.type(d));
  f.bind(CheckDims{DimExpr::symbol("p"), n, "rows"}, Type::object());
  const ValueId s = f.bind(DimsToTensor{{DimExpr::symbol("q") + 1, n}, DType::i64, 0},
                           Type::tensor({2}, DType::i64));
  f.results = {a, s};
  expect_lines(t.text(), {"check_dims relation=== a=2*n b=m message=\"halves\"", "launch_kernel",
                          "read_dims", "check_dims relation=== a=p b=n",
                          "heap_tensor result=", "store_dims target=", "values=[q + 1, n]"});
}

TEST(LowerProgram, TuplesExistOnlyAtCompileTime) {
  Fixture t;
  GraphFunction& f = t.main;
  const ValueId x = f.add_param("x", f32({n}));
  const ValueId pair = f.bind(TileCall{"split", {x}, {n}}, Type::tuple({f32({n}), f32({n})}));
  const ValueId high = f.bind(GetItem{pair, 1}, f32({n}), {}, "high");
  const ValueId both = f.bind(MakeTuple{{high, x}}, Type::tuple({f32({n}), f32({n})}));
  const ValueId back = f.bind(GetItem{both, 0}, f32({n}), {}, "back");
  f.value(high).placement = {Placement::Kind::arena, 0, {}};
  f.arena_bytes = 4 * n;
  f.results = {back};
  // The low half is used by nobody and still needs memory.
  expect_lines(t.text(),
               {"heap_tensor result=%1", "arena_tensor result=%2",
                "launch_kernel kernel=@split buffers=[%0, %1, %2]", "return values=[%2]"});
}

TEST(LowerProgram, LibraryCallsBindTheirResults) {
  Fixture t;
  GraphFunction& f = t.main;
  const ValueId x = f.add_param("x", f32({n}));
  Attributes attrs{{"axis", int64_t{1}}, {"sizes", Dims{n, 2 * n}}};
  const ValueId z = f.bind(ExternCall{"nonzero", {x, {}}, attrs},
                           Type::tensor({1, DimExpr::unknown()}, DType::i64));
  const Type known = Type::tensor({1, DimExpr::symbol("u")}, DType::i64);
  const ValueId k = f.bind(MatchCast{z, known}, known, {}, "k");
  const ValueId s =
      f.bind(DimsToTensor{{DimExpr::symbol("u")}, DType::i64, 1}, Type::tensor({}, DType::i64));
  f.results = {k, s};
  expect_lines(t.text(), {"call_builtin builtin=@nonzero args=[%0, none] attributes=[axis=1, "
                          "sizes=[n, 2*n]]",
                          "dtypes=[i64]", "bind_dims", "dims=[1, ?]", "bind_dims", "dims=[1, u :=]",
                          "store_dims"});
}

TEST(LowerProgram, ControlFlowCallsFunctionsThatComeFirst) {
  Fixture t;
  GraphFunction body;
  body.name = "body";
  body.dim_params = {"n"};
  body.add_param("i", Type::tensor({}, DType::i64));
  const ValueId go = body.add_param("go", Type::tensor({}, DType::boolean));
  const ValueId carried = body.add_param("carried", f32({n}));
  const ValueId doubled = body.bind(TileCall{"add", {carried, carried}, {n}}, f32({n}));
  body.results = {go, doubled, carried};
  t.module.add(body);
  GraphFunction branch;
  branch.name = "branch";
  branch.results = {branch.add_param("v", f32({DimExpr::symbol("k")}))};
  t.module.add(branch);

  GraphFunction& f = t.main;
  const ValueId x = f.add_param("x", f32({n}));
  const ValueId go_main = f.add_param("go", Type::tensor({}, DType::boolean));
  Loop loop;
  loop.body = "body";
  loop.condition = go_main;
  loop.carried = {x};
  loop.scanned = 1;
  loop.dims = {n};
  const ValueId both = f.bind(loop, Type::tuple({f32({n}), f32({DimExpr::unknown(), n})}));
  const ValueId last = f.bind(GetItem{both, 0}, f32({n}), {}, "last");
  const ValueId chosen = f.bind(If{go_main, "branch", "branch", {last}, {}}, f32({n}));
  const ValueId called = f.bind(GraphCall{"branch", {chosen}, {}}, f32({n}));
  f.results = {called};
  const LoweredProgram lowered = t.lower();
  expect_lines(format::to_text(lowered.program),
               {"function @body params=3 dims=1", "function @branch", "argument 'v' of 'branch'",
                "function @main",
                "loop body=@body trip_count=none condition=%1 carried=[%0] "
                "captured=[] dims=[n] scans=[f32[n]]",
                "if condition=%1 then=@branch else=@branch", "call function=@branch"});
}

TEST(LowerProgram, ConstantsAreStoredOnce) {
  Fixture t;
  GraphFunction& f = t.main;
  const ValueId a = f.bind(ConstantNode{make_i64_vector({1, 2})}, Type::tensor({2}, DType::i64));
  const ValueId b = f.bind(ConstantNode{make_i64_vector({1, 2})}, Type::tensor({2}, DType::i64));
  const ValueId c = f.bind(ConstantNode{make_i64_vector({1, 3})}, Type::tensor({2}, DType::i64));
  f.results = {a, b, c};
  const LoweredProgram lowered = t.lower();
  EXPECT_EQ(lowered.constants.size(), 2u);
  EXPECT_EQ(lowered.program.constants[1].bytes, 16u);
}

TEST(LowerProgram, HeapMemoryIsReleasedAfterItsLastUse) {
  Fixture t;
  GraphFunction& f = t.main;
  ValueId v = f.add_param("x", f32({n}));
  for (int i = 0; i < 20; ++i) v = f.bind(TileCall{"add", {v, v}, {n}}, f32({n}));
  f.results = {v};
  const LoweredProgram lowered = t.lower();
  expect_lines(format::to_text(lowered.program),
               {"launch_kernel", "launch_kernel", "release", "launch_kernel", "release"});
  EXPECT_LE(lowered.program.functions[0].registers, 3u);
}

TEST(LowerProgram, UnprovedArgumentsAreChecked) {
  Fixture t;
  GraphFunction& f = t.main;
  const ValueId x = f.add_param("x", f32({DimExpr::unknown()}));
  const ValueId y = f.add_param("y", f32({n}));
  f.results = {f.bind(TileCall{"add", {x, y}, {n}}, f32({n}))};
  expect_lines(t.text(), {"bind_dims what=\"argument 'x'\" value=%0 dtype=f32 known_rank=true "
                          "dims=[n]",
                          "launch_kernel"});
}

TEST(LowerProgram, WhatIsNotLoweredIsRefused) {
  Fixture op;
  const ValueId x = op.main.add_param("x", f32({n}));
  op.main.results = {op.main.bind(OpCall{"relu", {x}, {}}, f32({n}))};
  EXPECT_NE(op.error().find("operator 'relu' was neither lowered nor planned"), std::string::npos);

  Fixture unknown;
  const ValueId y = unknown.main.add_param("y", f32({DimExpr::unknown()}));
  const ValueId v = unknown.main.bind(OpCall{"reshape", {y}, {}}, f32({1, DimExpr::unknown()}));
  unknown.main.value(v).placement = {Placement::Kind::alias, {}, y};
  unknown.main.results = {v};
  EXPECT_NE(unknown.error().find("needs the value of '?'"), std::string::npos) << unknown.error();

  EXPECT_THROW(lower_to_program(Module{}), DiagnosticError);
}

}  // namespace
}  // namespace symtile
