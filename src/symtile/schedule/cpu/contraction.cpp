#include "symtile/schedule/cpu/contraction.h"

#include <algorithm>

#include "symtile/base/check.h"
#include "symtile/schedule/cpu/contraction_template.h"

namespace symtile {
namespace {

/// Rows this many bytes apart (or a multiple) meet in a few sets of the L1 cache.
constexpr int64_t kAliasBytes = 2048;
constexpr int64_t kColumnsWorthPacking = 128;
/// A task gets no fewer columns than this only to make more tasks.
constexpr int64_t kFewestColumns = 64;
/// Where the extents allow, there are as many tasks as this: some for each of a few threads.
constexpr int64_t kFewestTasks = 4;
/// Packed columns cost nothing to divide; memory and the tail are shared out better.
constexpr int64_t kFewestPackedTasks = 8;

int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

ContractionTemplate::ContractionTemplate(const TileFunction& f, const ComputeForm& form,
                                         const Contraction& c, const CpuTarget& target,
                                         const ContractionTile& tile)
    : f_(f),
      linear_(linearize(f, form)),
      c_(c),
      names_(f),
      stage_(linear_.stages.front()),
      tile_(tile) {
  // The operands again, now with flat loads.
  visit(stage_.value, [&](const Expr& e) {
    if (e.as<ReduceExpr>()) sum_ = e;
  });
  const auto& product = *sum_.as<ReduceExpr>()->body.as<BinaryExpr>();
  row_operand_ = c_.col_is_left ? product.b : product.a;
  col_operand_ = c_.col_is_left ? product.a : product.b;
  acc_type_ = sum_.dtype();
  lanes_ = std::max(target.lanes(size_of(acc_type_)), 1);
  words_ = count_in_words(c_, row_operand_, col_operand_, target.has_dot, linear_.facts, names_);
  if (words_) {
    c_.k = words_->k;
    c_.packed = words_->col_in_panels;
    row_operand_ = words_->row;
    col_operand_ = words_->col;
  }
  shrink_rows();
  if (!c_.packed) window_ = find_window(c_.col_operand, col_operand_, c_.cols, c_.k, linear_.facts);
  m_extent_ = f_.facts.simplify(extent_of(c_.rows));
  n_extent_ = f_.facts.simplify(window_ ? window_->span() : extent_of(c_.cols));
  k_extent_ = f_.facts.simplify(extent_of(c_.k));
  choose_columns();
  choose_rows();
  choose_reduction();
  a_direct_ = row_is_direct();
}

/// Row axes that the row operand cannot address through one stride become batch axes.
void ContractionTemplate::shrink_rows() {
  while (c_.rows.size() > 1 && !merge_axes(row_operand_, c_.rows, "_m", linear_.facts).direct) {
    c_.batch.push_back(c_.rows.front());
    c_.rows.erase(c_.rows.begin());
  }
}

/// Columns of a task: as many as stay in cache, fewer where that makes work for several threads.
void ContractionTemplate::choose_columns() {
  const auto n = n_extent_.as_const();
  if (n && *n <= tile_.nr / 2 && tile_.nr / 2 >= lanes_) tile_.nr /= 2;
  const int64_t least = std::min(kFewestColumns, tile_.nc);
  const DimExpr blocks = max(ceildiv(n_extent_, tile_.nc), 1);
  // A cut across the columns reads all rows again, one across the rows packs all columns again.
  const auto m = m_extent_.as_const();
  const bool tall = m && n && *m > *n;
  DimExpr others = max(extent_of(c_.batch), 1);
  if (c_.packed) others *= max(ceildiv(m_extent_, tile_.mt), 1);
  const DimExpr tasks =
      tall ? DimExpr(1) : ceildiv(c_.packed ? kFewestPackedTasks : kFewestTasks, others);
  const DimExpr even = max(ceildiv(n_extent_, max(blocks, tasks)), least);
  nt_ = f_.facts.simplify(min(round_up(even, kPanel), tile_.nc));
  if (const auto nt = nt_.as_const()) tile_.nc = *nt;
}

/// Rows of a task: all that its packed columns can serve, fewer when there would be too few tasks.
/// The facts are those of the function: inside a loop no extent is 0, but these formulas stand
/// outside.
void ContractionTemplate::choose_rows() {
  const DimExpr tiles = f_.facts.simplify(max(extent_of(c_.batch) * ceildiv(n_extent_, nt_), 1));
  // Every row block packs B again, or reads it from memory again when it came packed.
  const DimExpr least = max(ceildiv(m_extent_, tile_.mt), 1);
  const DimExpr most = max(ceildiv(m_extent_, 2 * tile_.mr), 1);
  const DimExpr blocks =
      f_.facts.simplify(max(least, min(most, floordiv(kFewestTasks - 1 + tiles, tiles))));
  const DimExpr rows = f_.facts.simplify(ceildiv(m_extent_, blocks));
  if (c_.strips) {
    while (kStrip % tile_.mr != 0) --tile_.mr;
  }
  // Strips of about one height, unless they are packed.
  const auto known = rows.is_const() ? rows.as_const() : m_extent_.as_const();
  if (known && *known > 0 && !c_.strips) tile_.mr = ceil_of(*known, ceil_of(*known, tile_.mr));
  tile_.mc = ceil_of(tile_.mc, tile_.mr) * tile_.mr;
  tile_.mt = ceil_of(tile_.mt, tile_.mr) * tile_.mr;
  mt_ = f_.facts.simplify(max(round_up(rows, tile_.mr), tile_.mr));
}

void ContractionTemplate::choose_reduction() {
  const int64_t taps = window_ ? window_->taps() : 1;
  DimExpr steps = window_ ? extent_of(window_->others) : k_extent_;
  steps = f_.facts.simplify(steps);
  // Whole channels with all their taps.
  int64_t in_block = std::max<int64_t>(tile_.kc / taps, 1);
  if (const auto s = steps.as_const()) in_block = std::clamp<int64_t>(*s, 1, in_block);
  block_ = in_block * taps;
  units_ = steps * taps;
  blocks_ = f_.facts.simplify(max(ceildiv(steps, in_block), 1));
}

/// The row operand is one load with constant strides in m and k, in an order that caches like: no
/// packing needed.
bool ContractionTemplate::row_is_direct() const {
  if (c_.strips) return true;
  const MergedExpr by_row = merge_axes(row_operand_, c_.rows, "_m", linear_.facts);
  const MergedExpr by_both = merge_axes(by_row.value, c_.k, "_k", linear_.facts);
  const auto* l = by_both.value.as<Load>();
  if (!l || !by_row.direct || !by_both.direct || l->dtype != acc_type_) return false;
  const auto index = to_dim_expr(l->indices[0]);
  const auto affine = index ? affine_form(*index, {"_m", "_k"}) : std::nullopt;
  if (!affine) return false;
  if (affine->coefficient("_m").is_const(1)) return true;
  const auto pitch = affine->coefficient("_m").as_const();
  if (!pitch) return false;
  // Few columns do not pay for packing.
  const bool aliases = *pitch * size_of(acc_type_) % kAliasBytes == 0;
  return !aliases || blocks_.is_const(1) || tile_.nc < kColumnsWorthPacking;
}

TileFunction ContractionTemplate::build() {
  const std::string p = names_.fresh("p");
  const std::string mb = names_.fresh("mb"), nb = names_.fresh("nb");
  std::vector<Axis> tasks = c_.batch;
  tasks.push_back({nb, ceildiv(n_extent_, nt_)});
  tasks.push_back({mb, ceildiv(m_extent_, mt_)});
  n0_ = names_.fresh("n0");
  m0_ = names_.fresh("m0");
  n_len_ = names_.fresh("nlen");
  m_len_ = names_.fresh("mlen");
  const std::string nt = names_.fresh("nt"), mt = names_.fresh("mt");
  Stmt body = let_all({{nt, to_expr(nt_)},
                       {mt, to_expr(mt_)},
                       {n0_, var(nb) * var(nt)},
                       {m0_, var(mb) * var(mt)},
                       {n_len_, min(var(nt), to_expr(n_extent_) - var(n0_))},
                       {m_len_, min(var(mt), to_expr(m_extent_) - var(m0_))}},
                      task());
  return finish_schedule(f_, linear_, parallel_over(tasks, p, std::move(body)), "contraction");
}

Stmt ContractionTemplate::task() {
  const std::string kb = names_.fresh("kb");
  k0_ = names_.fresh("k0");
  k_len_ = names_.fresh("klen");
  const int64_t rows = mt_.as_const().value_or(tile_.mt);
  tile_.mc = std::min(tile_.mc, rows);
  c_tile_ = scratch("ctile", acc_type_, rows * tile_.nc).name;
  if (needs_column_sums()) column_sums_ = scratch("csum", acc_type_, tile_.nc).name;
  if (needs_row_sums()) row_sums_ = scratch("rsum", acc_type_, rows).name;
  std::vector<Stmt> once, steps;
  if (window_) {
    once.push_back(fill_offsets());
    steps.push_back(fill_window());
  } else if (!c_.packed) {
    steps.push_back(pack_columns());
  }
  if (needs_column_sums()) steps.push_back(column_sums(var(kb)));
  steps.push_back(row_blocks(var(kb)));
  Stmt block_body = let_all(
      {{k0_, var(kb) * Expr(block_)}, {k_len_, min(Expr(block_), to_expr(units_) - var(k0_))}},
      block(std::move(steps)));
  once.push_back(for_loop(kb, 0, to_expr(blocks_), LoopKind::serial, std::move(block_body)));
  once.push_back(window_ ? window_epilogue() : epilogue());
  Stmt out = block(std::move(once));
  for (auto it = buffers_.rbegin(); it != buffers_.rend(); ++it)
    out = allocate(*it, std::move(out));
  return out;
}

/// Row i + r of the block at unit k of the block; r < tile_.mr, and i is a multiple of it.
Expr ContractionTemplate::row_element(const Expr& i, const Expr& r, const Expr& k) const {
  if (c_.strips) {
    // Row tiles do not cross the strips of the packed constant.
    const auto& l = *row_operand_.as<Load>();
    const Expr first = var(m0_) + var(i0_) + i;
    return load(l.buffer, l.dtype,
                {floordiv(first, Expr(kStrip)) * to_expr(k_extent_) * Expr(kStrip) +
                 (var(k0_) + k) * Expr(kStrip) + floormod(first, Expr(kStrip)) + r});
  }
  const Expr m = i + r;
  if (!a_direct_) return load(a_pack_, acc_type_, {m * Expr(block_) + k});
  const Expr merged = merge_axes(merge_axes(row_operand_, c_.rows, "_m", linear_.facts).value, c_.k,
                                 "_k", linear_.facts)
                          .value;
  return substitute(merged, {{"_m", var(m0_) + var(i0_) + m}, {"_k", var(k0_) + k}});
}

/// First element of columns j.. (j a multiple of the register tile) at unit k of the block; with a
/// window, k is the distance of that unit's first column.
Expr ContractionTemplate::col_element(const Expr& j, const Expr& k, const Expr& lane) const {
  if (window_) return load(b_pack_, acc_type_, {k + j + lane});
  if (!c_.packed) {
    return load(b_pack_, acc_type_,
                {floordiv(j, Expr(kPanel)) * Expr(block_ * kPanel) + k * Expr(kPanel) +
                 floormod(j, Expr(kPanel)) + lane});
  }
  // The packed constant has dims [.., panels, K, kPanel]; the flat index is linear in panel and k.
  const auto& l = *col_operand_.as<Load>();
  const std::string n = c_.cols.back().name;
  const Expr first = substitute(l.indices[0], {{n, 0}, {c_.k[0].name, 0}});
  const Expr column = var(n0_) + j;
  return load(l.buffer, l.dtype,
              {first + floordiv(column, Expr(kPanel)) * to_expr(k_extent_) * Expr(kPanel) +
               (var(k0_) + k) * Expr(kPanel) + floormod(column, Expr(kPanel)) + lane});
}

/// Rows that stay in cache, one block after the other.
Stmt ContractionTemplate::row_blocks(const Expr& k_block) {
  i0_ = names_.fresh("i0");
  i_len_ = names_.fresh("ilen");
  std::vector<Stmt> steps;
  if (!a_direct_) steps.push_back(pack_rows());
  if (needs_row_sums()) steps.push_back(row_sums(k_block));
  steps.push_back(multiply(k_block));
  return for_loop(i0_, 0, var(m_len_), LoopKind::serial,
                  let(i_len_, min(Expr(tile_.mc), var(m_len_) - var(i0_)), block(std::move(steps))),
                  tile_.mc);
}

/// ctile += A block * B block, register tile by register tile.
Stmt ContractionTemplate::multiply(const Expr& k_block) {
  const std::string j = names_.fresh("j");
  std::vector<int64_t> heights{tile_.mr};
  if (const auto m = m_extent_.as_const()) {
    // All blocks but the last are whole strips.
    if (*m % tile_.mr != 0) heights.push_back(*m % tile_.mr);
  } else {
    for (const int64_t rows : {4, 2, 1}) {
      if (rows < tile_.mr) heights.push_back(rows);
    }
  }
  std::vector<Stmt> strips;
  Expr done = 0;
  for (const int64_t rows : heights) {
    const std::string i = names_.fresh("i");
    const std::string end = names_.fresh("iend");
    const Expr end_value = done + floordiv(var(i_len_) - done, Expr(rows)) * Expr(rows);
    strips.push_back(let(end, end_value,
                         for_loop(i, done, var(end), LoopKind::serial,
                                  micro_kernel(rows, var(i), var(j), k_block), rows)));
    done = end_value;
  }
  return for_loop(j, 0, var(n_len_), LoopKind::serial, block(std::move(strips)), tile_.nr);
}

Stmt ContractionTemplate::micro_kernel(int64_t rows, const Expr& i, const Expr& j,
                                       const Expr& k_block) {
  Buffer acc{names_.fresh("acc"), acc_type_, {DimExpr(rows * tile_.nr)}, Scope::local, {}};
  const std::string k = names_.fresh("kk");
  const auto tile = [&](const TileBody& body) {
    const std::string r = names_.fresh("r"), x = names_.fresh("x");
    return for_loop(r, 0, Expr(rows), LoopKind::unrolled,
                    for_loop(x, 0, Expr(tile_.nr), LoopKind::vectorized, body(var(r), var(x))));
  };
  const auto acc_at = [&](const Expr& r, const Expr& x) { return r * Expr(tile_.nr) + x; };
  const auto c_at = [&](const Expr& r, const Expr& x) {
    return (var(i0_) + i + r) * Expr(tile_.nc) + j + x;
  };
  Stmt zero = tile([&](const Expr& r, const Expr& x) {
    return store(acc.name, {acc_at(r, x)}, imm(acc_type_, 0));
  });
  Stmt resume = tile([&](const Expr& r, const Expr& x) {
    return store(acc.name, {acc_at(r, x)}, load(c_tile_, acc_type_, {c_at(r, x)}));
  });
  Stmt start = blocks_.is_const(1) ? zero : make_stmt(IfStmt{equal(k_block, 0), zero, resume});
  const std::string place = names_.fresh("ko");
  const Expr column_unit = window_ ? var(place) : var(k);
  Stmt step = tile([&](const Expr& r, const Expr& x) {
    const Expr a = row_element(i, r, var(k)), b = col_element(j, column_unit, x);
    return store(
        acc.name, {acc_at(r, x)},
        load(acc.name, acc_type_, {acc_at(r, x)}) + (words_ ? word_product(*words_, a, b) : a * b));
  });
  if (window_) step = let(place, load(offsets_, DType::i64, {var(k)}), std::move(step));
  const std::string next = names_.fresh("next");
  if (c_.packed) {
    std::vector<Stmt> with_hints = prefetch_panel(rows, var(next), var(k));
    with_hints.insert(with_hints.begin(), std::move(step));
    step = block(std::move(with_hints));
  }
  Stmt loop = for_loop(k, 0, var(k_len_), LoopKind::serial, std::move(step));
  if (c_.packed) loop = let(next, next_panel(rows, i, j), std::move(loop));
  Stmt finish = tile([&](const Expr& r, const Expr& x) {
    return store(c_tile_, {c_at(r, x)}, load(acc.name, acc_type_, {acc_at(r, x)}));
  });
  return allocate(acc, block({start, loop, finish}));
}

std::pair<Expr, Expr> ContractionTemplate::result_at(
    const Expr& m, const Expr& tile_column, const std::map<std::string, Expr>& columns) const {
  // The sums are put in last: their own indices must not be rewritten.
  std::map<std::string, Expr> sums{
      {"_sum", load(c_tile_, acc_type_, {m * Expr(tile_.nc) + tile_column})}};
  if (needs_row_sums()) sums["_row"] = load(row_sums_, acc_type_, {m});
  if (needs_column_sums()) sums["_column"] = load(column_sums_, acc_type_, {tile_column});
  const auto marker = [&](const char* name) { return load(name, acc_type_, {Expr(0)}); };
  const Expr sum = without_zero_points(marker("_sum"), marker("_row"), marker("_column"));
  Expr value = rewrite(stage_.value, [&](const Expr& e) { return e.as<ReduceExpr>() ? sum : e; });
  Expr index = load("_", DType::i64, {linear_.store_index.at(stage_.buffer)});
  for (Expr* e : {&value, &index}) {
    if (!window_) *e = merge_axes(*e, c_.cols, "_n", linear_.facts).value;
    *e = merge_axes(*e, c_.rows, "_m", linear_.facts).value;
    *e = substitute(substitute(*e, columns), {{"_m", var(m0_) + m}});
  }
  value = rewrite(value, [&](const Expr& e) {
    const auto* l = e.as<Load>();
    const auto known = l ? sums.find(l->buffer) : sums.end();
    return known != sums.end() ? known->second : e;
  });
  return {value, index.as<Load>()->indices[0]};
}

/// out = value with the sum replaced by the finished tile.
Stmt ContractionTemplate::epilogue() {
  const std::string m = names_.fresh("m"), n = names_.fresh("n");
  const auto [value, index] = result_at(var(m), var(n), {{"_n", var(n0_) + var(n)}});
  return for_loop(
      m, 0, var(m_len_), LoopKind::serial,
      for_loop(n, 0, var(n_len_), LoopKind::vectorized, store(stage_.buffer, {index}, value)));
}

/// The same, without the gaps between the rows of the window's plane.
Stmt ContractionTemplate::window_epilogue() {
  const std::string m = names_.fresh("m");
  const OutputBody body = [&](const std::map<std::string, Expr>& columns, const Expr& position) {
    const auto [value, index] = result_at(var(m), position, columns);
    return store(stage_.buffer, {index}, value);
  };
  return for_loop(m, 0, var(m_len_), LoopKind::serial,
                  for_each_output(*window_, var(n0_), var(n_len_), names_, body));
}

std::optional<TileFunction> schedule_contraction(const TileFunction& f, const ComputeForm& form,
                                                 const CpuTarget& target) {
  const auto c = match_contraction(squeeze_unit_axes(form), f.facts);
  if (!c) return std::nullopt;
  return ContractionTemplate(f, form, *c, target, default_tile(target, c->sum.dtype())).build();
}

TileFunction schedule_contraction(const TileFunction& f, const ComputeForm& form,
                                  const CpuTarget& target, const ContractionTile& tile) {
  const auto c = match_contraction(squeeze_unit_axes(form), f.facts);
  SYMTILE_CHECK(c.has_value(), "function '{}' is no contraction", f.name);
  return ContractionTemplate(f, form, *c, target, tile).build();
}

}  // namespace symtile
