#include "symtile/schedule/gpu/slice.h"

#include <algorithm>

#include "symtile/base/check.h"

namespace symtile::gpu {

Slice::Slice(const SliceContext& context, SliceOperand operand, const char* hint)
    : c_(context), o_(std::move(operand)) {
  const bool rows = contiguous(o_.axes, false), k = contiguous(c_.k_axes, false);
  along_k_ = k && !(rows && o_.prefer_rows);
  spread();
  const DType type = o_.value.dtype();
  async_ = c_.target.has_async_copies && o_.value.as<Load>() != nullptr;
  // Longer by a vector, or by an element, so that lanes that store along the other dimension meet
  // different banks.
  const int64_t pad = o_.by_rows ? 8 : vector_;
  const Dims dims = o_.by_rows ? Dims{2, o_.rows, c_.k + pad} : Dims{2, c_.k, o_.rows + pad};
  shared_ = {c_.names.fresh(std::string(hint) + "_tile"), type, dims, Scope::shared, {}};
  next_ = {c_.names.fresh(std::string(hint) + "_next"),
           type,
           {repeat_rows_, repeat_k_, vector_},
           Scope::local,
           {}};
}

bool Slice::contiguous(const std::vector<Axis>& axes, bool whole) const {
  std::string name = axes.back().name;
  Expr value = o_.value;
  if (whole) {
    name = c_.names.fresh("along");
    value = use_position(value, axes, name, c_.linear.facts);
    if (depends_on_any(value, axes)) return false;
  }
  for (const Load* l : loads_of(value)) {
    const auto index = to_dim_expr(l->indices[0]);
    const auto affine = index ? affine_form(*index, {name}) : std::nullopt;
    if (affine && affine->coefficient(name).is_const(1)) return true;
  }
  return false;
}

void Slice::spread() {
  const int64_t fast = along_k_ ? c_.k : o_.rows, slow = along_k_ ? o_.rows : c_.k;
  const auto bytes = static_cast<int64_t>(size_of(o_.value.dtype()));
  if (contiguous(along_k_ ? c_.k_axes : o_.axes, true)) {
    for (const int64_t v : {8, 4, 2}) {
      const bool even = fast % v == 0 && (fast * slow) % (c_.threads * v) == 0;
      if (v * bytes > c_.target.vector_bytes || !even) continue;
      vector_ = v;
      break;
    }
  }
  const int64_t fast_items = std::min(fast / vector_, c_.threads);
  const int64_t slow_items = std::min(c_.threads / fast_items, slow);
  row_items_ = along_k_ ? slow_items : fast_items;
  k_items_ = along_k_ ? fast_items : slow_items;
  repeat_rows_ = o_.rows / (along_k_ ? 1 : vector_) / row_items_;
  repeat_k_ = c_.k / (along_k_ ? vector_ : 1) / k_items_;
  SYMTILE_CHECK(repeat_rows_ * row_items_ * repeat_k_ * k_items_ * vector_ == o_.rows * c_.k,
                "{} work-items cannot share a slice of {} x {}", c_.threads, o_.rows, c_.k);
}

Slice::Task Slice::task() const {
  NameSource& n = c_.names;
  return {n.fresh("rr"), n.fresh("rk"), n.fresh("i"), n.fresh("kk"), n.fresh("row"), n.fresh("k")};
}

Stmt Slice::for_tasks(const Task& t, Stmt body) const {
  const TaskMapping items = along_k_
                                ? TaskMapping::spatial({1, 1, row_items_, k_items_})
                                : TaskMapping::spatial({1, 1, row_items_, k_items_}, {0, 1, 3, 2});
  return make_stmt(TaskStmt{TaskMapping::repeat({repeat_rows_, repeat_k_, 1, 1}) * items,
                            c_.thread,
                            {t.rr, t.rk, t.i, t.kk},
                            std::move(body)});
}

/// Binds t.row and t.k, and the axes that the operand is read by.
Stmt Slice::with_position(const Task& t, const Expr& step, Stmt body) const {
  const Expr rows(along_k_ ? 1 : vector_), ks(along_k_ ? vector_ : 1);
  body = bind_axes(o_.axes, var(t.row), bind_axes(c_.k_axes, var(t.k), std::move(body)));
  return let_all(
      {{t.row, var(o_.origin) + (var(t.rr) * Expr(row_items_) + var(t.i)) * rows},
       {t.k, var(c_.k_begin) + step * Expr(c_.k) + (var(t.rk) * Expr(k_items_) + var(t.kk)) * ks}},
      std::move(body));
}

Expr Slice::row_inside(const Expr& row) const {
  return c_.facts.proves_divisible(o_.extent, o_.rows) ? bool_imm(true) : row < to_expr(o_.extent);
}

Expr Slice::value_at(const Task& t) const {
  const Expr value = use_position(o_.value, o_.axes, t.row, c_.linear.facts);
  return use_position(value, c_.k_axes, t.k, c_.linear.facts);
}

Expr Slice::moved(const Expr& value, const Task& t, const Expr& v) const {
  const std::string& name = along_k_ ? t.k : t.row;
  return substitute(value, {{name, var(name) + v}});
}

Stmt Slice::guarded(const Task& t, Stmt vector,
                    const std::function<Stmt(const Expr&)>& single) const {
  if (vector_ == 1) return single(Expr(0));
  const Expr last(vector_ - 1);
  const Expr row = along_k_ ? var(t.row) : var(t.row) + last;
  const Expr k = along_k_ ? var(t.k) + last : var(t.k);
  const std::string v = c_.names.fresh("v");
  Stmt each = for_loop(v, 0, Expr(vector_), LoopKind::serial, single(var(v)));
  return make_stmt(
      IfStmt{row_inside(row) && k < var(c_.k_end), std::move(vector), std::move(each)});
}

/// The place in shared memory of element v of a task.
std::vector<Expr> Slice::place(const Task& t, const Expr& which, const Expr& v) const {
  const Expr row = var(t.rr) * Expr(row_items_) + var(t.i),
             k = var(t.rk) * Expr(k_items_) + var(t.kk);
  return along_k_ ? at(which, row, k * Expr(vector_) + v) : at(which, row * Expr(vector_) + v, k);
}

std::vector<Expr> Slice::at(const Expr& which, const Expr& row, const Expr& k) const {
  return o_.by_rows ? std::vector<Expr>{which, row, k} : std::vector<Expr>{which, k, row};
}

Stmt Slice::fetch(const Expr& step) {
  const Task t = task();
  const Expr value = value_at(t);
  const auto to = [&](const Expr& v) { return std::vector<Expr>{var(t.rr), var(t.rk), v}; };
  const auto single = [&](const Expr& v) {
    const Expr inside = row_inside(along_k_ ? var(t.row) : var(t.row) + v) &&
                        (along_k_ ? var(t.k) + v : var(t.k)) < var(c_.k_end);
    const Expr one = vector_ == 1 ? value : moved(value, t, v);
    return store(next_.name, to(v), select(inside, one, imm(value.dtype(), 0)));
  };
  const std::string v = c_.names.fresh("v");
  Stmt vector = vector_ == 1 ? nullptr
                             : for_loop(v, 0, Expr(vector_), LoopKind::vectorized,
                                        store(next_.name, to(var(v)), moved(value, t, var(v))));
  return for_tasks(t, with_position(t, step, guarded(t, std::move(vector), single)));
}

Stmt Slice::put(const Expr& which) {
  const Task t = task();
  const std::string v = c_.names.fresh("v");
  const auto one = [&](const Expr& at) {
    return store(shared_.name, place(t, which, at),
                 load(next_.name, next_.dtype, {var(t.rr), var(t.rk), at}));
  };
  Stmt body = one(Expr(0));
  if (vector_ > 1) {
    const bool side_by_side = along_k_ == o_.by_rows;
    body = for_loop(v, 0, Expr(vector_), side_by_side ? LoopKind::vectorized : LoopKind::unrolled,
                    one(var(v)));
  }
  return for_tasks(t, std::move(body));
}

Stmt Slice::copy(const Expr& step, const Expr& which) {
  const Task t = task();
  const Expr value = value_at(t);
  const auto begin = [&](const Expr& v, int64_t count) {
    return make_stmt(IntrinsicStmt{"copy_async",
                                   {load(shared_.name, shared_.dtype, place(t, which, v)),
                                    vector_ == 1 ? value : moved(value, t, v), Expr(count)}});
  };
  const auto single = [&](const Expr& v) {
    const Expr inside = row_inside(along_k_ ? var(t.row) : var(t.row) + v) &&
                        (along_k_ ? var(t.k) + v : var(t.k)) < var(c_.k_end);
    return make_stmt(IfStmt{inside, begin(v, 1),
                            store(shared_.name, place(t, which, v), imm(value.dtype(), 0))});
  };
  Stmt vector;
  if (vector_ > 1 && along_k_ == o_.by_rows) {
    vector = begin(Expr(0), vector_);
  } else if (vector_ > 1) {
    const std::string v = c_.names.fresh("v");
    vector = for_loop(v, 0, Expr(vector_), LoopKind::unrolled, begin(var(v), 1));
  }
  return for_tasks(t, with_position(t, step, guarded(t, std::move(vector), single)));
}

}  // namespace symtile::gpu
