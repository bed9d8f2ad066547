#include "symtile/transform/tile/fusion_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "symtile/transform/tile/attention.h"
#include "symtile/transform/tile/contraction.h"
#include "symtile/transform/tile/results.h"

namespace symtile {
namespace {

/// Packing evaluates an operand once for each block of this many columns of the other side.
constexpr int64_t kBlockColumns = 128;
/// Multiply-adds that pay for one operation of a prologue, so that it costs at most an eighth.
constexpr int64_t kUsesPerOperation = 8;
/// Uses assumed of an element when the extent is not known.
constexpr int64_t kUnknownUses = 64;

bool is_one_of(const std::string& name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// index = axis * stride + offset with constants: the axis; empty for a constant; nullopt else.
std::optional<std::string> strided_axis(const Expr& index, const ComputeStmt& stage) {
  const auto dim = to_dim_expr(index);
  if (!dim) return std::nullopt;
  std::optional<std::string> found;
  for (const DimTerm& term : dim->terms()) {
    for (const auto& [atom, power] : term.factors) {
      const DimExpr factor =
          atom.kind == DimAtom::Kind::symbol ? DimExpr::symbol(atom.name) : DimExpr::unknown();
      for (const Axis& a : stage.axes) {
        const bool inside =
            factor.is_unknown()
                ? std::any_of(atom.args.begin(), atom.args.end(),
                              [&](const DimExpr& e) { return e.symbols().count(a.name) > 0; })
                : atom.name == a.name;
        if (!inside) continue;
        if (factor.is_unknown() || power != 1 || term.factors.size() != 1) return std::nullopt;
        if (found) return std::nullopt;
        found = a.name;
      }
    }
  }
  return found.value_or("");
}

/// A load of one of the buffers stands on a side of a select that is not always taken.
bool guarded(const Expr& e, const std::vector<std::string>& buffers, bool inside = false) {
  if (const auto* l = e.as<Load>()) return inside && is_one_of(l->buffer, buffers);
  if (const auto* u = e.as<UnaryExpr>()) return guarded(u->a, buffers, inside);
  if (const auto* c = e.as<CastExpr>()) return guarded(c->a, buffers, inside);
  if (const auto* b = e.as<BinaryExpr>())
    return guarded(b->a, buffers, inside) || guarded(b->b, buffers, inside);
  if (const auto* s = e.as<SelectExpr>()) {
    return guarded(s->condition, buffers, inside) || guarded(s->then_value, buffers, true) ||
           guarded(s->else_value, buffers, true);
  }
  return false;
}

/// Windows that overlap (pooling, depthwise convolution) read an element once for each output that
/// covers it.
bool overlaps(const Load& load, const std::vector<Axis>& outs, const std::vector<Axis>& reduced) {
  return std::any_of(load.indices.begin(), load.indices.end(), [&](const Expr& index) {
    return depends_on_any(index, outs) && depends_on_any(index, reduced);
  });
}

/// An output axis that the load does not know: its elements are read again for each position.
bool misses_axis(const Load& load, const std::vector<Axis>& outs) {
  return std::any_of(outs.begin(), outs.end(), [&](const Axis& a) {
    if (a.extent.is_const(1)) return false;
    return std::none_of(load.indices.begin(), load.indices.end(),
                        [&](const Expr& index) { return depends_on(index, a.name); });
  });
}

/// A load through an index that is no sum of strided axes (resizing, merged axes, lookups):
/// neighbours are no neighbours any more, and an element may be read several times.
bool scatters(const Expr& value, const Contraction& c) {
  std::vector<Axis> axes = c.k;
  axes.insert(axes.end(), c.batch.begin(), c.batch.end());
  axes.insert(axes.end(), c.rows.begin(), c.rows.end());
  axes.insert(axes.end(), c.cols.begin(), c.cols.end());
  const auto has_axis = [&](const DimAtom& atom) {
    std::set<std::string> names;
    for (const DimExpr& e : atom.args) e.collect_symbols(names);
    return std::any_of(axes.begin(), axes.end(),
                       [&](const Axis& a) { return names.count(a.name) > 0; });
  };
  const auto is_scattered = [&](const Expr& index) {
    const auto dim = to_dim_expr(index);
    if (!dim) return true;
    for (const DimTerm& term : dim->terms()) {
      for (const auto& [atom, power] : term.factors) {
        if (has_axis(atom)) return true;
      }
    }
    return false;
  };
  const std::vector<const Load*> loads = loads_of(value);
  return std::any_of(loads.begin(), loads.end(), [&](const Load* l) {
    return std::any_of(l->indices.begin(), l->indices.end(), is_scattered);
  });
}

/// An element is read again by later rows: the stage has an axis that the load lacks, outside one
/// that it has. (Where only inner axes are lacking the value stays in a register.)
bool repeats_rows(const Load& load, const ComputeStmt& stage) {
  bool inner = false;
  for (size_t i = stage.axes.size(); i-- > 0;) {
    if (stage.axes[i].extent.is_const(1)) continue;
    const bool has = std::any_of(load.indices.begin(), load.indices.end(), [&](const Expr& index) {
      return depends_on(index, stage.axes[i].name);
    });
    if (!has && inner) return true;
    inner |= has;
  }
  return false;
}

/// Where the consumer has no reduction: how it reads an element that costs more than a load.
Refusal refuse_inside_map(const TileFunction& consumer, const std::vector<std::string>& buffers,
                          int64_t cost) {
  if (cost <= 2) return std::nullopt;
  const auto form = compute_form(consumer);
  for (const ComputeStmt& stage : form->stages) {
    for (const Load* l : loads_of(stage.value)) {
      if (!is_one_of(l->buffer, buffers)) continue;
      const bool strided =
          std::all_of(l->indices.begin(), l->indices.end(),
                      [&](const Expr& index) { return strided_axis(index, stage).has_value(); });
      if (!strided) return "its reader looks elements up, each perhaps several times";
      if (cost > 8 && repeats_rows(*l, stage)) return "its reader reads each element in many rows";
    }
  }
  return std::nullopt;
}

/// How many multiply-adds use an element between two evaluations of it. An operand is packed once
/// for each block of the other operand; where the extents are not known they are taken to be wide.
int64_t uses_between(const Contraction& c, bool column_operand, const Facts& facts) {
  const DimExpr other = extent_of(column_operand ? c.rows : c.cols);
  const auto high = facts.upper_bound(other);
  const int64_t low = std::max<int64_t>(facts.lower_bound(other).value_or(1), 1);
  const int64_t uses = high && *high < kUnknownUses ? *high : std::max(low, kUnknownUses);
  return std::min(uses, kBlockColumns);
}

/// Reduction axes that slide over the operand beside an output axis: how many taps there are.
int64_t taps_of(const Expr& operand, const Contraction& c, const Facts& facts) {
  std::vector<Axis> outs = c.rows;
  outs.insert(outs.end(), c.cols.begin(), c.cols.end());
  outs.insert(outs.end(), c.batch.begin(), c.batch.end());
  std::set<std::string> sliding;
  for (const Load* l : loads_of(operand)) {
    for (const Expr& index : l->indices) {
      if (!depends_on_any(index, outs)) continue;
      for (const Axis& a : c.k) {
        if (depends_on(index, a.name)) sliding.insert(a.name);
      }
    }
  }
  int64_t taps = 1;
  for (const Axis& a : c.k) {
    if (sliding.count(a.name)) taps *= facts.upper_bound(a.extent).value_or(kBlockColumns);
  }
  return taps;
}

/// The operand is evaluated where it is packed: once for each tap of a sliding window (im2col) and
/// each block of the other operand.
Refusal refuse_cost(const Contraction& c, bool column, int64_t cost, const Facts& facts) {
  const int64_t uses = uses_between(c, column, facts);
  const int64_t taps = taps_of(column ? c.col_operand : c.row_operand, c, facts);
  if (cost * taps * kUsesPerOperation <= uses) return std::nullopt;
  if (taps > 1) {
    return fmt::format(
        "the product would evaluate its {} operations {} times for every {} multiplications", cost,
        taps, uses);
  }
  return fmt::format("the product would evaluate its {} operations for every {} multiplications",
                     cost, uses);
}

/// Where a reduction that is no product reads the elements.
Refusal refuse_inside_reductions(const ComputeStmt& stage, const std::vector<std::string>& buffers,
                                 int64_t cost, bool moves) {
  Refusal why;
  visit(stage.value, [&](const Expr& e) {
    const auto* r = e.as<ReduceExpr>();
    if (!r || why) return;
    for (const Load* l : loads_of(r->body)) {
      if (!is_one_of(l->buffer, buffers)) continue;
      if (overlaps(*l, stage.axes, r->axes) && (cost > 2 || moves)) {
        why = "a reduction reads each element several times";
      } else if (cost > 1 && misses_axis(*l, stage.axes)) {
        why = "a reduction reads each element again for every result";
      }
    }
  });
  return why;
}

bool reads_any(const Expr& e, const std::vector<std::string>& buffers) {
  const std::vector<const Load*> loads = loads_of(e);
  return std::any_of(loads.begin(), loads.end(),
                     [&](const Load* l) { return is_one_of(l->buffer, buffers); });
}

}  // namespace

int64_t evaluation_cost(const Expr& value) {
  int64_t cost = 0;
  visit(value, [&](const Expr& x) {
    if (x.dtype() == DType::i64 && !x.as<Load>()) return;  // index arithmetic
    if (const auto* u = x.as<UnaryExpr>())
      cost += u->op >= UnaryOp::sqrt && u->op <= UnaryOp::sigmoid ? 16 : 1;
    if (const auto* b = x.as<BinaryExpr>()) {
      if (b->a.dtype() == DType::i64 || b->a.dtype() == DType::boolean) return;  // a guard
      cost += b->op == BinaryOp::pow ? 32 : b->op == BinaryOp::div ? 4 : 1;
    }
    if (x.as<CastExpr>()) cost += 1;
    if (x.as<ReduceExpr>()) cost += 1000;
  });
  return cost;
}

bool reads_one_to_one(const ComputeStmt& stage, const std::vector<std::string>& buffers) {
  if (has_reduction(stage.value) || guarded(stage.value, buffers)) return false;
  const Load* first = nullptr;
  for (const Load* l : loads_of(stage.value)) {
    if (!is_one_of(l->buffer, buffers)) continue;
    if (!first) {
      first = l;
      continue;
    }
    if (l->buffer != first->buffer) return false;
    for (size_t i = 0; i < l->indices.size(); ++i) {
      if (!structurally_equal(l->indices[i], first->indices[i])) return false;
    }
  }
  if (!first) return false;
  std::set<std::string> seen;
  for (const Expr& index : first->indices) {
    const auto axis = strided_axis(index, stage);
    if (!axis || (!axis->empty() && !seen.insert(*axis).second)) return false;
  }
  return std::all_of(stage.axes.begin(), stage.axes.end(),
                     [&](const Axis& a) { return a.extent.is_const(1) || seen.count(a.name) > 0; });
}

Refusal refuse_epilogue(const TileFunction& consumer, const std::vector<std::string>& buffers,
                        bool moving) {
  const auto form = compute_form(consumer);
  if (!form || form->stages.size() != 1 || has_reduction(form->stages.front().value))
    return "the kernel has a reduction already";
  const ComputeStmt& stage = form->stages.front();
  // Where the output is larger (padding), the other elements would have no sum to be made of.
  const std::vector<const Load*> loads = loads_of(stage.value);
  const bool identity = std::all_of(loads.begin(), loads.end(), [&](const Load* l) {
    return !is_one_of(l->buffer, buffers) ||
           (is_identity_load(*l, stage) &&
            consumer.find_param(l->buffer)->dims == consumer.outputs[0].dims);
  });
  if (identity) return std::nullopt;
  if (!moving || !reads_one_to_one(stage, buffers)) return "its elements are not mapped one to one";
  return std::nullopt;
}

Refusal refuse_prologue(const TileFunction& producer, const TileFunction& consumer,
                        const std::vector<std::string>& buffers) {
  const auto from = compute_form(producer), form = compute_form(consumer);
  if (!from || from->stages.size() != 1 || !form) return "it is not one expression";
  const int64_t cost = evaluation_cost(from->stages.front().value);
  const bool moves = classify(producer) == KernelKind::injective;
  if (classify(consumer) < KernelKind::reduction) return refuse_inside_map(consumer, buffers, cost);
  const auto contraction = match_contraction(squeeze_unit_axes(*form), consumer.facts);
  for (const bool column : {true, false}) {
    if (!contraction || cost == 0) break;
    if (!reads_any(column ? contraction->col_operand : contraction->row_operand, buffers)) continue;
    if (Refusal why = refuse_cost(*contraction, column, cost, consumer.facts)) return why;
  }
  if (contraction) return std::nullopt;
  for (const ComputeStmt& stage : form->stages) {
    if (Refusal why = refuse_inside_reductions(stage, buffers, cost, moves)) return why;
  }
  return std::nullopt;
}

Refusal refuse_merged(const TileFunction& anchor, const TileFunction& several) {
  const auto joined = join_results(several);
  if (!joined) return "the results are not made at the same points";
  const TileFunction& merged = *joined;
  const auto form = compute_form(merged), alone = compute_form(anchor);
  if (form->stages.size() > 1 && shared_prefix(*form, merged.facts) == 0)
    return "the stages would share no axis to run in parallel";
  if (classify(anchor) != KernelKind::contraction) return std::nullopt;
  if (form->stages.size() != alone->stages.size())
    return "the product would wait for a value that it must not evaluate again";
  if (match_attention(squeeze_unit_axes(*alone)) && !match_attention(squeeze_unit_axes(*form)))
    return "the kernel would be no attention any more";
  const auto before = match_contraction(squeeze_unit_axes(*alone), anchor.facts);
  const auto after = match_contraction(squeeze_unit_axes(*form), merged.facts);
  if (!before) return std::nullopt;
  if (!after) return "the kernel would be no matrix product any more";
  // The columns of a product are the lanes of its tiles.
  if (before->col_is_left != after->col_is_left) return "it moves the columns of the product";
  for (const bool column : {true, false}) {
    const Expr& was = column ? before->col_operand : before->row_operand;
    const Expr& is = column ? after->col_operand : after->row_operand;
    const int64_t added = evaluation_cost(is) - evaluation_cost(was);
    if (added > 0) {
      if (Refusal why = refuse_cost(*after, column, added, merged.facts)) return why;
    }
    if (scatters(is, *after) && !scatters(was, *before))
      return "the product would read elements that are scattered";
  }
  return std::nullopt;
}

bool may_move(const TileFunction& anchor) {
  const auto form = compute_form(anchor);
  return form->stages.size() == 1 || match_attention(squeeze_unit_axes(*form));
}

bool cheap_to_repeat(const TileFunction& producer) {
  const auto form = compute_form(producer);
  if (!form || form->stages.size() != 1 || producer.inputs.empty()) return false;
  if (classify(producer) > KernelKind::broadcast) return false;
  // A single element is computed once for all its readers: there is no memory to save.
  const int64_t cost = evaluation_cost(form->stages.front().value);
  if (cost > (product(producer.outputs.front().dims).is_const(1) ? 0 : 2)) return false;
  // Loading what it is made of must be no more work than loading the result.
  const Buffer& out = producer.outputs.front();
  int64_t bytes = 0;
  for (const Buffer& in : producer.inputs) {
    if (product(in.dims).is_const(1)) continue;
    if (!producer.facts.proves_le(product(in.dims), product(out.dims))) return false;
    bytes += size_of(in.dtype);
  }
  return bytes <= size_of(out.dtype);
}

}  // namespace symtile
