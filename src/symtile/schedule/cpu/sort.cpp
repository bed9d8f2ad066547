#include "symtile/schedule/cpu/sort.h"

#include "symtile/op/index/sort_order.h"
#include "symtile/transform/tile/sorting.h"

namespace symtile {
namespace {

/// Candidates beyond the wanted results: a sort every so many.
constexpr int64_t kSpare = 32;
/// Passes of merging: more than any extent needs.
constexpr int64_t kPasses = 62;

class Template {
 public:
  Template(const TileFunction& f, ComputeForm form, const Sorting& s, const CpuTarget& target)
      : f_(f), target_(target), names_(f), s_(s) {
    make_axes_distinct(form, names_);
    lines_ = form.stages[0].axes;
    lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(s_.axis));
    linear_ = linearize(f, form);
    // The same lines in the names of the second stage.
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
    capacity_ = f.facts.simplify(max(min(s_.n, 2 * s_.k + kSpare), 1));
  }

  TileFunction build() {
    const auto buffer = [&](const char* hint, DType type, Dims dims, Scope scope) {
      return Buffer{names_.fresh(hint), type, std::move(dims), scope, {}};
    };
    keys_ = buffer("keys", type_, {2, capacity_}, Scope::scratch);
    places_ = buffer("places", DType::i64, {2, capacity_}, Scope::scratch);
    limit_ = buffer("limit", type_, {1}, Scope::local);
    held_ = buffer("held", DType::i64, {1}, Scope::local);
    limited_ = buffer("limited", DType::i64, {1}, Scope::local);
    sorted_ = buffer("sorted", DType::i64, {1}, Scope::local);
    left_ = buffer("left", DType::i64, {1}, Scope::local);
    right_ = buffer("right", DType::i64, {1}, Scope::local);
    Stmt line = block({set(held_, Expr(0)), set(limited_, Expr(0)), set(sorted_, Expr(1)),
                       store(limit_.name, {Expr(0)}, imm(type_, 0)), collect(),
                       when(equal(get(sorted_), Expr(0)), sort(get(held_))), write()});
    for (const Buffer* b :
         {&right_, &left_, &sorted_, &limited_, &held_, &limit_, &places_, &keys_})
      line = allocate(*b, std::move(line));
    line = when(to_expr(s_.k) > Expr(0), std::move(line));
    std::vector<Stmt> all = {parallel_over(lines_, names_.fresh("line"), std::move(line))};
    // What follows is ordinary.
    StageEmitter emitter(linear_, target_, names_);
    for (size_t i = 2; i < linear_.stages.size(); ++i) {
      const ComputeStmt& stage = linear_.stages[i];
      const StageEmitter::Split split = emitter.split(stage, stage.axes);
      const Stmt body = split.inner.empty() ? emitter.emit_point(stage, {})
                                            : emitter.emit_range(stage, split.inner, Expr(0),
                                                                 to_expr(extent_of(split.inner)));
      all.push_back(parallel_over(split.outer, names_.fresh("p"), body));
    }
    Stmt body = block(std::move(all));
    for (const Buffer& b : linear_.temporaries) {
      if (b.name != linear_.stages[0].buffer) body = allocate(b, std::move(body));
    }
    return finish_schedule(f_, linear_, std::move(body), "sort");
  }

 private:
  static Expr get(const Buffer& b) { return load(b.name, b.dtype, {Expr(0)}); }
  static Stmt set(const Buffer& b, const Expr& value) { return store(b.name, {Expr(0)}, value); }
  static Stmt when(Expr condition, Stmt body) {
    return make_stmt(IfStmt{std::move(condition), std::move(body), nullptr});
  }
  Expr key(const Expr& side, const Expr& at) const { return load(keys_.name, type_, {side, at}); }
  Expr place(const Expr& side, const Expr& at) const {
    return load(places_.name, DType::i64, {side, at});
  }
  Expr above(const Expr& a, const Expr& b) const {
    return s_.largest ? sorts_above(a, b) : sorts_above(b, a);
  }

  Stmt collect() {
    const std::string i = names_.fresh("i"), v = names_.fresh("v");
    const Expr value = var(v, type_), k = to_expr(s_.k);
    Stmt full = block({sort(get(held_)), set(held_, k), set(limited_, Expr(1)),
                       set(limit_, key(Expr(0), k - Expr(1)))});
    Stmt take = block({store(keys_.name, {Expr(0), get(held_)}, value),
                       store(places_.name, {Expr(0), get(held_)}, var(i)),
                       set(held_, get(held_) + Expr(1)), set(sorted_, Expr(0)),
                       when(equal(get(held_), to_expr(capacity_)), std::move(full))});
    const Expr candidate = equal(get(limited_), Expr(0)) || above(value, get(limit_));
    return for_loop(i, 0, to_expr(s_.n), LoopKind::serial,
                    let(v, sorted_element(ranks_, var(i)), when(candidate, std::move(take))));
  }

  /// The first `count` candidates, by merging runs of 1, 2, 4, ... from one side to the other and
  /// back. Of equal elements the left one is first, which is the one further in front.
  Stmt sort(const Expr& count) {
    const std::string pass = names_.fresh("pass"), run = names_.fresh("run"),
                      width = names_.fresh("width"), begin = names_.fresh("begin"),
                      middle = names_.fresh("middle"), end = names_.fresh("end"),
                      t = names_.fresh("t"), l = names_.fresh("l"), r = names_.fresh("r"),
                      from_left = names_.fresh("from_left"), at = names_.fresh("at"),
                      m = names_.fresh("m"), c = names_.fresh("c");
    const Expr side = floormod(var(pass), Expr(2)), other = Expr(1) - side;
    const Expr last = var(m) - Expr(1);
    const Expr has_left = var(l) < var(middle), has_right = var(r) < var(end);
    // The positions that are read when a run is exhausted belong to its neighbour.
    const Expr left_key = key(side, min(var(l), last)), right_key = key(side, min(var(r), last));
    const Expr take_left = has_left && (!has_right || !above(right_key, left_key));
    const Expr one = cast(DType::i64, var(from_left, DType::boolean));
    Stmt step = block({store(keys_.name, {other, var(t)}, key(side, var(at))),
                       store(places_.name, {other, var(t)}, place(side, var(at))),
                       set(left_, var(l) + one), set(right_, var(r) + (Expr(1) - one))});
    step = let_all({{l, get(left_)},
                    {r, get(right_)},
                    {from_left, take_left},
                    {at, var(r) + one * (var(l) - var(r))}},
                   std::move(step));
    Stmt merge = block({set(left_, var(begin)), set(right_, var(middle)),
                        for_loop(t, var(begin), var(end), LoopKind::serial, std::move(step))});
    merge = let_all({{begin, var(run) * Expr(2) * var(width)},
                     {middle, min(var(begin) + var(width), var(m))},
                     {end, min(var(begin) + Expr(2) * var(width), var(m))}},
                    std::move(merge));
    const Expr runs = floordiv(var(m) - Expr(1), Expr(2) * var(width)) + Expr(1);
    Stmt one_pass = let(
        width, binary(BinaryOp::shl, Expr(1), var(pass)),
        when(var(width) < var(m), block({for_loop(run, 0, runs, LoopKind::serial, std::move(merge)),
                                         set(sorted_, var(pass) + Expr(1))})));
    // The number of passes says on which side the result is.
    const Stmt back = block({store(keys_.name, {Expr(0), var(c)}, key(Expr(1), var(c))),
                             store(places_.name, {Expr(0), var(c)}, place(Expr(1), var(c)))});
    return let(m, count,
               block({set(sorted_, Expr(0)),
                      for_loop(pass, 0, Expr(kPasses), LoopKind::serial, std::move(one_pass)),
                      when(equal(floormod(get(sorted_), Expr(2)), Expr(1)),
                           for_loop(c, 0, var(m), LoopKind::vectorized, back)),
                      set(sorted_, Expr(1))}));
  }

  Stmt write() {
    const std::string q = names_.fresh("q");
    std::map<std::string, Expr> at = renamed_;
    at[wanted_] = var(q);
    const std::string& positions = linear_.stages[1].buffer;
    return for_loop(q, 0, to_expr(s_.k), LoopKind::serial,
                    store(positions, {substitute(linear_.store_index.at(positions), at)},
                          place(Expr(0), var(q))));
  }

  const TileFunction& f_;
  const CpuTarget& target_;
  NameSource names_;
  Sorting s_;
  LinearForm linear_;
  std::vector<Axis> lines_;
  std::map<std::string, Expr> renamed_;
  std::string wanted_;
  Expr ranks_;
  DType type_ = DType::f32;
  DimExpr capacity_;
  Buffer keys_, places_, limit_, held_, limited_, sorted_, left_, right_;
};

}  // namespace

std::optional<TileFunction> schedule_sort(const TileFunction& f, const ComputeForm& form,
                                          const CpuTarget& target) {
  const auto sorting = match_sorting(form);
  if (!sorting) return std::nullopt;
  return Template(f, form, *sorting, target).build();
}

}  // namespace symtile
