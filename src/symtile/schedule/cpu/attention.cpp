#include "symtile/schedule/cpu/attention.h"

#include <algorithm>
#include <limits>

#include "symtile/schedule/cpu/loops.h"
#include "symtile/transform/tile/attention.h"

namespace symtile {
namespace {

/// Keys of one step: their scores for a block of rows, keys and values stay in the second-level
/// cache.
constexpr int64_t kKeys = 128;
/// About so many rows a task: every one of them reads the packed keys again.
constexpr int64_t kRows = 128;

struct TileSizes {
  int64_t nr;  ///< columns of the register tile
  int64_t mr;  ///< rows of it
  int64_t mc;  ///< most rows of a task
};

TileSizes tile_sizes(const CpuTarget& t, DType dtype) {
  TileSizes s{};
  const int64_t lanes = t.lanes(size_of(dtype));
  s.nr = std::min<int64_t>(2 * lanes, kPanel);
  const int64_t vectors = std::max<int64_t>(s.nr / lanes, 1);
  s.mr = std::clamp<int64_t>((t.vector_registers - vectors - 1) / vectors, 1, 12);
  if (!t.has_fma) s.mr = std::max<int64_t>(s.mr - 2, 1);
  if (s.mr > 6 && s.mr < 12) s.mr = 6;
  s.mc = (kRows + s.mr - 1) / s.mr * s.mr;
  return s;
}

class Template {
 public:
  Template(const TileFunction& f, LinearForm linear, Attention attention, const CpuTarget& target)
      : f_(f), linear_(std::move(linear)), names_(f), a_(std::move(attention)) {
    type_ = a_.product.dtype();
    sizes_ = tile_sizes(target, type_);
    rows_ = a_.row ? f.facts.simplify(a_.row->extent) : DimExpr(1);
    keys_ = f.facts.simplify(a_.key.extent);
    depth_ = f.facts.simplify(a_.depth.extent);
    columns_ = a_.column ? f.facts.simplify(a_.column->extent) : DimExpr(1);
    width_ = f.facts.simplify(round_up(max(columns_, 1), sizes_.nr));
    const DimExpr tiles = max(product_of(a_.batch), 1);
    const DimExpr least = max(ceildiv(rows_, sizes_.mc), 1),
                  most = max(ceildiv(rows_, 2 * sizes_.mr), 1);
    const DimExpr blocks = max(least, min(most, floordiv(3 + tiles, tiles)));
    block_ = f.facts.simplify(max(round_up(ceildiv(rows_, blocks), sizes_.mr), sizes_.mr));
  }

  TileFunction build() {
    const auto scratch = [&](const char* hint, DimExpr elements) {
      buffers_.push_back({names_.fresh(hint), type_, {std::move(elements)}, Scope::scratch, {}});
      return buffers_.back().name;
    };
    q_ = scratch("queries", max(depth_, 1) * sizes_.mc);
    k_ = scratch("keys", max(depth_, 1) * kKeys);
    v_ = scratch("values", width_ * kKeys);
    s_ = scratch("weights", DimExpr(sizes_.mc * kKeys));
    o_ = scratch("sums", width_ * sizes_.mc);
    largest_ = scratch("largest", sizes_.mc);
    total_ = scratch("total", sizes_.mc);
    m0_ = names_.fresh("m0");
    m_len_ = names_.fresh("mlen");
    j0_ = names_.fresh("j0");
    j_len_ = names_.fresh("jlen");
    const std::string mb = names_.fresh("mb"), jb = names_.fresh("jb");
    std::vector<Axis> tasks = a_.batch;
    tasks.push_back({mb, ceildiv(rows_, block_)});
    Expr seen = to_expr(keys_);
    if (a_.causal) seen = visible(var(m0_) + var(m_len_) - Expr(1));
    Stmt step = let_all({{j0_, var(jb) * Expr(kKeys)}, {j_len_, min(Expr(kKeys), seen - var(j0_))}},
                        block({pack_keys(), multiply_keys(), softmax_rows(var(jb)), pack_values(),
                               multiply_values()}));
    const Expr steps = floordiv(seen + Expr(kKeys - 1), Expr(kKeys));
    Stmt body = block({pack_queries(), clear(),
                       for_loop(jb, 0, steps, LoopKind::serial, std::move(step)), finish()});
    for (auto it = buffers_.rbegin(); it != buffers_.rend(); ++it)
      body = allocate(*it, std::move(body));
    body = let_all({{m0_, var(mb) * to_expr(block_)},
                    {m_len_, min(to_expr(block_), to_expr(rows_) - var(m0_))}},
                   std::move(body));
    return finish_schedule(f_, linear_, parallel_over(tasks, names_.fresh("p"), std::move(body)),
                           "attention");
  }

 private:
  static DimExpr product_of(const std::vector<Axis>& axes) { return extent_of(axes); }

  /// Keys that row `m` sees: at least none, at most all.
  Expr visible(const Expr& m) const {
    return max(min(to_expr(keys_), m + *a_.causal + Expr(1)), Expr(0));
  }

  Expr at_row(const Expr& e, const Expr& row) const {
    return a_.row ? substitute(e, {{a_.row->name, row}}) : e;
  }

  Stmt vector_loop(const std::string& x, const Expr& end, Stmt body) const {
    return for_loop(x, 0, end, LoopKind::vectorized, std::move(body));
  }

  /// queries[m][d]
  Stmt pack_queries() {
    const std::string m = names_.fresh("m"), d = names_.fresh("d");
    const Expr value = substitute(at_row(a_.query, var(m0_) + var(m)), {{a_.depth.name, var(d)}});
    return for_loop(
        m, 0, var(m_len_), LoopKind::serial,
        vector_loop(d, to_expr(depth_), store(q_, {var(m) * to_expr(depth_) + var(d)}, value)));
  }

  Stmt clear() {
    const std::string m = names_.fresh("m"), x = names_.fresh("x");
    return block({vector_loop(x, var(m_len_) * to_expr(width_), store(o_, {var(x)}, imm(type_, 0))),
                  vector_loop(m, var(m_len_),
                              block({store(largest_, {var(m)},
                                           imm(type_, -std::numeric_limits<double>::infinity())),
                                     store(total_, {var(m)}, imm(type_, 0))}))});
  }

  /// keys[panel][d][lane]; lanes beyond the last key repeat it: their scores are never read.
  Stmt pack_keys() {
    const std::string panel = names_.fresh("pj"), d = names_.fresh("d"), x = names_.fresh("x");
    const auto copy = [&](const Expr& key) {
      const Expr value = substitute(a_.key_operand, {{a_.key.name, key}, {a_.depth.name, var(d)}});
      const Expr at = (var(panel) * to_expr(depth_) + var(d)) * Expr(sizes_.nr) + var(x);
      return for_loop(d, 0, to_expr(depth_), LoopKind::serial,
                      vector_loop(x, Expr(sizes_.nr), store(k_, {at}, value)));
    };
    const Expr first = var(j0_) + var(panel) * Expr(sizes_.nr);
    const Expr whole = first + Expr(sizes_.nr) <= to_expr(keys_);
    Stmt body = make_stmt(
        IfStmt{whole, copy(first + var(x)), copy(min(first + var(x), to_expr(keys_) - Expr(1)))});
    return for_loop(panel, 0, panels(var(j_len_)), LoopKind::serial, std::move(body));
  }

  Expr panels(const Expr& columns) const {
    return floordiv(columns + Expr(sizes_.nr - 1), Expr(sizes_.nr));
  }

  /// values[key][e]; the columns up to the width are filled up with zeros.
  Stmt pack_values() {
    const std::string j = names_.fresh("j"), e = names_.fresh("e"), x = names_.fresh("x");
    Expr value = substitute(a_.value, {{a_.key.name, var(j0_) + var(j)}});
    if (a_.column) value = substitute(value, {{a_.column->name, var(e)}});
    const Expr row = var(j) * to_expr(width_);
    std::vector<Stmt> parts{vector_loop(e, to_expr(columns_), store(v_, {row + var(e)}, value))};
    if (!f_.facts.proves_equal(columns_, width_)) {
      parts.push_back(for_loop(x, to_expr(columns_), to_expr(width_), LoopKind::vectorized,
                               store(v_, {row + var(x)}, imm(type_, 0))));
    }
    return for_loop(j, 0, var(j_len_), LoopKind::serial, block(std::move(parts)));
  }

  /// Calls body(rows, first row) for all rows of the task, in strips of the register tile and what
  /// is left.
  Stmt strips(const std::function<Stmt(int64_t rows, const Expr& first)>& body) {
    std::vector<Stmt> out;
    Expr done = 0;
    for (const int64_t rows : {sizes_.mr, int64_t{4}, int64_t{2}, int64_t{1}}) {
      if (rows > sizes_.mr || (!out.empty() && rows == sizes_.mr)) continue;
      const std::string i = names_.fresh("i"), end = names_.fresh("iend");
      const Expr last = done + floordiv(var(m_len_) - done, Expr(rows)) * Expr(rows);
      // The end of one strip is the begin of the next: bound around all that follows.
      ends_.emplace_back(end, last);
      out.push_back(for_loop(i, done, var(end), LoopKind::serial, body(rows, var(i)), rows));
      done = var(end);
    }
    Stmt all = block(std::move(out));
    all = let_all(ends_, std::move(all));
    ends_.clear();
    return all;
  }

  /// tile += sum over k in [begin, end) of left(row, k) * right(k, lane), on registers.
  struct Product {
    Expr begin, end;
    std::function<Expr(const Expr& row, const Expr& k)> left;
    std::function<Expr(const Expr& k, const Expr& lane)> right;
    std::function<Expr(const Expr& row, const Expr& lane)> place;  ///< index in `target`
    std::string target;
    bool add = false;
  };
  Stmt micro_kernel(int64_t rows, const Product& p) {
    Buffer acc{names_.fresh("acc"), type_, {DimExpr(rows * sizes_.nr)}, Scope::local, {}};
    const std::string k = names_.fresh("kk");
    const auto tile = [&](const std::function<Stmt(const Expr& row, const Expr& lane)>& body) {
      const std::string r = names_.fresh("r"), x = names_.fresh("x");
      return for_loop(r, 0, Expr(rows), LoopKind::unrolled,
                      vector_loop(x, Expr(sizes_.nr), body(var(r), var(x))));
    };
    const auto at = [&](const Expr& r, const Expr& x) { return r * Expr(sizes_.nr) + x; };
    Stmt start = tile([&](const Expr& r, const Expr& x) {
      return store(acc.name, {at(r, x)},
                   p.add ? load(p.target, type_, {p.place(r, x)}) : imm(type_, 0));
    });
    Stmt step = tile([&](const Expr& r, const Expr& x) {
      return store(acc.name, {at(r, x)},
                   load(acc.name, type_, {at(r, x)}) + p.left(r, var(k)) * p.right(var(k), x));
    });
    Stmt end = tile([&](const Expr& r, const Expr& x) {
      return store(p.target, {p.place(r, x)}, load(acc.name, type_, {at(r, x)}));
    });
    return allocate(
        acc, block({start, for_loop(k, p.begin, p.end, LoopKind::serial, std::move(step)), end}));
  }

  /// weights[m][j] = Q K^T for the block of keys.
  Stmt multiply_keys() {
    const std::string panel = names_.fresh("pj");
    Stmt body = strips([&](int64_t rows, const Expr& i) {
      return micro_kernel(
          rows,
          {.begin = 0,
           .end = to_expr(depth_),
           .left = [&](const Expr& r,
                       const Expr& d) { return load(q_, type_, {(i + r) * to_expr(depth_) + d}); },
           .right =
               [&](const Expr& d, const Expr& x) {
                 return load(k_, type_, {(var(panel) * to_expr(depth_) + d) * Expr(sizes_.nr) + x});
               },
           .place =
               [&](const Expr& r, const Expr& x) {
                 return (i + r) * Expr(kKeys) + var(panel) * Expr(sizes_.nr) + x;
               },
           .target = s_});
    });
    return for_loop(panel, 0, panels(var(j_len_)), LoopKind::serial, std::move(body));
  }

  /// Scores become exponentials; the sums so far are scaled to the new maximum.
  Stmt softmax_rows(const Expr& step) {
    const std::string m = names_.fresh("m");
    const auto at = [&](const std::string& x) { return var(m) * Expr(kKeys) + var(x); };
    const auto score = [&](const std::string& x) { return load(s_, type_, {at(x)}); };
    const Buffer best{names_.fresh("best"), type_, {DimExpr(1)}, Scope::local, {}};
    const Buffer sum{names_.fresh("part"), type_, {DimExpr(1)}, Scope::local, {}};
    const Expr first_of_best = load(best.name, type_, {Expr(0)}),
               first_of_sum = load(sum.name, type_, {Expr(0)});
    const std::string x1 = names_.fresh("x"), x2 = names_.fresh("x"), x3 = names_.fresh("x");
    const std::string v = names_.fresh("v"), w = names_.fresh("w");
    const std::string now = names_.fresh("now"), shrink = names_.fresh("shrink");
    Expr value = rewrite(
        a_.score, [&](const Expr& e) { return structurally_equal(e, a_.product) ? score(x1) : e; });
    value = substitute(at_row(value, var(m0_) + var(m)), {{a_.key.name, var(j0_) + var(x1)}});
    std::vector<Stmt> each;
    if (!value.as<Load>()) each.push_back(store(s_, {at(x1)}, var(v, type_)));
    each.push_back(store(best.name, {Expr(0)}, max(first_of_best, var(v, type_))));
    std::vector<Stmt> stmts{store(best.name, {Expr(0)}, load(largest_, type_, {var(m)})),
                            vector_loop(x1, var(j_len_), let(v, value, block(std::move(each))))};
    // Never minus infinity: the difference of two of them is not 0.
    const double lowest = type_ == DType::f64
                              ? std::numeric_limits<double>::lowest()
                              : static_cast<double>(std::numeric_limits<float>::lowest());
    const Expr shifted = score(x2) - var(now, type_);
    const Expr row = var(m) * to_expr(width_) + var(x3);
    Stmt rescale =
        make_stmt(IfStmt{step > Expr(0),
                         vector_loop(x3, to_expr(width_),
                                     store(o_, {row}, load(o_, type_, {row}) * var(shrink, type_))),
                         nullptr});
    stmts.push_back(let_all(
        {{now, max(first_of_best, imm(type_, lowest))},
         {shrink, unary(UnaryOp::exp, load(largest_, type_, {var(m)}) - var(now, type_))}},
        block({store(sum.name, {Expr(0)}, imm(type_, 0)),
               vector_loop(x2, var(j_len_),
                           let(w, unary(UnaryOp::exp, shifted),
                               block({store(s_, {at(x2)}, var(w, type_)),
                                      store(sum.name, {Expr(0)}, first_of_sum + var(w, type_))}))),
               store(total_, {var(m)},
                     load(total_, type_, {var(m)}) * var(shrink, type_) + first_of_sum),
               store(largest_, {var(m)}, var(now, type_)), rescale})));
    return for_loop(m, 0, var(m_len_), LoopKind::serial,
                    allocate(best, allocate(sum, block(std::move(stmts)))));
  }

  /// sums[m][e] += weights * V. Of keys that only some rows of a strip see, each row takes its own.
  Stmt multiply_values() {
    const std::string panel = names_.fresh("pe");
    const auto product = [&](int64_t rows, const Expr& i, const Expr& begin, const Expr& end) {
      return micro_kernel(
          rows,
          {.begin = begin,
           .end = end,
           .left = [=, this](
                       const Expr& r,
                       const Expr& j) { return load(s_, type_, {(i + r) * Expr(kKeys) + j}); },
           .right =
               [=, this](const Expr& j, const Expr& x) {
                 return load(v_, type_, {j * to_expr(width_) + var(panel) * Expr(sizes_.nr) + x});
               },
           .place =
               [=, this](const Expr& r, const Expr& x) {
                 return (i + r) * to_expr(width_) + var(panel) * Expr(sizes_.nr) + x;
               },
           .target = o_,
           .add = true});
    };
    const auto limit = [&](const Expr& i) {
      return max(Expr(0), min(var(j_len_), visible(var(m0_) + i) - var(j0_)));
    };
    Stmt body = strips([&](int64_t rows, const Expr& i) {
      if (!a_.causal) return product(rows, i, Expr(0), var(j_len_));
      const std::string common = names_.fresh("common"), r = names_.fresh("r");
      Stmt all = product(rows, i, Expr(0), var(common));
      if (rows > 1) {
        all = block({all, for_loop(r, 1, Expr(rows), LoopKind::serial,
                                   product(1, i + var(r), var(common), limit(i + var(r))))});
      }
      return let(common, limit(i), std::move(all));
    });
    return for_loop(panel, 0, panels(to_expr(columns_)), LoopKind::serial, std::move(body));
  }

  /// out = g(sums / total); 0 where there are no keys at all.
  Stmt finish() {
    const std::string m = names_.fresh("m"), e = names_.fresh("e"),
                      inverse = names_.fresh("inverse");
    Expr sum = load(o_, type_, {var(m) * to_expr(width_) + var(e)}) * var(inverse, type_);
    const Expr weights = load(total_, type_, {var(m)});
    // Exponentials have a sum exactly when it is positive, for the largest of them is 1; it is 0
    // when all scores are minus infinity.
    if (a_.zero == Attention::Zero::without_sum)
      sum = select(weights > imm(type_, 0), sum, imm(type_, 0));
    if (a_.zero == Attention::Zero::without_keys)
      sum = select(equal(weights, imm(type_, 0)), imm(type_, 0), sum);
    Expr value = rewrite(a_.result, [&](const Expr& x) {
      return structurally_equal(x, a_.weighted) ? cast(x.dtype(), sum) : x;
    });
    Expr index = linear_.store_index.at(linear_.stages.back().buffer);
    for (Expr* x : {&value, &index}) {
      *x = at_row(*x, var(m0_) + var(m));
      if (a_.column) *x = substitute(*x, {{a_.column->name, var(e)}});
    }
    const Expr total = load(total_, type_, {var(m)});
    const Expr share = select(to_expr(keys_) > Expr(0), imm(type_, 1) / total, imm(type_, 0));
    return for_loop(m, 0, var(m_len_), LoopKind::serial,
                    let(inverse, share,
                        vector_loop(e, to_expr(columns_),
                                    store(linear_.stages.back().buffer, {index}, value))));
  }

  const TileFunction& f_;
  LinearForm linear_;
  NameSource names_;
  Attention a_;
  DType type_ = DType::f32;
  TileSizes sizes_{};
  DimExpr rows_, keys_, depth_, columns_, width_, block_;
  std::vector<Buffer> buffers_;
  std::vector<std::pair<std::string, Expr>> ends_;
  std::string q_, k_, v_, s_, o_, largest_, total_, m0_, m_len_, j0_, j_len_;
};

}  // namespace

std::optional<TileFunction> schedule_attention(const TileFunction& f, const ComputeForm& form,
                                               const CpuTarget& target) {
  if (!match_attention(squeeze_unit_axes(form))) return std::nullopt;
  LinearForm linear = linearize(f, form);
  // Equal elements may have flat addresses that are not simplified to the same text.
  auto matched = match_attention({linear.temporaries, linear.stages});
  if (!matched) return std::nullopt;
  return Template(f, std::move(linear), std::move(*matched), target).build();
}

}  // namespace symtile
