// Collecting facts: each is checked against what is known, normalised and stored.
#include "symtile/shape/facts.h"

#include <algorithm>

#include "symtile/shape/closure.h"
#include "symtile/shape/dim_node.h"

namespace symtile {
namespace {

std::string describe_range(const std::string& symbol, const DimRange& r) {
  if (r.low && r.low == r.high) return fmt::format("{} == {}", symbol, *r.low);
  if (r.low && r.high) return fmt::format("{} <= {} <= {}", *r.low, symbol, *r.high);
  if (r.low) return fmt::format("{} >= {}", symbol, *r.low);
  if (r.high) return fmt::format("{} <= {}", symbol, *r.high);
  return {};
}

std::string describe_divisor(const DimExpr& e, int64_t d) {
  const std::string text = e.str();
  return fmt::format("{} % {} == 0", e.as_symbol() ? text : "(" + text + ")", d);
}

template <typename T>
bool contains(const std::vector<T>& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// A divisibility in its smallest form: e % d == 0.
struct Divisibility {
  DimExpr e;
  int64_t d;
};

// Nothing to know (d == 1), or nullopt when it cannot hold.
std::optional<Divisibility> normalise(const DimExpr& e, int64_t d) {
  const DimExpr remainder = floormod(e, DimExpr(d));
  if (const auto value = remainder.as_const()) {
    if (*value != 0) return std::nullopt;
    return Divisibility{DimExpr(0), 1};
  }
  // k*(x % c) + r is how the canonical form writes a common factor of e and d.
  const int64_t r = constant_part(remainder);
  const DimExpr varying = remainder - r;
  if (varying.terms().size() != 1) return Divisibility{remainder, d};
  const DimTerm& t = varying.terms()[0];
  if (t.factors.size() != 1 || t.factors[0].second != 1) return Divisibility{remainder, d};
  const DimAtom& atom = t.factors[0].first;
  if (atom.kind != DimAtom::Kind::floormod) return Divisibility{remainder, d};
  const auto c = atom.args[1].as_const();
  if (!c || *c <= 0) return Divisibility{remainder, d};
  if (r % t.coefficient != 0) return std::nullopt;
  const int64_t wanted = -(r / t.coefficient);
  if (wanted < 0 || wanted >= *c) return std::nullopt;
  const DimExpr x = atom.args[0] - wanted;
  const int64_t constant = constant_part(x);
  return Divisibility{x - constant + floor_mod(constant, *c), *c};
}

}  // namespace

std::shared_ptr<const Closure> ClosureSlot::get(const Facts& facts) const {
  auto made = closure_.load();
  if (!made) {
    made = std::make_shared<const Closure>(facts);
    closure_.store(made);
  }
  return made;
}

// A fact that contradicts the others would make everything provable; better to say so.
void Facts::reject_contradiction(const std::string& fact) {
  slot_.reset();
  if (equalities_.empty() && inequalities_.empty() && divisors_.empty()) return;
  if (closure()->contradictory()) {
    fail(DiagId::bad_shape_fact, {}, "'{}' contradicts what is known: {}", fact,
         fmt::join(str(), ", "));
  }
}

void Facts::bound(const std::string& symbol, std::optional<int64_t> low,
                  std::optional<int64_t> high) {
  if (!low && !high) return;
  DimRange next;
  if (const auto it = ranges_.find(symbol); it != ranges_.end()) next = it->second;
  if (low && (!next.low || *low > *next.low)) next.low = low;
  if (high && (!next.high || *high < *next.high)) next.high = high;
  const int64_t from = next.low.value_or(0);
  const int64_t to = next.high.value_or(kMaxDim);
  if (from > to) {
    fail(DiagId::bad_shape_fact, {}, "no value of '{}' satisfies {} <= {} <= {}", symbol, from,
         symbol, to);
  }
  Facts before = *this;
  ranges_[symbol] = next;
  try {
    reject_contradiction(describe_range(symbol, next));
  } catch (...) {
    *this = before;
    throw;
  }
}

void Facts::assume_divisible(const DimExpr& expr, int64_t divisor) {
  if (divisor == 0 || divisor == INT64_MIN) {
    fail(DiagId::bad_shape_fact, {}, "{} % {} == 0: not a divisor", expr.str(), divisor);
  }
  if (expr.is_unknown()) return;
  const auto fact = normalise(expr, divisor < 0 ? -divisor : divisor);
  if (!fact) {
    fail(DiagId::bad_shape_fact, {}, "'{}' holds for no value", describe_divisor(expr, divisor));
  }
  if (proves_divisible(fact->e, fact->d)) return;
  const Facts before = *this;
  divisors_.emplace_back(fact->e, fact->d);
  try {
    reject_contradiction(describe_divisor(expr, divisor));
  } catch (...) {
    *this = before;
    throw;
  }
}

void Facts::assume_equal(const DimExpr& a, const DimExpr& b) {
  // An unknown dimension may be anything: nothing is learnt.
  if (a.is_unknown() || b.is_unknown() || proves_equal(a, b)) return;
  if (proves_not_equal(a, b)) {
    fail(DiagId::bad_shape_fact, {}, "'{} == {}' contradicts what is known: {}", a.str(), b.str(),
         fmt::join(str(), ", "));
  }
  // k*(x % d) + r == 0 says that d divides x + r // k.
  const DimExpr given = a - b;
  if (const int64_t r = constant_part(given); given.terms().size() == (r != 0 ? 2u : 1u)) {
    const DimTerm& t = given.terms()[0];
    const DimAtom* atom =
        t.factors.size() == 1 && t.factors[0].second == 1 ? &t.factors[0].first : nullptr;
    if (atom != nullptr && atom->kind == DimAtom::Kind::floormod) {
      const auto d = atom->args[1].as_const();
      if (d && *d > 0 && r % t.coefficient == 0) {
        // Other values of r were refuted above: they are no remainders.
        return assume_divisible(atom->args[0] + r / t.coefficient, *d);
      }
    }
  }
  const DimExpr difference = (a - b).substitute(closure()->equal());
  if (const auto affine = as_affine(difference)) {
    if (affine->constant % affine->scale != 0) {
      fail(DiagId::bad_shape_fact, {}, "'{} == {}' holds for no integer", a.str(), b.str());
    }
    const int64_t value = checked_mul(affine->constant / affine->scale, -1);
    bound(affine->symbol, value, value);
    return;
  }
  const Facts before = *this;
  // A bare symbol on one side is what the user wants to see replaced.
  std::string preferred;
  if (a.as_symbol() && !b.as_symbol()) preferred = *a.as_symbol();
  if (b.as_symbol() && !a.as_symbol()) preferred = *b.as_symbol();
  if (auto solved = orient(difference, preferred)) {
    equalities_.push_back({DimExpr::symbol(solved->symbol), solved->value});
  } else {
    equalities_.push_back({a, b});
  }
  try {
    reject_contradiction(fmt::format("{} == {}", a.str(), b.str()));
  } catch (...) {
    *this = before;
    throw;
  }
}

void Facts::assume_le(const DimExpr& a, const DimExpr& b) {
  if (a.is_unknown() || b.is_unknown() || proves_le(a, b)) return;
  if (proves_lt(b, a)) {
    fail(DiagId::bad_shape_fact, {}, "'{} <= {}' contradicts what is known: {}", a.str(), b.str(),
         fmt::join(str(), ", "));
  }
  if (const auto affine = as_affine(b - a)) {
    // scale*symbol + constant >= 0
    const Wide scale = affine->scale;
    const Wide constant = affine->constant;
    const Wide limit = scale > 0 ? -floor_div(constant, scale) : floor_div(constant, -scale);
    if (!fits_int64(limit)) return;
    const auto value = static_cast<int64_t>(limit);
    if (scale > 0) {
      bound(affine->symbol, value, std::nullopt);
    } else {
      bound(affine->symbol, std::nullopt, value);
    }
    return;
  }
  const Facts before = *this;
  inequalities_.push_back({a, b});
  try {
    reject_contradiction(fmt::format("{} <= {}", a.str(), b.str()));
  } catch (...) {
    *this = before;
    throw;
  }
}

void Facts::merge(const Facts& other) {
  for (const auto& [symbol, range] : other.ranges_) bound(symbol, range.low, range.high);
  for (const auto& e : other.equalities_) {
    if (!contains(equalities_, e)) assume_equal(e.a, e.b);
  }
  for (const auto& [e, d] : other.divisors_) assume_divisible(e, d);
  for (const auto& e : other.inequalities_) {
    if (!contains(inequalities_, e)) assume_le(e.a, e.b);
  }
}

std::vector<std::string> Facts::str() const {
  std::vector<std::string> out;
  for (const auto& [symbol, range] : ranges_) out.push_back(describe_range(symbol, range));
  for (const auto& [e, d] : divisors_) out.push_back(describe_divisor(e, d));
  for (const auto& e : equalities_) out.push_back(e.a.str() + " == " + e.b.str());
  for (const auto& e : inequalities_) out.push_back(e.a.str() + " <= " + e.b.str());
  return out;
}

}  // namespace symtile
