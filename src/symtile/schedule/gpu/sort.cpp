#include "symtile/schedule/gpu/sort.h"

#include <algorithm>

#include "symtile/op/index/sort_order.h"
#include "symtile/schedule/gpu/launches.h"
#include "symtile/transform/tile/sorting.h"

namespace symtile::gpu {
namespace {

/// Elements that one work-item has of a part in shared memory.
constexpr int64_t kEach = 4;
/// Merges of a network in global memory: more than any extent needs.
constexpr int64_t kMerges = 62;

class Template {
 public:
  Template(const TileFunction& f, ComputeForm form, const Sorting& s, const GpuTarget& target)
      : f_(f), target_(target), names_(f), vars_(names_), s_(s) {
    make_axes_distinct(form, names_);
    lines_ = form.stages[0].axes;
    lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(s_.axis));
    linear_ = linearize(f, form);
    for (size_t d = 0, l = 0; d < form.stages[1].axes.size(); ++d) {
      const std::string& name = form.stages[1].axes[d].name;
      if (d == s_.axis) {
        wanted_ = name;
      } else {
        renamed_[name] = var(lines_[l++].name);
      }
    }
    ranks_ = linear_.stages[0].value;
    type_ = sorted_element(ranks_, Expr(0)).dtype();
    choose_memory();
  }

  TileFunction build() {
    LaunchParts parts;
    parts.threads = threads_;
    parts.grid = to_expr(extent_of(lines_));
    const Scope scope = in_shared_ ? Scope::shared : Scope::scratch;
    Dims dims = in_shared_ ? Dims{slots_} : Dims{extent_of(lines_), s_.n};
    keys_ = {names_.fresh("keys"), type_, dims, scope, {}};
    places_ = {names_.fresh("places"), in_shared_ ? DType::i32 : DType::i64, dims, scope, {}};
    if (in_shared_) parts.shared = {keys_, places_};
    Stmt body = in_shared_ ? by_parts()
                           : block({collect(Expr(0), to_expr(s_.n), Expr(0)), barrier(),
                                    network(to_expr(s_.n), kMerges)});
    body = block({std::move(body), write()});
    parts.body = bind_axes(lines_, vars_.block(), std::move(body));
    std::vector<Stmt> all = {launch(vars_, std::move(parts), target_, names_)};
    for (size_t i = 2; i < linear_.stages.size(); ++i) {
      const ComputeStmt& stage = linear_.stages[i];
      all.push_back(
          stage_launch(
              {stage.buffer, {linear_.store_index.at(stage.buffer)}, stage.axes, stage.value},
              linear_.facts, target_, names_)
              .launch);
    }
    std::vector<Buffer> workspace;
    for (const Buffer& b : linear_.temporaries) {
      if (b.name != linear_.stages[0].buffer) workspace.push_back(b);
    }
    if (!in_shared_) workspace.insert(workspace.end(), {keys_, places_});
    return finish_schedule(f_, linear_, with_workspace(workspace, block(std::move(all))), "sort");
  }

 private:
  void choose_memory() {
    threads_ = target_.max_threads;
    const auto most = f_.facts.upper_bound(s_.n);
    while (most && threads_ > target_.lanes && *most <= threads_) threads_ /= 2;
    const int64_t room = target_.shared_bytes / static_cast<int64_t>(size_of(type_) + 4);
    slots_ = 1;
    while (slots_ * 2 <= std::min(room, threads_ * kEach)) slots_ *= 2;
    // Half of the slots is for what comes new.
    in_shared_ = f_.facts.proves_le(s_.n, slots_) || f_.facts.proves_le(s_.k, slots_ / 2);
  }

  Stmt barrier() const {
    return make_stmt(BarrierStmt{in_shared_ ? Scope::shared : Scope::global});
  }
  std::vector<Expr> slot(const Expr& at) const {
    return in_shared_ ? std::vector<Expr>{at} : std::vector<Expr>{vars_.block(), at};
  }
  Expr key(const Expr& at) const { return load(keys_.name, type_, slot(at)); }
  Expr place(const Expr& at) const { return load(places_.name, places_.dtype, slot(at)); }
  Stmt shared_out(const std::string& i, const Expr& count, Stmt body) const {
    return for_loop(i, vars_.thread(), count, LoopKind::serial, std::move(body), threads_);
  }

  /// slots to .. to + count from the elements begin ..
  Stmt collect(const Expr& begin, const Expr& count, const Expr& to) {
    const std::string i = names_.fresh("i");
    const Expr from = begin + var(i), at = to + var(i);
    return shared_out(i, count,
                      block({store(keys_.name, slot(at), sorted_element(ranks_, from)),
                             store(places_.name, slot(at), cast(places_.dtype, from))}));
  }

  /// The first part fills all slots, each further one those behind the best k.
  Stmt by_parts() {
    const std::string part = names_.fresh("part"), held = names_.fresh("held"),
                      begin = names_.fresh("begin"), fresh = names_.fresh("fresh");
    const Expr n = to_expr(s_.n), k = to_expr(s_.k), slots(slots_);
    int64_t merges = 0;
    while ((int64_t{1} << merges) < slots_) ++merges;
    if (f_.facts.proves_le(s_.n, slots_))
      return block({collect(Expr(0), n, Expr(0)), barrier(), network(n, merges)});
    const DimExpr parts = max(ceildiv(s_.n - s_.k, max(slots_ - s_.k, 1)), 1);
    Stmt body = block({collect(var(begin), var(fresh), var(held)), barrier(),
                       network(var(held) + var(fresh), merges)});
    body = let_all({{held, select(equal(var(part), Expr(0)), Expr(0), k)},
                    {begin, var(held) + var(part) * (slots - k)},
                    {fresh, min(n - var(begin), slots - var(held))}},
                   std::move(body));
    return for_loop(part, 0, to_expr(parts), LoopKind::serial, std::move(body));
  }

  /// Sorts the first `count` slots. Pair p of a step of distance d: the lower element is
  /// (p / d) 2 d + p % d; d is a power of two.
  Stmt network(const Expr& count, int64_t merges) {
    const std::string merge = names_.fresh("merge"), step = names_.fresh("step"),
                      p = names_.fresh("pair"), shift = names_.fresh("shift"),
                      d = names_.fresh("d"), low = names_.fresh("low"), high = names_.fresh("high"),
                      offset = names_.fresh("offset"), base = names_.fresh("base"),
                      m = names_.fresh("m"), a = names_.fresh("a"), b = names_.fresh("b"),
                      i = names_.fresh("at_a"), j = names_.fresh("at_b");
    const DType pt = places_.dtype;
    const Expr va = var(a, type_), vb = var(b, type_), pi = var(i, pt), pj = var(j, pt);
    Stmt exchange = only_if(
        stands_before(s_.largest, vb, pj, va, pi),
        block({store(keys_.name, slot(var(low)), vb), store(keys_.name, slot(var(high)), va),
               store(places_.name, slot(var(low)), pj), store(places_.name, slot(var(high)), pi)}));
    exchange = let_all(
        {{a, key(var(low))}, {b, key(var(high))}, {i, place(var(low))}, {j, place(var(high))}},
        std::move(exchange));
    const Expr mirrored = var(base) + (Expr(2) * var(d) - Expr(1) - var(offset));
    const Expr straight = var(base) + var(offset) + var(d);
    exchange = let_all({{offset, binary(BinaryOp::bit_and, var(p), var(d) - Expr(1))},
                        {base, binary(BinaryOp::shl, binary(BinaryOp::shr, var(p), var(shift)),
                                      var(shift) + Expr(1))},
                        {low, var(base) + var(offset)},
                        {high, select(equal(var(step), Expr(0)), mirrored, straight)}},
                       only_if(var(high) < var(m), std::move(exchange)));
    const Expr pairs =
        binary(BinaryOp::shl,
               binary(BinaryOp::shr, var(m) + Expr(2) * var(d) - Expr(1), var(shift) + Expr(1)),
               var(shift));
    Stmt one = block({shared_out(p, pairs, std::move(exchange)), barrier()});
    one =
        let_all({{shift, var(merge) - var(step)}, {d, binary(BinaryOp::shl, Expr(1), var(shift))}},
                std::move(one));
    // A loop without steps, and no condition: some OpenCL compilers get barriers in both wrong.
    const Expr needed = binary(BinaryOp::shl, Expr(1), var(merge)) < var(m);
    Stmt steps = for_loop(step, 0, select(needed, var(merge) + Expr(1), Expr(0)), LoopKind::serial,
                          std::move(one));
    return let(m, count, for_loop(merge, 0, Expr(merges), LoopKind::serial, std::move(steps)));
  }

  Stmt write() {
    const std::string q = names_.fresh("q");
    std::map<std::string, Expr> at = renamed_;
    at[wanted_] = var(q);
    const std::string& positions = linear_.stages[1].buffer;
    return shared_out(q, to_expr(s_.k),
                      store(positions, {substitute(linear_.store_index.at(positions), at)},
                            cast(DType::i64, place(var(q)))));
  }

  const TileFunction& f_;
  const GpuTarget& target_;
  NameSource names_;
  LaunchVars vars_;
  Sorting s_;
  LinearForm linear_;
  std::vector<Axis> lines_;
  std::map<std::string, Expr> renamed_;
  std::string wanted_;
  Expr ranks_;
  DType type_ = DType::f32;
  int threads_ = 1;
  int64_t slots_ = 1;
  bool in_shared_ = false;
  Buffer keys_, places_;
};

}  // namespace

std::optional<TileFunction> schedule_sort(const TileFunction& f, const ComputeForm& form,
                                          const GpuTarget& target) {
  const auto sorting = match_sorting(form);
  if (!sorting) return std::nullopt;
  return Template(f, form, *sorting, target).build();
}

}  // namespace symtile::gpu
