// Broadcasting of formulas, and what the builder adds to a function.
#include "symtile/op/builder.h"

#include <gtest/gtest.h>

namespace symtile {
namespace {

struct Graph {
  Module module;
  GraphFunction function;
  OpBuilder build{module, function};

  ValueId param(const std::string& name, Dims dims, DType dtype = DType::f32) {
    return function.add_param(name, Type::tensor(std::move(dims), dtype));
  }
  const Dims& dims(ValueId v) { return *build.type(v).dims; }
  int count_checks() const {
    int n = 0;
    for (const Binding& b : function.bindings) n += std::holds_alternative<CheckDims>(b.node);
    return n;
  }
};

DimExpr sym(const char* name) { return DimExpr::symbol(name); }

DiagId diagnostic_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const DiagnosticError& e) {
    return e.id();
  }
  ADD_FAILURE() << "no diagnostic";
  return DiagId::bad_input;
}

TEST(Broadcast, KnownExtentsNeedNoCheck) {
  Graph g;
  const ValueId a = g.param("a", {sym("n"), 1, 4}), b = g.param("b", {3, 1});
  const ValueId c = g.build.call("add", {a, b});
  EXPECT_EQ(g.dims(c), (Dims{sym("n"), 3, 4}));
  EXPECT_EQ(g.count_checks(), 0);
}

TEST(Broadcast, TwoSymbolsGetACheckAndAFormula) {
  Graph g;
  const ValueId a = g.param("a", {sym("n")}), b = g.param("b", {sym("m")});
  const DimExpr d = g.dims(g.build.call("add", {a, b}))[0];
  EXPECT_EQ(g.count_checks(), 1);
  const int64_t cases[][3] = {{5, 1, 5}, {1, 5, 5}, {5, 5, 5}, {0, 1, 0},
                              {1, 0, 0}, {0, 0, 0}, {1, 1, 1}};
  for (const auto& [n, m, result] : cases) {
    EXPECT_EQ(d.evaluate({{"n", n}, {"m", m}}), result) << n << " and " << m;
  }
  const auto* check = std::get_if<CheckDims>(&g.function.bindings[0].node);
  ASSERT_NE(check, nullptr);
  EXPECT_EQ(check->a.evaluate({{"n", 5}, {"m", 1}}), check->b.evaluate({}));
  EXPECT_NE(check->a.evaluate({{"n", 5}, {"m", 3}}), check->b.evaluate({}));
  EXPECT_NE(check->a.evaluate({{"n", 5}, {"m", 0}}), check->b.evaluate({}));
}

TEST(Broadcast, AChainIsOneFormulaOverAllOperands) {
  Graph g;
  const std::vector<std::string> names = {"p", "q", "r", "s"};
  ValueId sum;
  for (const std::string& n : names) {
    const ValueId x = g.param(n, {DimExpr::symbol(n)});
    sum = sum.valid() ? g.build.call("add", {sum, x}) : x;
  }
  const DimExpr all = g.dims(sum)[0];
  EXPECT_LT(all.str().size(), 80u) << all.str();
  EXPECT_EQ(g.count_checks(), 3);
  // Compatible values: 1 and one other number.
  for (const int64_t other : {0, 1, 5}) {
    for (int mask = 0; mask < 16; ++mask) {
      DimValues values;
      for (size_t i = 0; i < names.size(); ++i) values[names[i]] = mask >> i & 1 ? other : 1;
      EXPECT_EQ(all.evaluate(values), mask ? other : 1) << other << " " << mask;
    }
  }
  // An operand that is in the sum already adds nothing.
  EXPECT_EQ(g.dims(g.build.call("add", {sum, g.function.params[1]}))[0], all);
  EXPECT_EQ(g.count_checks(), 3);
}

TEST(Broadcast, ANumberAboveOneWins) {
  Graph g;
  const ValueId a = g.param("a", {sym("n")}), b = g.param("b", {7});
  EXPECT_EQ(g.dims(g.build.call("mul", {a, b})), (Dims{7}));
  EXPECT_EQ(g.count_checks(), 1);
}

TEST(Broadcast, AnUnknownExtentErasesNoOther) {
  Graph g;
  const ValueId a = g.param("a", {sym("n"), DimExpr::unknown(), DimExpr::unknown()});
  const ValueId b = g.param("b", {sym("n"), 1, 3});
  EXPECT_EQ(g.dims(g.build.call("add", {a, b})), (Dims{sym("n"), DimExpr::unknown(), 3}));
}

TEST(Broadcast, NumbersThatDisagreeAreAnError) {
  Graph g;
  const ValueId a = g.param("a", {3}), b = g.param("b", {4});
  EXPECT_EQ(diagnostic_of([&] { g.build.call("add", {a, b}); }), DiagId::shape_mismatch);
  EXPECT_EQ(diagnostic_of([&] { broadcast_extents({3}, {4}); }), DiagId::bad_input);
}

TEST(Builder, ChecksOnceAndRemembers) {
  Graph g;
  const ValueId x = g.param("x", {2, sym("c"), 3});
  const ValueId s = g.param("s", {sym("k")});
  const std::vector<ValueId> args = {x, s, s, s, s};
  g.build.call("batch_norm", args);
  EXPECT_EQ(g.count_checks(), 1);
  g.build.call("batch_norm", args);
  EXPECT_EQ(g.count_checks(), 1);
  EXPECT_TRUE(g.build.facts().proves_equal(sym("c"), sym("k")));
}

TEST(Builder, ReportsSchemaViolations) {
  Graph g;
  const ValueId x = g.param("x", {2});
  EXPECT_EQ(diagnostic_of([&] { g.build.call("no_such_op", {x}); }), DiagId::unknown_name);
  EXPECT_EQ(diagnostic_of([&] { g.build.call("add", {x}); }), DiagId::bad_module);
  EXPECT_EQ(diagnostic_of([&] { g.build.call("relu", {x}, {{"axis", int64_t{1}}}); }),
            DiagId::bad_module);
  EXPECT_EQ(diagnostic_of([&] { g.build.call("elu", {x}, {{"alpha", int64_t{1}}}); }),
            DiagId::bad_module);
  EXPECT_EQ(diagnostic_of([&] { g.build.call("cast", {x}); }), DiagId::bad_module);
  EXPECT_EQ(diagnostic_of([&] { g.build.call("softmax", {x}, {{"axis", int64_t{1}}}); }),
            DiagId::bad_attribute);
  EXPECT_EQ(diagnostic_of([&] { g.build.call("logical_not", {x}); }), DiagId::type_mismatch);
}

TEST(Builder, FindsConstantsBoundByOthers) {
  Graph g;
  const ValueId c =
      g.function.bind(ConstantNode{make_scalar(DType::f32, 3)}, Type::tensor({}, DType::f32));
  ASSERT_NE(g.build.constant_of(c), nullptr);
  EXPECT_EQ(g.build.constant_of(c)->as_double(0), 3);
  EXPECT_EQ(g.build.constant_of(g.param("x", {1})), nullptr);
}

TEST(Builder, ReadDimsBindsFreshSymbolsThatMayBeNegative) {
  Graph g;
  const ValueId x = g.param("x", {2}, DType::i64);
  const Dims d = g.build.read_dims(x, 2, "k");
  ASSERT_EQ(d.size(), 2u);
  EXPECT_NE(d[0], d[1]);
  EXPECT_FALSE(g.build.facts().proves_le(0, d[0]));
}

TEST(Builder, SeveralResultsComeAsATuple) {
  Graph g;
  const ValueId x = g.param("x", {sym("n"), 8}), s = g.param("s", {8});
  const auto out = g.build.call_many("layer_norm", {x, s}, {{"stats", int64_t{1}}});
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(g.dims(out[1]), (Dims{sym("n"), 1}));
}

}  // namespace
}  // namespace symtile
