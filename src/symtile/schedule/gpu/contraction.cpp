#include "symtile/schedule/gpu/contraction.h"

#include <algorithm>

#include "symtile/base/check.h"
#include "symtile/ir/intrinsics.h"
#include "symtile/schedule/gpu/grid.h"
#include "symtile/schedule/gpu/slice.h"

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
    parts.shared = {slice_a_->shared(), slice_b_->shared()};
    share_ = var(share);

    Stmt body = block({zero(), begin_slice(Expr(0), Expr(0)), end_slice(Expr(0)), arrive(),
                       main_loop(), epilogue()});
    body = tasks(TaskMapping::spatial({tile_.warps_m, tile_.warps_n, 1, 1}) *
                     TaskMapping::spatial({1, 1, tile_.lanes_m, tile_.lanes_n}),
                 vars_.thread(), {wi_, wj_, li_, lj_}, std::move(body));
    for (const Slice* s : {&*slice_b_, &*slice_a_}) {
      if (!s->is_async()) body = allocate(s->registers(), std::move(body));
    }
    if (!tile_.matrix) body = allocate(a_part_, allocate(b_part_, std::move(body)));
    body = allocate(acc_, std::move(body));
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
    return finish_schedule(f_, linear_, std::move(out),
                           tile_.matrix ? "matrix contraction" : "contraction");
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

  /// The operand without the cast to the type of the sum, of matrix instructions.
  Expr factor(const Expr& operand) const {
    return tile_.matrix ? operand.as<CastExpr>()->a : operand;
  }

  void make_buffers() {
    context_.emplace(SliceContext{linear_, f_.facts, target_, names_, c_.k, tile_.k,
                                  tile_.threads(), vars_.thread(), k_begin_, k_end_});
    slice_a_.emplace(
        *context_,
        SliceOperand{factor(a_), c_.rows, m_extent_, tile_.m(), m0_, tile_.matrix, false}, "a");
    slice_b_.emplace(
        *context_, SliceOperand{factor(b_), c_.cols, n_extent_, tile_.n(), n0_, false, true}, "b");
    if (tile_.matrix) {
      acc_ = registers("acc", type_, {tile_.outer_m / 2, tile_.outer_n, 4});
    } else {
      a_part_ = registers("a_part", type_, {2, tile_.outer_m * tile_.inner_m});
      b_part_ = registers("b_part", type_, {2, tile_.outer_n * tile_.inner_n});
      acc_ =
          registers("acc", type_, {tile_.outer_m * tile_.inner_m, tile_.outer_n * tile_.inner_n});
    }
    if (shares_)
      workspace_ = {
          names_.fresh("shares"), type_, {*shares_, extent_of(stage_.axes)}, Scope::scratch, {}};
  }

  static Stmt barrier() { return make_stmt(BarrierStmt{Scope::shared}); }

  static Stmt instruction(const char* name, std::vector<Expr> args) {
    return make_stmt(IntrinsicStmt{name, std::move(args)});
  }

  Stmt zero() {
    std::vector<std::string> names;
    std::vector<Expr> at;
    for (size_t d = 0; d < acc_.dims.size(); ++d) {
      names.push_back(names_.fresh("i"));
      at.push_back(var(names.back()));
    }
    return tasks(TaskMapping::repeat(acc_.dims), 0, names, store(acc_.name, at, imm(type_, 0)));
  }

  bool has_async() const { return slice_a_->is_async() || slice_b_->is_async(); }

  /// Begins to bring slice `step` to half `which` of shared memory.
  Stmt begin_slice(const Expr& step, const Expr& which) {
    std::vector<Stmt> out;
    for (Slice* s : {&*slice_a_, &*slice_b_})
      out.push_back(s->is_async() ? s->copy(step, which) : s->fetch(step));
    if (has_async()) out.push_back(instruction("commit_copies", {}));
    return block(std::move(out));
  }

  /// What came to registers meanwhile goes to shared memory.
  Stmt end_slice(const Expr& which) {
    std::vector<Stmt> out;
    for (Slice* s : {&*slice_a_, &*slice_b_}) {
      if (!s->is_async()) out.push_back(s->put(which));
    }
    return block(std::move(out));
  }

  /// Behind it the slice that came last is there for all work-items.
  Stmt arrive() const {
    return has_async() ? block({instruction("wait_copies", {Expr(0)}), barrier()}) : barrier();
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
    const auto one = [&](const Slice& from, const Buffer& to, int64_t outer, int64_t inner,
                         const Expr& at) {
      return tasks(TaskMapping::repeat({outer, 1}) * TaskMapping::repeat({1, inner}), 0, {o, r},
                   store(to.name, {slot, var(o) * Expr(inner) + var(r)},
                         load(from.shared().name, type_, from.at(which, at, kk))));
    };
    return block(
        {one(*slice_a_, a_part_, tile_.outer_m, tile_.inner_m, tile_row(var(o), var(r))),
         one(*slice_b_, b_part_, tile_.outer_n, tile_.inner_n, tile_column(var(o), var(r)))});
  }

  /// C of every fragment += A B, by the warp.
  Stmt multiply_matrices(const Expr& which) {
    const std::string kk = names_.fresh("kk"), oi = names_.fresh("oi"), oj = names_.fresh("oj");
    const Expr lane = var(li_) * Expr(tile_.lanes_n) + var(lj_);
    const Expr row = (var(wi_) * Expr(tile_.outer_m / 2) + var(oi)) * Expr(kMmaRows);
    const Expr column = (var(wj_) * Expr(tile_.outer_n) + var(oj)) * Expr(kMmaColumns);
    const Expr step = var(kk) * Expr(kMmaDepth);
    const auto element = [](const Slice& s, std::vector<Expr> at) {
      return load(s.shared().name, s.shared().dtype, std::move(at));
    };
    Stmt fragments = tasks(
        TaskMapping::repeat({tile_.outer_m / 2, tile_.outer_n}), 0, {oi, oj},
        instruction("mma_m16n8k16", {lane, load(acc_.name, type_, {var(oi), var(oj), Expr(0)}),
                                     element(*slice_a_, slice_a_->at(which, row, step)),
                                     element(*slice_b_, slice_b_->at(which, column, step))}));
    return for_loop(kk, 0, Expr(tile_.k / kMmaDepth), LoopKind::serial, std::move(fragments));
  }

  Stmt multiply(const Expr& which) {
    if (tile_.matrix) return multiply_matrices(which);
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

  static Expr half(const Expr& step) { return floormod(step, Expr(2)); }

  Stmt main_loop() {
    const std::string step = names_.fresh("step");
    const Expr next = var(step) + Expr(1);
    const Expr more = next < var(steps_);
    return for_loop(step, 0, var(steps_), LoopKind::serial,
                    block({only_if(more, begin_slice(next, half(next))), multiply(half(var(step))),
                           only_if(more, end_slice(half(next))), arrive()}));
  }

  /// The value of an output element, with the sum replaced.
  Expr finished(const Expr& sum) const {
    return rewrite(stage_.value, [&](const Expr& e) { return e.as<ReduceExpr>() ? sum : e; });
  }

  Stmt epilogue() {
    const std::string oi = names_.fresh("oi"), oj = names_.fresh("oj"), ri = names_.fresh("ri"),
                      rj = names_.fresh("rj"), row = names_.fresh("row"), col = names_.fresh("col");
    const Expr sum =
        tile_.matrix
            ? load(acc_.name, type_,
                   {floordiv(var(oi), Expr(2)), var(oj), half(var(oi)) * Expr(2) + var(rj)})
            : load(acc_.name, type_,
                   {var(oi) * Expr(tile_.inner_m) + var(ri),
                    var(oj) * Expr(tile_.inner_n) + var(rj)});
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
  std::optional<SliceContext> context_;
  std::optional<Slice> slice_a_, slice_b_;
  Buffer a_part_, b_part_, acc_, workspace_;
  std::string m0_, n0_, k_begin_, k_end_, steps_, wi_, wj_, li_, lj_;
};

/// Both factors are f16, or both bf16, and the sum f32.
bool multiplies_halves(const ComputeForm& form) {
  const Expr sum = only_reduction(form.stages.front().value);
  const auto* product = sum.defined() ? sum.as<ReduceExpr>()->body.as<BinaryExpr>() : nullptr;
  if (!product || sum.dtype() != DType::f32) return false;
  const auto half = [](const Expr& e) {
    const auto* cast = e.as<CastExpr>();
    return cast ? cast->a.dtype() : DType::f32;
  };
  const DType a = half(product->a), b = half(product->b);
  return a == b && (a == DType::f16 || a == DType::bf16);
}

}  // namespace

std::vector<ContractionTile> contraction_tiles(const TileFunction& f, const ComputeForm& form,
                                               const GpuTarget& target) {
  const ComputeForm squeezed = squeeze_unit_axes(form);
  const auto c = match_contraction(squeezed, f.facts);
  if (c && multiplies_halves(squeezed)) {
    if (auto tiles = matrix_tiles(target); !tiles.empty()) return tiles;
  }
  return contraction_tiles(target);
}

bool claims_contraction(const TileFunction& f, const ComputeForm& form) {
  return match_contraction(squeeze_unit_axes(form), f.facts).has_value();
}

std::optional<TileFunction> schedule_contraction(const TileFunction& f, const ComputeForm& form,
                                                 const GpuTarget& target) {
  const std::vector<ContractionTile> tiles = contraction_tiles(f, form, target);
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
  for (const ContractionTile& t : contraction_tiles(f, *form, target)) out.push_back(t.candidate());
  return out;
}

}  // namespace symtile::gpu
