// ONNX shape arithmetic as formulas.
//
// ONNX models compute shapes with ordinary operators on small tensors. Here such a tensor may be
// known element by element: as a dimension formula, as an exact fraction of one (float chains such
// as Cast -> Mul(0.5) -> Floor -> Cast), or not at all. Rules compute the outputs of an operator
// from known inputs; what has no rule, or is not decidable, is imported normally.
//
// Float tensors are taken to hold what exact arithmetic gives. That agrees with IEEE arithmetic
// while dimensions are below 2^24; quotients that IEEE would round are only ever rounded to
// integers, which agrees too. Anything else in floats is left to run time.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {

inline constexpr size_t kMaxKnownElements = 64;

struct KnownElement {
  DimExpr value;            ///< the numerator; "?" when the element is not known
  int64_t denominator = 1;  ///< above 1 in float tensors only

  static KnownElement unknown() { return {DimExpr::unknown(), 1}; }
  bool is_known() const { return !value.is_unknown(); }
  /// The number, when it is a whole constant.
  std::optional<int64_t> as_const() const {
    return is_known() && denominator == 1 ? value.as_const() : std::nullopt;
  }
};

struct KnownTensor {
  DType dtype = DType::i64;
  std::vector<int64_t> dims;
  std::vector<KnownElement> elements;  ///< row-major, as many as dims say

  static KnownTensor vector(DType dtype, std::vector<KnownElement> elements);
  size_t rank() const { return dims.size(); }

  bool complete() const;  ///< every element is known
  bool any_known() const;
  /// Formulas of a complete integer or bool tensor.
  std::optional<Dims> formulas() const;
  /// Numbers of a complete tensor of whole constants.
  std::optional<std::vector<int64_t>> numbers() const;
  Type type() const;
};

/// Nullopt for more elements, or floats that are not short exact fractions.
std::optional<KnownTensor> known_from_constant(const ConstantData& data);
/// Null when an element is symbolic or unknown.
Constant constant_from_known(const KnownTensor& known);

/// The number of elements of a type with constant dimensions, when that is few enough.
std::optional<int64_t> small_element_count(const Type& type);

/// An import context that also tells what is known about inputs.
class KnownContext : public ImportContext {
 public:
  virtual const KnownTensor* known(int i) = 0;  ///< null when nothing is known
};

using KnownOutputs = std::vector<KnownTensor>;

/// The outputs of the node as far as they are known; empty when there is no rule or nothing is
/// known. An incomplete output still has to be imported normally.
KnownOutputs evaluate_shape_rule(KnownContext& c);

// ---- elements (shape_elements.cpp): an unknown element stands for "not decidable"
using ElementRule = KnownElement (*)(const KnownElement&, const KnownElement&, DType, const Facts&);
/// Null when the operator type is not a binary elementwise operator with a rule.
ElementRule find_binary_rule(std::string_view op_type);
using UnaryElementRule = KnownElement (*)(const KnownElement&, DType, const Facts&);
UnaryElementRule find_unary_rule(std::string_view op_type);
KnownElement cast_element(const KnownElement& x, DType from, DType to, const Facts& facts);
/// Remainder with the sign of the dividend (Mod with fmod=1).
KnownElement truncated_mod(const KnownElement& a, const KnownElement& b, DType t,
                           const Facts& facts);
/// `x` when it is a value of the dtype that arithmetic there gives exactly, otherwise unknown.
KnownElement representable(KnownElement x, DType dtype);

}  // namespace symtile::onnx_import
