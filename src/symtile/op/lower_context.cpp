// Collects the stages of one operator's lowering into a tile function.
#include <algorithm>

#include "symtile/op/builder.h"

namespace symtile {

namespace {

std::string input_hint(size_t i, size_t count) {
  static constexpr const char* kShort[] = {"x", "y", "z"};
  return count <= 3 ? std::string(kShort[i]) : fmt::format("x{}", i);
}

void collect_dims(const Dims& dims, std::set<std::string>& out) {
  for (const DimExpr& d : dims) d.collect_symbols(out);
}

bool known_in(const DimExpr& e, const std::set<std::string>& symbols) {
  const std::set<std::string> used = e.symbols();
  return std::includes(symbols.begin(), symbols.end(), used.begin(), used.end());
}

/// The facts that speak of nothing but `symbols`.
Facts restrict_facts(const Facts& facts, const std::set<std::string>& symbols) {
  Facts out;
  for (const auto& [name, range] : facts.ranges()) {
    if (symbols.count(name)) out.bound(name, range.low, range.high);
  }
  for (const auto& [expr, divisor] : facts.divisors()) {
    if (known_in(expr, symbols)) out.assume_divisible(expr, divisor);
  }
  for (const auto& r : facts.equalities()) {
    if (known_in(r.a, symbols) && known_in(r.b, symbols)) out.assume_equal(r.a, r.b);
  }
  for (const auto& r : facts.inequalities()) {
    if (known_in(r.a, symbols) && known_in(r.b, symbols)) out.assume_le(r.a, r.b);
  }
  return out;
}

}  // namespace

LowerContext::LowerContext(const OpCall& call, std::vector<Type> arg_types,
                           std::vector<Type> result_types, std::vector<Constant> constants,
                           const Facts& facts, std::string name)
    : call_(call),
      result_types_(std::move(result_types)),
      constants_(std::move(constants)),
      facts_(facts) {
  function_.name = std::move(name);
  function_.attrs.set("op", call.op);
  constants_.resize(call.args.size());

  std::set<std::string> symbols;
  for (size_t i = 0; i < arg_types.size(); ++i) {
    if (call.args[i].valid()) collect_dims(*arg_types[i].dims, symbols);
  }
  for (const Type& t : result_types_) collect_dims(*t.dims, symbols);
  for (const auto& entry : call.attrs.map()) {
    if (const auto* dims = std::get_if<Dims>(&entry.second)) collect_dims(*dims, symbols);
  }
  for (const std::string& s : symbols) names_[s] = 1;
  function_.symbols.assign(symbols.begin(), symbols.end());
  function_.facts = restrict_facts(facts, symbols);

  for (size_t i = 0; i < arg_types.size(); ++i) {
    if (!call.args[i].valid()) {
      arg_buffer_.push_back(-1);
      continue;
    }
    arg_buffer_.push_back(static_cast<int>(function_.inputs.size()));
    Buffer b;
    b.name = fresh(input_hint(i, arg_types.size()));
    b.dtype = arg_types[i].dtype;
    b.dims = *arg_types[i].dims;
    function_.inputs.push_back(std::move(b));
  }
  for (size_t k = 0; k < result_types_.size(); ++k) {
    Buffer b;
    b.name = fresh(result_types_.size() == 1 ? std::string("out") : fmt::format("out{}", k));
    b.dtype = result_types_[k].dtype;
    b.dims = *result_types_[k].dims;
    function_.outputs.push_back(std::move(b));
  }
}

bool LowerContext::has(int i) const {
  return i < static_cast<int>(arg_buffer_.size()) && arg_buffer_[static_cast<size_t>(i)] >= 0;
}

TensorRef LowerContext::in(int i) const {
  SYMTILE_CHECK(has(i), "operator '{}' has no argument {}", call_.op, i);
  return {function_.inputs[static_cast<size_t>(arg_buffer_[static_cast<size_t>(i)])]};
}

TensorRef LowerContext::result(int k) const {
  return {function_.outputs.at(static_cast<size_t>(k))};
}

namespace {
Stmt make_stage(LowerContext& c, const Buffer& buffer,
                const std::function<Expr(const Index&)>& value) {
  std::vector<Axis> axes;
  Index index;
  for (size_t k = 0; k < buffer.dims.size(); ++k) {
    axes.push_back(c.axis(fmt::format("i{}", k), buffer.dims[k]));
    index.push_back(var(axes.back().name));
  }
  Expr e = value(index);
  // f16 and bf16 results are computed in f32: this rounds them, once.
  if (e.dtype() != buffer.dtype) e = cast(buffer.dtype, e);
  return make_stmt(ComputeStmt{buffer.name, std::move(axes), std::move(e)});
}
}  // namespace

void LowerContext::compute(int k, const std::function<Expr(const Index&)>& value) {
  stages_.push_back(make_stage(*this, result(k).buffer, value));
}

TensorRef LowerContext::buffer(std::string hint, DType dtype, Dims dims) {
  Buffer b;
  b.name = fresh(std::move(hint));
  b.dtype = dtype;
  b.dims = std::move(dims);
  temporaries_.push_back(b);
  return {std::move(b)};
}

TensorRef LowerContext::temporary(std::string hint, DType dtype, Dims dims,
                                  const std::function<Expr(const Index&)>& value) {
  TensorRef t = buffer(std::move(hint), dtype, std::move(dims));
  stages_.push_back(make_stage(*this, t.buffer, value));
  return t;
}

void LowerContext::statement(Stmt s) { stages_.push_back(std::move(s)); }

std::string LowerContext::fresh(std::string hint) {
  int& uses = names_[hint];
  if (uses++ == 0) return hint;
  for (;; ++uses) {
    std::string name = fmt::format("{}_{}", hint, uses - 1);
    if (names_.try_emplace(name, 1).second) return name;
  }
}

Axis LowerContext::axis(std::string hint, DimExpr extent) {
  return {fresh(std::move(hint)), std::move(extent)};
}

Expr LowerContext::load_broadcast(const TensorRef& x, const Index& index, const Dims& out) const {
  SYMTILE_CHECK(index.size() == out.size() && x.dims().size() <= out.size());
  const size_t shift = out.size() - x.dims().size();
  Index at;
  for (size_t k = 0; k < x.dims().size(); ++k) {
    const DimExpr& d = x.dims()[k];
    const Expr& i = index[shift + k];
    if (facts_.proves_equal(d, 1)) {
      at.emplace_back(0);
    } else if (facts_.proves_equal(d, out[shift + k])) {
      at.push_back(i);
    } else {
      // 1 or the full extent, known only at run time: a stride of 0 or 1, so the index stays
      // affine.
      at.push_back(i * min(to_expr(d - 1), Expr(1)));
    }
  }
  return x(std::move(at));
}

TileFunction LowerContext::finish() {
  Stmt body = block(stages_);
  for (auto it = temporaries_.rbegin(); it != temporaries_.rend(); ++it) {
    body = make_stmt(AllocateStmt{*it, body});
  }
  function_.body = std::move(body);
  return std::move(function_);
}

Expr reduce_over(ReduceKind kind, const Axis& axis, const std::function<Expr(Expr)>& body) {
  return reduce(kind, {axis}, body(var(axis.name)));
}

Expr reduce_over(ReduceKind kind, const std::vector<Axis>& axes,
                 const std::function<Expr(const Index&)>& body) {
  Index index;
  for (const Axis& a : axes) index.push_back(var(a.name));
  return axes.empty() ? body(index) : reduce(kind, axes, body(index));
}

std::optional<TileFunction> lower_call(const OpCall& call, const std::vector<Type>& args,
                                       const std::vector<Type>& results,
                                       const std::vector<Constant>& constants, const Facts& facts,
                                       const std::string& name) {
  const OpRecord* record = find_op(call.op);
  if (record == nullptr || record->lower == nullptr) return std::nullopt;
  for (size_t i = 0; i < args.size(); ++i) {
    if (call.args[i].valid() && !(args[i].is_tensor() && args[i].fully_known()))
      return std::nullopt;
  }
  for (const Type& t : results) {
    if (!t.is_tensor() || !t.fully_known()) return std::nullopt;
  }
  LowerContext c(call, args, results, constants, facts, name);
  record->lower(c);
  return c.finish();
}

}  // namespace symtile
