// Which inequalities the linear program gets: few enough to be fast, rich enough to prove.
#include <algorithm>
#include <unordered_set>

#include "symtile/shape/dim_node.h"
#include "symtile/shape/prover.h"

namespace symtile {
namespace {

constexpr size_t kMaxConstraints = 160;
constexpr size_t kMaxProducts = 48;
constexpr int kRounds = 3;
// Larger bounds (the default one of a dimension) never help and make the numbers unwieldy.
constexpr Wide kUsefulBound = Wide{1} << 36;

std::optional<DimExpr> constant_of(const std::optional<Wide>& v) {
  if (!v || *v > kUsefulBound || *v < -kUsefulBound) return std::nullopt;
  return DimExpr(static_cast<int64_t>(*v));
}

class Collector {
 public:
  explicit Collector(const Closure& closure) : closure_(closure) {}

  std::vector<DimExpr> collect(const DimExpr& e) {
    note(e);
    add_facts(e);
    for (int round = 0; round < kRounds; ++round) {
      const size_t end = products_.size();
      if (done_ == end && round > 0) break;
      // `products_` grows below; index, do not hold references.
      for (size_t i = done_; i < end; ++i) bound_product(DimFactors(products_[i]));
      for (size_t i = 0; i < end; ++i) multiply_base(DimFactors(products_[i]));
      done_ = end;
    }
    return std::move(out_);
  }

 private:
  void add_facts(const DimExpr& e) {
    // Facts that share symbols with the question, directly or through one other fact.
    uint64_t mask = DimBuilder::symbol_mask(e);
    std::vector<DimExpr> facts = closure_.nonnegative();
    for (const DimExpr& z : closure_.zero()) {
      facts.push_back(z);
      facts.push_back(-z);
    }
    for (int round = 0; round < 3; ++round) {
      for (DimExpr& f : facts) {
        const uint64_t m = DimBuilder::symbol_mask(f);
        if ((m & mask) == 0) continue;
        mask |= m;
        add(f, true);
      }
    }
  }

  void add(const DimExpr& given, bool base) {
    if (out_.size() >= kMaxConstraints || given.is_const()) return;
    const DimExpr e = tightened(given);
    if (!seen_.insert(e).second) return;
    note(e);
    out_.push_back(e);
    if (base) base_.push_back(e);
  }

  void note(const DimExpr& e) {
    for (const DimTerm& t : e.terms()) {
      if (t.factors.empty() || products_.size() >= kMaxProducts) continue;
      const DimExpr product = DimBuilder::term(1, t.factors);
      if (known_products_.insert(product).second) products_.push_back(t.factors);
    }
  }

  void bound_product(const DimFactors& factors) {
    for (const auto& [atom, power] : factors) define(atom);
    if (degree(factors) < 2) return;
    // McCormick: (a - low)*(rest - low) >= 0 and its three siblings.
    for (const auto& [atom, power] : factors) {
      const DimExpr a = DimBuilder::atom(atom);
      const DimExpr rest = DimBuilder::term(1, *divide_factors(factors, {{atom, 1}}));
      const Interval ia = closure_.interval(a);
      const Interval ir = closure_.interval(rest);
      const auto al = constant_of(ia.low);
      const auto ah = constant_of(ia.high);
      const auto rl = constant_of(ir.low);
      const auto rh = constant_of(ir.high);
      // Integers: a*a >= a and a*a >= -a, also where 0 < a < 1 would refute the first.
      if (power >= 2) {
        const DimExpr others = DimBuilder::term(1, *divide_factors(factors, {{atom, 2}}));
        if (closure_.interval(others).is_nonnegative()) {
          add((a * a - a) * others, false);
          add((a * a + a) * others, false);
        }
      }
      if (al && rl) add((a - *al) * (rest - *rl), false);
      if (ah && rh) add((*ah - a) * (*rh - rest), false);
      if (al && rh) add((a - *al) * (*rh - rest), false);
      if (ah && rl) add((*ah - a) * (rest - *rl), false);
    }
  }

  void bounds_of(const DimExpr& a, bool base) {
    const Interval i = closure_.interval(a);
    if (const auto low = constant_of(i.low)) add(a - *low, base);
    if (const auto high = constant_of(i.high)) add(*high - a, base);
  }

  // The inequalities that define an opaque term.
  void define(const DimAtom& atom) {
    const DimExpr a = DimBuilder::atom(atom);
    if (!defined_.insert(a).second) return;
    bounds_of(a, false);
    if (atom.kind == DimAtom::Kind::symbol) return;
    const DimExpr& x = atom.args[0];
    const DimExpr& y = atom.args[1];
    switch (atom.kind) {
      case DimAtom::Kind::floordiv: {
        if (!closure_.interval(y).is_positive()) return;
        add(x - y * a, true);
        const auto c = y.as_const();
        if (const auto exact = c ? closure_.remainder(x, *c) : std::nullopt) {
          add(y * a + *exact - x, true);
          add(x - y * a - *exact, true);
        } else if (c) {
          // A residue of x modulo part of c bounds the remainder away from c - 1.
          const Residue r = floormod_residue(closure_.residue(x), *c);
          const Wide most = r.modulus > 1 ? *c - r.modulus + r.value : Wide{*c - 1};
          add(y * a + static_cast<int64_t>(most) - x, true);
          if (r.modulus > 1 && r.value > 0) add(x - y * a - static_cast<int64_t>(r.value), true);
        } else {
          add(y * a + y - 1 - x, true);
        }
        return;
      }
      case DimAtom::Kind::min:
        add(x - a, true);
        add(y - a, true);
        return;
      case DimAtom::Kind::max:
        add(a - x, true);
        add(a - y, true);
        return;
      default:
        return;
    }
  }

  // fact * m for products m that turn a term of the fact into `factors`.
  void multiply_base(const DimFactors& factors) {
    if (degree(factors) < 2) return;
    const std::vector<DimExpr> base = base_;
    for (const DimExpr& fact : base) {
      for (const DimTerm& t : fact.terms()) {
        if (t.factors.empty()) continue;
        const auto m = divide_factors(factors, t.factors);
        if (!m || m->empty()) continue;
        const DimExpr multiplier = DimBuilder::term(1, *m);
        if (closure_.interval(multiplier).is_nonnegative()) add(fact * multiplier, false);
      }
    }
  }

  const Closure& closure_;
  std::vector<DimExpr> out_;
  std::vector<DimExpr> base_;  ///< facts and definitions; products are formed of these only
  std::vector<DimFactors> products_;
  size_t done_ = 0;
  std::unordered_set<DimExpr> seen_;
  std::unordered_set<DimExpr> known_products_;
  std::unordered_set<DimExpr> defined_;
};

}  // namespace

std::vector<DimExpr> relevant_constraints(const Closure& closure, const DimExpr& e) {
  return Collector(closure).collect(e);
}

}  // namespace symtile
