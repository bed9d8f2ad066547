// Ring arithmetic of DimExpr: products of atoms, and sums kept sorted and merged.
#include <algorithm>

#include "symtile/shape/dim_node.h"

namespace symtile {

// ---------------------------------------------------------------------------- products of atoms

DimFactors multiply_factors(const DimFactors& a, const DimFactors& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  DimFactors out;
  out.reserve(a.size() + b.size());
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() || j < b.size()) {
    const int c = i == a.size() ? 1 : j == b.size() ? -1 : DimAtom::compare(a[i].first, b[j].first);
    if (c < 0) {
      out.push_back(a[i++]);
    } else if (c > 0) {
      out.push_back(b[j++]);
    } else {
      const int power = a[i].second + b[j].second;
      if (power > kMaxDimPower) {
        fail(DiagId::dimension_overflow, {},
             "a dimension to the power {} does not fit in 64 bits unless it is 0 or 1", power);
      }
      out.emplace_back(a[i].first, power);
      ++i;
      ++j;
    }
  }
  return out;
}

std::optional<DimFactors> divide_factors(const DimFactors& a, const DimFactors& divisor) {
  DimFactors out;
  size_t j = 0;
  for (const auto& [atom, power] : a) {
    const bool hit = j < divisor.size() && DimAtom::compare(atom, divisor[j].first) == 0;
    const int rest = hit ? power - divisor[j++].second : power;
    if (rest < 0) return std::nullopt;
    if (rest > 0) out.emplace_back(atom, rest);
  }
  if (j != divisor.size()) return std::nullopt;
  return out;
}

// ---------------------------------------------------------------------------- sums

DimExpr DimExpr::from_terms(std::vector<DimTerm> terms) {
  return DimBuilder::sum(std::move(terms));
}

DimExpr DimBuilder::term(int64_t coefficient, DimFactors factors) {
  std::vector<DimTerm> terms;
  if (coefficient != 0) terms.push_back(DimTerm{coefficient, std::move(factors)});
  return finish(std::move(terms));
}

DimExpr DimBuilder::sum(std::vector<DimTerm> terms) {
  std::sort(terms.begin(), terms.end(), [](const DimTerm& a, const DimTerm& b) {
    return compare_factors(a.factors, b.factors) < 0;
  });
  size_t kept = 0;
  for (size_t i = 0; i < terms.size();) {
    Wide total = 0;
    size_t j = i;
    for (; j < terms.size() && compare_factors(terms[i].factors, terms[j].factors) == 0; ++j) {
      total += terms[j].coefficient;
    }
    if (!fits_int64(total)) {
      fail(DiagId::dimension_overflow, {},
           "a coefficient of a dimension formula does not fit in 64 bits");
    }
    if (total != 0) {
      if (kept != i) terms[kept] = std::move(terms[i]);
      terms[kept].coefficient = static_cast<int64_t>(total);
      ++kept;
    }
    i = j;
  }
  terms.resize(kept);
  return sorted_sum(std::move(terms));
}

DimExpr DimBuilder::sorted_sum(std::vector<DimTerm> terms) {
  if (terms.size() > kMaxDimTerms) {
    fail(DiagId::too_large, {}, "a dimension formula has {} terms; at most {}", terms.size(),
         kMaxDimTerms);
  }
  DimExpr whole = finish(std::move(terms));
  if (!whole.node_->has_mod || !whole.node_->has_div) return whole;
  // c*k*(x // c) + k*(x % c) = k*x, with k any product.
  const auto& list = whole.node_->terms;
  for (size_t i = 0; i < list.size(); ++i) {
    for (size_t f = 0; f < list[i].factors.size(); ++f) {
      const auto& [mod, power] = list[i].factors[f];
      if (mod.kind != DimAtom::Kind::floormod || power != 1) continue;
      const auto divisor = mod.args[1].as_const();
      if (!divisor) continue;
      const DimExpr quotient = floordiv(mod.args[0], mod.args[1]);
      const DimAtom* div = as_atom(quotient);
      if (div == nullptr) continue;
      DimFactors rest = list[i].factors;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(f));
      const DimFactors wanted = multiply_factors(rest, {{*div, 1}});
      for (size_t j = 0; j < list.size(); ++j) {
        if (compare_factors(list[j].factors, wanted) != 0) continue;
        if (Wide{list[i].coefficient} * *divisor != list[j].coefficient) break;
        std::vector<DimTerm> others;
        for (size_t k = 0; k < list.size(); ++k) {
          if (k != i && k != j) others.push_back(list[k]);
        }
        return sorted_sum(std::move(others)) + term(list[i].coefficient, rest) * mod.args[0];
      }
    }
  }
  return whole;
}

DimExpr DimBuilder::add(const DimExpr& a, const DimExpr& b, bool negate_b) {
  if (a.is_unknown() || b.is_unknown()) return DimExpr::unknown();
  const auto& ta = a.node_->terms;
  const auto& tb = b.node_->terms;
  if (tb.empty()) return a;
  if (ta.empty() && !negate_b) return b;
  const auto signed_coefficient = [negate_b](const DimTerm& t) {
    return negate_b ? checked_mul(t.coefficient, -1) : t.coefficient;
  };
  if (ta.size() <= 1 && tb.size() == 1) {
    if (const auto ca = a.as_const(), cb = b.as_const(); ca && cb) {
      return DimExpr(negate_b ? static_cast<int64_t>([&] {
        int64_t out = 0;
        if (__builtin_sub_overflow(*ca, *cb, &out)) {
          fail(DiagId::dimension_overflow, {}, "{} - {} does not fit in 64 bits", *ca, *cb);
        }
        return out;
      }())
                              : checked_add(*ca, *cb));
    }
  }
  std::vector<DimTerm> out;
  out.reserve(ta.size() + tb.size());
  size_t i = 0;
  size_t j = 0;
  while (i < ta.size() || j < tb.size()) {
    const int c = i == ta.size()   ? 1
                  : j == tb.size() ? -1
                                   : compare_factors(ta[i].factors, tb[j].factors);
    if (c < 0) {
      out.push_back(ta[i++]);
    } else if (c > 0) {
      out.push_back(DimTerm{signed_coefficient(tb[j]), tb[j].factors});
      ++j;
    } else {
      const Wide total = negate_b ? Wide{ta[i].coefficient} - tb[j].coefficient
                                  : Wide{ta[i].coefficient} + tb[j].coefficient;
      if (!fits_int64(total)) {
        fail(DiagId::dimension_overflow, {}, "a coefficient of {} {} {} does not fit in 64 bits",
             a.str(), negate_b ? "-" : "+", b.str());
      }
      if (total != 0) out.push_back(DimTerm{static_cast<int64_t>(total), ta[i].factors});
      ++i;
      ++j;
    }
  }
  return out.empty() ? DimExpr(0) : sorted_sum(std::move(out));
}

DimExpr DimBuilder::multiply(const DimExpr& a, const DimExpr& b) {
  if (a.is_unknown() || b.is_unknown()) return DimExpr::unknown();
  const auto ca = a.as_const();
  const auto cb = b.as_const();
  if (ca && cb) return DimExpr(checked_mul(*ca, *cb));
  if (ca || cb) {
    const int64_t k = ca ? *ca : *cb;
    if (k == 0) return DimExpr(0);
    if (k == 1) return ca ? b : a;
    std::vector<DimTerm> terms = (ca ? b : a).node_->terms;
    for (DimTerm& t : terms) t.coefficient = checked_mul(t.coefficient, k);
    return finish(std::move(terms));
  }
  const size_t count = a.terms().size() * b.terms().size();
  if (count > kMaxDimTerms) {
    fail(DiagId::too_large, {}, "a product of dimension formulas has {} terms; at most {}", count,
         kMaxDimTerms);
  }
  std::vector<DimTerm> terms;
  terms.reserve(count);
  for (const DimTerm& x : a.node_->terms) {
    for (const DimTerm& y : b.node_->terms) {
      terms.push_back(DimTerm{checked_mul(x.coefficient, y.coefficient),
                              multiply_factors(x.factors, y.factors)});
    }
  }
  return sum(std::move(terms));
}

DimExpr operator+(const DimExpr& a, const DimExpr& b) { return DimBuilder::add(a, b, false); }
DimExpr operator-(const DimExpr& a, const DimExpr& b) { return DimBuilder::add(a, b, true); }
DimExpr operator*(const DimExpr& a, const DimExpr& b) { return DimBuilder::multiply(a, b); }
DimExpr operator-(const DimExpr& a) { return DimBuilder::multiply(DimExpr(-1), a); }

DimExpr product(const std::vector<DimExpr>& dims) {
  DimExpr out = 1;
  for (const DimExpr& d : dims) out *= d;
  return out;
}

}  // namespace symtile
