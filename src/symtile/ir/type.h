// The annotation on every value of a graph function.
//
//   Tensor[(b, s, 384), f32]   shape known as formulas; a dimension may be "?"
//   Tensor[*, f32]             rank unknown
//   Shape[(b, s)]              a first-class shape
//   Scalar[i64]                Tuple[T, U]   Func[(T) -> U]   Object
// A dtype is always known. "?" is DimExpr::unknown(): only what is unknown is erased.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "symtile/base/dtype.h"
#include "symtile/shape/facts.h"

namespace symtile {

using Dims = std::vector<DimExpr>;

struct Type {
  enum class Kind : uint8_t { tensor, shape, scalar, tuple, func, object };
  Kind kind = Kind::object;
  DType dtype = DType::f32;    ///< tensor, scalar
  std::optional<Dims> dims;    ///< tensor, shape; nullopt: rank unknown
  std::vector<Type> elements;  ///< tuple: members; func: parameters, then the result
  bool pure = true;            ///< func

  static Type tensor(Dims dims, DType dtype) {
    return {Kind::tensor, dtype, std::move(dims), {}, true};
  }
  static Type tensor_of_rank(int rank, DType dtype) {
    return tensor(Dims(static_cast<size_t>(rank), DimExpr::unknown()), dtype);
  }
  static Type tensor_any_rank(DType dtype) { return {Kind::tensor, dtype, std::nullopt, {}, true}; }
  static Type shape(Dims dims) { return {Kind::shape, DType::i64, std::move(dims), {}, true}; }
  static Type scalar(DType dtype) { return {Kind::scalar, dtype, std::nullopt, {}, true}; }
  static Type tuple(std::vector<Type> members) {
    return {Kind::tuple, DType::f32, std::nullopt, std::move(members), true};
  }
  static Type object() { return {}; }

  bool is_tensor() const { return kind == Kind::tensor; }
  bool is_tuple() const { return kind == Kind::tuple; }
  bool has_rank() const { return dims.has_value(); }
  /// Rank of a tensor or shape; -1 when unknown.
  int rank() const { return dims ? static_cast<int>(dims->size()) : -1; }
  /// True when the rank and every dimension are known formulas.
  bool fully_known() const;
  std::string str() const;

  void collect_symbols(std::set<std::string>& out) const;
  Type substitute(const DimSubstitution& map) const;
  /// Dimensions that mention a symbol outside `scope` become "?" (Relax's EraseToWellDefined,
  /// per dimension instead of per shape).
  Type erase_outside(const std::set<std::string>& scope) const;

  /// Structural equality; "?" equals "?" here.
  friend bool operator==(const Type& a, const Type& b);
};

/// Least upper bound: what two branches of an `if` have in common.
/// nullopt when kinds or dtypes differ.
std::optional<Type> join(const Type& a, const Type& b, const Facts& facts);

/// How an argument type relates to a parameter type (FACTS: L0..L3).
enum class Match : uint8_t {
  exact,       ///< provably fits: nothing to check at run time
  possible,    ///< may fit: check at run time
  impossible,  ///< provably does not fit: compile error
};

/// Matches `argument` with `parameter`, left to right. A bare symbol of `parameter` that is in
/// `free_symbols` and not yet in `bound` is bound at first sight. On `impossible`, `why` names
/// the dimension and both expressions.
Match match_type(const Type& parameter, const Type& argument, const Facts& facts,
                 const std::set<std::string>& free_symbols, DimSubstitution& bound,
                 std::string* why);

}  // namespace symtile
