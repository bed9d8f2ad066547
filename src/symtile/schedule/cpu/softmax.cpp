#include "symtile/schedule/cpu/softmax.h"

#include "symtile/schedule/cpu/loops.h"

namespace symtile {
namespace {

/// largest[p..] = max over r of x; total[p..] = sum over r of exp(x - largest);
/// out[p.., j] = g(exp(x - largest) / total), or g of the exponential and the total apart.
struct Softmax {
  std::vector<Axis> rows;
  Axis column;
  Expr element;  ///< x over rows and column
  Expr weight;   ///< exp(x - largest), as it stands in `value`
  Expr value;    ///< of the last stage
};

std::optional<Softmax> match_softmax(const ComputeForm& form) {
  if (form.stages.size() != 3 || form.temporaries.size() != 2) return std::nullopt;
  const ComputeStmt &largest = form.stages[0], &total = form.stages[1], &out = form.stages[2];
  const ReduceExpr* best = reduction_over_one_axis(largest.value, ReduceKind::max);
  const ReduceExpr* sum = reduction_over_one_axis(total.value, ReduceKind::sum);
  const size_t p = largest.axes.size();
  if (!best || !sum || total.axes.size() != p || out.axes.size() != p + 1 ||
      has_reduction(out.value) || has_reduction(best->body) || has_reduction(sum->body))
    return std::nullopt;
  Softmax s;
  s.rows.assign(out.axes.begin(), out.axes.begin() + static_cast<std::ptrdiff_t>(p));
  s.column = out.axes.back();
  if (sum->axes[0].extent != s.column.extent || best->axes[0].extent != s.column.extent)
    return std::nullopt;
  std::map<std::string, Expr> from_best{{best->axes[0].name, var(s.column.name)}},
      from_sum{{sum->axes[0].name, var(s.column.name)}};
  for (size_t i = 0; i < p; ++i) {
    from_best[largest.axes[i].name] = var(s.rows[i].name);
    from_sum[total.axes[i].name] = var(s.rows[i].name);
  }
  s.element = substitute(best->body, from_best);
  s.weight = substitute(sum->body, from_sum);
  const auto* e = s.weight.as<UnaryExpr>();
  const auto* shifted = e && e->op == UnaryOp::exp ? e->a.as<BinaryExpr>() : nullptr;
  if (!shifted || shifted->op != BinaryOp::sub || !structurally_equal(shifted->a, s.element) ||
      !is_load_of(shifted->b, largest.buffer))
    return std::nullopt;
  // The exponential is there, and nothing else needs the maximum.
  bool found = false;
  s.value = out.value;
  const Expr rest = rewrite(s.value, [&](const Expr& x) {
    if (!structurally_equal(x, s.weight)) return x;
    found = true;
    return imm(x.dtype(), 0);
  });
  for (const Load* l : loads_of(rest)) {
    if (l->buffer == largest.buffer) return std::nullopt;
  }
  return found ? std::optional<Softmax>(std::move(s)) : std::nullopt;
}

}  // namespace

std::optional<TileFunction> schedule_softmax(const TileFunction& f, const ComputeForm& form,
                                             const CpuTarget&) {
  if (!match_softmax(squeeze_unit_axes(form))) return std::nullopt;
  const LinearForm linear = linearize(f, form);
  // Equal elements may have flat addresses that are not simplified to the same text.
  const auto matched = match_softmax({linear.temporaries, linear.stages});
  if (!matched) return std::nullopt;
  const Softmax& s = *matched;
  NameSource names(f);
  const DType type = s.weight.dtype();
  const Expr extent = to_expr(s.column.extent);
  const Buffer row{names.fresh("exponentials"), type, {s.column.extent}, Scope::scratch, {}};
  const Buffer best{names.fresh("best"), type, {DimExpr(1)}, Scope::local, {}};
  const Buffer sum{names.fresh("sum"), type, {DimExpr(1)}, Scope::local, {}};
  const auto first = [&](const Buffer& b) { return load(b.name, type, {Expr(0)}); };
  const auto over_row = [&](const std::function<Stmt(const Expr& at)>& body) {
    const std::string x = names.fresh("x");
    return for_loop(x, 0, extent, LoopKind::vectorized, body(var(x)));
  };
  const auto at = [&](const Expr& e, const Expr& column) {
    return substitute(e, {{s.column.name, column}});
  };
  const std::string& largest = linear.stages[0].buffer;
  const std::string& total = linear.stages[1].buffer;
  const Expr index = linear.store_index.at(linear.stages[2].buffer);
  std::vector<Stmt> stmts = {
      store(best.name, {Expr(0)}, identity_of(ReduceKind::max, type)), over_row([&](const Expr& x) {
        return store(best.name, {Expr(0)}, combine(ReduceKind::max, first(best), at(s.element, x)));
      }),
      store(sum.name, {Expr(0)}, imm(type, 0)), over_row([&](const Expr& x) {
        const Expr weight = rewrite(
            s.weight, [&](const Expr& e) { return is_load_of(e, largest) ? first(best) : e; });
        const std::string w = names.fresh("w");
        return let(w, at(weight, x),
                   block({store(row.name, {x}, var(w, type)),
                          store(sum.name, {Expr(0)}, first(sum) + var(w, type))}));
      }),
      over_row([&](const Expr& x) {
        const Expr value = rewrite(s.value, [&](const Expr& e) {
          if (structurally_equal(e, s.weight)) return load(row.name, type, {var(s.column.name)});
          return is_load_of(e, total) ? first(sum) : e;
        });
        return store(linear.stages[2].buffer, {at(index, x)}, at(value, x));
      })};
  Stmt body = allocate(row, allocate(best, allocate(sum, block(std::move(stmts)))));
  return finish_schedule(f, linear, parallel_over(s.rows, names.fresh("p"), std::move(body)),
                         "softmax");
}

}  // namespace symtile
