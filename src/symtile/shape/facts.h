// What is known about symbols, and the prover that every part of the compiler asks.
//
// Facts are ranges (1 <= n <= 4096), divisibility (n % 8 == 0), equalities and inequalities.
// A symbol without a range is a dimension: it lies in [0, kMaxDim]; a range without one end takes
// that end of a dimension. Every answer is sound: `true`
// means proved for all values that satisfy the facts; `false` means "not proved", never
// "disproved". Sources of method: interval arithmetic over canonical polynomials, modular residues,
// and substitution by equalities; checked against Z3 and brute force in the tests.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "symtile/shape/dim_expr.h"

namespace symtile {

/// No dimension is larger: products of a few still fit in 64 bits for bounds.
inline constexpr int64_t kMaxDim = int64_t{1} << 40;

/// Closed interval; a missing end is unbounded.
struct DimRange {
  std::optional<int64_t> low;
  std::optional<int64_t> high;
  friend bool operator==(const DimRange&, const DimRange&) = default;
};

class Closure;
class Facts;

/// The prover's working form of a set of facts, made at the first question after a change. It
/// follows from the facts, so all slots are equal; questions may come from several threads.
class ClosureSlot {
 public:
  ClosureSlot() = default;
  ClosureSlot(const ClosureSlot& other) : closure_(other.closure_.load()) {}
  ClosureSlot& operator=(const ClosureSlot& other) {
    closure_.store(other.closure_.load());
    return *this;
  }
  std::shared_ptr<const Closure> get(const Facts& facts) const;
  void reset() { closure_.store(nullptr); }
  friend bool operator==(const ClosureSlot&, const ClosureSlot&) { return true; }

 private:
  mutable std::atomic<std::shared_ptr<const Closure>> closure_;
};

class Facts {
 public:
  /// Intersects the range of `symbol`; an empty range is a bad_shape_fact diagnostic.
  void bound(const std::string& symbol, std::optional<int64_t> low, std::optional<int64_t> high);
  /// expr % divisor == 0
  void assume_divisible(const DimExpr& expr, int64_t divisor);
  /// a == b; oriented into a substitution when one side is (or can be solved for) a symbol.
  void assume_equal(const DimExpr& a, const DimExpr& b);
  /// a <= b
  void assume_le(const DimExpr& a, const DimExpr& b);

  bool proves_equal(const DimExpr& a, const DimExpr& b) const;
  bool proves_not_equal(const DimExpr& a, const DimExpr& b) const;
  bool proves_le(const DimExpr& a, const DimExpr& b) const;
  bool proves_lt(const DimExpr& a, const DimExpr& b) const { return proves_le(a + 1, b); }
  bool proves_divisible(const DimExpr& a, int64_t divisor) const;
  /// Sound bounds of `a` over all values that satisfy the facts.
  DimRange range(const DimExpr& a) const;
  std::optional<int64_t> upper_bound(const DimExpr& a) const { return range(a).high; }
  std::optional<int64_t> lower_bound(const DimExpr& a) const { return range(a).low; }

  /// Rewrites with the facts: known equalities, floordiv/floormod by known divisors,
  /// min/max with a provably smaller side.
  DimExpr simplify(const DimExpr& a) const;

  /// Solves lhs == rhs for `symbol`: the expression that `symbol` must equal, if unique and
  /// exact under the facts ("b*s == t" with s != 0 gives b = t // s).
  std::optional<DimExpr> solve(const DimExpr& lhs, const DimExpr& rhs,
                               const std::string& symbol) const;

  /// "1 <= n <= 4096", "n % 8 == 0", ... one string a fact, in a stable order.
  std::vector<std::string> str() const;
  /// Parses and assumes one fact of the form `str` prints (also "n=LO..HI"); bad_shape_fact.
  void assume_text(const std::string& text);
  /// Adds every fact of `other`.
  void merge(const Facts& other);

  struct Relation {
    DimExpr a, b;
    friend bool operator==(const Relation&, const Relation&) = default;
  };
  const std::map<std::string, DimRange>& ranges() const { return ranges_; }
  const std::vector<std::pair<DimExpr, int64_t>>& divisors() const { return divisors_; }
  const std::vector<Relation>& equalities() const { return equalities_; }
  const std::vector<Relation>& inequalities() const { return inequalities_; }
  friend bool operator==(const Facts&, const Facts&) = default;

 private:
  std::shared_ptr<const Closure> closure() const { return slot_.get(*this); }
  void reject_contradiction(const std::string& fact);

  std::map<std::string, DimRange> ranges_;
  std::vector<std::pair<DimExpr, int64_t>> divisors_;
  std::vector<Relation> equalities_;
  std::vector<Relation> inequalities_;  ///< a <= b
  ClosureSlot slot_;
};

}  // namespace symtile
