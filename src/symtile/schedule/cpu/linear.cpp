#include "symtile/schedule/cpu/linear.h"

#include <algorithm>

#include "symtile/base/check.h"
#include "symtile/diag/diagnostic.h"

namespace symtile {
namespace {

DimExpr atom_expr(const DimAtom& a) {
  switch (a.kind) {
    case DimAtom::Kind::symbol:
      return DimExpr::symbol(a.name);
    case DimAtom::Kind::floordiv:
      return floordiv(a.args[0], a.args[1]);
    case DimAtom::Kind::floormod:
      return floormod(a.args[0], a.args[1]);
    case DimAtom::Kind::min:
      return min(a.args[0], a.args[1]);
    case DimAtom::Kind::max:
      return max(a.args[0], a.args[1]);
  }
  SYMTILE_UNREACHABLE();
}

bool mentions(const DimExpr& e, const std::set<std::string>& vars) {
  const std::set<std::string> symbols = e.symbols();
  return std::any_of(symbols.begin(), symbols.end(),
                     [&](const std::string& s) { return vars.count(s) > 0; });
}

Buffer flat(const Buffer& b) {
  Buffer out = b;
  out.dims = {product(b.dims)};
  out.strides.clear();
  return out;
}

Expr flat_index(const std::vector<Expr>& indices, const Dims& dims, const Facts& facts) {
  const Dims strides = row_major_strides(dims);
  // Exact polynomial arithmetic when every index is one; otherwise plain expressions.
  DimExpr sum = 0;
  bool polynomial = true;
  for (size_t i = 0; i < indices.size() && polynomial; ++i) {
    if (const auto d = to_dim_expr(indices[i])) {
      sum += *d * strides[i];
    } else {
      polynomial = false;
    }
  }
  if (polynomial) return to_expr(facts.simplify(sum));
  Expr out = 0;
  for (size_t i = 0; i < indices.size(); ++i) out = out + indices[i] * to_expr(strides[i]);
  return out;
}

}  // namespace

DimExpr AffineForm::coefficient(const std::string& var) const {
  const auto it = coefficients.find(var);
  return it == coefficients.end() ? DimExpr(0) : it->second;
}

std::optional<AffineForm> affine_form(const DimExpr& e, const std::set<std::string>& vars) {
  AffineForm out;
  for (const DimTerm& term : e.terms()) {
    DimExpr rest = term.coefficient;
    std::optional<std::string> var;
    for (const auto& [atom, power] : term.factors) {
      if (atom.kind == DimAtom::Kind::symbol && vars.count(atom.name)) {
        if (var || power != 1) return std::nullopt;
        var = atom.name;
        continue;
      }
      const DimExpr factor = atom_expr(atom);
      if (mentions(factor, vars)) return std::nullopt;
      for (int p = 0; p < power; ++p) rest *= factor;
    }
    if (var) {
      out.coefficients[*var] += rest;
    } else {
      out.rest += rest;
    }
  }
  return out;
}

Dims row_major_strides(const Dims& dims) {
  Dims strides(dims.size(), DimExpr(1));
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

void add_axis_facts(Facts& facts, const std::vector<Axis>& axes) {
  for (const Axis& a : axes) {
    const auto high = facts.upper_bound(a.extent);
    facts.bound(a.name, 0,
                high ? std::optional<int64_t>(std::max<int64_t>(*high - 1, 0)) : std::nullopt);
    if (a.extent.is_const()) continue;
    try {
      facts.assume_le(DimExpr::symbol(a.name) + 1, a.extent);
    } catch (const DiagnosticError&) {
      // The extent is 0: the loop never runs, and nothing need be known inside.
    }
  }
}

LinearForm linearize(const TileFunction& f, const ComputeForm& form) {
  LinearForm out;
  out.facts = f.facts;
  for (const Buffer& b : f.inputs) out.inputs.push_back(flat(b));
  for (const Buffer& b : f.outputs) out.outputs.push_back(flat(b));
  for (const Buffer& b : form.temporaries) out.temporaries.push_back(flat(b));
  std::map<std::string, Dims> dims;
  for (const auto* list : {&f.inputs, &f.outputs, &form.temporaries}) {
    for (const Buffer& b : *list) dims.emplace(b.name, b.dims);
  }
  for (const ComputeStmt& stage : form.stages) {
    add_axis_facts(out.facts, stage.axes);
    visit(stage.value, [&](const Expr& e) {
      if (const auto* r = e.as<ReduceExpr>()) add_axis_facts(out.facts, r->axes);
    });
  }
  for (const ComputeStmt& stage : form.stages) {
    std::vector<Expr> indices;
    for (const Axis& a : stage.axes)
      indices.push_back(a.extent.is_const(1) ? Expr(0) : var(a.name));
    out.store_index[stage.buffer] = flat_index(indices, dims.at(stage.buffer), out.facts);
  }
  for (ComputeStmt& stage : squeeze_unit_axes(form).stages) {
    stage.value = rewrite(stage.value, [&](const Expr& e) {
      const auto* l = e.as<Load>();
      if (!l) return e;
      return load(l->buffer, l->dtype, {flat_index(l->indices, dims.at(l->buffer), out.facts)});
    });
    out.stages.push_back(std::move(stage));
  }
  return out;
}

std::map<std::string, Expr> decode_axes(const std::vector<Axis>& group, const Expr& merged) {
  std::map<std::string, Expr> out;
  Expr rest = merged;
  for (size_t i = group.size(); i-- > 0;) {
    if (i == 0) {
      out[group[i].name] = rest;
    } else if (group[i].extent.is_const(1)) {
      out[group[i].name] = 0;
    } else {
      const Expr extent = to_expr(group[i].extent);
      out[group[i].name] = floormod(rest, extent);
      rest = floordiv(rest, extent);
    }
  }
  return out;
}

MergedExpr merge_axes(const Expr& e, const std::vector<Axis>& group, const std::string& merged,
                      const Facts& facts) {
  if (group.size() == 1) return {substitute(e, {{group[0].name, var(merged)}}), true};
  std::set<std::string> vars;
  for (const Axis& a : group) vars.insert(a.name);
  Expr value = rewrite(e, [&](const Expr& x) {
    const auto* l = x.as<Load>();
    if (!l || l->indices.size() != 1) return x;
    const auto index = to_dim_expr(l->indices[0]);
    const auto affine = index ? affine_form(*index, vars) : std::nullopt;
    if (!affine) return x;
    const DimExpr inner = affine->coefficient(group.back().name);
    DimExpr expected = inner;
    for (size_t i = group.size(); i-- > 0;) {
      if (!group[i].extent.is_const(1) &&
          !facts.proves_equal(affine->coefficient(group[i].name), expected))
        return x;
      expected *= group[i].extent;
    }
    return load(l->buffer, l->dtype, {to_expr(affine->rest + inner * DimExpr::symbol(merged))});
  });
  const bool direct = !depends_on_any(value, group);
  if (!direct) value = substitute(value, decode_axes(group, var(merged)));
  return {value, direct};
}

bool unit_stride(const Expr& e, const std::string& name, bool need_one) {
  bool ok = true, one = false;
  for (const Load* l : loads_of(e)) {
    for (const Expr& i : l->indices) {
      if (!depends_on(i, name)) continue;
      const auto index = to_dim_expr(i);
      const auto affine = index ? affine_form(*index, {name}) : std::nullopt;
      if (affine && affine->coefficient(name).is_const(1)) {
        one = true;
      } else {
        ok = false;
      }
    }
  }
  return ok && (one || !need_one);
}

}  // namespace symtile
