// Operators that move elements by position, on the cases users of other systems reported.
#include <gtest/gtest.h>

#include "symtile/op/index/meaning.h"

namespace symtile {
namespace {

using Floats = std::vector<double>;
using Ints = std::vector<int64_t>;

TEST(Gather, NegativeIndicesCountFromTheEnd) {
  const auto y = meaning_of("gather", {ref_count({5}, 1), ref_ints({3}, {-1, -3, 0})});
  EXPECT_EQ(y[0].f, (Floats{5, 3, 1}));
}

TEST(Gather, ElementsNegative) {
  const auto y = meaning_of("gather_elements", {ref_count({3, 4}), ref_ints({3, 1}, {-1, -1, -1})},
                            {{"axis", int64_t{1}}});
  EXPECT_EQ(y[0].f, (Floats{3, 7, 11}));
}

TEST(Gather, NdNegative) {
  const auto y = meaning_of("gather_nd", {ref_count({3, 4}), ref_ints({2, 2}, {-1, -1, 0, -2})});
  EXPECT_EQ(y[0].f, (Floats{11, 2}));
}

TEST(Gather, EmptyTensorKeepsItsShape) {
  const auto y = meaning_of("gather", {RefTensor(DType::f32, {1, 8400, 0}), ref_ints({}, {0})});
  EXPECT_EQ(y[0].dims, (Ints{8400, 0}));
}

TEST(Gather, OutOfBoundsIsTheUsersError) {
  EXPECT_THROW(meaning_of("gather", {ref_count({5}), ref_ints({1}, {5})}), UserError);
  EXPECT_THROW(meaning_of("gather", {ref_count({5}), ref_ints({1}, {-6})}), UserError);
  EXPECT_THROW(meaning_of("gather", {RefTensor(DType::f32, {0}), ref_ints({1}, {0})}), UserError);
}

TEST(Gather, NdBatchMismatchIsAnError) {
  const auto data = Type::tensor({3, 3}, DType::f32), indices = Type::tensor({2, 1}, DType::i64);
  EXPECT_THROW(types_of("gather_nd", {data, indices}, {{"batch_dims", int64_t{1}}}), UserError);
  EXPECT_THROW(meaning_of("gather_nd", {ref_count({3, 3}), ref_ints({2, 1}, {1, 2})},
                          {{"batch_dims", int64_t{1}}}),
               UserError);
}

TEST(Gather, ShapesStaySymbolic) {
  const DimExpr b = DimExpr::symbol("b"), s = DimExpr::symbol("s");
  const auto t =
      types_of("gather", {Type::tensor({1000, 64}, DType::f32), Type::tensor({b, s}, DType::i64)});
  EXPECT_EQ(t[0], Type::tensor({b, s, 64}, DType::f32));
}

TEST(Scatter, NdNegativeIndices) {
  const auto y = meaning_of("scatter_nd", {RefTensor(DType::f32, {3, 4}), ref_ints({2, 1}, {-1, 0}),
                                           ref_count({2, 4}, 1)});
  EXPECT_EQ(y[0].f, (Floats{5, 6, 7, 8, 0, 0, 0, 0, 1, 2, 3, 4}));
}

TEST(Scatter, TheLastWriteWins) {
  const auto y = meaning_of("scatter_nd", {RefTensor(DType::f32, {2}), ref_ints({3, 1}, {1, 1, 1}),
                                           ref_floats({3}, {7, 8, 9})});
  EXPECT_EQ(y[0].f, (Floats{0, 9}));
}

TEST(Scatter, Reductions) {
  const auto run = [](const char* reduction) {
    return meaning_of(
               "scatter_elements",
               {ref_floats({3}, {1, 2, 3}), ref_ints({3}, {0, 0, -1}), ref_floats({3}, {5, -6, 7})},
               {{"axis", int64_t{0}}, {"reduction", std::string(reduction)}})[0]
        .f;
  };
  EXPECT_EQ(run("none"), (Floats{-6, 2, 7}));
  EXPECT_EQ(run("add"), (Floats{0, 2, 10}));
  EXPECT_EQ(run("mul"), (Floats{-30, 2, 21}));
  EXPECT_EQ(run("min"), (Floats{-6, 2, 3}));
  EXPECT_EQ(run("max"), (Floats{5, 2, 7}));
  EXPECT_THROW(types_of("scatter_elements",
                        {Type::tensor({3}, DType::f32), Type::tensor({3}, DType::i64),
                         Type::tensor({3}, DType::f32)},
                        {{"reduction", std::string("mean")}}),
               UserError);
}

TEST(OneHot, NegativeAndOutOfRange) {
  const auto y = meaning_of("one_hot", {ref_ints({5}, {0, 2, 4, -1, 7}), ref_floats({2}, {0, 1})},
                            {{"depth", Dims{5}}});
  EXPECT_EQ(y[0].dims, (Ints{5, 5}));
  EXPECT_EQ(Floats(y[0].f.begin() + 15, y[0].f.begin() + 20), (Floats{0, 0, 0, 0, 1}));
  EXPECT_EQ(Floats(y[0].f.begin() + 20, y[0].f.end()), (Floats{0, 0, 0, 0, 0}));
}

TEST(CumSum, ExclusiveAndReverse) {
  const auto run = [](int64_t exclusive, int64_t reverse) {
    return meaning_of("cumsum", {ref_count({4}, 1)},
                      {{"axis", int64_t{0}}, {"exclusive", exclusive}, {"reverse", reverse}})[0]
        .f;
  };
  EXPECT_EQ(run(0, 0), (Floats{1, 3, 6, 10}));
  EXPECT_EQ(run(1, 0), (Floats{0, 1, 3, 6}));
  EXPECT_EQ(run(0, 1), (Floats{10, 9, 7, 4}));
  EXPECT_EQ(run(1, 1), (Floats{9, 7, 4, 0}));
}

TEST(TopK, TiesKeepTheirOrderAndNanIsLargest) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto y = meaning_of("top_k", {ref_floats({6}, {1, 3, nan, 3, 1, 2})}, {{"k", Dims{4}}}, 2);
  EXPECT_EQ(y[1].i, (Ints{2, 1, 3, 5}));
  const auto z = meaning_of("top_k", {ref_floats({5}, {1, 3, nan, 3, 1})},
                            {{"k", Dims{4}}, {"largest", int64_t{0}}}, 2);
  EXPECT_EQ(z[1].i, (Ints{0, 4, 1, 3}));
}

TEST(TopK, KBeyondTheAxisIsRefusedOrChecked) {
  const DimExpr n = DimExpr::symbol("n");
  EXPECT_THROW(types_of("top_k", {Type::tensor({2, 3}, DType::f32)}, {{"k", Dims{4}}}), UserError);
  std::vector<DimCheck> checks;
  types_of("top_k", {Type::tensor({2, n}, DType::f32)}, {{"k", Dims{4}}}, &checks);
  ASSERT_EQ(checks.size(), 1u);
  EXPECT_NE(checks[0].a.evaluate({{"n", 3}}), checks[0].b.evaluate({{"n", 3}}));
  EXPECT_EQ(checks[0].a.evaluate({{"n", 4}}), checks[0].b.evaluate({{"n", 4}}));
}

TEST(NonZero, FindsNanAndNotMinusZero) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto y = meaning_of("nonzero", {ref_floats({2, 2}, {-0.0, 1, nan, 0})});
  EXPECT_EQ(y[0].dims, (Ints{2, 2}));
  EXPECT_EQ(y[0].i, (Ints{0, 1, 1, 0}));
}

TEST(Unique, SortedOrNot) {
  const auto sorted = meaning_of("unique", {ref_floats({6}, {2, 1, 1, 3, 4, 3})}, {}, 4);
  EXPECT_EQ(sorted[0].f, (Floats{1, 2, 3, 4}));
  EXPECT_EQ(sorted[1].i, (Ints{1, 0, 3, 4}));
  EXPECT_EQ(sorted[2].i, (Ints{1, 0, 0, 2, 3, 2}));
  EXPECT_EQ(sorted[3].i, (Ints{2, 1, 2, 1}));
  const auto first =
      meaning_of("unique", {ref_floats({4}, {2, 1, 1, 3})}, {{"sorted", int64_t{0}}}, 4);
  EXPECT_EQ(first[0].f, (Floats{2, 1, 3}));
}

}  // namespace
}  // namespace symtile
