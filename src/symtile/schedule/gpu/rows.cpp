#include "symtile/schedule/gpu/rows.h"

#include <algorithm>

#include "symtile/base/check.h"
#include "symtile/ir/expr_node.h"

namespace symtile::gpu {
namespace {

/// Elements that one work-item of a group should have at least.
constexpr int64_t kElementsEach = 4;

class RowTemplate {
 public:
  RowTemplate(const RowProgram& program, const GpuTarget& target, NameSource& names)
      : p_(program), target_(target), names_(names), vars_(names) {
    choose_group();
    row_ = names_.fresh("row");
    member_ = names_.fresh("member");
    rows_ = extent_of(p_.rows);
  }

  RowLaunch build() {
    place_temporaries();
    std::set<std::string> fresh_writes;  // buffers written since the last barrier
    for (const Stage& stage : p_.stages) {
      const auto reads = [&](const std::string& b) {
        const auto loads = loads_of(stage.value);
        return std::any_of(loads.begin(), loads.end(),
                           [&](const Load* l) { return l->buffer == b; });
      };
      if (std::any_of(fresh_writes.begin(), fresh_writes.end(), reads)) {
        barrier(true);
        fresh_writes.clear();
      }
      emit(stage);
      fresh_writes.insert(stage.buffer);
    }
    LaunchParts parts;
    parts.threads = static_cast<int>(group_ * groups_);
    parts.grid = to_expr(ceildiv(rows_, groups_));
    parts.shared = shared_;
    flush();
    // The axes of a row are bound once around all phases; a group without a row never reads them.
    Stmt body = block(std::move(phases_));
    body = bind_axes(p_.rows, var(row_), std::move(body));
    body = let(row_, vars_.block() * Expr(groups_) + floordiv(vars_.thread(), Expr(group_)), body);
    body = let(member_, floormod(vars_.thread(), Expr(group_)), body);
    for (auto it = registers_.rbegin(); it != registers_.rend(); ++it) body = allocate(*it, body);
    parts.body = std::move(body);
    return {launch(vars_, std::move(parts), target_, names_), workspace_};
  }

 private:
  /// Work-items a row and rows a block, from what is known of the longest row.
  void choose_group() {
    int64_t longest = 1;
    bool known = true;
    const auto consider = [&](const DimExpr& extent) {
      const auto high = p_.facts.upper_bound(extent);
      known = known && high && *high < (int64_t{1} << 30);
      if (known) longest = std::max(longest, *high);
    };
    for (const Stage& stage : p_.stages) {
      consider(extent_of(stage.axes));
      std::vector<Expr> reductions;
      if (is_scalar(stage)) reductions = unconditional_reductions(stage.value);
      for (const Expr& r : reductions) consider(extent_of(r.as<ReduceExpr>()->axes));
    }
    const int64_t most = target_.max_threads;
    group_ = 1;
    while (group_ < most && (!known || group_ * kElementsEach < longest)) group_ *= 2;
    // Rows of unknown length may be short: half a block each.
    if (!known) group_ = std::max<int64_t>(most / 2, 1);
    groups_ = most / group_;
    if (const auto rows = extent_of(p_.rows).as_const()) {
      while (groups_ > 1 && groups_ / 2 >= *rows) groups_ /= 2;
      while (group_ * groups_ < std::min<int64_t>(target_.lanes, most) && groups_ < most)
        groups_ *= 2;
    }
  }

  bool is_scalar(const Stage& stage) const { return extent_of(stage.axes).is_const(1); }

  void place_temporaries() {
    int64_t used = 0;
    // Trees of reductions come first: they need shared memory.
    for (const Stage& stage : p_.stages) {
      std::vector<Expr> reductions;
      if (is_scalar(stage)) reductions = unconditional_reductions(stage.value);
      for (const Expr& r : reductions) {
        const ReduceExpr& reduction = *r.as<ReduceExpr>();
        const int64_t bytes =
            size_of(reduction.body.dtype()) + (is_arg_reduction(reduction.kind) ? 8 : 0);
        used += group_ > 1 ? bytes * group_ * groups_ : 0;
      }
    }
    for (const Buffer& t : p_.temporaries) {
      const Expr size = to_expr(product(t.dims));
      const auto count = constant_size(t);
      if (count && used + *count * groups_ * static_cast<int64_t>(size_of(t.dtype)) <=
                       target_.shared_bytes) {
        used += *count * groups_ * static_cast<int64_t>(size_of(t.dtype));
        Buffer b = t;
        b.scope = Scope::shared;
        b.dims = {DimExpr(*count * groups_)};
        shared_.push_back(b);
        base_[t.name] = floordiv(vars_.thread(), Expr(group_)) * size;
      } else {
        Buffer b = t;
        b.scope = Scope::scratch;
        b.dims = {rows_ * product(t.dims)};
        workspace_.push_back(b);
        base_[t.name] = var(row_) * size;
      }
    }
  }

  /// Loads of temporaries at this row's place.
  Expr at_row(const Expr& e) const {
    return rewrite(e, [&](const Expr& x) {
      const auto* l = x.as<Load>();
      const auto it = l ? base_.find(l->buffer) : base_.end();
      if (it == base_.end()) return x;
      return load(l->buffer, l->dtype, {it->second + l->indices[0]});
    });
  }

  /// A statement of the groups that have a row. Barriers stand between such statements, outside.
  void step(Stmt s) { pending_.push_back(std::move(s)); }

  void flush() {
    if (pending_.empty()) return;
    phases_.push_back(only_if(var(row_) < to_expr(rows_), block(std::move(pending_))));
    pending_.clear();
  }

  void barrier(bool global) {
    if (group_ == 1) return;
    flush();
    phases_.push_back(
        make_stmt(BarrierStmt{global && !workspace_.empty() ? Scope::global : Scope::shared}));
  }

  void emit(const Stage& stage) {
    Stage at = stage;
    at.value = at_row(stage.value);
    if (const auto it = base_.find(stage.buffer); it != base_.end())
      at.indices = {it->second + stage.indices[0]};
    if (is_scalar(stage)) return emit_scalar(at);
    const std::string x = names_.fresh("x");
    const DimExpr length = extent_of(stage.axes);
    Facts facts = p_.facts;
    at.value = use_position(at.value, stage.axes, x, facts);
    const MergedExpr index = merge_axes(load("_", DType::i64, at.indices), stage.axes, x, facts);
    if (index.direct) at.indices = index.value.as<Load>()->indices;
    Stmt body = bind_axes(stage.axes, var(x), store_point(at, names_));
    step(for_loop(x, var(member_), to_expr(length), LoopKind::serial, std::move(body), group_));
  }

  void emit_scalar(Stage stage) {
    if (!stage.axes.empty()) {
      std::map<std::string, Expr> zero;
      for (const Axis& a : stage.axes) zero[a.name] = 0;
      stage.value = substitute(stage.value, zero);
      for (Expr& i : stage.indices) i = substitute(i, zero);
    }
    if (group_ > 1) {
      const std::vector<Expr> reductions = unconditional_reductions(stage.value);
      std::vector<std::pair<Expr, Expr>> results;
      for (const Expr& r : reductions)
        results.emplace_back(r, reduce_by_group(*r.as<ReduceExpr>()));
      stage.value = replace_exactly(stage.value, results);
    }
    Stmt body = store_point(stage, names_);
    step(group_ > 1 ? only_if(equal(var(member_), 0), std::move(body)) : std::move(body));
  }

  Expr thread_slot(const std::string& buffer, DType type, const Expr& offset) const {
    return load(buffer, type, {vars_.thread() + offset});
  }

  Buffer slots(const std::string& hint, DType type) {
    Buffer b{names_.fresh(hint), type, {DimExpr(group_ * groups_)}, Scope::shared, {}};
    shared_.push_back(b);
    return b;
  }
  Buffer in_register(DType type) {
    Buffer b{names_.fresh("part"), type, {DimExpr(1)}, Scope::local, {}};
    registers_.push_back(b);
    return b;
  }

  /// for k = member, member + group, ... of the reduction's points: `body`, with the axes bound.
  Stmt share_out(const ReduceExpr& r, const std::string& k, Stmt body) {
    return for_loop(k, var(member_), to_expr(extent_of(r.axes)), LoopKind::serial,
                    bind_axes(r.axes, var(k), std::move(body)), group_);
  }

  /// The tree: after it the group's first member finds the result in its slot.
  void tree(const std::function<Stmt(const Expr& other)>& merge) {
    barrier(false);
    for (int64_t half = group_ / 2; half >= 1; half /= 2) {
      step(only_if(var(member_) < Expr(half), merge(Expr(half))));
      if (half > 1) barrier(false);  // the member that writes the result has it
    }
  }

  Expr reduce_by_group(const ReduceExpr& r) {
    const std::string k = names_.fresh("k");
    const Expr zero(0), me = vars_.thread();
    const Expr body = use_position(r.body, r.axes, k, p_.facts);
    PointEvaluator inner(names_);
    if (!is_arg_reduction(r.kind)) {
      const Buffer part = in_register(r.dtype), slot = slots("tree", r.dtype);
      const Expr mine = load(part.name, r.dtype, {zero});
      step(store(part.name, {zero}, identity_of(r.kind, r.dtype)));
      const Expr value = inner.evaluate(body);
      inner.append(store(part.name, {zero}, combine(r.kind, mine, value)));
      step(share_out(r, k, inner.finish()));
      step(store(slot.name, {me}, mine));
      tree([&](const Expr& other) {
        return store(slot.name, {me},
                     combine(r.kind, thread_slot(slot.name, r.dtype, 0),
                             thread_slot(slot.name, r.dtype, other)));
      });
      return thread_slot(slot.name, r.dtype, -var(member_));
    }
    // The best value and where it stands; -1: nothing seen.
    const DType type = r.body.dtype();
    const Buffer best = in_register(type), at = in_register(DType::i64);
    const Buffer best_slot = slots("tree", type), at_slot = slots("tree_at", DType::i64);
    const std::string x = names_.fresh("x");
    const Expr old = load(at.name, DType::i64, {zero});
    const auto wins = [&](const Expr& value, const Expr& position, const Expr& b, const Expr& p) {
      return select(p < Expr(0), bool_imm(true), beats(r.kind, value, position, b, p));
    };
    step(store(best.name, {zero}, imm(type, 0)));
    step(store(at.name, {zero}, Expr(-1)));
    const Expr value = inner.evaluate(body);
    inner.append(let(
        x, value,
        only_if(wins(var(x, type), var(k), load(best.name, type, {zero}), old),
                block({store(best.name, {zero}, var(x, type)), store(at.name, {zero}, var(k))}))));
    step(share_out(r, k, inner.finish()));
    step(block({store(best_slot.name, {me}, load(best.name, type, {zero})),
                store(at_slot.name, {me}, old)}));
    tree([&](const Expr& other) {
      const Expr theirs = thread_slot(at_slot.name, DType::i64, other);
      const Expr value_there = thread_slot(best_slot.name, type, other);
      const Expr better = wins(value_there, theirs, thread_slot(best_slot.name, type, 0),
                               thread_slot(at_slot.name, DType::i64, 0));
      return only_if(Expr(0) <= theirs && better, block({store(best_slot.name, {me}, value_there),
                                                         store(at_slot.name, {me}, theirs)}));
    });
    return max(thread_slot(at_slot.name, DType::i64, -var(member_)), Expr(0));
  }

  const RowProgram& p_;
  const GpuTarget& target_;
  NameSource& names_;
  LaunchVars vars_;
  DimExpr rows_;
  int64_t group_ = 1, groups_ = 1;
  std::string row_, member_;
  std::map<std::string, Expr> base_;  ///< of a temporary: where this row's part begins
  std::vector<Buffer> shared_, registers_, workspace_;
  std::vector<Stmt> phases_, pending_;
};

}  // namespace

RowLaunch row_launch(const RowProgram& program, const GpuTarget& target, NameSource& names) {
  return RowTemplate(program, target, names).build();
}

bool wants_group(const Stage& stage, const Facts& facts) {
  for (const Expr& e : unconditional_reductions(stage.value)) {
    const ReduceExpr& r = *e.as<ReduceExpr>();
    const auto high = facts.upper_bound(extent_of(r.axes));
    if (high && *high < 64) continue;
    const auto loads = loads_of(r.body);
    const bool contiguous = std::any_of(loads.begin(), loads.end(), [&](const Load* l) {
      const auto index = l->indices.empty() ? std::nullopt : to_dim_expr(l->indices.back());
      const auto affine = index ? affine_form(*index, {r.axes.back().name}) : std::nullopt;
      return affine && affine->coefficient(r.axes.back().name).is_const(1);
    });
    // A sum that few output elements need keeps the device busy only when it is shared out.
    const auto outputs = extent_of(stage.axes).as_const();
    if (contiguous || (outputs && *outputs < 256)) return true;
  }
  return false;
}

}  // namespace symtile::gpu
