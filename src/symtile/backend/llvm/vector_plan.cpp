#include "symtile/backend/llvm/vector_plan.h"

#include <algorithm>
#include <unordered_set>

namespace symtile::codegen {
namespace {

/// Loops are not cut into pieces shorter than this.
constexpr int64_t kShortestSegment = 5;

bool is_reduction_op(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
    case BinaryOp::mul:
    case BinaryOp::min:
    case BinaryOp::max:
    case BinaryOp::bit_and:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor:
    case BinaryOp::logical_and:
    case BinaryOp::logical_or:
    case BinaryOp::logical_xor:
      return true;
    default:
      return false;
  }
}

/// Calls f once for every distinct node: expressions are shared trees, and a plain walk of one
/// may be exponential.
void visit_once(const Expr& e, std::unordered_set<const ExprNode*>& seen,
                const std::function<void(const Expr&)>& f) {
  if (!e.defined() || !seen.insert(&e.node()).second) return;
  f(e);
  const auto go = [&](const Expr& child) { visit_once(child, seen, f); };
  if (const auto* n = e.as<Load>()) {
    for (const Expr& i : n->indices) go(i);
  } else if (const auto* n = e.as<UnaryExpr>()) {
    go(n->a);
  } else if (const auto* n = e.as<BinaryExpr>()) {
    go(n->a);
    go(n->b);
  } else if (const auto* n = e.as<SelectExpr>()) {
    go(n->condition);
    go(n->then_value);
    go(n->else_value);
  } else if (const auto* n = e.as<CastExpr>()) {
    go(n->a);
  } else if (const auto* n = e.as<ReduceExpr>()) {
    go(n->body);
  }
}

int cost_of(UnaryOp op) {
  switch (op) {
    case UnaryOp::exp:
    case UnaryOp::log:
    case UnaryOp::sigmoid:
    case UnaryOp::tanh:
    case UnaryOp::erf:
      return 16;
    case UnaryOp::sin:
    case UnaryOp::cos:
    case UnaryOp::tan:
    case UnaryOp::expm1:
    case UnaryOp::log1p:
    case UnaryOp::asin:
    case UnaryOp::acos:
    case UnaryOp::atan:
    case UnaryOp::sinh:
    case UnaryOp::cosh:
    case UnaryOp::asinh:
    case UnaryOp::acosh:
    case UnaryOp::atanh:
      return 40;
    default:
      return 1;
  }
}

class Planner {
 public:
  explicit Planner(const ForStmt& loop) : loop_var_(loop.var) {
    varying_.insert(loop.var);
    plan_.possible = true;
    walk(loop.body);
    // Text that means different things in two places is left alone.
    std::erase_if(plan_.divisions, [&](const LaneDivision& d) { return has(ambiguous_, d); });
    // A reduction buffer may be touched by its updates only, and by them in one way.
    for (const auto& [buffer, reduction] : plan_.reductions) {
      (void)reduction;
      if (uses_[buffer] != updates_[buffer]) plan_.possible = false;
    }
  }
  VectorPlan take() { return std::move(plan_); }

 private:
  void give_up() { plan_.possible = false; }

  bool is_varying(const Expr& e) {
    bool varying = false;
    std::unordered_set<const ExprNode*> seen;
    visit_once(e, seen, [&](const Expr& node) {
      if (const auto* v = node.as<VarRef>()) varying |= varying_.count(v->name) > 0;
      if (const auto* l = node.as<Load>()) varying |= private_.count(l->buffer) > 0;
    });
    return varying;
  }
  bool is_varying(const std::vector<Expr>& list) {
    return std::any_of(list.begin(), list.end(), [&](const Expr& e) { return is_varying(e); });
  }

  static bool has(const std::vector<LaneDivision>& list, const LaneDivision& d) {
    return std::any_of(list.begin(), list.end(), [&](const LaneDivision& other) {
      return structurally_equal(other.dividend, d.dividend) &&
             structurally_equal(other.divisor, d.divisor);
    });
  }

  /// True when the value of `dim` stays the same during the loop.
  bool is_fixed(const DimExpr& dim) const {
    const std::set<std::string> symbols = dim.symbols();
    return std::none_of(symbols.begin(), symbols.end(), [&](const std::string& name) {
      return varying_.count(name) > 0 || inner_.count(name) > 0;
    });
  }

  void note_division(const BinaryExpr& n) {
    const LaneDivision division{n.a, n.b};
    const auto dividend = to_dim_expr(n.a);
    const auto divisor = to_dim_expr(n.b);
    const bool cut = dividend && divisor && !inner_.count(loop_var_) && is_fixed(*divisor) &&
                     is_fixed(*dividend - DimExpr::symbol(loop_var_)) &&
                     divisor->as_const().value_or(kShortestSegment) >= kShortestSegment;
    auto& list = cut ? plan_.divisions : ambiguous_;
    if (!has(list, division)) list.push_back(division);
  }

  /// Counts reads and costs of one expression root.
  void scan(const Expr& root) {
    std::unordered_set<const ExprNode*> seen;
    visit_once(root, seen, [&](const Expr& e) {
      if (const auto* l = e.as<Load>()) {
        ++uses_[l->buffer];
        note_bytes(l->dtype);
      }
      const auto* n = e.as<BinaryExpr>();
      if (n && n->a.dtype() == DType::i64 &&
          (n->op == BinaryOp::floordiv || n->op == BinaryOp::floormod)) {
        note_division(*n);
      }
      const bool is_index = !e.as<Load>() && e.dtype() == DType::i64;
      if (is_index) return;
      if (const auto* u = e.as<UnaryExpr>()) plan_.cost += cost_of(u->op);
      if (const auto* b = e.as<BinaryExpr>()) plan_.cost += b->op == BinaryOp::pow ? 60 : 1;
      if (e.as<SelectExpr>() || e.as<CastExpr>()) plan_.cost += 1;
      if (const auto* r = e.as<ReduceExpr>()) {
        plan_.has_loops = true;
        for (const Axis& axis : r->axes) {
          if (is_varying(to_expr(axis.extent))) give_up();
        }
      }
    });
  }
  void note_bytes(DType dtype) {
    plan_.element_bytes = std::max(plan_.element_bytes, static_cast<int>(size_of(dtype)));
    plan_.narrowest_bytes = std::min(plan_.narrowest_bytes, static_cast<int>(size_of(dtype)));
  }

  void walk(const Stmt& s) {
    if (!s || !plan_.possible) return;
    if (const auto* n = as<BlockStmt>(s)) {
      for (const Stmt& child : n->stmts) walk(child);
    } else if (const auto* n = as<AllocateStmt>(s)) {
      walk_allocate(*n);
    } else if (const auto* n = as<StoreStmt>(s)) {
      walk_store(*n);
    } else if (const auto* n = as<ForStmt>(s)) {
      scan(n->begin);
      scan(n->end);
      if (n->kind == LoopKind::vectorized || is_varying(n->begin) || is_varying(n->end)) {
        return give_up();
      }
      plan_.has_loops = true;
      with_local(n->var, false, [&] { walk(n->body); });
    } else if (const auto* n = as<LetStmt>(s)) {
      scan(n->value);
      with_local(n->var, is_varying(n->value), [&] { walk(n->body); });
    } else if (const auto* n = as<IfStmt>(s)) {
      scan(n->condition);
      walk(n->then_body);
      walk(n->else_body);
    } else if (const auto* n = as<TaskStmt>(s)) {
      if (is_varying(n->worker)) return give_up();
      plan_.has_loops = true;
      walk_task(*n, 0);
    } else if (as<ComputeStmt>(s)) {
      give_up();
    }
  }

  void walk_task(const TaskStmt& n, size_t i) {
    if (i == n.vars.size()) return walk(n.body);
    with_local(n.vars[i], false, [&] { walk_task(n, i + 1); });
  }

  void walk_allocate(const AllocateStmt& n) {
    for (const DimExpr& dim : n.buffer.dims) {
      if (!dim.is_const()) return give_up();
    }
    if (n.buffer.scope != Scope::local && n.buffer.scope != Scope::warp) return give_up();
    const bool inserted = private_.insert(n.buffer.name).second;
    walk(n.body);
    if (inserted) private_.erase(n.buffer.name);
  }

  void walk_store(const StoreStmt& n) {
    for (const Expr& i : n.indices) scan(i);
    scan(n.value);
    note_bytes(n.value.dtype());
    ++uses_[n.buffer];
    if (private_.count(n.buffer) || is_varying(n.indices) || !is_varying(n.value)) return;
    const auto update = match_reduction(n);
    if (!update) return give_up();
    updates_[n.buffer] += 2;  // the store and the load of its own place
    const bool fixed = std::none_of(n.indices.begin(), n.indices.end(), [&](const Expr& e) {
      bool inner = false;
      std::unordered_set<const ExprNode*> seen;
      visit_once(e, seen, [&](const Expr& node) {
        if (const auto* v = node.as<VarRef>()) inner |= inner_.count(v->name) > 0;
        if (node.as<Load>()) inner = true;
      });
      return inner;
    });
    const LaneReduction found{update->op, n.value.dtype(), n.indices, fixed};
    const auto [it, fresh] = plan_.reductions.try_emplace(n.buffer, found);
    if (fresh) return;
    if (it->second.op != update->op) return give_up();
    bool same = it->second.indices.size() == n.indices.size();
    for (size_t i = 0; same && i < n.indices.size(); ++i) {
      same = structurally_equal(it->second.indices[i], n.indices[i]);
    }
    if (!same || !fixed) it->second.single_place = false;
  }

  template <typename F>
  void with_local(const std::string& name, bool varying, F&& body) {
    const bool was_varying = varying_.count(name) > 0;
    const bool was_inner = !inner_.insert(name).second;
    varying ? (void)varying_.insert(name) : (void)varying_.erase(name);
    body();
    was_varying ? (void)varying_.insert(name) : (void)varying_.erase(name);
    if (!was_inner) inner_.erase(name);
  }

  VectorPlan plan_;
  std::string loop_var_;
  std::vector<LaneDivision> ambiguous_;
  std::set<std::string> varying_;       ///< variables that differ between lanes
  std::set<std::string> inner_;         ///< variables bound inside the loop
  std::set<std::string> private_;       ///< buffers allocated inside the loop
  std::map<std::string, int> uses_;     ///< loads and stores of each buffer
  std::map<std::string, int> updates_;  ///< those that belong to reduction updates
};

}  // namespace

bool reads_buffer(const Expr& e, const std::string& buffer) {
  bool reads = false;
  std::unordered_set<const ExprNode*> seen;
  visit_once(e, seen, [&](const Expr& node) {
    const auto* l = node.as<Load>();
    reads |= l && l->buffer == buffer;
  });
  return reads;
}

std::optional<ReductionUpdate> match_reduction(const StoreStmt& s) {
  const auto* node = s.value.as<BinaryExpr>();
  if (!node || !is_reduction_op(node->op)) return std::nullopt;
  const auto is_own_place = [&](const Expr& e) {
    const auto* l = e.as<Load>();
    if (!l || l->buffer != s.buffer || l->indices.size() != s.indices.size()) return false;
    for (size_t i = 0; i < s.indices.size(); ++i) {
      if (!structurally_equal(l->indices[i], s.indices[i])) return false;
    }
    return true;
  };
  if (is_own_place(node->a) && !reads_buffer(node->b, s.buffer)) {
    return ReductionUpdate{node->op, node->b};
  }
  if (is_own_place(node->b) && !reads_buffer(node->a, s.buffer)) {
    return ReductionUpdate{node->op, node->a};
  }
  return std::nullopt;
}

VectorPlan plan_vector_loop(const ForStmt& loop) { return Planner(loop).take(); }

}  // namespace symtile::codegen
