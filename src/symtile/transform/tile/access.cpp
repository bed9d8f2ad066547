#include "symtile/transform/tile/access.h"

#include <algorithm>

namespace symtile {
namespace {

bool collect(const Stmt& s, ComputeForm& out) {
  if (const auto* b = as<BlockStmt>(s)) {
    return std::all_of(b->stmts.begin(), b->stmts.end(),
                       [&](const Stmt& x) { return collect(x, out); });
  }
  if (const auto* a = as<AllocateStmt>(s)) {
    out.temporaries.push_back(a->buffer);
    return collect(a->body, out);
  }
  if (const auto* c = as<ComputeStmt>(s)) {
    out.stages.push_back(*c);
    return true;
  }
  return false;
}

/// Bare variable of the stage's axes: its position; -1 otherwise.
int axis_position(const Expr& index, const ComputeStmt& stage) {
  const auto* v = index.as<VarRef>();
  if (!v) return -1;
  for (size_t i = 0; i < stage.axes.size(); ++i) {
    if (stage.axes[i].name == v->name) return static_cast<int>(i);
  }
  return -1;
}

KernelKind load_kind(const Load& load, const ComputeStmt& stage) {
  if (is_identity_load(load, stage)) return KernelKind::elementwise;
  int last = -1;
  for (const Expr& index : load.indices) {
    if (index.as_int()) continue;
    const int at = axis_position(index, stage);
    if (at <= last) return KernelKind::injective;
    last = at;
  }
  return KernelKind::broadcast;
}

/// sum over k of (load * load), possibly with casts and guards around the loads, where one side is
/// read again along an output axis that the other depends on (a sum of squares is none).
bool is_contraction(const ReduceExpr& r, const ComputeStmt& stage) {
  if (r.kind != ReduceKind::sum) return false;
  const auto* product = r.body.as<BinaryExpr>();
  if (!product || product->op != BinaryOp::mul) return false;
  if (loads_of(product->a).empty() || loads_of(product->b).empty()) return false;
  return std::any_of(stage.axes.begin(), stage.axes.end(), [&](const Axis& a) {
    return !a.extent.is_const(1) &&
           depends_on(product->a, a.name) != depends_on(product->b, a.name);
  });
}

bool shares_prefix(const ComputeForm& form, size_t p, const Facts& facts) {
  const ComputeStmt& last = form.stages.back();
  for (const ComputeStmt& stage : form.stages) {
    if (stage.axes.size() < p) return false;
    for (size_t i = 0; i < p; ++i) {
      if (!facts.proves_equal(stage.axes[i].extent, last.axes[i].extent)) return false;
    }
    for (const Load* l : loads_of(stage.value)) {
      if (!is_temporary(form, l->buffer)) continue;
      if (l->indices.size() < p) return false;
      for (size_t i = 0; i < p; ++i) {
        if (stage.axes[i].extent.is_const(1) && l->indices[i].is_int(0)) continue;
        const auto* v = l->indices[i].as<VarRef>();
        if (!v || v->name != stage.axes[i].name) return false;
      }
    }
  }
  return true;
}

}  // namespace

bool is_temporary(const ComputeForm& form, const std::string& name) {
  return std::any_of(form.temporaries.begin(), form.temporaries.end(),
                     [&](const Buffer& b) { return b.name == name; });
}

size_t shared_prefix(const ComputeForm& form, const Facts& facts) {
  size_t p = form.stages.back().axes.size();
  while (p > 0 && !shares_prefix(form, p, facts)) --p;
  return p;
}

std::optional<ComputeForm> compute_form(const TileFunction& f) {
  ComputeForm form;
  if (!f.body || !collect(f.body, form)) return std::nullopt;
  return form;
}

Stmt make_body(const ComputeForm& form) {
  std::vector<Stmt> stmts;
  for (const ComputeStmt& c : form.stages) stmts.push_back(make_stmt(c));
  Stmt body = block(std::move(stmts));
  for (auto it = form.temporaries.rbegin(); it != form.temporaries.rend(); ++it) {
    body = make_stmt(AllocateStmt{*it, body});
  }
  return body;
}

ComputeForm squeeze_unit_axes(ComputeForm form) {
  for (ComputeStmt& stage : form.stages) {
    std::map<std::string, Expr> zero;
    std::erase_if(stage.axes, [&](const Axis& a) {
      return a.extent.is_const(1) && zero.emplace(a.name, 0).second;
    });
    stage.value = rewrite(stage.value, [](const Expr& e) -> Expr {
      const auto* r = e.as<ReduceExpr>();
      if (!r) return e;
      std::map<std::string, Expr> units;
      std::vector<Axis> kept;
      for (const Axis& a : r->axes) {
        if (a.extent.is_const(1) && units.size() + 1 < r->axes.size()) {
          units.emplace(a.name, 0);
        } else {
          kept.push_back(a);
        }
      }
      return units.empty() ? e : reduce(r->kind, std::move(kept), substitute(r->body, units));
    });
    if (!zero.empty()) stage.value = substitute(stage.value, zero);
  }
  return form;
}

std::vector<const Load*> loads_of(const Expr& e) {
  std::vector<const Load*> out;
  visit(e, [&](const Expr& x) {
    if (const auto* l = x.as<Load>()) out.push_back(l);
  });
  return out;
}

bool depends_on(const Expr& e, const std::string& name) {
  bool found = false;
  visit(e, [&](const Expr& x) {
    const auto* v = x.as<VarRef>();
    found = found || (v && v->name == name);
  });
  return found;
}

bool depends_on_any(const Expr& e, const std::vector<Axis>& axes) {
  return std::any_of(axes.begin(), axes.end(),
                     [&](const Axis& a) { return depends_on(e, a.name); });
}

bool has_reduction(const Expr& e) {
  bool found = false;
  visit(e, [&](const Expr& x) { found = found || x.as<ReduceExpr>() != nullptr; });
  return found;
}

Expr only_reduction(const Expr& e) {
  Expr found;
  bool several = false;
  visit(e, [&](const Expr& x) {
    if (!x.as<ReduceExpr>()) return;
    several = several || (found.defined() && !structurally_equal(found, x));
    found = x;
  });
  return several ? Expr() : found;
}

const ReduceExpr* reduction_over_one_axis(const Expr& e, ReduceKind kind) {
  const auto* r = e.as<ReduceExpr>();
  return r && r->kind == kind && r->axes.size() == 1 ? r : nullptr;
}

bool is_load_of(const Expr& e, const std::string& buffer) {
  const auto* l = e.as<Load>();
  return l && l->buffer == buffer;
}

bool is_identity_load(const Load& load, const ComputeStmt& stage) {
  if (load.indices.size() != stage.axes.size()) return false;
  for (size_t i = 0; i < stage.axes.size(); ++i) {
    if (stage.axes[i].extent.is_const(1) && load.indices[i].is_int(0)) continue;  // the only index
    if (axis_position(load.indices[i], stage) != static_cast<int>(i)) return false;
  }
  return true;
}

std::string_view name_of(KernelKind kind) {
  constexpr std::string_view names[] = {"elementwise", "broadcast",   "injective",
                                        "reduction",   "contraction", "opaque"};
  return names[static_cast<size_t>(kind)];
}

KernelKind classify(const TileFunction& f) {
  const auto form = compute_form(f);
  if (!form || f.outputs.size() != 1) return KernelKind::opaque;
  KernelKind kind = KernelKind::elementwise;
  bool any_elementwise = false;
  for (const ComputeStmt& stage : form->stages) {
    visit(stage.value, [&](const Expr& e) {
      if (const auto* r = e.as<ReduceExpr>()) {
        kind = std::max(
            kind, is_contraction(*r, stage) ? KernelKind::contraction : KernelKind::reduction);
      } else if (const auto* l = e.as<Load>()) {
        const KernelKind k = load_kind(*l, stage);
        any_elementwise = any_elementwise || k == KernelKind::elementwise;
        if (kind < KernelKind::reduction) kind = std::max(kind, k);
      }
    });
  }
  // As Relax: a broadcast operand beside one read at the output index is still elementwise.
  if (kind == KernelKind::broadcast && any_elementwise) kind = KernelKind::elementwise;
  return kind;
}

std::vector<int> inplace_inputs(const TileFunction& f) {
  std::vector<int> out;
  const auto form = compute_form(f);
  if (!form || form->stages.size() != 1 || f.outputs.size() != 1) return out;
  const ComputeStmt& stage = form->stages.front();
  if (has_reduction(stage.value)) return out;
  for (size_t i = 0; i < f.inputs.size(); ++i) {
    const Buffer& in = f.inputs[i];
    if (in.dims != f.outputs[0].dims || size_of(in.dtype) != size_of(f.outputs[0].dtype)) continue;
    bool read = false, safe = true;
    for (const Load* l : loads_of(stage.value)) {
      if (l->buffer != in.name) continue;
      read = true;
      safe = safe && is_identity_load(*l, stage);
    }
    if (read && safe) out.push_back(static_cast<int>(i));
  }
  return out;
}

}  // namespace symtile
