// Building the closure of a set of facts.
#include "symtile/shape/closure.h"

#include <algorithm>

#include "symtile/shape/dim_node.h"

namespace symtile {
namespace {

// u * inverse = 1 modulo d, for coprime u and d.
int64_t inverse_modulo(int64_t u, int64_t d) {
  Wide r0 = d;
  Wide r1 = floor_mod(u, d);
  Wide t0 = 0;
  Wide t1 = 1;
  while (r1 != 0) {
    const Wide q = r0 / r1;
    const Wide r2 = r0 - q * r1;
    const Wide t2 = t0 - q * t1;
    r0 = r1;
    r1 = r2;
    t0 = t1;
    t1 = t2;
  }
  return static_cast<int64_t>(floor_mod(t0, Wide{d}));
}

// Its name has a '/', which DimExpr::symbol rejects: no symbol of a user can be mistaken for it.
DimExpr quotient_symbol(const std::string& name) {
  return DimBuilder::atom(DimAtom{DimAtom::Kind::symbol, name, {}});
}

Wide ceil_div(Wide a, Wide b) { return -floor_div(-a, b); }

}  // namespace

/// Checks of chained broadcasts of unknown extents are polynomials of nested max and min whose size
/// grows exponentially; no proof has use for them, and every proof would have to read them.
static constexpr int kMaxFactWeight = 400;

Closure::Closure(const Facts& facts) {
  for (const auto& [symbol, range] : facts.ranges()) {
    // A missing end is that of a dimension.
    ranges_[symbol] = Interval{range.low ? Wide{*range.low} : Wide{0},
                               range.high ? Wide{*range.high} : Wide{kMaxDim}};
  }
  for (const auto& [symbol, range] : facts.ranges()) {
    if (range.low && range.low == range.high) replace_symbol(symbol, DimExpr(*range.low), false);
  }
  for (const auto& e : facts.equalities()) {
    const std::string preferred = e.a.as_symbol().value_or("");
    const DimExpr difference = (e.a - e.b).substitute(equal_);
    if (auto solved = orient(difference, preferred)) {
      replace_symbol(solved->symbol, solved->value, false);
    } else if (DimBuilder::weight(difference) <= kMaxFactWeight) {
      add_equality(difference);
    }
  }
  for (const auto& [e, d] : facts.divisors()) add_divisible(e, d);
  for (const auto& e : facts.inequalities()) {
    const DimExpr difference = e.b - e.a;
    if (DimBuilder::weight(difference) <= kMaxFactWeight) add_nonnegative(difference);
  }
  for (auto& e : nonnegative_) e = reduce(e);
  for (auto& e : zero_) e = reduce(e);
  for (auto& [e, d] : divisible_) e = reduce(e);
  tighten();
}

void Closure::restrict(const std::string& symbol, const Interval& to) {
  Interval& r = ranges_.try_emplace(symbol, range(symbol)).first->second;
  r = intersect(r, to);
  known_interval_.clear();
  if (r.is_empty()) contradictory_ = true;
}

void Closure::replace_symbol(const std::string& symbol, const DimExpr& by, bool internal) {
  const DimSubstitution one = {{symbol, by}};
  for (auto& [name, value] : equal_) {
    // An internal quotient must not leak into what the user sees.
    if (!internal) value = value.substitute(one);
  }
  for (auto& [name, value] : internal_) value = value.substitute(one);
  for (auto& e : nonnegative_) e = e.substitute(one);
  for (auto& e : zero_) e = e.substitute(one);
  for (auto& [e, d] : divisible_) e = e.substitute(one);
  (internal ? internal_ : equal_)[symbol] = by;
  // The range of the replaced symbol is now knowledge about the expression.
  const Interval r = range(symbol);
  if (const auto value = by.as_const()) {
    if (intersect(r, Interval::exactly(*value)).is_empty()) contradictory_ = true;
    return;
  }
  if (r.low && fits_int64(*r.low)) add_nonnegative(by - DimExpr(static_cast<int64_t>(*r.low)));
  if (r.high && fits_int64(*r.high)) add_nonnegative(DimExpr(static_cast<int64_t>(*r.high)) - by);
}

void Closure::add_equality(const DimExpr& difference) {
  if (const auto value = difference.as_const()) {
    if (*value != 0) contradictory_ = true;
    return;
  }
  zero_.push_back(difference);
}

void Closure::add_nonnegative(const DimExpr& fact) {
  const DimExpr e = fact.substitute(equal_).substitute(internal_);
  if (const auto value = e.as_const()) {
    if (*value < 0) contradictory_ = true;
    return;
  }
  if (const auto affine = as_affine(e)) {
    const Wide bound = -Wide{affine->constant};
    if (affine->scale > 0) {
      restrict(affine->symbol, {ceil_div(bound, affine->scale), std::nullopt});
    } else {
      restrict(affine->symbol, {std::nullopt, floor_div(bound, Wide{affine->scale})});
    }
    return;
  }
  nonnegative_.push_back(e);
}

void Closure::add_divisible(const DimExpr& fact, int64_t d) {
  DimExpr e = fact.substitute(equal_).substitute(internal_);
  if (const auto affine = as_affine(e)) {
    const int64_t g = gcd64(gcd64(affine->scale, affine->constant), d);
    const int64_t modulus = d / g;
    const int64_t scale = floor_mod(affine->scale / g, modulus);
    const int64_t constant = floor_mod(affine->constant / g, modulus);
    if (modulus == 1) return;
    if (gcd64(scale, modulus) != 1) {
      // What is left of the common factor does not divide the constant.
      if (constant % gcd64(scale, modulus) != 0) contradictory_ = true;
      return;
    }
    const Wide product = Wide{inverse_modulo(scale, modulus)} * (modulus - constant);
    const int64_t offset = static_cast<int64_t>(floor_mod(product, Wide{modulus}));
    const std::string quotient = affine->symbol + "/" + std::to_string(modulus);
    const Interval r = range(affine->symbol);
    Interval q;
    if (r.low) q.low = ceil_div(*r.low - offset, modulus);
    if (r.high) q.high = floor_div(*r.high - offset, Wide{modulus});
    if (q.is_empty()) contradictory_ = true;
    ranges_[quotient] = q;
    replace_symbol(affine->symbol, modulus * quotient_symbol(quotient) + offset, true);
    return;
  }
  if (const auto value = e.as_const()) {
    if (floor_mod(*value, d) != 0) contradictory_ = true;
    return;
  }
  divisible_.emplace_back(std::move(e), d);
}

// Every inequality bounds each symbol that stands alone in one of its terms.
void Closure::tighten() {
  for (int round = 0; round < 3 && !contradictory_; ++round) {
    std::vector<DimExpr> all = nonnegative_;
    for (const DimExpr& e : zero_) {
      all.push_back(e);
      all.push_back(-e);
    }
    for (const DimExpr& e : all) {
      for (const DimTerm& t : e.terms()) {
        if (t.factors.size() != 1 || t.factors[0].second != 1) continue;
        const DimAtom& atom = t.factors[0].first;
        if (atom.kind != DimAtom::Kind::symbol) continue;
        const Interval rest = interval(e - DimBuilder::term(t.coefficient, t.factors));
        if (!rest.high) continue;
        if (t.coefficient > 0) {
          restrict(atom.name, {ceil_div(-*rest.high, t.coefficient), std::nullopt});
        } else {
          restrict(atom.name, {std::nullopt, floor_div(*rest.high, -Wide{t.coefficient})});
        }
      }
    }
  }
}

Closure Closure::with_nonnegative(const DimExpr& e) const {
  Closure out = *this;
  out.add_nonnegative(e);
  out.tighten();
  return out;
}

Closure Closure::with_residue(const std::string& symbol, int64_t step, int64_t offset,
                              DimExpr* value) const {
  Closure out = *this;
  const std::string quotient = symbol + "/" + std::to_string(step);
  const Interval r = range(symbol);
  Interval q;
  if (r.low) q.low = ceil_div(*r.low - offset, step);
  if (r.high) q.high = floor_div(*r.high - offset, Wide{step});
  if (q.is_empty()) out.contradictory_ = true;
  out.ranges_[quotient] = q;
  *value = step * quotient_symbol(quotient) + offset;
  out.replace_symbol(symbol, *value, true);
  for (auto& e : out.nonnegative_) e = out.reduce(e);
  for (auto& e : out.zero_) e = out.reduce(e);
  return out;
}

Closure Closure::with_replaced(const DimAtom& from, const DimExpr& to) const {
  Closure out = *this;
  std::vector<DimExpr> facts;
  facts.swap(out.nonnegative_);
  for (const DimExpr& e : facts) out.add_nonnegative(out.reduce(DimBuilder::replace(e, from, to)));
  for (auto& e : out.zero_) e = out.reduce(DimBuilder::replace(e, from, to));
  for (auto& [e, d] : out.divisible_) e = out.reduce(DimBuilder::replace(e, from, to));
  out.tighten();
  return out;
}

}  // namespace symtile
