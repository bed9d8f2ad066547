// Convolution, pooling, resampling, transforms: shape formulas, and cases other compilers got
// wrong.
#include <gtest/gtest.h>

#include <numeric>

#include "symtile/op/builder.h"
#include "symtile/op/nn/resize.h"
#include "symtile/op/nn/sample.h"

namespace symtile {
namespace {

using Ints = std::vector<int64_t>;

RefTensor evaluate(const std::string& op, const std::vector<RefTensor>& inputs,
                   Attributes attrs = {}) {
  OpCall call{op, {}, std::move(attrs)};
  DimValues none;
  EvalContext c(call, none);
  for (const RefTensor& t : inputs) c.inputs.push_back(&t);
  find_op(op)->evaluate(c);
  return c.outputs.at(0);
}

RefTensor reals(Ints dims, std::vector<double> values) {
  RefTensor out(DType::f32, std::move(dims));
  out.f = std::move(values);
  return out;
}

RefTensor counting(Ints dims, double first = 1) {
  RefTensor out(DType::f32, std::move(dims));
  std::iota(out.f.begin(), out.f.end(), first);
  return out;
}

void expect_near(const RefTensor& got, const Ints& dims, const std::vector<double>& want) {
  EXPECT_EQ(got.dims, dims);
  ASSERT_EQ(got.f.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got.f[i], want[i], 1e-4) << "element " << i;
}

Type deduce(const std::string& op, const std::vector<Type>& args, Attributes attrs = {},
            std::vector<DimCheck>* checks = nullptr) {
  OpCall call{op, {}, std::move(attrs)};
  for (size_t i = 0; i < args.size(); ++i) call.args.push_back({static_cast<int32_t>(i)});
  std::vector<DimCheck> own;
  return deduce_call(call, args, std::vector<Constant>(args.size()), Facts(), {},
                     checks != nullptr ? checks : &own)
      .at(0);
}

std::string shape(const Type& t) {
  std::string out;
  for (const DimExpr& d : *t.dims) out += (out.empty() ? "" : ", ") + d.str();
  return out;
}

TEST(ConvShape, SymbolicExtents) {
  const Type x = f32_tensor({sym("b"), 3, sym("h"), sym("w")}), w = f32_tensor({8, 3, 3, 3});
  EXPECT_EQ(shape(deduce("conv", {x, w}, {{"pads", Dims{1, 1, 1, 1}}})), "b, 8, h, w");
  std::vector<DimCheck> checks;
  const Type y = deduce("conv", {x, w}, {{"strides", Ints{2, 1}}}, &checks);
  EXPECT_EQ(y.dims->at(2), floordiv(sym("h") - 3, 2) + 1);
  EXPECT_EQ(y.dims->at(3), sym("w") - 2);
  // An image smaller than the kernel is refused at run time.
  ASSERT_EQ(checks.size(), 2u);
  EXPECT_NE(checks[1].a.evaluate({{"w", 1}}), 0);
  EXPECT_EQ(checks[1].a.evaluate({{"w", 2}}), 0);
}

TEST(ConvShape, SamePaddingIsCeilOfStride) {
  const DimExpr w = sym("w"), total = (ceildiv(w, 2) - 1) * 2 + 3 - w;
  const DimExpr half = floordiv(total, 2);
  const Type y = deduce("conv", {f32_tensor({1, 1, w}), f32_tensor({1, 1, 3})},
                        {{"strides", Ints{2}}, {"pads", Dims{half, total - half}}});
  EXPECT_EQ(y.dims->at(2), ceildiv(w, 2));
}

TEST(ConvShape, TooSmallOrUnequalIsAnError) {
  EXPECT_THROW(deduce("conv", {f32_tensor({1, 1, 1}), f32_tensor({1, 1, 4})}), UserError);
  EXPECT_THROW(deduce("conv", {f32_tensor({1, 3, 8}), f32_tensor({1, 2, 3})}), UserError);
  EXPECT_THROW(
      deduce("conv", {f32_tensor({1, 4, 8}), f32_tensor({3, 2, 3})}, {{"group", int64_t{2}}}),
      UserError);
}

TEST(ConvTranspose, SameUpper) {
  const RefTensor x = counting({1, 1, 2, 2}, 2), w = counting({1, 1, 3, 3}, 2);
  expect_near(evaluate("conv_transpose", {x, w}, {{"pads", Dims{1, 1, 1, 1}}}), {1, 1, 2, 2},
              {49, 63, 91, 105});
}

TEST(ConvTranspose, OutputPaddingEnlarges) {
  const Type y =
      deduce("conv_transpose", {f32_tensor({1, 1, 28, sym("w")}), f32_tensor({1, 1, 3, 3})},
             {{"strides", Ints{2, 2}}, {"pads", Dims{1, 1, 1, 1}}, {"output_padding", Ints{1, 1}}});
  EXPECT_EQ(shape(y), "1, 1, 56, 2*w");
}

TEST(AveragePool, CountsThePaddingOnlyWhenAsked) {
  const RefTensor ones = reals({1, 1, 2, 2}, {1, 1, 1, 1});
  Attributes attrs = {{"kernel", Ints{2, 2}}, {"pads", Dims{0, 0, 1, 1}}};
  expect_near(evaluate("average_pool", {ones}, attrs), {1, 1, 2, 2}, {1, 1, 1, 1});
  attrs.set("count_include_pad", int64_t{1});
  expect_near(evaluate("average_pool", {ones}, attrs), {1, 1, 2, 2}, {1, 0.5, 0.5, 0.25});
}

TEST(AveragePool, CeilModeDoesNotCountBeyondThePadding) {
  const RefTensor x =
      reals({1, 1, 9}, {2.0903, 4.6493, 1.632, -3.2051, 4.6975, 4.7296, 3.3653, -1.5815, -2.3832});
  expect_near(evaluate("average_pool", {x},
                       {{"kernel", Ints{7}},
                        {"strides", Ints{3}},
                        {"pads", Dims{3, 3}},
                        {"ceil_mode", int64_t{1}},
                        {"count_include_pad", int64_t{1}}}),
              {1, 1, 4}, {0.73807, 2.56557, 0.80323, -0.09990});
  expect_near(
      evaluate("average_pool", {counting({1, 1, 4, 4})},
               {{"kernel", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"ceil_mode", int64_t{1}}}),
      {1, 1, 2, 2}, {6, 7.5, 12, 13.5});
}

TEST(PoolShape, CeilModeStartsNoWindowInThePadding) {
  const auto extent = [](int64_t in) {
    return deduce("max_pool", {f32_tensor({1, 1, in})},
                  {{"kernel", Ints{1}}, {"strides", Ints{2}}, {"ceil_mode", int64_t{1}}})
        .dims->at(2);
  };
  EXPECT_EQ(extent(4), DimExpr(2));  // a third window would start at 4, outside
  EXPECT_EQ(extent(5), DimExpr(3));
  const Type y = deduce("max_pool", {f32_tensor({1, 1, sym("w")})},
                        {{"kernel", Ints{3}}, {"strides", Ints{2}}, {"ceil_mode", int64_t{1}}});
  for (int64_t w = 3; w < 12; ++w)
    EXPECT_EQ(y.dims->at(2).evaluate({{"w", w}}), (w - 3 + 1) / 2 + 1);
}

TEST(MaxPool, PaddingNeverWins) {
  const RefTensor x = reals({1, 1, 3}, {-5, -7, -6});
  expect_near(evaluate("max_pool", {x}, {{"kernel", Ints{2}}, {"pads", Dims{1, 1}}}), {1, 1, 4},
              {-5, -5, -6, -6});
}

TEST(Resize, OneElementFillsTheResult) {
  const RefTensor one = reals({1, 1, 1, 1}, {1});
  expect_near(
      evaluate("resize", {one}, {{"sizes", Dims{1, 2, 2, 1}}, {"mode", std::string("linear")}}),
      {1, 2, 2, 1}, {1, 1, 1, 1});
}

TEST(Resize, ScalesAreTheFractionsTheyMean) {
  EXPECT_EQ(scaled_extent(10, 0.7f), DimExpr(7));
  EXPECT_EQ(scaled_extent(sym("h"), 2), 2 * sym("h"));
  EXPECT_EQ(scaled_extent(sym("h"), 0.6f), floordiv(3 * sym("h"), 5));
  EXPECT_EQ(scaled_extent(8, 0x1.000002p0), DimExpr(8));
  EXPECT_THROW(fraction_from_scale(0), UserError);
  EXPECT_THROW(fraction_from_scale(std::numeric_limits<double>::quiet_NaN()), UserError);
}

TEST(MatMul, EmptyAndBroadcast) {
  EXPECT_EQ(shape(deduce("matmul", {f32_tensor({1, 0, 1030}), f32_tensor({1030, 768})})),
            "1, 0, 768");
  EXPECT_EQ(shape(deduce("matmul", {f32_tensor({4, 64, 128}), f32_tensor({1, 128, 256})})),
            "4, 64, 256");
  EXPECT_EQ(
      shape(deduce("matmul", {f32_tensor({sym("b"), 1, sym("k")}), f32_tensor({sym("k"), 5})})),
      "b, 1, 5");
  expect_near(evaluate("matmul", {reals({2, 0}, {}), reals({0, 2}, {})}), {2, 2}, {0, 0, 0, 0});
  EXPECT_THROW(deduce("matmul", {f32_tensor({2, 3}), f32_tensor({4, 5})}), UserError);
}

TEST(Dft, OneSided) {
  const auto attrs = [](int64_t length, int64_t inverse) {
    return Attributes{{"axis", int64_t{1}},
                      {"length", Dims{length}},
                      {"inverse", inverse},
                      {"onesided", int64_t{1}}};
  };
  EXPECT_EQ(shape(deduce("dft", {f32_tensor({1, 1024, 1})}, attrs(1024, 0))), "1, 513, 2");
  const RefTensor x = reals({1, 5, 1}, {1, -2, 3, 0.5, 4});
  const RefTensor bins = evaluate("dft", {x}, attrs(5, 0));
  EXPECT_EQ(bins.dims, (Ints{1, 3, 2}));
  expect_near(evaluate("dft", {bins}, attrs(5, 1)), {1, 5, 1}, x.f);
}

}  // namespace
}  // namespace symtile
