#include "symtile/ir/lower_tasks.h"

#include <limits>
#include <optional>
#include <set>

#include "symtile/base/check.h"
#include "symtile/diag/diagnostic.h"
#include "symtile/ir/stmt_walk.h"

namespace symtile {
namespace {

/// More repetitions than this stay loops.
constexpr int64_t kMaxUnrolled = 64;

class TaskLowering {
 public:
  explicit TaskLowering(const TaskStmt& task) : task_(task) {
    names_in(task.worker);
    for (const std::string& v : task.vars) taken_.insert(v);
    visit(
        task.body,
        [&](const Stmt& s) {
          if (const auto* f = as<ForStmt>(s)) taken_.insert(f->var);
          if (const auto* l = as<LetStmt>(s)) taken_.insert(l->var);
          if (const auto* t = as<TaskStmt>(s)) taken_.insert(t->vars.begin(), t->vars.end());
          if (const auto* a = as<AllocateStmt>(s)) {
            for (const DimExpr& d : a->buffer.dims) d.collect_symbols(taken_);
            for (const DimExpr& d : a->buffer.strides) d.collect_symbols(taken_);
          }
        },
        [&](const Expr& e) { names_in(e); });
    int64_t repeats = 1;
    for (const TaskMapping::Atom& atom : task.mapping.atoms()) {
      for (const DimExpr& d : atom.extents) d.collect_symbols(taken_);
      if (atom.kind != TaskMapping::Kind::repeat) continue;
      const auto n = product(atom.extents).as_const();
      repeats =
          n && *n <= kMaxUnrolled ? std::min(repeats * *n, kMaxUnrolled + 1) : kMaxUnrolled + 1;
    }
    loop_ = repeats <= kMaxUnrolled ? LoopKind::unrolled : LoopKind::serial;
  }

  Stmt build(const Facts& facts) {
    const std::string worker = fresh("worker");
    const std::vector<Expr> origin(task_.vars.size(), Expr(0));
    Stmt nest = atom(0, var(worker), origin);
    const DimExpr workers = task_.mapping.workers();
    const auto known = to_dim_expr(task_.worker);
    if (!known || !facts.proves_le(0, *known) || !facts.proves_lt(*known, workers)) {
      const Expr inside = Expr(0) <= var(worker) && var(worker) < to_expr(workers);
      nest = make_stmt(IfStmt{inside, std::move(nest), nullptr});
    }
    return make_stmt(LetStmt{worker, task_.worker, std::move(nest)});
  }

 private:
  void names_in(const Expr& root) {
    visit(root, [&](const Expr& e) {
      if (const auto* v = e.as<VarRef>()) taken_.insert(v->name);
      if (const auto* r = e.as<ReduceExpr>()) {
        for (const Axis& a : r->axes) taken_.insert(a.name);
      }
    });
  }

  std::string fresh(const std::string& hint) {
    std::string name = hint;
    for (int i = 1; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", hint, i);
    return name;
  }

  /// The tasks of the atoms from `i` on, offset by `base` in units of their task shape.
  Stmt atom(size_t i, const Expr& worker, const std::vector<Expr>& base) {
    const auto& atoms = task_.mapping.atoms();
    if (i == atoms.size()) return bind(base);
    const TaskMapping::Atom& at = atoms[i];
    const size_t rank = at.extents.size();
    std::vector<size_t> dim_of_rank(rank);
    for (size_t d = 0; d < rank; ++d) dim_of_rank[static_cast<size_t>(at.ranks[d])] = d;
    const auto offset = [&](size_t d, const Expr& step) {
      return base[d] * to_expr(at.extents[d]) + step;
    };
    std::vector<Expr> next(rank);
    if (at.kind == TaskMapping::Kind::spatial) {
      DimExpr inner(1);
      for (size_t j = i + 1; j < atoms.size(); ++j) {
        if (atoms[j].kind == TaskMapping::Kind::spatial) inner *= product(atoms[j].extents);
      }
      Expr index = floordiv(worker, to_expr(inner));
      const Expr rest = floormod(worker, to_expr(inner));
      for (size_t r = rank; r-- > 0;) {
        const size_t d = dim_of_rank[r];
        next[d] = offset(d, r == 0 ? index : floormod(index, to_expr(at.extents[d])));
        index = floordiv(index, to_expr(at.extents[d]));
      }
      return atom(i + 1, rest, next);
    }
    std::vector<std::string> steps(rank);
    for (size_t d = 0; d < rank; ++d) {
      const bool single = at.extents[d].is_const(1);
      if (!single) steps[d] = fresh("step");
      next[d] = offset(d, single ? Expr(0) : var(steps[d]));
    }
    Stmt body = atom(i + 1, worker, next);
    for (size_t r = rank; r-- > 0;) {
      const size_t d = dim_of_rank[r];
      if (!steps[d].empty())
        body = for_loop(steps[d], 0, to_expr(at.extents[d]), loop_, std::move(body));
    }
    return body;
  }

  Stmt bind(const std::vector<Expr>& task) {
    Stmt body = task_.body;
    for (size_t d = task.size(); d-- > 0;)
      body = make_stmt(LetStmt{task_.vars[d], task[d], std::move(body)});
    return body;
  }

  const TaskStmt& task_;
  std::set<std::string> taken_;
  LoopKind loop_ = LoopKind::serial;
};

/// Lowers the tasks below a statement with what is known of the variables in scope.
class FunctionLowering {
 public:
  explicit FunctionLowering(const TileFunction& f) : names_(f.symbols.begin(), f.symbols.end()) {}

  Stmt lower(const Stmt& s, const Facts& facts) {
    std::optional<Facts> inside;
    std::string bound;
    if (const auto* loop = as<ForStmt>(s)) {
      bound = loop->var;
      const auto begin = to_dim_expr(loop->begin), end = to_dim_expr(loop->end);
      const DimRange low = begin ? facts.range(*begin) : DimRange{};
      const DimRange high = end ? facts.range(*end - 1) : DimRange{};
      inside = with_variable(facts, bound, {low.low, high.high}, [&](Facts& f, const DimExpr& v) {
        if (begin) f.assume_le(*begin, v);
        if (end) f.assume_le(v + 1, *end);
      });
    } else if (const auto* let = as<LetStmt>(s)) {
      bound = let->var;
      const auto value = to_dim_expr(let->value);
      const DimRange range = value ? facts.range(*value) : DimRange{};
      inside = with_variable(facts, bound, range, [&](Facts& f, const DimExpr& v) {
        if (value) f.assume_equal(v, *value);
      });
    }
    const bool fresh = !bound.empty() && names_.insert(bound).second;
    const Stmt lowered = map_parts(
        s, [&](const Stmt& part) { return lower(part, inside ? *inside : facts); },
        [](const Expr& e) { return e; });
    if (fresh) names_.erase(bound);
    const auto* task = as<TaskStmt>(lowered);
    return task ? lower_tasks(*task, facts) : lowered;
  }

 private:
  template <typename F>
  Facts with_variable(const Facts& facts, const std::string& name, const DimRange& range,
                      F&& assume) const {
    // What is known under a name that this one hides does not hold of it: nothing is kept.
    if (names_.contains(name)) {
      Facts none;
      none.bound(name, -kMaxVariable, kMaxVariable);
      return none;
    }
    Facts out = facts;
    try {
      // Both ends are given: a symbol of the prover without a range would be a dimension.
      out.bound(name, range.low.value_or(-kMaxVariable), range.high.value_or(kMaxVariable));
      assume(out, DimExpr::symbol(name));
    } catch (const DiagnosticError&) {
      return facts;  // a contradiction: the body never runs
    }
    return out;
  }

  static constexpr int64_t kMaxVariable = std::numeric_limits<int64_t>::max();
  std::set<std::string> names_;
};

}  // namespace

Stmt lower_tasks(const TaskStmt& task, const Facts& facts) {
  SYMTILE_CHECK(static_cast<int>(task.vars.size()) == task.mapping.rank(), "{} variables for '{}'",
                task.vars.size(), task.mapping.str());
  return TaskLowering(task).build(facts);
}

TileFunction without_tasks(TileFunction f) {
  bool any = false;
  visit(f.body, [&](const Stmt& s) { any |= as<TaskStmt>(s) != nullptr; }, nullptr);
  if (any) f.body = FunctionLowering(f).lower(f.body, f.facts);
  return f;
}

}  // namespace symtile
