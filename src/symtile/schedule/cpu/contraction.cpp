#include "symtile/schedule/cpu/contraction.h"

#include <algorithm>

#include "symtile/base/check.h"

namespace symtile {
namespace {

/// Sizes that follow from the machine alone.
struct TileSizes {
  int64_t nr;        ///< columns of the register tile
  int64_t mr;        ///< rows of the register tile
  int64_t kc = 256;  ///< reduction block: a kc x nr panel stays in L1
  int64_t nc = 128;  ///< columns of a task
  int64_t mc;        ///< most rows of a task
};

TileSizes tile_sizes(const CpuTarget& t, DType acc) {
  TileSizes s{};
  const int64_t lanes = t.lanes(size_of(acc));
  s.nr = std::min<int64_t>(2 * lanes, kPanel);
  const int64_t vectors = std::max<int64_t>(s.nr / lanes, 1);
  // Accumulators, the B vectors and one broadcast must fit the register file.
  s.mr = std::min<int64_t>((t.vector_registers - vectors - 1) / vectors, 12);
  if (!t.has_fma) s.mr = std::max<int64_t>(s.mr - 2, 1);
  if (s.mr > 6 && s.mr < 12) s.mr = 6;
  s.mc = s.mr * (240 / s.mr);
  return s;
}

/// Shorter runs of contiguous columns are gathered instead of copied piece by piece.
constexpr int64_t kShortestSegment = 8;

class Template {
 public:
  Template(const TileFunction& f, const ComputeForm& form, const Contraction& c,
           const CpuTarget& target)
      : f_(f), linear_(linearize(f, form)), c_(c), names_(f), stage_(linear_.stages.front()) {
    // The operands again, now with flat loads.
    visit(stage_.value, [&](const Expr& e) {
      if (e.as<ReduceExpr>()) sum_ = e;
    });
    const auto& product = *sum_.as<ReduceExpr>()->body.as<BinaryExpr>();
    row_operand_ = c_.col_is_left ? product.b : product.a;
    col_operand_ = c_.col_is_left ? product.a : product.b;
    acc_type_ = sum_.dtype();
    sizes_ = tile_sizes(target, acc_type_);
    shrink_rows();
    m_extent_ = f_.facts.simplify(extent_of(c_.rows));
    n_extent_ = f_.facts.simplify(extent_of(c_.cols));
    k_extent_ = f_.facts.simplify(extent_of(c_.k));
    if (const auto k = k_extent_.as_const()) sizes_.kc = std::clamp<int64_t>(*k, 1, sizes_.kc);
    if (const auto n = n_extent_.as_const())
      sizes_.nc = std::min(sizes_.nc, (*n + kPanel - 1) / kPanel * kPanel);
    sizes_.nc = std::max<int64_t>(sizes_.nc, kPanel);
    choose_row_block();
  }

  TileFunction build() {
    const std::string p = names_.fresh("p");
    const std::string mb = names_.fresh("mb"), nb = names_.fresh("nb");
    std::vector<Axis> tasks = c_.batch;
    tasks.push_back({nb, ceildiv(n_extent_, sizes_.nc)});
    tasks.push_back({mb, ceildiv(m_extent_, mc_)});
    n0_ = names_.fresh("n0");
    m0_ = names_.fresh("m0");
    n_len_ = names_.fresh("nlen");
    m_len_ = names_.fresh("mlen");
    Stmt body = let_all({{n0_, var(nb) * Expr(sizes_.nc)},
                         {m0_, var(mb) * to_expr(mc_)},
                         {n_len_, min(Expr(sizes_.nc), to_expr(n_extent_) - var(n0_))},
                         {m_len_, min(to_expr(mc_), to_expr(m_extent_) - var(m0_))}},
                        task());
    return finish_schedule(f_, linear_, parallel_over(tasks, p, std::move(body)), "contraction");
  }

 private:
  /// Row axes that the row operand cannot address through one stride become batch axes.
  void shrink_rows() {
    while (c_.rows.size() > 1 && !merge_axes(row_operand_, c_.rows, "_m", linear_.facts).direct) {
      c_.batch.push_back(c_.rows.front());
      c_.rows.erase(c_.rows.begin());
    }
  }

  /// Rows of a task: as many as stay in cache, fewer when there would be too few tasks. The facts
  /// are those of the function: inside a loop no extent is 0, but these formulas stand outside.
  void choose_row_block() {
    const DimExpr tiles = max(extent_of(c_.batch) * ceildiv(n_extent_, sizes_.nc), 1);
    // Every row block packs B again, unless it came packed: split rows more eagerly then.
    const int64_t wanted = c_.packed ? 16 : 4;
    const DimExpr least = max(ceildiv(m_extent_, sizes_.mc), 1);
    const DimExpr most = max(ceildiv(m_extent_, 2 * sizes_.mr), 1);
    const DimExpr blocks =
        f_.facts.simplify(max(least, min(most, floordiv(wanted + tiles - 1, tiles))));
    mc_ = f_.facts.simplify(max(round_up(ceildiv(m_extent_, blocks), sizes_.mr), sizes_.mr));
  }

  Stmt task() {
    const std::string kb = names_.fresh("kb");
    k0_ = names_.fresh("k0");
    k_len_ = names_.fresh("klen");
    Buffer c{
        names_.fresh("ctile"), acc_type_, {DimExpr(sizes_.mc) * sizes_.nc}, Scope::scratch, {}};
    if (const auto mc = mc_.as_const()) c.dims = {DimExpr(*mc * sizes_.nc)};
    c_tile_ = c.name;
    std::vector<Buffer> buffers{c};
    std::vector<Stmt> steps;
    if (!c_.packed) {
      Buffer b{
          names_.fresh("bpack"), acc_type_, {DimExpr(sizes_.nc * sizes_.kc)}, Scope::scratch, {}};
      b_pack_ = b.name;
      buffers.push_back(b);
      steps.push_back(pack_columns(buffers));
    }
    a_direct_ = row_is_direct();
    if (!a_direct_) {
      Buffer a{
          names_.fresh("apack"), acc_type_, {DimExpr(sizes_.mc * sizes_.kc)}, Scope::scratch, {}};
      a_pack_ = a.name;
      buffers.push_back(a);
      steps.push_back(pack_rows());
    }
    steps.push_back(multiply(var(kb)));
    const DimExpr blocks =
        k_extent_.is_const()
            ? DimExpr(std::max<int64_t>(1, (*k_extent_.as_const() + sizes_.kc - 1) / sizes_.kc))
            : max(ceildiv(k_extent_, sizes_.kc), 1);
    single_block_ = blocks.is_const(1);
    Stmt block_body = let_all({{k0_, var(kb) * Expr(sizes_.kc)},
                               {k_len_, min(Expr(sizes_.kc), to_expr(k_extent_) - var(k0_))}},
                              block(std::move(steps)));
    Stmt out = block(
        {for_loop(kb, 0, to_expr(blocks), LoopKind::serial, std::move(block_body)), epilogue()});
    for (auto it = buffers.rbegin(); it != buffers.rend(); ++it)
      out = allocate(*it, std::move(out));
    return out;
  }

  /// The row operand is one load with constant strides in m and k: no packing needed.
  bool row_is_direct() {
    const MergedExpr by_row = merge_axes(row_operand_, c_.rows, "_m", linear_.facts);
    const MergedExpr by_both = merge_axes(by_row.value, c_.k, "_k", linear_.facts);
    const auto* l = by_both.value.as<Load>();
    if (!l || !by_row.direct || !by_both.direct || l->dtype != acc_type_) return false;
    const auto index = to_dim_expr(l->indices[0]);
    return index && affine_form(*index, {"_m", "_k"}).has_value();
  }

  Expr row_element(const Expr& m, const Expr& k) {
    if (!a_direct_) return load(a_pack_, acc_type_, {m * Expr(sizes_.kc) + k});
    const Expr merged = merge_axes(merge_axes(row_operand_, c_.rows, "_m", linear_.facts).value,
                                   c_.k, "_k", linear_.facts)
                            .value;
    return substitute(merged, {{"_m", var(m0_) + m}, {"_k", var(k0_) + k}});
  }

  /// First element of columns j.. (j a multiple of the register tile) at row k of the block.
  Expr col_element(const Expr& j, const Expr& k, const Expr& lane) {
    if (!c_.packed) {
      return load(b_pack_, acc_type_,
                  {floordiv(j, Expr(kPanel)) * Expr(sizes_.kc * kPanel) + k * Expr(kPanel) +
                   floormod(j, Expr(kPanel)) + lane});
    }
    // The packed constant has dims [.., panels, K, kPanel]; the flat index is linear in panel and
    // k.
    const auto& l = *col_operand_.as<Load>();
    const std::string n = c_.cols.back().name;
    const Expr first = substitute(l.indices[0], {{n, 0}, {c_.k[0].name, 0}});
    const Expr column = var(n0_) + j;
    return load(l.buffer, l.dtype,
                {first + floordiv(column, Expr(kPanel)) * to_expr(k_extent_) * Expr(kPanel) +
                 (var(k0_) + k) * Expr(kPanel) + floormod(column, Expr(kPanel)) + lane});
  }

  /// bpack[panel][k][lane] = B(k, n).
  Stmt pack_columns(std::vector<Buffer>& buffers) {
    const std::string panel = names_.fresh("pj"), k = names_.fresh("kk"), x = names_.fresh("x"),
                      n = names_.fresh("n");
    const std::string start = names_.fresh("pn");
    const MergedExpr merged = merge_axes(col_operand_, c_.cols, n, linear_.facts);
    std::vector<std::pair<std::string, Expr>> k_values;
    std::map<std::string, Expr> k_rename;
    for (const auto& [name, value] : decode_axes(c_.k, var(k0_) + var(k))) {
      const std::string fresh = names_.fresh(name);
      k_values.emplace_back(fresh, value);
      k_rename[name] = var(fresh);
    }
    const Expr row = var(panel) * Expr(sizes_.kc * kPanel) + var(k) * Expr(kPanel) - var(start);
    const auto copy = [&](const std::string& column, const Expr& end, const Expr& value) {
      Stmt lanes = for_loop(column, var(start), end, LoopKind::vectorized,
                            store(b_pack_, {row + var(column)}, substitute(value, k_rename)));
      return for_loop(k, 0, var(k_len_), LoopKind::serial, let_all(k_values, std::move(lanes)));
    };
    const Expr limit = min(var(start) + Expr(kPanel), to_expr(n_extent_));
    Stmt body;
    if (merged.direct) {
      // Whole panels have a constant trip count. Lanes beyond the last column stay undefined:
      // they only reach columns of the tile that are never stored.
      Stmt lanes = for_loop(
          x, 0, Expr(kPanel), LoopKind::vectorized,
          store(b_pack_, {row + var(start) + var(x)},
                substitute(substitute(merged.value, {{n, var(start) + var(x)}}), k_rename)));
      body = for_loop(k, 0, var(k_len_), LoopKind::serial, let_all(k_values, std::move(lanes)));
      if (!linear_.facts.proves_divisible(n_extent_, kPanel)) {
        const Expr whole = var(start) + Expr(kPanel) <= to_expr(n_extent_);
        body = make_stmt(IfStmt{whole, body, copy(n, limit, merged.value)});
      }
    } else if (c_.cols.size() == 2 &&
               !linear_.facts.proves_lt(c_.cols.back().extent, kShortestSegment)) {
      // Two axes: the code generator cuts the loop where the inner one wraps around.
      body = copy(n, limit, substitute(col_operand_, decode_axes(c_.cols, var(n))));
    } else {
      Stmt tables;
      const Expr element = tabulate_columns(col_operand_, start, x, buffers, tables);
      const Expr guarded =
          select(var(start) + var(x) < to_expr(n_extent_), element, imm(acc_type_, 0));
      Stmt lanes =
          for_loop(x, 0, Expr(kPanel), LoopKind::vectorized,
                   store(b_pack_, {row + var(start) + var(x)}, substitute(guarded, k_rename)));
      body = block({tables, for_loop(k, 0, var(k_len_), LoopKind::serial,
                                     let_all(k_values, std::move(lanes)))});
    }
    body = let(start, var(n0_) + var(panel) * Expr(kPanel), std::move(body));
    return for_loop(panel, 0, floordiv(var(n_len_) + Expr(kPanel - 1), Expr(kPanel)),
                    LoopKind::serial, std::move(body));
  }

  /// Column coordinates of one panel, decoded once and read from tables while packing.
  Expr tabulate_columns(const Expr& element, const std::string& start, const std::string& x,
                        std::vector<Buffer>& buffers, Stmt& tables) {
    const std::string y = names_.fresh("y");
    // Columns beyond the last one decode to the last: their elements are masked anyway.
    const Expr column = min(var(start) + var(y), to_expr(n_extent_) - Expr(1));
    std::map<std::string, Expr> lookup;
    std::vector<Stmt> fill;
    for (const auto& [name, value] : decode_axes(c_.cols, column)) {
      Buffer table{names_.fresh(name + "_of"), DType::i64, {DimExpr(kPanel)}, Scope::scratch, {}};
      fill.push_back(store(table.name, {var(y)}, value));
      lookup[name] = load(table.name, DType::i64, {var(x)});
      buffers.push_back(table);
    }
    tables = for_loop(y, 0, Expr(kPanel), LoopKind::serial, block(std::move(fill)));
    return substitute(element, lookup);
  }

  /// apack[m][k] = A(m, k).
  Stmt pack_rows() {
    const std::string m = names_.fresh("m"), k = names_.fresh("kk");
    const Expr by_row = merge_axes(row_operand_, c_.rows, "_m", linear_.facts).value;
    const MergedExpr by_both = merge_axes(by_row, c_.k, "_k", linear_.facts);
    const Expr at = var(m) * Expr(sizes_.kc) + var(k);
    const Expr value =
        substitute(by_both.value, {{"_m", var(m0_) + var(m)}, {"_k", var(k0_) + var(k)}});
    const LoopKind kind = by_both.direct && unit_stride(by_both.value, "_k", true)
                              ? LoopKind::vectorized
                              : LoopKind::serial;
    return for_loop(m, 0, var(m_len_), LoopKind::serial,
                    for_loop(k, 0, var(k_len_), kind, store(a_pack_, {at}, value)));
  }

  /// ctile += A block * B block, register tile by register tile.
  Stmt multiply(const Expr& k_block) {
    const std::string j = names_.fresh("j");
    const auto m = m_extent_.as_const();
    const auto mc = mc_.as_const();
    std::vector<Stmt> strips;
    Expr done = 0;
    int64_t left = -1;  // rows left after the strips so far; -1: unknown
    if (m && mc && *m % *mc == 0) left = *mc;
    for (const int64_t rows : {sizes_.mr, int64_t{4}, int64_t{2}, int64_t{1}}) {
      if (rows > sizes_.mr || left == 0 || (left > 0 && left < rows)) continue;
      if (rows != sizes_.mr && rows >= sizes_.mr) continue;
      const std::string i = names_.fresh("i");
      const std::string end = names_.fresh("iend");
      const Expr end_value = done + floordiv(var(m_len_) - done, Expr(rows)) * Expr(rows);
      strips.push_back(let(end, end_value,
                           for_loop(i, done, var(end), LoopKind::serial,
                                    micro_kernel(rows, var(i), var(j), k_block), rows)));
      if (left >= 0) left %= rows;
      done = end_value;
    }
    return for_loop(j, 0, var(n_len_), LoopKind::serial, block(std::move(strips)), sizes_.nr);
  }

  Stmt micro_kernel(int64_t rows, const Expr& i, const Expr& j, const Expr& k_block) {
    Buffer acc{names_.fresh("acc"), acc_type_, {DimExpr(rows * sizes_.nr)}, Scope::local, {}};
    const std::string k = names_.fresh("kk");
    const auto tile = [&](const std::function<Stmt(const Expr& row, const Expr& lane)>& body) {
      const std::string r = names_.fresh("r"), x = names_.fresh("x");
      return for_loop(r, 0, Expr(rows), LoopKind::unrolled,
                      for_loop(x, 0, Expr(sizes_.nr), LoopKind::vectorized, body(var(r), var(x))));
    };
    const auto acc_at = [&](const Expr& r, const Expr& x) { return r * Expr(sizes_.nr) + x; };
    const auto c_at = [&](const Expr& r, const Expr& x) {
      return (i + r) * Expr(sizes_.nc) + j + x;
    };
    Stmt zero = tile([&](const Expr& r, const Expr& x) {
      return store(acc.name, {acc_at(r, x)}, imm(acc_type_, 0));
    });
    Stmt resume = tile([&](const Expr& r, const Expr& x) {
      return store(acc.name, {acc_at(r, x)}, load(c_tile_, acc_type_, {c_at(r, x)}));
    });
    Stmt start = single_block() ? zero : make_stmt(IfStmt{equal(k_block, 0), zero, resume});
    Stmt step = tile([&](const Expr& r, const Expr& x) {
      return store(acc.name, {acc_at(r, x)},
                   load(acc.name, acc_type_, {acc_at(r, x)}) +
                       row_element(i + r, var(k)) * col_element(j, var(k), x));
    });
    Stmt loop = for_loop(k, 0, var(k_len_), LoopKind::serial, std::move(step));
    Stmt finish = tile([&](const Expr& r, const Expr& x) {
      return store(c_tile_, {c_at(r, x)}, load(acc.name, acc_type_, {acc_at(r, x)}));
    });
    return allocate(acc, block({start, loop, finish}));
  }

  bool single_block() const {
    const auto k = k_extent_.as_const();
    return k && *k <= sizes_.kc;
  }

  /// out = value with the sum replaced by the finished tile.
  Stmt epilogue() {
    const std::string m = names_.fresh("m"), n = names_.fresh("n");
    const std::string marker = names_.fresh("sum");
    const std::string row = names_.fresh("row"), col = names_.fresh("col");
    Expr value = rewrite(stage_.value, [&](const Expr& e) {
      return e.as<ReduceExpr>() ? load(marker, acc_type_, {Expr(0)}) : e;
    });
    Expr index = load("_", DType::i64, {linear_.store_index.at(stage_.buffer)});
    for (Expr* e : {&value, &index}) {
      *e =
          merge_axes(merge_axes(*e, c_.rows, row, linear_.facts).value, c_.cols, col, linear_.facts)
              .value;
      *e = substitute(*e, {{row, var(m0_) + var(m)}, {col, var(n0_) + var(n)}});
    }
    const Expr tile = load(c_tile_, acc_type_, {var(m) * Expr(sizes_.nc) + var(n)});
    value = rewrite(value, [&](const Expr& e) {
      const auto* l = e.as<Load>();
      return l && l->buffer == marker ? tile : e;
    });
    return for_loop(m, 0, var(m_len_), LoopKind::serial,
                    for_loop(n, 0, var(n_len_), LoopKind::vectorized,
                             store(stage_.buffer, {index.as<Load>()->indices[0]}, value)));
  }

  const TileFunction& f_;
  LinearForm linear_;
  Contraction c_;
  NameSource names_;
  ComputeStmt stage_;
  Expr sum_, row_operand_, col_operand_;
  DType acc_type_ = DType::f32;
  TileSizes sizes_{};
  DimExpr m_extent_, n_extent_, k_extent_, mc_;
  bool a_direct_ = false, single_block_ = false;
  std::string n0_, m0_, n_len_, m_len_, k0_, k_len_, c_tile_, b_pack_, a_pack_;
};

}  // namespace

TileFunction schedule_contraction(const TileFunction& f, const ComputeForm& form,
                                  const CpuTarget& target) {
  const auto c = match_contraction(squeeze_unit_axes(form), f.facts);
  SYMTILE_CHECK(c.has_value(), "function '{}' is no contraction", f.name);
  return Template(f, form, *c, target).build();
}

}  // namespace symtile
