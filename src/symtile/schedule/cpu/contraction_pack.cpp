// Operands of a contraction in the order in which the register tile reads them.
#include <algorithm>

#include "symtile/schedule/cpu/contraction_template.h"

namespace symtile {
namespace {

/// Shorter runs of contiguous columns are gathered instead of copied piece by piece.
constexpr int64_t kShortestSegment = 5;

/// Neighbours up to this far apart are read by vector loads and shuffles.
constexpr int64_t kShuffledStride = 4;

/// Every load has a small constant stride in `name`.
bool reads_neighbours(const Expr& e, const std::string& name) {
  for (const Load* l : loads_of(e)) {
    for (const Expr& i : l->indices) {
      if (!depends_on(i, name)) continue;
      const auto index = to_dim_expr(i);
      const auto affine = index ? affine_form(*index, {name}) : std::nullopt;
      const auto stride = affine ? affine->coefficient(name).as_const() : std::nullopt;
      if (!stride || *stride < 0 || *stride > kShuffledStride) return false;
    }
  }
  return true;
}

}  // namespace

Buffer ContractionTemplate::scratch(const std::string& hint, DType dtype, const DimExpr& elements) {
  buffers_.push_back({names_.fresh(hint), dtype, {elements}, Scope::scratch, {}});
  return buffers_.back();
}

ContractionTemplate::Unit ContractionTemplate::unit_of(const Expr& e, const Expr& k) {
  Unit out;
  const auto at = [&](const Expr& position) {
    std::map<std::string, Expr> rename;
    for (const auto& [name, value] : decode_axes(c_.k, position)) {
      const std::string fresh = names_.fresh(name);
      out.lets.emplace_back(fresh, value);
      rename[name] = var(fresh);
    }
    return substitute(e, rename);
  };
  out.value = at(var(k0_) + k);
  return out;
}

Stmt ContractionTemplate::pack_part(const Expr& value, const std::string& n,
                                    const std::string& start, const Expr& place) {
  const std::string k = names_.fresh("kk"), rest = names_.fresh("rest");
  const Unit unit = unit_of(value, var(k));
  const Expr panel_end = var(start) + Expr(kPanel);
  const Expr end = min(panel_end, to_expr(n_extent_));
  Stmt lanes = for_loop(n, var(start), end, LoopKind::vectorized,
                        store(b_pack_, {place + var(k) * Expr(kPanel) + var(n)}, unit.value));
  if (!linear_.facts.proves_divisible(n_extent_, kPanel)) {
    Stmt zeros =
        for_loop(rest, end, panel_end, LoopKind::vectorized,
                 store(b_pack_, {place + var(k) * Expr(kPanel) + var(rest)}, imm(acc_type_, 0)));
    lanes = block({lanes, zeros});
  }
  return for_loop(k, 0, var(k_len_), LoopKind::serial, let_all(unit.lets, std::move(lanes)));
}

/// bpack[panel][k][lane] = B(k, n).
Stmt ContractionTemplate::pack_columns() {
  b_pack_ = scratch("bpack", acc_type_, tile_.nc * block_).name;
  const std::string panel = names_.fresh("pj"), x = names_.fresh("x"), n = names_.fresh("n"),
                    start = names_.fresh("pn");
  const MergedExpr merged = merge_axes(col_operand_, c_.cols, n, linear_.facts);
  // Where column 0 of the matrix would be.
  const Expr place = var(panel) * Expr(block_ * kPanel) - var(start);
  const auto panels = [&](const Expr& begin, const Expr& end, Stmt body) {
    return for_loop(panel, begin, end, LoopKind::serial,
                    let(start, var(n0_) + var(panel) * Expr(kPanel), std::move(body)));
  };
  const Expr last = floordiv(var(n_len_) + Expr(kPanel - 1), Expr(kPanel));
  if (merged.direct) {
    // Row by row, as the operand lies in memory; whole panels have a constant trip count.
    const std::string k = names_.fresh("kk");
    const Unit unit = unit_of(substitute(merged.value, {{n, var(start) + var(x)}}), var(k));
    Stmt lanes =
        for_loop(x, 0, Expr(kPanel), LoopKind::vectorized,
                 store(b_pack_, {place + var(k) * Expr(kPanel) + var(start) + var(x)}, unit.value));
    const Expr whole = floordiv(var(n_len_), Expr(kPanel));
    Stmt copy = for_loop(k, 0, var(k_len_), LoopKind::serial,
                         let_all(unit.lets, panels(0, whole, std::move(lanes))));
    if (linear_.facts.proves_divisible(n_extent_, kPanel)) return copy;
    return block({copy, panels(whole, last, pack_part(merged.value, n, start, place))});
  }
  if (c_.cols.size() == 2 && !linear_.facts.proves_lt(c_.cols.back().extent, kShortestSegment)) {
    // Two axes: the code generator cuts the loop where the inner one wraps around.
    return panels(
        0, last,
        pack_part(substitute(col_operand_, decode_axes(c_.cols, var(n))), n, start, place));
  }
  Stmt tables;
  const std::string k = names_.fresh("kk");
  const Expr column = var(start) + var(x);
  const Expr element = tabulate_columns(start, x, tables);
  const Unit unit =
      unit_of(select(column < to_expr(n_extent_), element, imm(element.dtype(), 0)), var(k));
  Stmt lanes = for_loop(x, 0, Expr(kPanel), LoopKind::vectorized,
                        store(b_pack_, {place + var(k) * Expr(kPanel) + column}, unit.value));
  return panels(0, last,
                block({tables, for_loop(k, 0, var(k_len_), LoopKind::serial,
                                        let_all(unit.lets, std::move(lanes)))}));
}

/// Column coordinates of one panel, decoded once and read from tables while packing.
Expr ContractionTemplate::tabulate_columns(const std::string& start, const std::string& x,
                                           Stmt& tables) {
  const std::string y = names_.fresh("y");
  // Columns beyond the last one decode to the last: their elements are masked anyway.
  const Expr column = min(var(start) + var(y), to_expr(n_extent_) - Expr(1));
  std::map<std::string, Expr> lookup;
  std::vector<Stmt> fill;
  for (const auto& [name, value] : decode_axes(c_.cols, column)) {
    const Buffer table = scratch(name + "_of", DType::i64, kPanel);
    fill.push_back(store(table.name, {var(y)}, value));
    lookup[name] = load(table.name, DType::i64, {var(x)});
  }
  tables = for_loop(y, 0, Expr(kPanel), LoopKind::serial, block(std::move(fill)));
  return substitute(col_operand_, lookup);
}

/// apack[m][k] = A(m, k).
Stmt ContractionTemplate::pack_rows() {
  a_pack_ = scratch("apack", acc_type_, tile_.mc * block_).name;
  const std::string m = names_.fresh("m"), k = names_.fresh("kk");
  const Expr by_row = substitute(merge_axes(row_operand_, c_.rows, "_m", linear_.facts).value,
                                 {{"_m", var(m0_) + var(i0_) + var(m)}});
  const auto rows = [&](Stmt body) {
    return for_loop(m, 0, var(i_len_), LoopKind::serial, std::move(body));
  };
  const MergedExpr merged = merge_axes(by_row, c_.k, "_k", linear_.facts);
  if (!window_ || merged.direct) {
    const bool lanes = merged.direct && (words_ ? reads_neighbours(merged.value, "_k")
                                                : unit_stride(merged.value, "_k", true));
    const Expr value = substitute(merged.value, {{"_k", var(k0_) + var(k)}});
    return rows(for_loop(k, 0, var(k_len_), lanes ? LoopKind::vectorized : LoopKind::serial,
                         store(a_pack_, {var(m) * Expr(block_) + var(k)}, value)));
  }
  // Channels, each with all its taps.
  const std::string t = names_.fresh("t"), channel = names_.fresh("ch");
  const std::vector<Axis> taps(c_.k.begin() + static_cast<std::ptrdiff_t>(window_->others.size()),
                               c_.k.end());
  const Expr count(window_->taps());
  const Expr first = floordiv(var(k0_), count) + var(channel);
  const Expr value = substitute(merge_axes(by_row, taps, t, linear_.facts).value,
                                decode_axes(window_->others, first));
  const Expr place = var(m) * Expr(block_) + var(channel) * count + var(t);
  return rows(
      for_loop(channel, 0, floordiv(var(k_len_), count), LoopKind::serial,
               for_loop(t, 0, count, LoopKind::vectorized, store(a_pack_, {place}, value))));
}

/// Elements of one phase of a block's copy: the columns of a task, and the last tap of the last.
DimExpr ContractionTemplate::window_span() const {
  return f_.facts.simplify(window_->reach() + (tile_.nc + kPanel));
}

/// bpack[channel][phase][position] = the operand, from the task's first column on.
Stmt ContractionTemplate::fill_window() {
  const std::string channel = names_.fresh("ch"), last = names_.fresh("qlast");
  const Expr first = floordiv(var(k0_), Expr(window_->taps())) + var(channel);
  const Expr value = substitute(window_->operand, decode_axes(window_->others, first));
  const DimExpr span = window_span();
  const int64_t planes = window_->phases();
  b_pack_ = scratch("bpack", acc_type_, span * (block_ / window_->taps() * planes)).name;
  const Expr lanes(tile_.nr);
  const Expr computed = floordiv(var(n_len_) + (lanes - Expr(1)), lanes) * lanes;
  Stmt copy = copy_window(*window_, value, b_pack_, var(channel) * to_expr(span * planes), span,
                          var(n0_), var(last), f_.facts, names_);
  return let(last, var(n0_) + computed + to_expr(f_.facts.simplify(window_->reach())),
             for_loop(channel, 0, floordiv(var(k_len_), Expr(window_->taps())), LoopKind::serial,
                      std::move(copy)));
}

/// offsets[k] = where the first column of unit k is in bpack; the same in every block.
Stmt ContractionTemplate::fill_offsets() {
  offsets_ = scratch("offsets", DType::i64, block_).name;
  const std::string channel = names_.fresh("ch"), t = names_.fresh("t");
  std::vector<Axis> taps;
  for (const WindowAxis& a : window_->axes) taps.push_back({names_.fresh("tap"), a.taps});
  const auto tap_at = decode_axes(taps, var(t));
  std::vector<Expr> tap;
  for (const Axis& a : taps) tap.push_back(tap_at.at(a.name));
  const DimExpr span = window_span();
  const int64_t count = window_->taps();
  const Expr place =
      var(channel) * to_expr(span * window_->phases()) + tap_distance(*window_, tap, span);
  return for_loop(channel, 0, Expr(block_ / count), LoopKind::serial,
                  for_loop(t, 0, Expr(count), LoopKind::serial,
                           store(offsets_, {var(channel) * Expr(count) + var(t)}, place)));
}

}  // namespace symtile
