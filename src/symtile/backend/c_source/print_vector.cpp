// Loops over SIMD lanes as vector loads and stores around scalar arithmetic: memory is moved in
// one piece where neighbours lie together, which is what devices need; the arithmetic of a
// work-item is scalar there anyway. What is loaded under a condition stays a scalar load.
#include <utility>

#include "symtile/backend/c_source/printer.h"
#include "symtile/ir/expr_node.h"
#include "symtile/ir/stmt_walk.h"

namespace symtile::c_source {
namespace {

bool mentions(const Expr& e, const std::string& variable) {
  bool found = false;
  visit(e, [&](const Expr& x) {
    const auto* v = x.as<VarRef>();
    found = found || (v && v->name == variable);
  });
  return found;
}

/// True when the last index is `variable` plus what does not depend on it, and no other one does.
bool contiguous(const std::vector<Expr>& indices, const std::string& variable) {
  if (indices.empty()) return false;
  for (size_t i = 0; i + 1 < indices.size(); ++i) {
    if (mentions(indices[i], variable)) return false;
  }
  const Expr& last = indices.back();
  if (!mentions(last, variable)) return false;
  if (const auto dim = to_dim_expr(last)) {
    const auto first = to_dim_expr(substitute(last, {{variable, Expr(0)}}));
    return first && *dim - *first == DimExpr::symbol(variable);
  }
  const auto is_variable = [&](const Expr& e) {
    const auto* v = e.as<VarRef>();
    return v && v->name == variable;
  };
  const auto* sum = last.as<BinaryExpr>();
  return sum && sum->op == BinaryOp::add &&
         ((is_variable(sum->a) && !mentions(sum->b, variable)) ||
          (is_variable(sum->b) && !mentions(sum->a, variable)));
}

/// x[i] = x[i] + a * b: one rounding where the device can, so that it stays one statement.
bool adds_product(const StoreStmt& n) {
  const auto* sum = n.value.as<BinaryExpr>();
  if (!sum || sum->op != BinaryOp::add || !is_float(sum->dtype)) return false;
  const auto is_product = [](const Expr& e) {
    const auto* b = e.as<BinaryExpr>();
    return b && b->op == BinaryOp::mul;
  };
  const auto is_target = [&](const Expr& e) {
    const auto* l = e.as<Load>();
    return l && l->buffer == n.buffer;
  };
  return (is_target(sum->a) && is_product(sum->b)) || (is_target(sum->b) && is_product(sum->a));
}

bool row_major(const Buffer& b) { return b.strides.empty(); }

struct Loaded {
  const Load* load;
  std::string variable;
};

/// `e` with the loads that `take` accepts as variables; those under a select stay.
Expr replace_loads(const Expr& e, const std::function<std::optional<Expr>(const Load&)>& take) {
  if (const auto* l = e.as<Load>()) {
    if (auto taken = take(*l)) return *taken;
    return e;
  }
  if (const auto* s = e.as<SelectExpr>())
    return select(replace_loads(s->condition, take), s->then_value, s->else_value);
  return map_children(e, [&](const Expr& child) { return replace_loads(child, take); });
}

bool has_reduction(const Expr& e) {
  bool found = false;
  visit(e, [&](const Expr& x) { found = found || x.as<ReduceExpr>(); });
  return found;
}

}  // namespace

bool Printer::print_vectors(const ForStmt& n) {
  const auto end = n.end.as_int();
  const bool sized = n.begin.is_int(0) && n.step == 1 && end &&
                     (*end == 2 || *end == 4 || *end == 8 || *end == 16);
  const auto* st = as<StoreStmt>(n.body);
  if (!dialect_.vector_load || !sized || !st || has_reduction(st->value) || adds_product(*st))
    return false;
  const int64_t lanes = *end;
  const BufferSlot& to = buffers_.at(st->buffer);
  const auto in_memory = [](const BufferSlot& s) {
    return s.buffer.scope != Scope::local && row_major(s.buffer);
  };
  // What the loop writes, it may read at the place that it writes only.
  bool safe = true;
  visit(st->value, [&](const Expr& e) {
    const auto* l = e.as<Load>();
    if (!l || l->buffer != st->buffer) return;
    for (size_t i = 0; i < st->indices.size(); ++i)
      safe = safe && structurally_equal(l->indices[i], st->indices[i]);
  });
  for (const Expr& i : st->indices) {
    visit(i, [&](const Expr& e) { safe = safe && !(e.as<Load>() || e.as<SelectExpr>()); });
  }
  if (!safe) return false;
  const bool stores = in_memory(to) && contiguous(st->indices, n.var);

  std::vector<Loaded> loads;
  const Expr value = replace_loads(st->value, [&](const Load& l) -> std::optional<Expr> {
    const BufferSlot& from = buffers_.at(l.buffer);
    if (!in_memory(from) || !contiguous(l.indices, n.var)) return std::nullopt;
    for (const Loaded& known : loads) {
      bool same = known.load->buffer == l.buffer;
      for (size_t i = 0; same && i < l.indices.size(); ++i)
        same = structurally_equal(known.load->indices[i], l.indices[i]);
      if (same) return var(known.variable, l.dtype);
    }
    loads.push_back({&l, fresh("loaded")});
    return var(loads.back().variable, l.dtype);
  });
  if (!stores && loads.empty()) return false;

  const auto first_place = [&](const BufferSlot& slot, const std::vector<Expr>& indices) {
    std::vector<Expr> first;
    for (const Expr& i : indices) first.push_back(substitute(i, {{n.var, Expr(0)}}));
    return "&" + element(slot, first);
  };
  const auto uses = std::exchange(uses_, {});
  const auto memo = std::exchange(memo_, {});
  memo_.emplace_back();
  std::vector<std::string> vectors;
  braces("", [&] {
    for (const Loaded& l : loads) {
      const BufferSlot& from = buffers_.at(l.load->buffer);
      vectors.push_back(fresh_temporary());
      line(fmt::format("const {}x{} {} = {};", storage_type(from.buffer.dtype), lanes,
                       vectors.back(),
                       dialect_.vector_load(lanes, first_place(from, l.load->indices))));
    }
    std::vector<std::string> results;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const std::map<std::string, Expr> here = {{n.var, Expr(lane)}};
      for (size_t k = 0; k < loads.size(); ++k) {
        const BufferSlot& from = buffers_.at(loads[k].load->buffer);
        variables_[loads[k].variable] = {loaded(from, dialect_.vector_lane(vectors[k], lane)).text,
                                         false, false};
      }
      const Value one = print_root(substitute(value, here));
      const std::string text = stored(to.buffer.dtype, one.text);
      if (!stores) {
        std::vector<Expr> indices;
        for (const Expr& i : st->indices) indices.push_back(substitute(i, here));
        line(fmt::format("{} = {};", element(to, indices), text));
        continue;
      }
      results.push_back(fresh_temporary());
      line(fmt::format("const {} {} = {};", storage_type(to.buffer.dtype), results.back(), text));
    }
    for (const Loaded& l : loads) variables_.erase(l.variable);
    if (!stores) return;
    std::string all;
    for (const std::string& r : results) all += (all.empty() ? "" : ", ") + r;
    line(dialect_.vector_store(
        lanes, fmt::format("({}x{})({})", storage_type(to.buffer.dtype), lanes, all),
        first_place(to, st->indices)));
  });
  uses_ = uses;
  memo_ = memo;
  return true;
}

}  // namespace symtile::c_source
