#include "symtile/ir/expr.h"

#include <bit>

#include "symtile/diag/diagnostic.h"
#include "symtile/ir/expr_node.h"

namespace symtile {

std::string_view name_of(UnaryOp op) {
  switch (op) {
#define UNARY_OP(name) \
  case UnaryOp::name:  \
    return #name;
#include "symtile/ir/scalar_ops.def"
  }
  SYMTILE_UNREACHABLE();
}

std::string_view name_of(BinaryOp op) {
  switch (op) {
#define BINARY_OP(name) \
  case BinaryOp::name:  \
    return #name;
#include "symtile/ir/scalar_ops.def"
  }
  SYMTILE_UNREACHABLE();
}

std::string_view name_of(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::sum:
      return "sum";
    case ReduceKind::prod:
      return "prod";
    case ReduceKind::max:
      return "max";
    case ReduceKind::min:
      return "min";
    case ReduceKind::any:
      return "any";
    case ReduceKind::all:
      return "all";
    case ReduceKind::argmax:
      return "argmax";
    case ReduceKind::argmin:
      return "argmin";
    case ReduceKind::argmax_last:
      return "argmax_last";
    case ReduceKind::argmin_last:
      return "argmin_last";
  }
  SYMTILE_UNREACHABLE();
}

bool is_comparison(BinaryOp op) { return op >= BinaryOp::eq && op <= BinaryOp::ge; }

DType Expr::dtype() const {
  SYMTILE_CHECK(node_, "an undefined expression has no dtype");
  return std::visit([](const auto& n) { return n.dtype; }, node_->value);
}

std::optional<int64_t> Expr::as_int() const {
  const IntImm* i = as<IntImm>();
  return i ? std::optional(i->value) : std::nullopt;
}

namespace {

struct NodeEquality {
  bool operator()(const IntImm& a, const IntImm& b) const { return a.value == b.value; }
  // Bits, so that NaN equals itself and the zeros differ.
  bool operator()(const FloatImm& a, const FloatImm& b) const {
    return std::bit_cast<uint64_t>(a.value) == std::bit_cast<uint64_t>(b.value);
  }
  bool operator()(const VarRef& a, const VarRef& b) const { return a.name == b.name; }
  bool operator()(const Load& a, const Load& b) const {
    if (a.buffer != b.buffer || a.indices.size() != b.indices.size()) return false;
    for (size_t i = 0; i < a.indices.size(); ++i) {
      if (!structurally_equal(a.indices[i], b.indices[i])) return false;
    }
    return true;
  }
  bool operator()(const UnaryExpr& a, const UnaryExpr& b) const {
    return a.op == b.op && structurally_equal(a.a, b.a);
  }
  bool operator()(const BinaryExpr& a, const BinaryExpr& b) const {
    return a.op == b.op && structurally_equal(a.a, b.a) && structurally_equal(a.b, b.b);
  }
  bool operator()(const SelectExpr& a, const SelectExpr& b) const {
    return structurally_equal(a.condition, b.condition) &&
           structurally_equal(a.then_value, b.then_value) &&
           structurally_equal(a.else_value, b.else_value);
  }
  bool operator()(const CastExpr& a, const CastExpr& b) const {
    return structurally_equal(a.a, b.a);
  }
  bool operator()(const ReduceExpr& a, const ReduceExpr& b) const {
    return a.kind == b.kind && a.axes == b.axes && structurally_equal(a.body, b.body);
  }
  template <typename A, typename B>
  bool operator()(const A&, const B&) const {
    return false;
  }
};

}  // namespace

bool structurally_equal(const Expr& a, const Expr& b) {
  if (a.same_as(b)) return true;
  if (!a.defined() || !b.defined() || a.dtype() != b.dtype()) return false;
  return std::visit(NodeEquality{}, a.node().value, b.node().value);
}

Expr to_expr(const DimExpr& dim) {
  SYMTILE_CHECK(!dim.is_unknown(), "an unknown dimension is not an expression");
  const auto atom_expr = [](const DimAtom& atom) -> Expr {
    if (atom.kind == DimAtom::Kind::symbol) return var(atom.name);
    Expr a = to_expr(atom.args.at(0)), b = to_expr(atom.args.at(1));
    switch (atom.kind) {
      case DimAtom::Kind::floordiv:
        return floordiv(a, b);
      case DimAtom::Kind::floormod:
        return floormod(a, b);
      case DimAtom::Kind::min:
        return min(a, b);
      default:
        return max(a, b);
    }
  };
  Expr sum;
  for (const DimTerm& term : dim.terms()) {
    Expr factors;
    for (const auto& [atom, power] : term.factors) {
      const Expr factor = atom_expr(atom);
      for (int i = 0; i < power; ++i) factors = factors.defined() ? factors * factor : factor;
    }
    const int64_t c = term.coefficient;
    const bool subtract = sum.defined() && c < 0 && c != INT64_MIN;
    const Expr scale(subtract ? -c : c);
    const Expr product = factors.defined() ? factors * scale : scale;
    if (!sum.defined()) {
      sum = product;
    } else {
      sum = subtract ? sum - product : sum + product;
    }
  }
  return sum.defined() ? sum : Expr(0);
}

namespace {

std::optional<DimExpr> convert(const Expr& e);

std::optional<DimExpr> convert_binary(const BinaryExpr& n) {
  switch (n.op) {
    case BinaryOp::add:
    case BinaryOp::sub:
    case BinaryOp::mul:
    case BinaryOp::floordiv:
    case BinaryOp::floormod:
    case BinaryOp::min:
    case BinaryOp::max:
      break;
    default:
      return std::nullopt;
  }
  const auto a = convert(n.a);
  const auto b = a ? convert(n.b) : std::nullopt;
  if (!b) return std::nullopt;
  switch (n.op) {
    case BinaryOp::add:
      return *a + *b;
    case BinaryOp::sub:
      return *a - *b;
    case BinaryOp::mul:
      return *a * *b;
    case BinaryOp::min:
      return min(*a, *b);
    case BinaryOp::max:
      return max(*a, *b);
    default:
      break;
  }
  // As an expression x // 0 is 0; as a dimension it is an error.
  if (b->is_const(0)) return std::nullopt;
  return n.op == BinaryOp::floordiv ? floordiv(*a, *b) : floormod(*a, *b);
}

std::optional<DimExpr> convert(const Expr& e) {
  if (e.dtype() != DType::i64) return std::nullopt;
  if (const IntImm* i = e.as<IntImm>()) return DimExpr(i->value);
  if (const VarRef* v = e.as<VarRef>()) return DimExpr::symbol(v->name);
  if (const BinaryExpr* b = e.as<BinaryExpr>()) return convert_binary(*b);
  if (const UnaryExpr* u = e.as<UnaryExpr>(); u && u->op == UnaryOp::neg) {
    if (auto a = convert(u->a)) return -*a;
  }
  return std::nullopt;
}

}  // namespace

std::optional<DimExpr> to_dim_expr(const Expr& expr) {
  try {
    return convert(expr);
  } catch (const DiagnosticError&) {
    return std::nullopt;  // constants that leave 64 bits wrap here, so it is no dimension
  }
}

}  // namespace symtile
