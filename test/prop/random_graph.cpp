#include "random_graph.h"

#include <algorithm>
#include <cmath>

namespace symtile::test {
namespace {

constexpr int64_t kLargestExtent = 13;
constexpr int64_t kMaxElements = 12000;
constexpr size_t kMaxResults = 4;

DimExpr symbol(const char* name) { return DimExpr::symbol(name); }

}  // namespace

RandomGraph::RandomGraph(unsigned seed) : random_(seed) {
  add_helpers();
  GraphFunction f;
  f.name = std::string(Module::kMain);
  module_.add(std::move(f));
  if (chance(30)) main().facts.bound("n", 1, 64);
  if (chance(20)) main().facts.assume_divisible(symbol("m"), 4);
  add_parameters();
  build_.emplace(module_, main());
  const int steps = chance(15) ? 40 : 5 + below(16);
  for (int i = 0; i < steps; ++i) grow();
  // What nobody uses is a result, and now and then something that is used.
  std::vector<int> uses(main().values.size(), 0);
  for (const Binding& b : main().bindings) {
    for_each_operand(b.node, [&](ValueId id) {
      if (id.valid()) ++uses[static_cast<size_t>(id.index)];
    });
  }
  for (auto it = pool_.rbegin(); it != pool_.rend() && main().results.size() < kMaxResults; ++it) {
    if (uses[static_cast<size_t>(it->index)] == 0 || chance(10)) main().results.push_back(*it);
  }
}

std::vector<DimValues> RandomGraph::shapes() {
  constexpr int64_t extents[] = {0, 1, 2, 3, 5, 7, 8, 13};
  std::vector<DimValues> out;
  const auto add = [&](const std::function<int64_t()>& next) {
    DimValues shape;
    for (const std::string& s : symbols_) {
      int64_t value = next();
      if (main().facts.proves_divisible(DimExpr::symbol(s), 4)) value = value / 4 * 4;
      shape[s] = std::max(value, main().facts.lower_bound(DimExpr::symbol(s)).value_or(0));
    }
    out.push_back(std::move(shape));
  };
  add([] { return 1; });
  add([] { return 5; });
  for (int i = 0; i < 3; ++i) add([&] { return extents[below(8)]; });
  return out;
}

std::vector<RefTensor> RandomGraph::inputs(const DimValues& symbols) {
  std::vector<RefTensor> out;
  for (const ValueId p : main().params) {
    std::vector<int64_t> shape;
    for (const DimExpr& d : dims(p)) shape.push_back(d.evaluate(symbols));
    out.push_back(RefTensor::from_constant(*random_constant(shape, main().type(p).dtype)));
  }
  return out;
}

void RandomGraph::add_helpers() {
  for (const char* name : {"twice", "halved"}) {
    GraphFunction f;
    f.name = name;
    const ValueId x = f.add_param("x", Type::tensor({symbol("p"), symbol("q")}, DType::f32));
    module_.add(std::move(f));
    GraphFunction& added = module_.graph(name);
    OpBuilder build(module_, added);
    const ValueId factor = build.scalar(DType::f32, name[0] == 't' ? 2 : 0.5);
    added.results = {build.call("tanh", {build.call("mul", {x, factor})})};
  }
}

void RandomGraph::add_parameters() {
  const DimExpr n = symbol("n"), m = symbol("m"), h = symbol("h");
  const auto add = [&](const char* name, Dims shape, DType dtype) {
    pool_.push_back(main().add_param(name, Type::tensor(std::move(shape), dtype)));
  };
  add("x", {n, m}, DType::f32);
  add("rows", {n, 8}, DType::f32);
  add("image", {1 + below(2), 4, h, n}, DType::f32);
  add("cube", {2, m, 6}, DType::f32);
  add("whole", {n, m}, DType::i32);
}

bool RandomGraph::keep(ValueId v) {
  const Type& t = main().type(v);
  if (!t.is_tensor() || !t.fully_known()) return false;
  DimValues largest;
  for (const std::string& s : t.dims ? product(*t.dims).symbols() : std::set<std::string>{})
    largest[s] = kLargestExtent;
  if (product(*t.dims).evaluate(largest) > kMaxElements)
    return true;  // used by nothing but a result
  pool_.push_back(v);
  return true;
}

std::optional<ValueId> RandomGraph::pick(const std::function<bool(ValueId)>& fits) {
  std::vector<ValueId> choices;
  for (const ValueId v : pool_) {
    if (fits(v)) choices.push_back(v);
  }
  if (choices.empty()) return std::nullopt;
  const auto count = static_cast<int>(choices.size());
  return choices[static_cast<size_t>(chance(60) ? count - 1 - below(std::min(count, 3))
                                                : below(count))];
}

std::optional<ValueId> RandomGraph::pick_real(int min_rank) {
  return pick([&](ValueId v) { return main().type(v).dtype == DType::f32 && rank(v) >= min_rank; });
}

Constant RandomGraph::random_constant(std::vector<int64_t> shape, DType dtype, double scale) {
  const auto out = make_zeros(dtype, std::move(shape));
  std::uniform_real_distribution<double> reals(-scale, scale);
  for (int64_t i = 0; i < out->element_count(); ++i) {
    if (is_float(dtype)) {
      out->set(i, reals(random_));
    } else {
      out->set_int(i, below(7) - 3);
    }
  }
  return out;
}

ValueId RandomGraph::real_constant(std::vector<int64_t> shape, double scale) {
  return build_->constant(random_constant(std::move(shape), DType::f32, scale));
}

ValueId RandomGraph::partner(ValueId v) {
  const auto same = pick([&](ValueId w) {
    if (main().type(w).dtype != DType::f32 || rank(w) > rank(v)) return false;
    for (int k = 1; k <= rank(w); ++k) {
      const DimExpr& d = dims(w)[static_cast<size_t>(rank(w) - k)];
      if (!(d == dims(v)[static_cast<size_t>(rank(v) - k)]) && !d.is_const(1)) return false;
    }
    return true;
  });
  if (same && chance(70)) return *same;
  const auto columns = rank(v) > 0 ? last_dim(v).as_const() : std::nullopt;
  if (columns && chance(60)) return real_constant({*columns});
  return chance(50) ? real_constant({})
                    : real_constant(std::vector<int64_t>(static_cast<size_t>(rank(v)), 1));
}

void RandomGraph::grow() {
  static constexpr Step steps[] = {
      &RandomGraph::unary,          &RandomGraph::unary,       &RandomGraph::unary,
      &RandomGraph::binary,         &RandomGraph::binary,      &RandomGraph::binary,
      &RandomGraph::binary,         &RandomGraph::integers,    &RandomGraph::nothing,
      &RandomGraph::nothing,        &RandomGraph::undone,      &RandomGraph::again,
      &RandomGraph::constants,      &RandomGraph::matmul,      &RandomGraph::matmul,
      &RandomGraph::attention,      &RandomGraph::siblings,    &RandomGraph::spelt_out,
      &RandomGraph::convolution,    &RandomGraph::convolution, &RandomGraph::pooling,
      &RandomGraph::reduction,      &RandomGraph::reduction,   &RandomGraph::normalisation,
      &RandomGraph::transposition,  &RandomGraph::reshaping,   &RandomGraph::concatenation,
      &RandomGraph::slicing,        &RandomGraph::expansion,   &RandomGraph::padding,
      &RandomGraph::gathering,      &RandomGraph::choice,      &RandomGraph::formula,
      &RandomGraph::data_dependent, &RandomGraph::call,
  };
  for (int tries = 0; tries < 10; ++tries) {
    const Step step = steps[below(static_cast<int>(std::size(steps)))];
    if ((this->*step)()) return;
  }
}

bool RandomGraph::unary() {
  static constexpr const char* ops[] = {"relu",         "sigmoid",    "tanh", "neg", "abs",
                                        "hard_sigmoid", "hard_swish", "erf",  "sin"};
  const auto x = pick_real(0);
  return x && keep(build_->call(ops[below(9)], {*x}));
}

bool RandomGraph::binary() {
  static constexpr const char* ops[] = {"add", "sub", "mul", "max", "min"};
  const auto x = pick_real(0);
  if (!x) return false;
  const ValueId y = partner(*x);
  // Keep the numbers small, whatever is multiplied.
  const bool swap = chance(50);
  const ValueId z = build_->call(ops[below(5)], {swap ? y : *x, swap ? *x : y});
  return keep(chance(30) ? build_->call("tanh", {z}) : z);
}

bool RandomGraph::integers() {
  static constexpr const char* ops[] = {"add", "mul", "sub", "max", "bit_and", "bit_xor"};
  const auto x = pick([&](ValueId v) { return main().type(v).dtype == DType::i32; });
  if (!x) return false;
  const ValueId y = chance(40) ? *x : build_->constant(random_constant({}, DType::i32));
  const ValueId z = build_->call(ops[below(6)], {*x, y});
  if (chance(50)) return keep(z);
  const ValueId bounded =
      build_->call("clip", {z, build_->scalar(DType::i32, -4), build_->scalar(DType::i32, 4)});
  return keep(build_->call("cast", {bounded}, {{"to", DType::f32}}));
}

bool RandomGraph::nothing() {
  const auto x = pick_real(1);
  if (!x) return false;
  std::vector<int64_t> order, ones(static_cast<size_t>(rank(*x)), 1);
  for (int i = 0; i < rank(*x); ++i) order.push_back(i);
  const Dims shape = dims(*x), zeros(shape.size(), DimExpr(0));
  switch (below(9)) {
    case 0:
      return keep(build_->call("identity", {*x}));
    case 1:
      return keep(build_->call("transpose", {*x}, {{"perm", order}}));
    case 2:
      return keep(build_->call("reshape", {*x}, {{"shape", shape}}));
    case 3:
      return keep(build_->call("add", {*x, build_->scalar(DType::f32, -0.0)}));
    case 4:
      return keep(build_->call("mul", {build_->scalar(DType::f32, 1), *x}));
    case 5:
      return keep(
          build_->call("slice", {*x}, {{"begin", zeros}, {"extent", shape}, {"step", ones}}));
    case 6:
      return keep(build_->call("concat", {*x}, {{"axis", int64_t{0}}}));
    case 7:
      return keep(build_->call("expand", {*x}, {{"shape", shape}}));
    default:
      return keep(build_->match_cast(*x, main().type(*x)));
  }
}

bool RandomGraph::undone() {
  const auto x = pick_real(2);
  if (!x) return false;
  if (chance(40)) return keep(build_->call("neg", {build_->call("neg", {*x})}));
  if (chance(50)) {
    const ValueId wide = build_->call("cast", {*x}, {{"to", DType::f64}});
    return keep(build_->call("cast", {wide}, {{"to", DType::f32}}));
  }
  std::vector<int64_t> order;
  for (int i = 0; i < rank(*x); ++i) order.push_back(i);
  std::swap(order.front(), order.back());
  const ValueId there = build_->call("transpose", {*x}, {{"perm", order}});
  return keep(build_->call("transpose", {there}, {{"perm", order}}));
}

bool RandomGraph::again() {
  std::vector<OpCall> calls;
  for (const Binding& b : main().bindings) {
    const auto* c = std::get_if<OpCall>(&b.node);
    if (c && main().type(b.result).is_tensor()) calls.push_back(*c);
  }
  if (calls.empty()) return false;
  const OpCall& c = calls[static_cast<size_t>(below(static_cast<int>(calls.size())))];
  return keep(build_->call(c.op, c.args, c.attrs));
}

bool RandomGraph::constants() {
  const auto x = pick([&](ValueId v) {
    return main().type(v).dtype == DType::f32 && rank(v) >= 1 && last_dim(v).is_const();
  });
  if (!x) return false;
  const int64_t columns = *last_dim(*x).as_const();
  const ValueId matrix = real_constant({columns, 3}, 0.5);
  const ValueId turned =
      build_->call("transpose", {matrix}, {{"perm", std::vector<int64_t>{1, 0}}});
  const ValueId row = build_->call("reduce_sum", {turned},
                                   {{"axes", std::vector<int64_t>{0}}, {"keepdims", int64_t{0}}});
  return keep(build_->call("add", {*x, build_->call("tanh", {row})}));
}

}  // namespace symtile::test
