// Types, attributes, constants, graph and tile functions, equality and verification of what text
// cannot express.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "symtile/diag/diagnostic.h"
#include "symtile/ir/expr_node.h"
#include "symtile/ir/module.h"
#include "symtile/ir/random_module.h"

namespace symtile {
namespace {

const DimExpr n = DimExpr::symbol("n"), m = DimExpr::symbol("m"), k = DimExpr::symbol("k");

Type t(Dims dims) { return Type::tensor(std::move(dims), DType::f32); }

TEST(Types, Text) {
  EXPECT_EQ(t({n, 4 * m + 1, DimExpr::unknown()}).str(), "Tensor[(n, 4*m + 1, ?), f32]");
  EXPECT_EQ(Type::tensor_any_rank(DType::boolean).str(), "Tensor[*, bool]");
  EXPECT_EQ(t({}).str(), "Tensor[(), f32]");
  EXPECT_EQ(Type::tuple({Type::shape({n}), Type::scalar(DType::i64), Type::object()}).str(),
            "Tuple[Shape[(n)], Scalar[i64], Object]");
  Type f;
  f.kind = Type::Kind::func;
  f.elements = {t({n}), t({m})};
  f.pure = false;
  EXPECT_EQ(f.str(), "Func[(Tensor[(n), f32]) -> Tensor[(m), f32], impure]");
}

TEST(Types, EraseAndJoin) {
  EXPECT_EQ(t({n, m + 1, 3}).erase_outside({"n"}), t({n, DimExpr::unknown(), 3}));
  EXPECT_EQ(join(t({n, m}), t({n, k}), {}), t({n, DimExpr::unknown()}));
  EXPECT_EQ(join(t({n}), t({n, m}), {}), Type::tensor_any_rank(DType::f32));
  EXPECT_EQ(join(t({n}), Type::tensor({n}, DType::f16), {}), std::nullopt);
  EXPECT_EQ(join(t({n}), Type::object(), {}), std::nullopt);
  Facts facts;
  facts.assume_equal(m, 2 * n);
  EXPECT_EQ(join(t({m}), t({2 * n}), facts), t({m}));
  EXPECT_TRUE(t({n}).fully_known());
  EXPECT_FALSE(Type::tuple({t({n}), t({DimExpr::unknown()})}).fully_known());
}

TEST(MatchType, BindsAtFirstSight) {
  DimSubstitution bound;
  std::string why;
  const std::set<std::string> free = {"n", "k"};
  EXPECT_EQ(match_type(t({n, n + 1, k}), t({m, m + 1, 3}), {}, free, bound, &why), Match::exact);
  EXPECT_EQ(bound.at("n"), m);
  EXPECT_EQ(bound.at("k"), DimExpr(3));

  bound.clear();
  EXPECT_EQ(match_type(t({n, n}), t({m, k}), {}, free, bound, &why), Match::possible);
  bound.clear();
  EXPECT_EQ(match_type(t({n, 2 * n}), t({m, 2 * m + 1}), {}, free, bound, &why), Match::impossible);
  EXPECT_EQ(why, "dimension 1: expected 2*n = 2*m, got 2*m + 1");
}

TEST(MatchType, UnknownIsPossibleAndBindsNothing) {
  DimSubstitution bound;
  const std::set<std::string> free = {"n"};
  EXPECT_EQ(match_type(t({n, n}), t({DimExpr::unknown(), 4}), {}, free, bound, nullptr),
            Match::possible);
  EXPECT_EQ(bound.at("n"), DimExpr(4));
  bound.clear();
  EXPECT_EQ(match_type(t({n}), Type::tensor_any_rank(DType::f32), {}, free, bound, nullptr),
            Match::possible);
  EXPECT_TRUE(bound.empty());
  EXPECT_EQ(match_type(t({n + 1}), t({4}), {}, free, bound, nullptr), Match::possible)
      << "n is bound by nothing yet";
  EXPECT_EQ(match_type(Type::object(), t({4}), {}, free, bound, nullptr), Match::exact);
  EXPECT_EQ(match_type(Type::tensor_any_rank(DType::f32), t({4}), {}, free, bound, nullptr),
            Match::exact);
}

TEST(MatchType, NamesWhatDiffers) {
  DimSubstitution bound;
  std::string why;
  const auto refuse = [&](const Type& a, const Type& b) {
    EXPECT_EQ(match_type(a, b, {}, {}, bound, &why), Match::impossible);
    return why;
  };
  EXPECT_EQ(refuse(t({n}), t({n, n})), "expected rank 1, got rank 2");
  EXPECT_EQ(refuse(t({3}), t({4})), "dimension 0: expected 3, got 4");
  EXPECT_EQ(refuse(t({n}), Type::tensor({n}, DType::f16)), "expected element type f32, got f16");
  EXPECT_EQ(refuse(t({n}), Type::tuple({})), "expected a tensor, got a tuple");
  EXPECT_EQ(refuse(Type::tuple({t({}), t({2})}), Type::tuple({t({}), t({3})})),
            "member 1: dimension 0: expected 2, got 3");
}

TEST(Attributes, ReadTyped) {
  Attributes a{{"axis", int64_t{3}}, {"list", std::vector<int64_t>{1, 2}}};
  EXPECT_EQ(a.get_int("axis"), 3);
  EXPECT_EQ(a.get_int("none", 7), 7);
  EXPECT_EQ(a.get_ints("list"), (std::vector<int64_t>{1, 2}));
  EXPECT_THROW(a.get_int("none"), InternalError);
  EXPECT_THROW(a.get_int("list"), InternalError);
  a.erase("axis");
  EXPECT_FALSE(a.has("axis"));
}

TEST(Constants, ElementsOfEveryType) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    auto c = make_zeros(dtype, {2, 3});
    EXPECT_EQ(c->element_count(), 6);
    c->set(5, 1);
    EXPECT_EQ(c->as_double(5), 1) << name_of(dtype);
    EXPECT_EQ(c->as_int(5), 1) << name_of(dtype);
    c->set_int(4, -1);
    const double expected = dtype == DType::boolean  ? 1
                            : is_unsigned_int(dtype) ? std::exp2(8 * size_of(dtype)) - 1
                                                     : -1;
    EXPECT_NEAR(c->as_double(4), expected, 1) << name_of(dtype);
    EXPECT_THROW(c->set(6, 0), InternalError);
  }
  auto u = make_zeros(DType::u64, {});
  u->set(0, 0x1p63);
  EXPECT_EQ(u->as_int(0), INT64_MIN);
  EXPECT_EQ(make_i64_vector({INT64_MAX, -1})->as_int(0), INT64_MAX);
  EXPECT_THROW(make_constant(DType::f32, {2}, {}), InternalError);
  EXPECT_NE(make_scalar(DType::f32, 0.0)->hash(), make_scalar(DType::f32, -0.0)->hash());
}

TEST(Graph, NamesAreFresh) {
  GraphFunction f;
  EXPECT_EQ(f.value(f.add_value("x", t({}))).name, "x");
  EXPECT_EQ(f.value(f.add_value("x", t({}))).name, "x_1");
  EXPECT_EQ(f.value(f.add_value("", t({}))).name, "2");
  EXPECT_EQ(f.value(f.add_value("4", t({}))).name, "4");
  EXPECT_EQ(f.value(f.add_value("", t({}))).name, "5") << "4 is taken";
  f.dim_params = {"q"};
  f.add_param("p", Type::tuple({t({n, m + 1}), t({k})}));
  EXPECT_EQ(f.entry_symbols(), (std::set<std::string>{"k", "n", "q"}));
}

TEST(Graph, WalksOperandsDimsAndCallees) {
  GraphNode node = If{{1}, "a", "b", {{2}, {}}, {n, m}};
  std::vector<int> ids;
  for_each_operand(node, [&](ValueId v) { ids.push_back(v.index); });
  EXPECT_EQ(ids, (std::vector<int>{1, 2, -1}));
  int dims = 0;
  for_each_dim(node, [&](DimExpr&) { ++dims; });
  EXPECT_EQ(dims, 2);
  std::string callees;
  for_each_callee(std::as_const(node), [&](const std::string& c) { callees += c; });
  EXPECT_EQ(callees, "ab");
}

TEST(Modules, KeepOrderAndReplace) {
  Module module;
  module.add(ExternFunction{"b"});
  module.add(ExternFunction{"a"});
  module.add(ExternFunction{"b"});
  EXPECT_EQ(module.functions().size(), 2u);
  EXPECT_EQ(name_of(module.functions()[0]), "b");
  EXPECT_EQ(module.fresh_name("a"), "a_1");
  module.remove("b");
  EXPECT_FALSE(module.has("b"));
  EXPECT_THROW(module.graph("a"), InternalError);
}

const char* const kTile = R"(
tile @f<n>(%x: Buffer[(n), f32]) -> (%y: Buffer[(n), f32]) {
  alloc %t: Buffer[(n), f32] {
    compute %t[i < n] = sum(k < n) %x[k] * %x[i]
    for j in 0 to n {
      %y[j] = %t[j]
    }
  }
}
)";

TEST(Tile, SubstituteReachesBoundsAndDims) {
  const TileFunction f = parse_module(kTile).tile("f");
  EXPECT_EQ(print(substitute(f.body, {{"n", var("j") * 8}})),
            "alloc %t: Buffer[(8*j), f32] {\n"
            "  compute %t[i < 8*j] = sum(k < 8*j) %x[k] * %x[i]\n"
            "  for j in 0 to j * 8 {\n"
            "    %y[j] = %t[j]\n"
            "  }\n"
            "}\n");
  const Stmt loop =
      for_loop("j", 0, 4, LoopKind::serial, store("y", {var("j")}, var("v", DType::f32)));
  EXPECT_EQ(print(substitute(loop, {{"v", cast(DType::f32, var("j"))}})),
            "for j_1 in 0 to 4 {\n  %y[j_1] = cast<f32>(j)\n}\n");
  EXPECT_EQ(substitute(f.body, {}), f.body);
}

TEST(Tile, RenameRewriteAndVisit) {
  const TileFunction f = parse_module(kTile).tile("f");
  const std::string renamed = print(rename_buffers(f.body, {{"t", "u"}, {"x", "t"}}));
  EXPECT_EQ(renamed,
            "alloc %u: Buffer[(n), f32] {\n"
            "  compute %u[i < n] = sum(k < n) %t[k] * %t[i]\n"
            "  for j in 0 to n {\n"
            "    %y[j] = %u[j]\n"
            "  }\n"
            "}\n");
  EXPECT_EQ(rewrite(f.body, nullptr, nullptr), f.body) << "nothing changed, nothing copied";
  int stmts = 0, exprs = 0;
  visit(f.body, [&](const Stmt&) { ++stmts; }, [&](const Expr&) { ++exprs; });
  EXPECT_EQ(stmts, 5);
  EXPECT_EQ(exprs, 5);
  EXPECT_FALSE(f.is_scheduled());
  EXPECT_EQ(f.find_param("y"), &f.outputs[0]);
  EXPECT_EQ(f.find_param("t"), nullptr);
}

TEST(Tile, BlocksFlatten) {
  const Stmt s = store("y", {}, float_imm(DType::f32, 1));
  EXPECT_EQ(block({s}), s);
  EXPECT_EQ(as<BlockStmt>(block({block({s, s}), nullptr, s}))->stmts.size(), 3u);
  EXPECT_EQ(as<BlockStmt>(block({}))->stmts.size(), 0u);
}

TEST(Equality, KernelsMeetWhateverTheirName) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const TileFunction a = testing::RandomModule(seed).tile("a");
    const TileFunction b = testing::RandomModule(seed).tile("b");
    const TileFunction other = testing::RandomModule(seed + 1).tile("a");
    EXPECT_FALSE(structurally_equal(a, b));
    EXPECT_TRUE(same_kernel(a, b));
    EXPECT_EQ(structural_hash(a), structural_hash(b));
    EXPECT_FALSE(same_kernel(a, other));
    EXPECT_NE(structural_hash(a), structural_hash(other));
  }
}

TEST(Equality, IgnoresValueNumbers) {
  GraphFunction a;
  a.name = "main";
  const ValueId x = a.add_param("x", t({n}));
  a.results = {a.bind(OpCall{"relu", {x}, {}}, t({n}), {}, "r")};
  GraphFunction b;
  b.name = "main";
  b.add_value("orphan", t({}));
  const ValueId y = b.add_param("x", t({n}));
  b.results = {b.bind(OpCall{"relu", {y}, {}}, t({n}), make_location("f", "", ""), "r")};
  EXPECT_TRUE(structurally_equal(a, b));
  b.value(y).type = t({m});
  EXPECT_FALSE(structurally_equal(a, b));
}

std::string complaint(const Module& module, const OpChecker& checker = {}) {
  try {
    verify(module, checker);
  } catch (const DiagnosticError& e) {
    return e.what();
  }
  return "";
}

TEST(Verify, WhatTextCannotSay) {
  GraphFunction f;
  f.name = "main";
  const ValueId x = f.add_param("x", t({n}));
  const ValueId y = f.bind(OpCall{"relu", {x}, {}}, t({n}));
  f.results = {y};
  Module module;
  module.add(f);
  EXPECT_EQ(complaint(module), "");

  module.graph("main").results = {ValueId{9}};
  EXPECT_EQ(complaint(module),
            "error[bad_module]: @main: a result is value 9, which does not exist");
  module.graph("main") = f;
  std::get<OpCall>(module.graph("main").bindings[0].node).args = {y};
  EXPECT_EQ(complaint(module),
            "error[bad_module]: @main, %1: argument 0 is %1, which is not defined before");
  module.graph("main") = f;
  module.graph("main").values[1].name = "x";
  EXPECT_EQ(complaint(module), "error[bad_module]: @main, %x: two values are named %x");
  module.graph("main") = f;
  module.graph("main").bindings[0].node = ConstantNode{};
  EXPECT_EQ(complaint(module), "error[bad_module]: @main, %1: the constant has no data");
  module.graph("main") = f;
  const OpChecker checker = [](const GraphFunction&, const Binding& b) {
    fail(DiagId::bad_attribute, b.location, "no operator is good enough");
  };
  EXPECT_EQ(complaint(module, checker), "error[bad_attribute]: no operator is good enough");
}

TEST(Verify, TileNodesThatOnlyCodeCanBuild) {
  TileFunction f;
  f.name = "f";
  f.outputs = {{"y", DType::f32, {4}}};
  Module module;
  const auto with_body = [&](Stmt body) {
    f.body = std::move(body);
    module.add(f);
    return complaint(module);
  };
  EXPECT_EQ(with_body(nullptr), "error[bad_module]: @f: there is no body");
  EXPECT_EQ(with_body(store("y", {var("i")}, float_imm(DType::f32, 1))),
            "error[bad_module]: @f, store to %y: variable 'i' is not in scope");
  EXPECT_EQ(with_body(store("y", {0}, Expr())),
            "error[bad_module]: @f, store to %y: an expression is missing");
  EXPECT_EQ(with_body(store("y", {0}, make_node(FloatImm{DType::f32, 0.1}))),
            "error[bad_module]: @f, store to %y: 0.1 is no value of f32");
  EXPECT_EQ(with_body(store("y", {0}, Expr(1))),
            "error[bad_module]: @f, store to %y: the value is i64, not f32: 1");
  EXPECT_EQ(with_body(store("y", {0}, load("y", DType::f16, {0}))),
            "error[bad_module]: @f, store to %y: buffer %y is f32 but loaded as f16");
  const Stmt ok = store("y", {0}, float_imm(DType::f32, 1));
  EXPECT_EQ(with_body(for_loop("bad name", 0, 1, LoopKind::serial, ok)),
            "error[bad_module]: @f, loop 'bad name': variable 'bad name' is no identifier");
  EXPECT_EQ(with_body(make_stmt(TaskStmt{TaskMapping::spatial({2, 2}), 0, {"i"}, ok})),
            "error[bad_module]: @f, tasks of spatial(2, 2): 1 variables for a mapping of rank 2");
  EXPECT_EQ(with_body(ok), "");
}

}  // namespace
}  // namespace symtile
