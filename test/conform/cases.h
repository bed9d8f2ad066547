// Conformance cases: every sample of every operator record, at its own shape and at others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "symtile/op/op.h"

namespace symtile::test {

/// One sample of one operator, deduced.
struct Case {
  const OpRecord* op = nullptr;
  int number = 0;
  OpSample sample;
  OpCall call;                      ///< argument i is value i; absent where the sample has none
  std::vector<Constant> constants;  ///< by argument
  std::vector<Type> results;
  std::vector<DimCheck> checks;
  Facts facts;  ///< what the checks establish

  std::string name() const;
};

/// All samples of the operators whose name is `only` (all when empty).
std::vector<Case> all_cases(const std::string& only);

/// What a case runs on.
struct Variation {
  DimValues symbols;
  bool special = false;  ///< NaN, infinities, zeros, ties, extreme integers among the inputs
  std::string text() const;
  friend bool operator==(const Variation&, const Variation&) = default;
};

/// The sample's own shape, then 0, 1, odd, prime, large and mixed extents, then special values.
std::vector<Variation> variations_of(const Case& c);

struct Reference {
  std::vector<RefTensor> inputs;  ///< by argument; rounded to their dtypes
  std::vector<RefTensor> outputs;
};

/// Random inputs and what the reference meaning makes of them; nullopt where the operator does not
/// allow the shape or the values.
std::optional<Reference> evaluate(const Case& c, const Variation& variation);

/// Why the two differ; empty when they agree within `tolerance` of the largest number.
std::string difference(const RefTensor& expected, const RefTensor& actual, double tolerance);

std::vector<int64_t> extents_of(const Dims& dims, const DimValues& symbols);

}  // namespace symtile::test
