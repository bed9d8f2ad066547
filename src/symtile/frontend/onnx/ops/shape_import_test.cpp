// Importers of shape operators on inputs with symbolic dimensions: the formulas they arrive at.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {

void import_reshape(ImportContext& c);
void import_slice(ImportContext& c);
void import_split(ImportContext& c);
void import_expand(ImportContext& c);
void import_squeeze(ImportContext& c);
void import_flatten(ImportContext& c);
void import_range(ImportContext& c);
void import_pad(ImportContext& c);
void import_cumsum(ImportContext& c);
void import_center_crop_pad(ImportContext& c);

namespace {

using Ints = std::vector<int64_t>;

/// One node whose inputs are parameters, formulas or constants.
class TestNode : public ImportContext {
 public:
  explicit TestNode(int opset, int outputs = 1)
      : opset_(opset), outputs_(static_cast<size_t>(outputs)), builder_(module_, function_) {}

  TestNode& input(Dims dims, DType dtype = DType::f32) {
    inputs_.push_back(
        {function_.add_param("", Type::tensor(std::move(dims), dtype)), std::nullopt});
    return *this;
  }
  TestNode& formulas(Dims dims) {
    inputs_.push_back({ValueId{}, std::move(dims)});
    return *this;
  }
  TestNode& ints(const Ints& values) { return formulas(Dims(values.begin(), values.end())); }
  TestNode& absent() {
    inputs_.push_back({});
    return *this;
  }
  TestNode& attr(const std::string& name, Ints values) {
    attrs_[name] = std::move(values);
    return *this;
  }
  TestNode& fact(const std::string& text) {
    function_.facts.assume_text(text);
    return *this;
  }

  const std::string& op_type() const override { return name_; }
  const std::string& node_name() const override { return name_; }
  int opset() const override { return opset_; }
  const Location& location() const override { return location_; }
  int num_inputs() const override { return static_cast<int>(inputs_.size()); }
  bool has(int i) const override {
    return i < num_inputs() && (at(i).value.valid() || at(i).dims.has_value());
  }
  ValueId in(int i) override {
    Input& x = inputs_.at(static_cast<size_t>(i));
    if (!x.value.valid()) x.value = builder_.dims_tensor(*x.dims);
    return x.value;
  }
  const Type& type(int i) override { return builder_.type(in(i)); }
  Constant constant(int i) override {
    if (!at(i).dims) return builder_.constant_of(in(i));
    Ints values;
    for (const DimExpr& d : *at(i).dims) {
      if (!d.is_const()) return nullptr;
      values.push_back(*d.as_const());
    }
    return make_i64_vector(values);
  }
  std::optional<Dims> dims_value(int i) override { return at(i).dims; }
  Dims require_dims(int i) override {
    if (at(i).dims) return *at(i).dims;
    const Type& t = type(i);
    const int count = t.rank() == 0 ? 1 : static_cast<int>(t.dims->at(0).as_const().value());
    return builder_.read_dims(in(i), count, "v");
  }
  bool has_attr(const char* name) const override { return attrs_.count(name) != 0; }
  int64_t attr_int(const char* name, int64_t fallback) const override {
    return has_attr(name) ? attrs_.at(name).at(0) : fallback;
  }
  double attr_float(const char*, double fallback) const override { return fallback; }
  std::string attr_text(const char*, const std::string& fallback) const override {
    return fallback;
  }
  Ints attr_ints(const char* name, Ints fallback) const override {
    return has_attr(name) ? attrs_.at(name) : fallback;
  }
  std::vector<double> attr_floats(const char*, std::vector<double> fallback) const override {
    return fallback;
  }
  Constant attr_tensor(const char*) const override { return nullptr; }
  DType attr_dtype(const char*, DType fallback) const override { return fallback; }
  int num_outputs() const override { return static_cast<int>(outputs_.size()); }
  bool wants(int) const override { return true; }
  void out(int k, ValueId value) override { outputs_.at(static_cast<size_t>(k)) = value; }
  void out_dims(int, Dims, bool, DType) override { FAIL() << "no importer here makes formulas"; }
  OpBuilder& build() override { return builder_; }
  Subgraph import_subgraph(const char*, const std::vector<Type>&) override { return {}; }
  void inline_subgraph(const char*) override {}
  bool choose_branch() override { return false; }

  /// Dimensions of output k.
  const Dims& result(int k = 0) const {
    return *function_.type(outputs_.at(static_cast<size_t>(k))).dims;
  }
  /// Run-time checks added.
  int checks() const {
    int n = 0;
    for (const Binding& b : function_.bindings)
      n += std::holds_alternative<CheckDims>(b.node) ? 1 : 0;
    return n;
  }
  /// Attributes of the last operator call.
  const Attributes& last_call() const {
    for (auto b = function_.bindings.rbegin(); b != function_.bindings.rend(); ++b) {
      if (const auto* call = std::get_if<OpCall>(&b->node)) return call->attrs;
    }
    throw std::logic_error("no call");
  }

 private:
  struct Input {
    ValueId value;
    std::optional<Dims> dims;
  };
  const Input& at(int i) const { return inputs_.at(static_cast<size_t>(i)); }

  int opset_;
  std::string name_ = "node";
  Location location_;
  std::vector<Input> inputs_;
  std::map<std::string, Ints> attrs_;
  std::vector<ValueId> outputs_;
  Module module_;
  GraphFunction function_;
  OpBuilder builder_;
};

DimExpr sym(const char* name) { return DimExpr::symbol(name); }

TEST(ImportReshape, MinusOneIsSolvedForWithFormulas) {
  const DimExpr b = sym("b"), s = sym("s");
  TestNode c(14);
  c.input({b, s, 768}).formulas({b, s, 12, -1});
  import_reshape(c);
  EXPECT_EQ(c.result(), (Dims{b, s, 12, 64}));
  EXPECT_EQ(c.checks(), 0);
}

TEST(ImportReshape, ZeroCopies) {
  const DimExpr b = sym("b"), s = sym("s");
  TestNode c(13);
  c.input({b, s, 8, 16}).ints({0, -1, 128});
  import_reshape(c);
  EXPECT_EQ(c.result(), (Dims{b, s, 128}));
  EXPECT_EQ(c.checks(), 0);
}

TEST(ImportReshape, MergedSymbols) {
  const DimExpr b = sym("b"), s = sym("s");
  TestNode c(14);
  c.input({b, s, 4}).ints({-1, 2});
  import_reshape(c);
  EXPECT_EQ(c.result(), (Dims{2 * b * s, 2}));
}

TEST(ImportReshape, EmptyTensors) {
  TestNode a(14);
  a.input({0, 8, 2}).ints({4, 2, -1});
  import_reshape(a);
  EXPECT_EQ(a.result(), (Dims{4, 2, 0}));
  TestNode b(14);
  b.input({4, 2, 0}).ints({0, 0, 4}).attr("allowzero", {1});
  import_reshape(b);
  EXPECT_EQ(b.result(), (Dims{0, 0, 4}));
  TestNode d(14);
  d.input({1, 32, 5, 5}).ints({-1, 2, 4, 4, 5, 5}).attr("allowzero", {1});
  import_reshape(d);
  EXPECT_EQ(d.result(), (Dims{1, 2, 4, 4, 5, 5}));
  TestNode e(14);
  e.input({0, 4}).ints({0, -1}).attr("allowzero", {1});
  EXPECT_THROW(import_reshape(e), UserError);
}

TEST(ImportReshape, RunTimeTargetsAreReadAndChecked) {
  TestNode c(14);
  c.input({sym("n"), 6}).input({2}, DType::i64);
  import_reshape(c);
  EXPECT_TRUE(c.result()[0].as_symbol().has_value());
  EXPECT_GE(c.checks(), 1);
}

TEST(ImportSlice, EndsAreClampedOnlyWhereNeeded) {
  const DimExpr n = sym("n");
  TestNode c(13);
  c.input({n, 8}).ints({0, -3}).ints({4, INT64_MAX}).ints({0, 1});
  import_slice(c);
  EXPECT_EQ(c.result(), (Dims{min(n, 4), 3}));
  EXPECT_EQ(c.checks(), 0);
  TestNode d(13);
  d.input({n}).ints({1}).ints({-1}).fact("n >= 2");
  import_slice(d);
  EXPECT_EQ(d.result(), (Dims{n - 2}));
  EXPECT_EQ(d.checks(), 0);
}

TEST(ImportSlice, SymbolicBounds) {
  const DimExpr n = sym("n"), past = sym("past");
  TestNode c(13);
  c.input({1, past + n, 64}).formulas({past}).formulas({past + n}).ints({1});
  import_slice(c);
  EXPECT_EQ(c.result(), (Dims{1, n, 64}));
  EXPECT_EQ(c.last_call().get_dims("begin"), (Dims{0, past, 0}));
  EXPECT_EQ(c.checks(), 0);
}

TEST(ImportSlice, NegativeSteps) {
  const auto run = [](int64_t n, int64_t start, int64_t end, int64_t step) {
    TestNode c(13);
    c.input({n}).ints({start}).ints({end}).ints({0}).ints({step});
    import_slice(c);
    return c.result()[0].as_const().value();
  };
  EXPECT_EQ(run(10, 9, 0, -1), 9);
  EXPECT_EQ(run(10, 9, 0, -3), 3);
  EXPECT_EQ(run(10, 9, 2, -1), 7);
  EXPECT_EQ(run(20, 19, 0, -3), 7);
  EXPECT_EQ(run(10, -1, INT64_MIN, -1), 10);
  EXPECT_EQ(run(10, INT64_MAX, -11, -1), 10);
  EXPECT_EQ(run(0, -1, INT64_MIN, -1), 0);
  EXPECT_EQ(run(5, 1, 4, -1), 0);
}

TEST(ImportSlice, ReversedSymbolicAxis) {
  const DimExpr n = sym("n");
  TestNode c(13);
  c.input({n}).ints({-1}).ints({INT64_MIN}).ints({0}).ints({-1});
  import_slice(c);
  for (int64_t value : {0, 1, 7}) {
    EXPECT_EQ(c.result()[0].evaluate({{"n", value}}), value);
  }
}

TEST(ImportSlice, BoundsKnownAtRunTimeFollowTheSpecification) {
  TestNode c(13);
  c.input({7}).input({1}, DType::i64).input({1}, DType::i64);
  import_slice(c);
  const Dims begin = c.last_call().get_dims("begin"), extent = c.last_call().get_dims("extent");
  std::set<std::string> symbols = extent[0].symbols();
  ASSERT_EQ(symbols.size(), 2u);
  const std::string start = *begin[0].symbols().begin();
  symbols.erase(start);
  const std::string end = *symbols.begin();
  for (int64_t s = -9; s <= 9; ++s) {
    for (int64_t e = -9; e <= 9; ++e) {
      const int64_t b = std::clamp<int64_t>(s < 0 ? s + 7 : s, 0, 7);
      const int64_t stop = std::clamp<int64_t>(e < 0 ? e + 7 : e, 0, 7);
      EXPECT_EQ(begin[0].evaluate({{start, s}, {end, e}}), b);
      EXPECT_EQ(extent[0].evaluate({{start, s}, {end, e}}), std::max<int64_t>(stop - b, 0))
          << s << " " << e;
    }
  }
}

TEST(ImportSplit, RaggedAndEqual) {
  TestNode c(18, 4);
  c.input({5}).attr("num_outputs", {4});
  import_split(c);
  EXPECT_EQ(c.result(0), Dims{2});
  EXPECT_EQ(c.result(1), Dims{2});
  EXPECT_EQ(c.result(2), Dims{1});
  EXPECT_EQ(c.result(3), Dims{0});
  TestNode d(13, 3);
  d.input({2, 3 * sym("n")}).attr("axis", {-1});
  import_split(d);
  EXPECT_EQ(d.result(2), (Dims{2, sym("n")}));
  EXPECT_EQ(d.checks(), 0);
  TestNode e(13, 2);
  e.input({5});
  EXPECT_THROW(import_split(e), UserError);
  TestNode f(13, 2);
  f.input({5}).ints({2, 4});
  EXPECT_THROW(import_split(f), UserError);
}

TEST(ImportExpand, BothDirections) {
  const DimExpr b = sym("b"), s = sym("s");
  TestNode c(13);
  c.input({1, s, 4}).formulas({b, 1, 1, 1});
  import_expand(c);
  EXPECT_EQ(c.result(), (Dims{b, 1, s, 4}));
  EXPECT_EQ(c.checks(), 0);
  TestNode d(13);
  d.input({s}).ints({3});
  import_expand(d);
  EXPECT_EQ(d.result(), Dims{3});
  EXPECT_EQ(d.checks(), 1);
}

TEST(ImportSqueeze, WithAndWithoutAxes) {
  const DimExpr n = sym("n");
  TestNode c(13);
  c.input({1, n, 1}).ints({-1});
  import_squeeze(c);
  EXPECT_EQ(c.result(), (Dims{1, n}));
  TestNode d(13);
  d.input({1, n, 1}).fact("n >= 2");
  import_squeeze(d);
  EXPECT_EQ(d.result(), Dims{n});
  EXPECT_EQ(d.checks(), 0);
  TestNode e(13);
  e.input({2, 3}).ints({0});
  EXPECT_THROW(import_squeeze(e), UserError);
}

TEST(ImportFlatten, AnyAxis) {
  const DimExpr n = sym("n");
  for (const auto& [axis, first] :
       std::map<int64_t, DimExpr>{{0, 1}, {1, n}, {2, 3 * n}, {3, 12 * n}, {-1, 3 * n}}) {
    TestNode c(13);
    c.input({n, 3, 4}).attr("axis", {axis});
    import_flatten(c);
    EXPECT_EQ(c.result()[0], first) << axis;
  }
}

TEST(ImportRange, CountsFormulas) {
  const DimExpr n = sym("n");
  TestNode c(11);
  c.formulas({0}).formulas({n}).formulas({1});
  import_range(c);
  EXPECT_EQ(c.result(), Dims{n});
  TestNode d(11);
  d.formulas({10}).formulas({3}).formulas({-2});
  import_range(d);
  EXPECT_EQ(d.result(), Dims{4});
  TestNode e(11);
  e.input({}).input({}).input({});
  import_range(e);
  EXPECT_TRUE(e.result()[0].as_symbol().has_value());
}

TEST(ImportPad, AxesInput) {
  const DimExpr n = sym("n");
  TestNode c(18);
  c.input({n, 3}).ints({1, 2}).absent().ints({-2});
  import_pad(c);
  EXPECT_EQ(c.result(), (Dims{n + 3, 3}));
}

TEST(ImportCenterCropPad, CropsAndPads) {
  TestNode c(18);
  c.input({20, 7}).ints({10, 10});
  import_center_crop_pad(c);
  EXPECT_EQ(c.result(), (Dims{10, 10}));
  EXPECT_EQ(c.last_call().get_dims("pads"), (Dims{-5, 1, -5, 2}));
}

TEST(ImportCumSum, RunTimeAxisSelects) {
  TestNode c(14);
  c.input({3, 4}).input({}, DType::i32);
  import_cumsum(c);
  EXPECT_EQ(c.result(), (Dims{3, 4}));
}

}  // namespace
}  // namespace symtile::onnx_import
