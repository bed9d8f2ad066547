// The builtins on small tensors of several element types.
#include "symtile/runtime/builtins/builtin.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <random>

#include "symtile/base/check.h"
#include "symtile/base/half.h"

namespace symtile {
namespace {

using Ints = std::vector<int64_t>;

/// A context with inputs and attributes from memory.
class TestContext : public BuiltinContext {
 public:
  template <typename T>
  TestContext& add(DType dtype, Ints dims, const std::vector<T>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(T) + 1);
    if (!values.empty()) std::memcpy(bytes.data(), values.data(), values.size() * sizeof(T));
    storage_.push_back(std::move(bytes));
    inputs_.push_back({dtype, std::move(dims), storage_.back().data()});
    return *this;
  }
  int num_inputs() const override { return static_cast<int>(inputs_.size()); }
  const BuiltinTensor* input(int i) const override {
    return i < num_inputs() ? &inputs_[static_cast<size_t>(i)] : nullptr;
  }
  bool has_attr(std::string_view name) const override { return ints.count(std::string(name)) != 0; }
  int64_t attr_int(std::string_view name, int64_t fallback) const override {
    return has_attr(name) ? ints.at(std::string(name)).at(0) : fallback;
  }
  double attr_float(std::string_view, double fallback) const override { return fallback; }
  std::string attr_text(std::string_view, std::string_view fallback) const override {
    return std::string(fallback);
  }
  Ints attr_ints(std::string_view name, Ints fallback) const override {
    return has_attr(name) ? ints.at(std::string(name)) : fallback;
  }
  std::byte* output(int k, DType dtype, const Ints& dims) override {
    BuiltinTensor t{dtype, dims, nullptr};
    results.resize(std::max(results.size(), static_cast<size_t>(k) + 1));
    result_dims.resize(results.size());
    result_dims[static_cast<size_t>(k)] = dims;
    auto& bytes = results[static_cast<size_t>(k)];
    bytes.resize(static_cast<size_t>(t.size() * size_of(dtype)) + 1);
    return bytes.data();
  }
  void fail(const std::string& message) const override { throw UserError(message); }

  template <typename T>
  std::vector<T> result(size_t k) const {
    std::vector<T> out((results.at(k).size() - 1) / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), results[k].data(), out.size() * sizeof(T));
    return out;
  }

  std::map<std::string, Ints> ints;
  std::vector<std::vector<std::byte>> results;
  std::vector<Ints> result_dims;

 private:
  std::vector<std::vector<std::byte>> storage_;
  std::vector<BuiltinTensor> inputs_;
};

void call(const char* name, TestContext& c) {
  const BuiltinFunction f = find_builtin(name);
  ASSERT_NE(f, nullptr);
  f(c);
}

TEST(Builtin, UnknownNamesHaveNone) { EXPECT_EQ(find_builtin("no_such_call"), nullptr); }

TEST(Builtin, NonzeroInRowMajorOrder) {
  TestContext c;
  c.add<float>(DType::f32, {2, 3}, {0, 1, -0.0f, std::numeric_limits<float>::quiet_NaN(), 0, 5});
  call("nonzero", c);
  EXPECT_EQ(c.result_dims[0], (Ints{2, 3}));
  EXPECT_EQ(c.result<int64_t>(0), (Ints{0, 1, 1, 1, 0, 2}));
}

TEST(Builtin, NonzeroOfNothing) {
  TestContext c;
  c.add<uint8_t>(DType::boolean, {4, 0}, {});
  call("nonzero", c);
  EXPECT_EQ(c.result_dims[0], (Ints{2, 0}));
}

TEST(Builtin, NonzeroOfHalfSeesMinusZero) {
  TestContext c;
  c.add<uint16_t>(DType::f16, {3}, {0x8000, 0x3c00, 0});
  call("nonzero", c);
  EXPECT_EQ(c.result<int64_t>(0), (Ints{1}));
}

TEST(Builtin, TopKAgreesWithAStableSort) {
  std::mt19937 random(5);
  for (int64_t n : {1, 7, 100, 1000}) {
    for (int64_t k : {int64_t{0}, int64_t{1}, n / 20, n / 2, n}) {
      for (int64_t largest : {0, 1}) {
        std::vector<int32_t> values(static_cast<size_t>(n));
        for (auto& v : values) v = static_cast<int32_t>(random() % 20) - 10;
        TestContext c;
        c.add<int32_t>(DType::i32, {n}, values);
        c.ints = {{"k", {k}}, {"largest", {largest}}};
        call("top_k", c);
        Ints order(static_cast<size_t>(n));
        for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
        std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
          const int32_t x = values[static_cast<size_t>(a)], y = values[static_cast<size_t>(b)];
          return largest ? x > y : x < y;
        });
        order.resize(static_cast<size_t>(k));
        EXPECT_EQ(c.result<int64_t>(1), order) << n << " " << k << " " << largest;
      }
    }
  }
}

TEST(Builtin, TopKAlongAMiddleAxisWithNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  TestContext c;
  c.add<float>(DType::f32, {1, 3, 2}, {1, 9, nan, 8, 3, 9});
  c.ints = {{"k", {2}}, {"axis", {-2}}};
  call("top_k", c);
  EXPECT_EQ(c.result_dims[1], (Ints{1, 2, 2}));
  EXPECT_EQ(c.result<int64_t>(1), (Ints{1, 0, 2, 2}));
}

TEST(Builtin, TopKRefusesTooMany) {
  TestContext c;
  c.add<float>(DType::f32, {3}, {1, 2, 3});
  c.ints = {{"k", {4}}};
  EXPECT_THROW(find_builtin("top_k")(c), UserError);
}

TEST(Builtin, UniqueValues) {
  TestContext c;
  c.add<int64_t>(DType::i64, {6}, {2, 1, 1, 3, 4, 3});
  call("unique", c);
  EXPECT_EQ(c.result<int64_t>(0), (Ints{1, 2, 3, 4}));
  EXPECT_EQ(c.result<int64_t>(1), (Ints{1, 0, 3, 4}));
  EXPECT_EQ(c.result<int64_t>(2), (Ints{1, 0, 0, 2, 3, 2}));
  EXPECT_EQ(c.result<int64_t>(3), (Ints{2, 1, 2, 1}));
}

TEST(Builtin, UniqueSlicesInOrderOfAppearance) {
  TestContext c;
  c.add<uint8_t>(DType::u8, {2, 3}, {1, 0, 1, 0, 0, 0});
  c.ints = {{"axis", {1}}, {"sorted", {0}}};
  call("unique", c);
  EXPECT_EQ(c.result_dims[0], (Ints{2, 2}));
  EXPECT_EQ(c.result<uint8_t>(0), (std::vector<uint8_t>{1, 0, 0, 0}));
  EXPECT_EQ(c.result<int64_t>(2), (Ints{0, 1, 0}));
}

TEST(Builtin, NonMaxSuppressionDropsOverlapping) {
  TestContext c;
  c.add<float>(DType::f32, {1, 3, 4}, {0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, 10, 1, 11});
  c.add<float>(DType::f32, {1, 1, 3}, {0.9f, 0.95f, 0.3f});
  c.add<int64_t>(DType::i64, {1}, {3});
  c.add<float>(DType::f32, {1}, {0.5f});
  c.add<float>(DType::f32, {1}, {0.0f});
  call("non_max_suppression", c);
  EXPECT_EQ(c.result<int64_t>(0), (Ints{0, 0, 1, 0, 0, 2}));
}

TEST(Builtin, NonMaxSuppressionChecksShapes) {
  TestContext c;
  c.add<float>(DType::f32, {1, 3, 4}, std::vector<float>(12));
  c.add<float>(DType::f32, {1, 1, 2}, std::vector<float>(2));
  EXPECT_THROW(find_builtin("non_max_suppression")(c), UserError);
}

}  // namespace
}  // namespace symtile
