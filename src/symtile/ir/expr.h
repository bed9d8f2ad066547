// Scalar expressions of tile functions: immutable shared trees.
//
// Index expressions have dtype i64 and name loop variables and the function's symbols alike
// (a symbol is just an i64 variable). `Load` reads one element at an index list that must be
// in bounds; the untaken side of a `select` is not evaluated, so `select(i < n, x[i], 0)` is the
// way to guard a load (backends may evaluate it speculatively only when that cannot fault).
// f16/bf16 operands: arithmetic is done in f32; a node of dtype f16 rounds once when stored.
// Reductions are exact in any order for ints; for floats the order is unspecified.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "symtile/ir/graph.h"

namespace symtile {

enum class UnaryOp : uint8_t {
#define UNARY_OP(name) name,
#include "symtile/ir/scalar_ops.def"
};
enum class BinaryOp : uint8_t {
#define BINARY_OP(name) name,
#include "symtile/ir/scalar_ops.def"
};
std::string_view name_of(UnaryOp op);
std::string_view name_of(BinaryOp op);
bool is_comparison(BinaryOp op);

/// argmax/argmin give the i64 position along their single axis of the first best element
/// (`_last`: the last one); a NaN is best. max/min propagate NaN. Over nothing: sum 0, prod 1,
/// max/min the lowest/highest value of the dtype (-inf/+inf for floats), any false, all true.
enum class ReduceKind : uint8_t {
  sum,
  prod,
  max,
  min,
  any,
  all,
  argmax,
  argmin,
  argmax_last,
  argmin_last
};
std::string_view name_of(ReduceKind kind);

struct ExprNode;

class Expr {
 public:
  Expr() = default;
  Expr(int64_t value);                                    // NOLINT: i64 immediate
  Expr(int value) : Expr(static_cast<int64_t>(value)) {}  // NOLINT
  explicit Expr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}

  bool defined() const { return node_ != nullptr; }
  DType dtype() const;
  const ExprNode& node() const { return *node_; }
  template <typename T>
  const T* as() const;
  /// Value of an integer (or bool) immediate.
  std::optional<int64_t> as_int() const;
  bool is_int(int64_t value) const { return as_int() == value; }
  bool same_as(const Expr& other) const { return node_ == other.node_; }
  std::string str() const;

 private:
  std::shared_ptr<const ExprNode> node_;
};

bool structurally_equal(const Expr& a, const Expr& b);

/// One axis of a compute stage, reduction or loop nest: 0 <= name < extent.
struct Axis {
  std::string name;
  DimExpr extent;
  friend bool operator==(const Axis&, const Axis&) = default;
};

struct IntImm {
  DType dtype;
  int64_t value;
};
struct FloatImm {
  DType dtype;
  double value;
};
struct VarRef {
  DType dtype;
  std::string name;
};
struct Load {
  DType dtype;
  std::string buffer;
  std::vector<Expr> indices;
};
struct UnaryExpr {
  DType dtype;
  UnaryOp op;
  Expr a;
};
/// Both operands have one dtype (shifts too).
struct BinaryExpr {
  DType dtype;
  BinaryOp op;
  Expr a, b;
};
struct SelectExpr {
  DType dtype;
  Expr condition, then_value, else_value;
};
/// float->int truncates and saturates (NaN -> 0, as Rust `as`); int->int wraps; x->bool is x != 0.
struct CastExpr {
  DType dtype;
  Expr a;
};
struct ReduceExpr {
  DType dtype;
  ReduceKind kind;
  std::vector<Axis> axes;
  Expr body;
};

struct ExprNode {
  std::variant<IntImm, FloatImm, VarRef, Load, UnaryExpr, BinaryExpr, SelectExpr, CastExpr,
               ReduceExpr>
      value;
};

template <typename T>
const T* Expr::as() const {
  return node_ ? std::get_if<T>(&node_->value) : nullptr;
}

// Makers. They fold constants and trivial identities (x+0, x*1, select on an immediate) and
// CHECK operand dtypes.
Expr int_imm(DType dtype, int64_t value);
Expr float_imm(DType dtype, double value);
/// Immediate of any dtype from a number.
Expr imm(DType dtype, double value);
Expr bool_imm(bool value);
Expr var(std::string name, DType dtype = DType::i64);
Expr load(std::string buffer, DType dtype, std::vector<Expr> indices);
Expr unary(UnaryOp op, Expr a);
Expr binary(BinaryOp op, Expr a, Expr b);
Expr select(Expr condition, Expr then_value, Expr else_value);
Expr cast(DType dtype, Expr a);
Expr reduce(ReduceKind kind, std::vector<Axis> axes, Expr body);
/// The same value as an i64 expression over variables.
Expr to_expr(const DimExpr& dim);
/// The reverse for index arithmetic (add, sub, mul, floordiv, floormod, min, max, immediates,
/// variables); nullopt for anything else.
std::optional<DimExpr> to_dim_expr(const Expr& expr);

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);  ///< BinaryOp::div
Expr operator-(Expr a);
Expr floordiv(Expr a, Expr b);
Expr floormod(Expr a, Expr b);
Expr min(Expr a, Expr b);
Expr max(Expr a, Expr b);
Expr operator<(Expr a, Expr b);
Expr operator<=(Expr a, Expr b);
Expr operator>(Expr a, Expr b);
Expr operator>=(Expr a, Expr b);
Expr equal(Expr a, Expr b);
Expr not_equal(Expr a, Expr b);
Expr operator&&(Expr a, Expr b);
Expr operator||(Expr a, Expr b);
Expr operator!(Expr a);

/// Rebuilds `e` bottom-up with `f` applied to every node after its children; f returns its
/// argument to keep it.
Expr rewrite(const Expr& e, const std::function<Expr(const Expr&)>& f);
/// Calls f for every node, parents first.
void visit(const Expr& e, const std::function<void(const Expr&)>& f);
/// Replaces variables by name.
Expr substitute(const Expr& e, const std::map<std::string, Expr>& map);
/// Also simplifies i64 index arithmetic with the facts (loop ranges included in `facts`).
Expr simplify(const Expr& e, const Facts& facts);

}  // namespace symtile
