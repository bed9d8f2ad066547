#include "symtile/transform/tile/inline_stages.h"

#include <algorithm>

#include "symtile/transform/tile/fusion_rules.h"

namespace symtile {
namespace {

/// Where one buffer is read in a stage.
struct Reads {
  int sites = 0;
  bool in_reduction = false;
  bool identity = true;
};

Reads reads_of(const std::string& buffer, const ComputeStmt& stage) {
  Reads out;
  const std::function<void(const Expr&, bool)> walk = [&](const Expr& e, bool inside) {
    if (const auto* l = e.as<Load>()) {
      if (l->buffer == buffer) {
        ++out.sites;
        out.in_reduction = out.in_reduction || inside;
        out.identity = out.identity && is_identity_load(*l, stage);
      }
      for (const Expr& i : l->indices) walk(i, inside);
    } else if (const auto* u = e.as<UnaryExpr>()) {
      walk(u->a, inside);
    } else if (const auto* b = e.as<BinaryExpr>()) {
      walk(b->a, inside);
      walk(b->b, inside);
    } else if (const auto* s = e.as<SelectExpr>()) {
      walk(s->condition, inside);
      walk(s->then_value, inside);
      walk(s->else_value, inside);
    } else if (const auto* c = e.as<CastExpr>()) {
      walk(c->a, inside);
    } else if (const auto* r = e.as<ReduceExpr>()) {
      walk(r->body, true);
    }
  };
  walk(stage.value, false);
  return out;
}

/// Cheap enough to compute again wherever it is read: at most a few moves and additions.
bool is_cheap(const Expr& e) {
  int cost = 0;
  visit(e, [&](const Expr& x) {
    if (x.dtype() == DType::i64 && !x.as<Load>()) return;  // index arithmetic
    if (const auto* u = x.as<UnaryExpr>())
      cost += u->op >= UnaryOp::sqrt && u->op <= UnaryOp::sigmoid ? 16 : 1;
    if (const auto* b = x.as<BinaryExpr>())
      cost += b->op == BinaryOp::pow || b->op == BinaryOp::div ? 16 : 1;
    if (x.as<Load>()) cost += 1;
    if (x.as<ReduceExpr>()) cost += 1000;
  });
  return cost <= 4;
}

Expr inline_into(const Expr& e, const ComputeStmt& producer) {
  return rewrite(e, [&](const Expr& x) {
    const auto* l = x.as<Load>();
    if (!l || l->buffer != producer.buffer) return x;
    std::map<std::string, Expr> at;
    for (size_t i = 0; i < producer.axes.size(); ++i) at[producer.axes[i].name] = l->indices[i];
    return substitute(producer.value, at);
  });
}

/// Inlines stage i into every reader when allowed; true when it did.
bool try_inline(ComputeForm& form, size_t i) {
  const ComputeStmt producer = form.stages[i];
  const bool temporary = std::any_of(form.temporaries.begin(), form.temporaries.end(),
                                     [&](const Buffer& b) { return b.name == producer.buffer; });
  if (!temporary) return false;
  int sites = 0, readers = 0;
  bool in_reduction = false, one_to_one = true;
  for (size_t j = i + 1; j < form.stages.size(); ++j) {
    const Reads r = reads_of(producer.buffer, form.stages[j]);
    sites += r.sites;
    readers += r.sites > 0;
    in_reduction = in_reduction || r.in_reduction;
    if (r.sites > 0) {
      one_to_one = one_to_one && !has_reduction(form.stages[j].value) &&
                   (r.identity || reads_one_to_one(form.stages[j], {producer.buffer}));
    }
  }
  const bool allowed = has_reduction(producer.value) ? readers == 1 && one_to_one && !in_reduction
                                                     : sites <= 1 || is_cheap(producer.value);
  if (!allowed) return false;
  for (size_t j = i + 1; j < form.stages.size(); ++j)
    form.stages[j].value = inline_into(form.stages[j].value, producer);
  form.stages.erase(form.stages.begin() + static_cast<std::ptrdiff_t>(i));
  std::erase_if(form.temporaries, [&](const Buffer& b) { return b.name == producer.buffer; });
  return true;
}

}  // namespace

void inline_stages(TileFunction& f) {
  auto form = compute_form(f);
  if (!form) return;
  // Inlining one stage can leave an earlier one with a single reader: until nothing changes.
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i + 1 < form->stages.size();) {
      if (try_inline(*form, i)) {
        changed = true;
      } else {
        ++i;
      }
    }
  }
  f.body = make_body(*form);
}

void collect_free_symbols(const ComputeForm& form, std::set<std::string>& out) {
  for (const ComputeStmt& stage : form.stages) {
    std::set<std::string> bound;
    for (const Axis& a : stage.axes) {
      bound.insert(a.name);
      a.extent.collect_symbols(out);
    }
    visit(stage.value, [&](const Expr& e) {
      if (const auto* r = e.as<ReduceExpr>()) {
        for (const Axis& a : r->axes) {
          bound.insert(a.name);
          a.extent.collect_symbols(out);
        }
      }
    });
    visit(stage.value, [&](const Expr& e) {
      const auto* v = e.as<VarRef>();
      if (v && !bound.count(v->name)) out.insert(v->name);
    });
  }
}

Facts restricted_facts(const Facts& facts, const std::set<std::string>& symbols) {
  const auto covered = [&](const DimExpr& e) {
    const std::set<std::string> used = e.symbols();
    return std::includes(symbols.begin(), symbols.end(), used.begin(), used.end());
  };
  Facts out;
  for (const auto& [name, range] : facts.ranges()) {
    if (symbols.count(name)) out.bound(name, range.low, range.high);
  }
  for (const auto& [e, divisor] : facts.divisors()) {
    if (covered(e)) out.assume_divisible(e, divisor);
  }
  for (const auto& r : facts.equalities()) {
    if (covered(r.a) && covered(r.b)) out.assume_equal(r.a, r.b);
  }
  for (const auto& r : facts.inequalities()) {
    if (covered(r.a) && covered(r.b)) out.assume_le(r.a, r.b);
  }
  return out;
}

}  // namespace symtile
