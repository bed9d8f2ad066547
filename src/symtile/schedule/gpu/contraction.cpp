#include "symtile/schedule/gpu/contraction.h"

#include <algorithm>

#include "symtile/base/check.h"
#include "symtile/schedule/gpu/grid.h"

namespace symtile::gpu {
namespace {

/// Most blocks that share one sum, and the least length of a share.
constexpr int64_t kMostShares = 16;
constexpr int64_t kLeastShare = 256;

Stmt tasks(const TaskMapping& mapping, const Expr& worker, std::vector<std::string> vars,
           Stmt body) {
  return make_stmt(TaskStmt{mapping, worker, std::move(vars), std::move(body)});
}

class Template {
 public:
  Template(const TileFunction& f, const ComputeForm& form, const Contraction& c,
           const GpuTarget& target, const ContractionTile& tile)
      : f_(f),
        target_(target),
        tile_(tile),
        linear_(linearize(f, form)),
        c_(c),
        names_(f),
        stage_(linear_.stages.front()),
        vars_(names_) {
    visit(stage_.value, [&](const Expr& e) {
      if (e.as<ReduceExpr>()) sum_ = e;
    });
    // The operands again, now with flat loads.
    const auto& product = *sum_.as<ReduceExpr>()->body.as<BinaryExpr>();
    a_ = c_.col_is_left ? product.b : product.a;
    b_ = c_.col_is_left ? product.a : product.b;
    type_ = sum_.dtype();
    m_extent_ = f_.facts.simplify(extent_of(c_.rows));
    n_extent_ = f_.facts.simplify(extent_of(c_.cols));
    k_extent_ = f_.facts.simplify(extent_of(c_.k));
    choose_shares();
  }

  TileFunction build() {
    for (const auto& [name, hint] : {std::pair<std::string*, const char*>{&m0_, "m0"},
                                     {&n0_, "n0"},
                                     {&k_begin_, "k_begin"},
                                     {&k_end_, "k_end"},
                                     {&steps_, "steps"},
                                     {&wi_, "wi"},
                                     {&wj_, "wj"},
                                     {&li_, "li"},
                                     {&lj_, "lj"}}) {
      *name = names_.fresh(hint);
    }
    const std::string mb = names_.fresh("mb"), nb = names_.fresh("nb"),
                      share = names_.fresh("share");
    std::vector<Axis> blocks = c_.batch;
    blocks.push_back({mb, ceildiv(m_extent_, tile_.m())});
    blocks.push_back({nb, ceildiv(n_extent_, tile_.n())});
    if (shares_) blocks.push_back({share, *shares_});
    make_buffers();
    LaunchParts parts;
    parts.threads = static_cast<int>(tile_.threads());
    parts.grid = to_expr(extent_of(blocks));
    parts.shared = {a_shared_, b_shared_};
    share_ = var(share);

    Stmt body = block({zero(), fetch(Expr(0)), put(Expr(0)), barrier(), main_loop(), epilogue()});
    body = tasks(TaskMapping::spatial({tile_.warps_m, tile_.warps_n, 1, 1}) *
                     TaskMapping::spatial({1, 1, tile_.lanes_m, tile_.lanes_n}),
                 vars_.thread(), {wi_, wj_, li_, lj_}, std::move(body));
    for (const Buffer* b : {&b_next_, &a_next_, &b_part_, &a_part_, &acc_})
      body = allocate(*b, std::move(body));
    const Expr length =
        shares_ ? to_expr(round_up(ceildiv(k_extent_, *shares_), tile_.k)) : Expr(0);
    const Expr k = to_expr(k_extent_);
    body = let_all(
        {{m0_, var(mb) * Expr(tile_.m())},
         {n0_, var(nb) * Expr(tile_.n())},
         {k_begin_, shares_ ? var(share) * length : Expr(0)},
         {k_end_, shares_ ? min(k, var(k_begin_) + length) : k},
         {steps_, floordiv(var(k_end_) - var(k_begin_) + Expr(tile_.k - 1), Expr(tile_.k))}},
        std::move(body));
    parts.body = bind_axes(blocks, vars_.block(), std::move(body));
    Stmt out = launch(vars_, std::move(parts), target_, names_);
    if (shares_) out = with_workspace({workspace_}, block({out, add_shares()}));
    return finish_schedule(f_, linear_, std::move(out), "contraction");
  }

 private:
  /// Parallel-k pays when the tiles of the output cannot feed the device but the sum is long.
  void choose_shares() {
    const auto outputs = f_.facts.upper_bound(extent_of(stage_.axes));
    const auto longest = f_.facts.upper_bound(k_extent_);
    if (!outputs || *outputs > 4 * tile_.m() * tile_.n()) return;
    if (longest && *longest < 2 * kLeastShare) return;
    shares_ = f_.facts.simplify(
        max(min(ceildiv(k_extent_, kLeastShare), DimExpr(kMostShares)), DimExpr(1)));
  }

  Buffer registers(const char* hint, DType type, Dims dims) {
    return {names_.fresh(hint), type, std::move(dims), Scope::local, {}};
  }

  /// How a slice of rows x tile_.k elements is spread over the work-items.
  struct Spread {
    int64_t rows, k;  ///< work-items along each
    int64_t repeat_rows, repeat_k;
    bool along_k;  ///< neighbours take neighbours along k
    TaskMapping mapping() const {
      const TaskMapping workers = along_k ? TaskMapping::spatial({1, 1, rows, k})
                                          : TaskMapping::spatial({1, 1, rows, k}, {0, 1, 3, 2});
      return TaskMapping::repeat({repeat_rows, repeat_k, 1, 1}) * workers;
    }
  };
  Spread spread(int64_t rows, bool along_k) const {
    const int64_t threads = tile_.threads();
    Spread s{};
    s.along_k = along_k;
    if (along_k) {
      s.k = std::min(tile_.k, threads);
      s.rows = threads / s.k;
      if (s.rows > rows) s.rows = rows, s.k = threads / rows;
    } else {
      s.rows = std::min(rows, threads);
      s.k = threads / s.rows;
    }
    s.repeat_rows = rows / s.rows;
    s.repeat_k = tile_.k / s.k;
    SYMTILE_CHECK(s.repeat_rows * s.rows == rows && s.repeat_k * s.k == tile_.k,
                  "{} work-items cannot share a slice of {} x {}", threads, rows, tile_.k);
    return s;
  }

  /// True when neighbours along the innermost of `axes` are neighbours in memory.
  bool contiguous(const Expr& operand, const std::vector<Axis>& axes) const {
    for (const Load* l : loads_of(operand)) {
      const auto index = to_dim_expr(l->indices[0]);
      const auto affine = index ? affine_form(*index, {axes.back().name}) : std::nullopt;
      if (affine && affine->coefficient(axes.back().name).is_const(1)) return true;
    }
    return false;
  }

  void make_buffers() {
    a_spread_ = spread(tile_.m(), contiguous(a_, c_.k));
    b_spread_ = spread(tile_.n(), contiguous(b_, c_.k) && !contiguous(b_, c_.cols));
    // A column more, so that lanes that store along k meet different banks.
    a_shared_ = {names_.fresh("a_tile"), type_, {2, tile_.k, tile_.m() + 1}, Scope::shared, {}};
    b_shared_ = {names_.fresh("b_tile"), type_, {2, tile_.k, tile_.n() + 1}, Scope::shared, {}};
    a_next_ = registers("a_next", type_, {a_spread_.repeat_rows, a_spread_.repeat_k});
    b_next_ = registers("b_next", type_, {b_spread_.repeat_rows, b_spread_.repeat_k});
    a_part_ = registers("a_part", type_, {2, tile_.outer_m * tile_.inner_m});
    b_part_ = registers("b_part", type_, {2, tile_.outer_n * tile_.inner_n});
    acc_ = registers("acc", type_, {tile_.outer_m * tile_.inner_m, tile_.outer_n * tile_.inner_n});
    if (shares_)
      workspace_ = {
          names_.fresh("shares"), type_, {*shares_, extent_of(stage_.axes)}, Scope::scratch, {}};
  }

  static Stmt barrier() { return make_stmt(BarrierStmt{Scope::shared}); }

  Stmt zero() {
    const std::string i = names_.fresh("i"), j = names_.fresh("j");
    return tasks(TaskMapping::repeat(acc_.dims), 0, {i, j},
                 store(acc_.name, {var(i), var(j)}, imm(type_, 0)));
  }

  /// Slice `step` of both operands, from global memory to registers.
  Stmt fetch(const Expr& step) {
    return block({fetch(step, a_, c_.rows, m_extent_, m0_, tile_.m(), a_spread_, a_next_),
                  fetch(step, b_, c_.cols, n_extent_, n0_, tile_.n(), b_spread_, b_next_)});
  }

  Stmt fetch(const Expr& step, const Expr& operand, const std::vector<Axis>& axes,
             const DimExpr& extent, const std::string& origin, int64_t tile_rows, const Spread& s,
             const Buffer& to) {
    const std::string ri = names_.fresh("ri"), rk = names_.fresh("rk"), i = names_.fresh("i"),
                      kk = names_.fresh("kk"), row = names_.fresh("row"), k = names_.fresh("k");
    Expr value = use_position(operand, axes, row, linear_.facts);
    value = use_position(value, c_.k, k, linear_.facts);
    const Expr in_row =
        f_.facts.proves_divisible(extent, tile_rows) ? bool_imm(true) : var(row) < to_expr(extent);
    value = select(in_row && var(k) < var(k_end_), value, imm(type_, 0));
    Stmt body = store(to.name, {var(ri), var(rk)}, value);
    body = bind_axes(axes, var(row), bind_axes(c_.k, var(k), std::move(body)));
    body = let_all({{row, var(origin) + var(ri) * Expr(s.rows) + var(i)},
                    {k, var(k_begin_) + step * Expr(tile_.k) + var(rk) * Expr(s.k) + var(kk)}},
                   std::move(body));
    return tasks(s.mapping(), vars_.thread(), {ri, rk, i, kk}, std::move(body));
  }

  /// From registers to buffer `which` of shared memory.
  Stmt put(const Expr& which) {
    return block(
        {put(which, a_spread_, a_next_, a_shared_), put(which, b_spread_, b_next_, b_shared_)});
  }

  Stmt put(const Expr& which, const Spread& s, const Buffer& from, const Buffer& to) {
    const std::string ri = names_.fresh("ri"), rk = names_.fresh("rk"), i = names_.fresh("i"),
                      kk = names_.fresh("kk");
    Stmt body =
        store(to.name, {which, var(rk) * Expr(s.k) + var(kk), var(ri) * Expr(s.rows) + var(i)},
              load(from.name, type_, {var(ri), var(rk)}));
    return tasks(s.mapping(), vars_.thread(), {ri, rk, i, kk}, std::move(body));
  }

  /// Position in the tile of register (outer, inner).
  Expr tile_row(const Expr& outer, const Expr& inner) const {
    return ((var(wi_) * Expr(tile_.outer_m) + outer) * Expr(tile_.lanes_m) + var(li_)) *
               Expr(tile_.inner_m) +
           inner;
  }
  Expr tile_column(const Expr& outer, const Expr& inner) const {
    return ((var(wj_) * Expr(tile_.outer_n) + outer) * Expr(tile_.lanes_n) + var(lj_)) *
               Expr(tile_.inner_n) +
           inner;
  }

  /// Row kk of a slice, from shared memory to registers.
  Stmt fragments(const Expr& which, const Expr& kk) {
    const std::string o = names_.fresh("o"), r = names_.fresh("r");
    const Expr slot = floormod(kk, Expr(2));
    const auto one = [&](const Buffer& from, const Buffer& to, int64_t outer, int64_t inner,
                         const Expr& at) {
      return tasks(TaskMapping::repeat({outer, 1}) * TaskMapping::repeat({1, inner}), 0, {o, r},
                   store(to.name, {slot, var(o) * Expr(inner) + var(r)},
                         load(from.name, type_, {which, kk, at})));
    };
    return block(
        {one(a_shared_, a_part_, tile_.outer_m, tile_.inner_m, tile_row(var(o), var(r))),
         one(b_shared_, b_part_, tile_.outer_n, tile_.inner_n, tile_column(var(o), var(r)))});
  }

  Stmt multiply(const Expr& which) {
    const std::string kk = names_.fresh("kk"), i = names_.fresh("i"), j = names_.fresh("j");
    const Expr slot = floormod(var(kk), Expr(2));
    const Expr product =
        load(a_part_.name, type_, {slot, var(i)}) * load(b_part_.name, type_, {slot, var(j)});
    Stmt outer_product = tasks(
        TaskMapping::repeat(acc_.dims), 0, {i, j},
        store(acc_.name, {var(i), var(j)}, load(acc_.name, type_, {var(i), var(j)}) + product));
    Stmt ahead = only_if(var(kk) + Expr(1) < Expr(tile_.k), fragments(which, var(kk) + Expr(1)));
    return block({fragments(which, 0), for_loop(kk, 0, Expr(tile_.k), LoopKind::unrolled,
                                                block({ahead, outer_product}))});
  }

  Stmt main_loop() {
    const std::string step = names_.fresh("step");
    const Expr next = var(step) + Expr(1);
    const Expr more = next < var(steps_);
    return for_loop(step, 0, var(steps_), LoopKind::serial,
                    block({only_if(more, fetch(next)), multiply(floormod(var(step), Expr(2))),
                           only_if(more, put(floormod(next, Expr(2)))), barrier()}));
  }

  /// The value of an output element, with the sum replaced.
  Expr finished(const Expr& sum) const {
    return rewrite(stage_.value, [&](const Expr& e) { return e.as<ReduceExpr>() ? sum : e; });
  }

  Stmt epilogue() {
    const std::string oi = names_.fresh("oi"), oj = names_.fresh("oj"), ri = names_.fresh("ri"),
                      rj = names_.fresh("rj"), row = names_.fresh("row"), col = names_.fresh("col");
    const Expr sum =
        load(acc_.name, type_,
             {var(oi) * Expr(tile_.inner_m) + var(ri), var(oj) * Expr(tile_.inner_n) + var(rj)});
    // The sum is put in last: its register index is no position.
    const Expr mark = var(names_.fresh("sum"), type_);
    Expr index = load("_", DType::i64, {linear_.store_index.at(stage_.buffer)});
    Expr value = shares_ ? mark : finished(mark);
    for (Expr* e : {&value, &index}) {
      *e = use_position(*e, c_.rows, row, linear_.facts);
      *e = use_position(*e, c_.cols, col, linear_.facts);
    }
    const Expr at = index.as<Load>()->indices[0];
    value = substitute(value, {{mark.as<VarRef>()->name, sum}});
    Stmt body =
        shares_ ? store(workspace_.name, {share_, at}, value) : store(stage_.buffer, {at}, value);
    body = bind_axes(c_.rows, var(row), bind_axes(c_.cols, var(col), std::move(body)));
    Expr inside = bool_imm(true);
    if (!f_.facts.proves_divisible(m_extent_, tile_.m()))
      inside = inside && var(row) < to_expr(m_extent_);
    if (!f_.facts.proves_divisible(n_extent_, tile_.n()))
      inside = inside && var(col) < to_expr(n_extent_);
    body = let_all({{row, var(m0_) + tile_row(var(oi), var(ri))},
                    {col, var(n0_) + tile_column(var(oj), var(rj))}},
                   only_if(inside, std::move(body)));
    return tasks(TaskMapping::repeat({tile_.outer_m, tile_.outer_n, 1, 1}) *
                     TaskMapping::repeat({1, 1, tile_.inner_m, tile_.inner_n}),
                 0, {oi, oj, ri, rj}, std::move(body));
  }

  /// The second launch of parallel-k.
  Stmt add_shares() {
    const std::string s = names_.fresh("s");
    const Expr at = linear_.store_index.at(stage_.buffer);
    const Expr sum =
        reduce(ReduceKind::sum, {{s, *shares_}}, load(workspace_.name, type_, {var(s), at}));
    return grid_launch({stage_.buffer, {at}, stage_.axes, finished(sum)}, linear_.facts, target_,
                       names_);
  }

  const TileFunction& f_;
  const GpuTarget& target_;
  ContractionTile tile_;
  LinearForm linear_;
  Contraction c_;
  NameSource names_;
  ComputeStmt stage_;
  LaunchVars vars_;
  Expr sum_, a_, b_, share_;
  DType type_ = DType::f32;
  DimExpr m_extent_, n_extent_, k_extent_;
  std::optional<DimExpr> shares_;
  Spread a_spread_{}, b_spread_{};
  Buffer a_shared_, b_shared_, a_next_, b_next_, a_part_, b_part_, acc_, workspace_;
  std::string m0_, n0_, k_begin_, k_end_, steps_, wi_, wj_, li_, lj_;
};

}  // namespace

bool claims_contraction(const TileFunction& f, const ComputeForm& form) {
  return match_contraction(squeeze_unit_axes(form), f.facts).has_value();
}

std::optional<TileFunction> schedule_contraction(const TileFunction& f, const ComputeForm& form,
                                                 const GpuTarget& target) {
  const std::vector<ContractionTile> tiles = contraction_tiles(target);
  SYMTILE_CHECK(!tiles.empty(), "no tile fits the target '{}'", target.name);
  const auto c = match_contraction(squeeze_unit_axes(form), f.facts);
  if (!c) return std::nullopt;
  // The first tile that is not twice as large as the output is known to be.
  const auto fits = [&](const std::vector<Axis>& axes, int64_t tile) {
    const auto most = f.facts.upper_bound(extent_of(axes));
    return !most || tile < 2 * std::max<int64_t>(*most, 1);
  };
  const auto it = std::find_if(tiles.begin(), tiles.end(), [&](const ContractionTile& t) {
    return fits(c->rows, t.m()) && fits(c->cols, t.n());
  });
  return Template(f, form, *c, target, it == tiles.end() ? tiles.front() : *it).build();
}

TileFunction schedule_contraction(const TileFunction& f, const ComputeForm& form,
                                  const GpuTarget& target, const ContractionTile& tile) {
  const auto c = match_contraction(squeeze_unit_axes(form), f.facts);
  SYMTILE_CHECK(c.has_value(), "function '{}' is no contraction", f.name);
  return Template(f, form, *c, target, tile).build();
}

std::optional<std::vector<ScheduleCandidate>> contraction_candidates(const TileFunction& f,
                                                                     const GpuTarget& target) {
  const auto form = compute_form(f);
  if (!form || !claims_contraction(f, *form)) return std::nullopt;
  std::vector<ScheduleCandidate> out;
  for (const ContractionTile& t : contraction_tiles(target)) out.push_back(t.candidate());
  return out;
}

}  // namespace symtile::gpu
