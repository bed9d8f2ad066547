#include "symtile/shape/linear.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "symtile/shape/dim_node.h"

namespace symtile {
namespace {

constexpr double kTolerance = 1e-7;
constexpr int kMaxPivots = 200;

// ---------------------------------------------------------------------------- exact rationals

struct Overflow {};

Wide times(Wide a, Wide b) {
  Wide out = 0;
  if (__builtin_mul_overflow(a, b, &out)) throw Overflow{};
  return out;
}

Wide plus(Wide a, Wide b) {
  Wide out = 0;
  if (__builtin_add_overflow(a, b, &out)) throw Overflow{};
  return out;
}

struct Rational {
  Wide num = 0;
  Wide den = 1;  ///< positive
};

Rational make_rational(Wide num, Wide den) {
  if (den < 0) {
    num = times(num, -1);
    den = times(den, -1);
  }
  Wide a = num < 0 ? -num : num;
  Wide b = den;
  while (b != 0) {
    const Wide t = a % b;
    a = b;
    b = t;
  }
  return {num / a, den / a};
}

Rational operator-(const Rational& a, const Rational& b) {
  if (b.num == 0) return a;
  return make_rational(plus(times(a.num, b.den), -times(b.num, a.den)), times(a.den, b.den));
}
Rational operator*(const Rational& a, const Rational& b) {
  if (a.num == 0 || b.num == 0) return {};
  return make_rational(times(a.num, b.num), times(a.den, b.den));
}
Rational operator/(const Rational& a, const Rational& b) {
  return make_rational(times(a.num, b.den), times(a.den, b.num));
}

// Solves matrix * x = right (rows >= columns); nothing if singular or inconsistent.
std::optional<std::vector<Rational>> solve_exactly(std::vector<std::vector<Rational>> matrix,
                                                   std::vector<Rational> right) {
  const size_t rows = matrix.size();
  const size_t columns = rows == 0 ? 0 : matrix[0].size();
  for (size_t c = 0; c < columns; ++c) {
    size_t pivot = c;
    while (pivot < rows && matrix[pivot][c].num == 0) ++pivot;
    if (pivot >= rows) return std::nullopt;
    std::swap(matrix[c], matrix[pivot]);
    std::swap(right[c], right[pivot]);
    for (size_t r = 0; r < rows; ++r) {
      if (r == c || matrix[r][c].num == 0) continue;
      const Rational factor = matrix[r][c] / matrix[c][c];
      for (size_t k = c; k < columns; ++k) matrix[r][k] = matrix[r][k] - factor * matrix[c][k];
      right[r] = right[r] - factor * right[c];
    }
  }
  for (size_t r = columns; r < rows; ++r) {
    if (right[r].num != 0) return std::nullopt;
  }
  std::vector<Rational> out(columns);
  for (size_t c = 0; c < columns; ++c) out[c] = right[c] / matrix[c][c];
  return out;
}

// ---------------------------------------------------------------------------- the program

// Columns are constraints (multipliers), rows are products of atoms.
struct Problem {
  std::vector<std::vector<int64_t>> columns;
  std::vector<int64_t> constants;
  std::vector<int64_t> target;
  int64_t target_constant = 0;
};

struct FactorsLess {
  bool operator()(const DimFactors* a, const DimFactors* b) const {
    return compare_factors(*a, *b) < 0;
  }
};

Problem make_problem(const DimExpr& e, const std::vector<DimExpr>& constraints) {
  std::map<const DimFactors*, size_t, FactorsLess> rows;
  const auto index = [&](const DimExpr& x) {
    for (const DimTerm& t : x.terms()) {
      if (!t.factors.empty()) rows.try_emplace(&t.factors, rows.size());
    }
  };
  index(e);
  for (const DimExpr& c : constraints) index(c);
  const auto column = [&](const DimExpr& x) {
    std::vector<int64_t> out(rows.size(), 0);
    for (const DimTerm& t : x.terms()) {
      if (!t.factors.empty()) out[rows.at(&t.factors)] = t.coefficient;
    }
    return out;
  };
  Problem p;
  for (const DimExpr& c : constraints) {
    p.columns.push_back(column(c));
    p.constants.push_back(constant_part(c));
  }
  p.target = column(e);
  p.target_constant = constant_part(e);
  return p;
}

// The simplex method on a dense tableau in floating point; artificial columns come last.
class Simplex {
 public:
  explicit Simplex(const Problem& p)
      : rows_(p.target.size()), columns_(p.columns.size()), width_(columns_ + rows_ + 1) {
    cells_.assign((rows_ + 1) * width_, 0.0);
    basis_.resize(rows_);
    for (size_t r = 0; r < rows_; ++r) {
      const double sign = p.target[r] < 0 ? -1.0 : 1.0;
      for (size_t c = 0; c < columns_; ++c) {
        at(r, c) = sign * static_cast<double>(p.columns[c][r]);
      }
      at(r, columns_ + r) = 1.0;
      at(r, width_ - 1) = sign * static_cast<double>(p.target[r]);
      basis_[r] = columns_ + r;
    }
  }

  /// Phase one: multipliers that produce the target at all.
  bool find_feasible() {
    for (size_t c = 0; c < width_; ++c) {
      double sum = 0;
      for (size_t r = 0; r < rows_; ++r) sum += at(r, c);
      at(rows_, c) = c >= columns_ && c + 1 < width_ ? 0.0 : -sum;
    }
    if (!descend()) return false;
    if (at(rows_, width_ - 1) < -1e-6) return false;
    // Artificial columns that stay basic at zero must not grow again: pivot them out.
    for (size_t r = 0; r < rows_; ++r) {
      if (basis_[r] < columns_) continue;
      for (size_t c = 0; c < columns_; ++c) {
        if (std::fabs(at(r, c)) > kTolerance) {
          pivot(r, c);
          break;
        }
      }
    }
    return true;
  }

  /// Phase two: the smallest sum of constants. False when it is unbounded.
  bool minimise(const std::vector<int64_t>& cost) {
    for (size_t c = 0; c < width_; ++c) {
      at(rows_, c) = c < columns_ ? static_cast<double>(cost[c]) : 0.0;
    }
    for (size_t r = 0; r < rows_; ++r) {
      if (basis_[r] >= columns_) continue;
      const double k = static_cast<double>(cost[basis_[r]]);
      for (size_t c = 0; c < width_; ++c) at(rows_, c) -= k * at(r, c);
    }
    return descend();
  }

  /// Basic multipliers, and the column along which an unbounded program escapes.
  std::vector<size_t> basic_columns() const {
    std::vector<size_t> out;
    for (const size_t c : basis_) {
      if (c < columns_) out.push_back(c);
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  size_t escape() const { return escape_; }
  double escape_slope() const { return at(rows_, escape_); }
  double objective() const { return -at(rows_, width_ - 1); }

 private:
  double& at(size_t r, size_t c) { return cells_[r * width_ + c]; }
  double at(size_t r, size_t c) const { return cells_[r * width_ + c]; }

  bool descend() {
    for (int step = 0; step < kMaxPivots; ++step) {
      // Steepest column first; Bland's rule (first column) later, which cannot cycle.
      size_t enter = columns_;
      for (size_t c = 0; c < columns_; ++c) {
        if (at(rows_, c) >= -kTolerance) continue;
        if (enter == columns_ || at(rows_, c) < at(rows_, enter)) enter = c;
        if (step > kMaxPivots / 2) break;
      }
      if (enter == columns_) return true;
      size_t leave = rows_;
      double best = 0;
      for (size_t r = 0; r < rows_; ++r) {
        if (at(r, enter) <= kTolerance) continue;
        const double ratio = at(r, width_ - 1) / at(r, enter);
        if (leave == rows_ || ratio < best || (ratio == best && basis_[r] < basis_[leave])) {
          best = ratio;
          leave = r;
        }
      }
      if (leave == rows_) {
        escape_ = enter;
        return false;
      }
      pivot(leave, enter);
    }
    return true;  // any feasible point is a valid bound
  }

  void pivot(size_t row, size_t column) {
    const double k = at(row, column);
    for (size_t c = 0; c < width_; ++c) at(row, c) /= k;
    for (size_t r = 0; r <= rows_; ++r) {
      if (r == row) continue;
      const double factor = at(r, column);
      if (factor == 0.0) continue;
      for (size_t c = 0; c < width_; ++c) at(r, c) -= factor * at(row, c);
    }
    basis_[row] = column;
  }

  size_t rows_;
  size_t columns_;
  size_t width_;
  size_t escape_ = 0;
  std::vector<double> cells_;
  std::vector<size_t> basis_;
};

// The bound that the given columns certify, with `amount` of one more column taken first.
std::optional<Wide> certify(const Problem& p, const std::vector<size_t>& columns, size_t extra,
                            Wide amount) {
  try {
    std::vector<std::vector<Rational>> matrix(p.target.size());
    std::vector<Rational> right(p.target.size());
    for (size_t r = 0; r < p.target.size(); ++r) {
      right[r].num = p.target[r];
      if (amount != 0) right[r].num = plus(right[r].num, -times(amount, p.columns[extra][r]));
      for (const size_t c : columns) matrix[r].push_back(Rational{p.columns[c][r], 1});
    }
    const auto multipliers = solve_exactly(std::move(matrix), std::move(right));
    if (!multipliers) return std::nullopt;
    Rational bound{p.target_constant, 1};
    if (amount != 0) bound.num = plus(bound.num, -times(amount, p.constants[extra]));
    for (size_t i = 0; i < columns.size(); ++i) {
      if ((*multipliers)[i].num < 0) return std::nullopt;
      bound = bound - (*multipliers)[i] * Rational{p.constants[columns[i]], 1};
    }
    return -floor_div(-bound.num, bound.den);  // an integer is at least the rounded-up bound
  } catch (const Overflow&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<Wide> linear_lower_bound(const DimExpr& e, const std::vector<DimExpr>& constraints,
                                       int64_t enough) {
  const Problem p = make_problem(e, constraints);
  Simplex simplex(p);
  if (!simplex.find_feasible()) return std::nullopt;
  if (simplex.minimise(p.constants)) return certify(p, simplex.basic_columns(), 0, 0);
  // Contradicting constraints: go along the ray as far as the question needs.
  const double wanted =
      static_cast<double>(enough) - (static_cast<double>(p.target_constant) - simplex.objective());
  const double distance = std::ceil(std::max(1.0, 2.0 * wanted / -simplex.escape_slope()) + 1.0);
  if (!(distance < 1e15)) return std::nullopt;
  return certify(p, simplex.basic_columns(), simplex.escape(), static_cast<Wide>(distance));
}

}  // namespace symtile
