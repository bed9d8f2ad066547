#include "symtile/interp/tile_interp.h"

#include <algorithm>
#include <limits>

#include "symtile/base/check.h"
#include "symtile/ir/intrinsics.h"
#include "symtile/ir/reduction.h"
#include "symtile/ir/scalar_eval.h"

namespace symtile {
namespace {

/// A buffer while the function runs.
struct Storage {
  Buffer declaration;
  RefTensor data;
  std::vector<int64_t> dims, strides;
};

struct Number {
  double real = 0;
  int64_t integer = 0;
};

class TileRun {
 public:
  TileRun(const TileFunction& f, const DimValues& symbols) : f_(f), variables_(symbols) {}

  void add_buffer(const Buffer& b, RefTensor data) {
    Storage s;
    s.declaration = b;
    for (const DimExpr& d : b.dims) s.dims.push_back(d.evaluate(variables_));
    s.data = std::move(data);
    int64_t count = 1;
    for (const int64_t d : s.dims) count *= d;
    SYMTILE_CHECK(count <= s.data.size(), "buffer '{}' of '{}' needs {} elements, has {}", b.name,
                  f_.name, count, s.data.size());
    if (b.strides.empty()) {
      s.strides.assign(s.dims.size(), 1);
      for (size_t i = s.dims.size(); i-- > 1;) s.strides[i - 1] = s.strides[i] * s.dims[i];
    } else {
      for (const DimExpr& d : b.strides) s.strides.push_back(d.evaluate(variables_));
    }
    buffers_[b.name] = std::move(s);
  }

  RefTensor take(const std::string& name) { return std::move(buffers_.at(name).data); }

  void run(const Stmt& s) {
    if (const auto* b = as<BlockStmt>(s)) {
      for (const Stmt& x : b->stmts) run(x);
    } else if (const auto* c = as<ComputeStmt>(s)) {
      compute(*c);
    } else if (const auto* a = as<AllocateStmt>(s)) {
      allocate(*a);
    } else if (const auto* st = as<StoreStmt>(s)) {
      const Number value = eval(st->value);
      store(buffers_.at(st->buffer), position(st->buffer, st->indices), value);
    } else if (const auto* loop = as<ForStmt>(s)) {
      const int64_t begin = eval_int(loop->begin), end = eval_int(loop->end);
      for (int64_t i = begin; i < end; i += loop->step) {
        variables_[loop->var] = i;
        run(loop->body);
      }
      variables_.erase(loop->var);
    } else if (const auto* let = as<LetStmt>(s)) {
      const Number value = eval(let->value);
      if (is_float(let->value.dtype())) {
        reals_[let->var] = value.real;
      } else {
        variables_[let->var] = value.integer;
      }
      run(let->body);
      variables_.erase(let->var);
      reals_.erase(let->var);
    } else if (const auto* i = as<IfStmt>(s)) {
      if (eval_int(i->condition)) {
        run(i->then_body);
      } else if (i->else_body) {
        run(i->else_body);
      }
    } else if (const auto* t = as<TaskStmt>(s)) {
      run_tasks(*t);
    } else if (as<BarrierStmt>(s)) {
      // One worker at a time: everything is visible already.
    } else if (const auto* n = as<IntrinsicStmt>(s)) {
      const Stmt plain = plain_statements(*n);
      if (plain) run(plain);
      SYMTILE_CHECK(intrinsic_of(*n) || n->name.starts_with("prefetch"),
                    "intrinsic '{}' has no reference meaning", n->name);
    } else {
      SYMTILE_UNREACHABLE("statement kind");
    }
  }

 private:
  void compute(const ComputeStmt& c) {
    std::vector<int64_t> extents;
    for (const Axis& a : c.axes) extents.push_back(a.extent.evaluate(variables_));
    Storage& target = buffers_.at(c.buffer);
    for_each_index(extents, [&](const std::vector<int64_t>& index) {
      int64_t at = 0;
      for (size_t i = 0; i < index.size(); ++i) {
        variables_[c.axes[i].name] = index[i];
        at += index[i] * target.strides[i];
      }
      store(target, at, eval(c.value));
    });
    for (const Axis& a : c.axes) variables_.erase(a.name);
  }

  void allocate(const AllocateStmt& a) {
    std::vector<int64_t> dims;
    for (const DimExpr& d : a.buffer.dims) dims.push_back(d.evaluate(variables_));
    // Undefined contents are NaN (or a loud integer), so that reading them shows.
    RefTensor data(a.buffer.dtype, dims);
    std::fill(data.f.begin(), data.f.end(), std::numeric_limits<double>::quiet_NaN());
    if (!data.is_float_kind())
      std::fill(data.i.begin(), data.i.end(), wrap_to(a.buffer.dtype, 0x5a5a5a5a5a5a5a5a));
    add_buffer(a.buffer, std::move(data));
    run(a.body);
    buffers_.erase(a.buffer.name);
  }

  void run_tasks(const TaskStmt& t) {
    const int64_t worker = eval_int(t.worker);
    TaskMapping mapping;  // with the values of the extents
    for (const TaskMapping::Atom& atom : t.mapping.atoms()) {
      std::vector<DimExpr> extents;
      for (const DimExpr& e : atom.extents) extents.emplace_back(e.evaluate(variables_));
      const bool spatial = atom.kind == TaskMapping::Kind::spatial;
      mapping = mapping * (spatial ? TaskMapping::spatial(std::move(extents), atom.ranks)
                                   : TaskMapping::repeat(std::move(extents), atom.ranks));
    }
    if (worker < 0 || worker >= *mapping.workers().as_const()) return;  // no tasks
    const DimValues outer = variables_;
    for (const std::vector<int64_t>& task : mapping.tasks(worker)) {
      for (size_t i = 0; i < t.vars.size(); ++i) variables_[t.vars[i]] = task[i];
      run(t.body);
    }
    variables_ = outer;
  }

  void store(Storage& s, int64_t at, const Number& value) {
    SYMTILE_CHECK(at >= 0 && at < s.data.size(),
                  "store to element {} of '{}' in '{}', which has {}", at, s.declaration.name,
                  f_.name, s.data.size());
    if (s.data.is_float_kind()) {
      s.data.f[static_cast<size_t>(at)] = value.real;
    } else {
      s.data.i[static_cast<size_t>(at)] = wrap_to(s.data.dtype, value.integer);
    }
  }

  int64_t position(const std::string& buffer, const std::vector<Expr>& indices) {
    const Storage& s = buffers_.at(buffer);
    int64_t at = 0;
    for (size_t i = 0; i < indices.size(); ++i) {
      const int64_t index = eval_int(indices[i]);
      SYMTILE_CHECK(index >= 0 && index < s.dims[i],
                    "index {} of dimension {} of '{}' in '{}' is outside [0, {})", index, i, buffer,
                    f_.name, s.dims[i]);
      at += index * s.strides[i];
    }
    return at;
  }

  int64_t eval_int(const Expr& e) { return eval(e).integer; }

  Number eval(const Expr& e) {
    if (const auto* i = e.as<IntImm>()) return {0, i->value};
    if (const auto* x = e.as<FloatImm>()) return {x->value, 0};
    if (const auto* v = e.as<VarRef>()) {
      if (is_float(v->dtype)) return {reals_.at(v->name), 0};
      const auto it = variables_.find(v->name);
      SYMTILE_CHECK(it != variables_.end(), "variable '{}' of '{}' has no value", v->name, f_.name);
      return {0, it->second};
    }
    if (const auto* l = e.as<Load>()) {
      const int64_t at = position(l->buffer, l->indices);
      const RefTensor& data = buffers_.at(l->buffer).data;
      return data.is_float_kind() ? Number{data.f[static_cast<size_t>(at)], 0}
                                  : Number{0, data.i[static_cast<size_t>(at)]};
    }
    if (const auto* s = e.as<SelectExpr>())
      return eval(eval_int(s->condition) ? s->then_value : s->else_value);
    if (const auto* u = e.as<UnaryExpr>()) return eval_unary_node(*u);
    if (const auto* b = e.as<BinaryExpr>()) return eval_binary_node(*b);
    if (const auto* c = e.as<CastExpr>()) {
      const Number a = eval(c->a);
      const ScalarValue out = eval_cast(c->dtype, {c->a.dtype(), a.real, a.integer});
      return {out.real, out.integer};
    }
    if (const auto* r = e.as<ReduceExpr>()) return eval_reduce(*r);
    SYMTILE_UNREACHABLE("expression kind");
  }

  Number eval_unary_node(const UnaryExpr& u) {
    const Number a = eval(u.a);
    if (!is_float(u.a.dtype())) return {0, eval_unary_int(u.op, u.a.dtype(), a.integer)};
    const double out = eval_unary(u.op, a.real);
    return is_float(u.dtype) ? Number{out, 0} : Number{0, static_cast<int64_t>(out)};
  }

  Number eval_binary_node(const BinaryExpr& b) {
    const Number x = eval(b.a), y = eval(b.b);
    const DType operand = b.a.dtype();
    if (!is_float(operand)) return {0, eval_binary_int(b.op, operand, x.integer, y.integer)};
    const double out = eval_binary(b.op, x.real, y.real);
    return is_float(b.dtype) ? Number{out, 0} : Number{0, static_cast<int64_t>(out)};
  }

  Number eval_reduce(const ReduceExpr& r) {
    std::vector<int64_t> extents;
    for (const Axis& a : r.axes) extents.push_back(a.extent.evaluate(variables_));
    const bool real = is_float(r.body.dtype());
    const DType t = r.body.dtype();
    Number acc = identity(r.kind, t);
    bool first = true;
    int64_t best = 0, step = 0;
    for_each_index(extents, [&](const std::vector<int64_t>& index) {
      for (size_t i = 0; i < index.size(); ++i) variables_[r.axes[i].name] = index[i];
      const Number x = eval(r.body);
      if (is_arg_reduction(r.kind)) {
        if (first || better(r.kind, real, t, x, acc)) {
          acc = x;
          best = step;
        }
      } else {
        acc = combine(r.kind, real, t, acc, x);
      }
      first = false;
      ++step;
    });
    for (const Axis& a : r.axes) variables_.erase(a.name);
    return is_arg_reduction(r.kind) ? Number{0, best} : acc;
  }

  static Number identity(ReduceKind kind, DType t) {
    const double inf = std::numeric_limits<double>::infinity();
    switch (kind) {
      case ReduceKind::sum:
      case ReduceKind::any:
        return {0, 0};
      case ReduceKind::prod:
      case ReduceKind::all:
        return {1, 1};
      case ReduceKind::max:
        return {-inf, is_float(t) ? 0 : cast_float_to_int(t, -inf)};
      case ReduceKind::min:
        return {inf, is_float(t) ? 0 : cast_float_to_int(t, inf)};
      default:
        return {};
    }
  }

  static Number combine(ReduceKind kind, bool real, DType t, const Number& a, const Number& b) {
    const BinaryOp op = combining_operator(kind);
    if (real) return {eval_binary(op, a.real, b.real), 0};
    return {0, eval_binary_int(op, t, a.integer, b.integer)};
  }

  static bool better(ReduceKind kind, bool real, DType t, const Number& x, const Number& best) {
    const bool max = kind == ReduceKind::argmax || kind == ReduceKind::argmax_last;
    const bool last = kind == ReduceKind::argmax_last || kind == ReduceKind::argmin_last;
    if (real) {
      if (best.real != best.real) return last && x.real != x.real;
      if (x.real != x.real) return true;
      if (x.real == best.real) return last;
      return max ? x.real > best.real : x.real < best.real;
    }
    if (x.integer == best.integer) return last;
    return eval_compare_int(max ? BinaryOp::gt : BinaryOp::lt, t, x.integer, best.integer);
  }

  const TileFunction& f_;
  DimValues variables_;                  ///< symbols, loop variables and integer lets
  std::map<std::string, double> reals_;  ///< lets of a float dtype
  std::map<std::string, Storage> buffers_;
};

}  // namespace

std::vector<RefTensor> run_tile(const TileFunction& f, const DimValues& symbols,
                                const std::vector<const RefTensor*>& inputs,
                                const std::vector<std::vector<int64_t>>& result_dims) {
  SYMTILE_CHECK(inputs.size() == f.inputs.size(), "'{}' takes {} inputs", f.name, f.inputs.size());
  TileRun run(f, symbols);
  for (size_t i = 0; i < inputs.size(); ++i) run.add_buffer(f.inputs[i], *inputs[i]);
  for (const Buffer& b : f.outputs) {
    std::vector<int64_t> dims;
    for (const DimExpr& d : b.dims) dims.push_back(d.evaluate(symbols));
    RefTensor data(b.dtype, dims);
    std::fill(data.f.begin(), data.f.end(), std::numeric_limits<double>::quiet_NaN());
    run.add_buffer(b, std::move(data));
  }
  run.run(f.body);
  std::vector<RefTensor> out;
  for (size_t k = 0; k < f.outputs.size(); ++k) {
    out.push_back(run.take(f.outputs[k].name));
    if (k < result_dims.size()) out.back().dims = result_dims[k];
  }
  return out;
}

}  // namespace symtile
