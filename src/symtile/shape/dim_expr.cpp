// Nodes, order, hashing, ring arithmetic, substitution and evaluation of DimExpr.
#include "symtile/shape/dim_expr.h"

#include <algorithm>
#include <array>

#include "symtile/shape/dim_node.h"

namespace symtile {
namespace {

constexpr int64_t kSmallLow = -64;
constexpr int64_t kSmallHigh = 1024;

size_t mix(size_t h, size_t value) {
  h ^= value + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2);
  return h * 0xff51afd7ed558ccdULL;
}

// FNV-1a, so that hashes (and what depends on them) are the same on every platform.
size_t hash_text(const std::string& text) {
  uint64_t h = 0xcbf29ce484222325ULL;
  for (const char c : text) {
    h ^= static_cast<unsigned char>(c);
    h *= 0x100000001b3ULL;
  }
  return h;
}

bool is_symbol_name(const std::string& name) {
  const auto is_head = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto is_tail = [&](char c) {
    // '/' marks the prover's internal quotient symbols, which no text can spell.
    return is_head(c) || (c >= '0' && c <= '9') || c == '.' || c == '/';
  };
  return !name.empty() && is_head(name[0]) && std::all_of(name.begin() + 1, name.end(), is_tail);
}

}  // namespace

// ---------------------------------------------------------------------------- nodes

DimExpr DimBuilder::finish(std::vector<DimTerm> terms) {
  auto node = std::make_shared<DimExpr::Node>();
  size_t h = 0x51ed270b;
  for (const DimTerm& t : terms) {
    h = mix(h, static_cast<size_t>(t.coefficient));
    for (const auto& [atom, power] : t.factors) {
      h = mix(h, static_cast<size_t>(atom.kind) * 131 + static_cast<size_t>(power));
      if (atom.kind == DimAtom::Kind::symbol) {
        h = mix(h, hash_text(atom.name));
        node->symbol_mask |= symbol_bit(atom.name);
        continue;
      }
      node->opaque = true;
      node->has_mod |= atom.kind == DimAtom::Kind::floormod;
      node->has_div |= atom.kind == DimAtom::Kind::floordiv;
      for (const DimExpr& arg : atom.args) {
        h = mix(h, arg.node_->hash);
        node->symbol_mask |= arg.node_->symbol_mask;
        node->depth = std::max(node->depth, arg.node_->depth + 1);
      }
    }
  }
  if (node->depth > kMaxDimDepth) {
    fail(DiagId::too_large, {},
         "a dimension formula nests {} divisions, minima or maxima; at most {}", node->depth,
         kMaxDimDepth);
  }
  node->hash = h;
  node->terms = std::move(terms);
  return DimExpr(std::shared_ptr<const DimExpr::Node>(std::move(node)));
}

DimExpr::DimExpr(int64_t value) {
  const auto make = [](int64_t v) {
    std::vector<DimTerm> terms;
    if (v != 0) terms.push_back(DimTerm{v, {}});
    return DimBuilder::sorted_sum(std::move(terms)).node_;
  };
  // Built once and never changed afterwards.
  static const auto small = [&make] {
    std::array<std::shared_ptr<const Node>, kSmallHigh - kSmallLow + 1> table;
    for (int64_t v = kSmallLow; v <= kSmallHigh; ++v) {
      table[static_cast<size_t>(v - kSmallLow)] = make(v);
    }
    return table;
  }();
  if (value >= kSmallLow && value <= kSmallHigh) {
    node_ = small[static_cast<size_t>(value - kSmallLow)];
  } else {
    node_ = make(value);
  }
}

DimExpr DimExpr::symbol(std::string name) {
  SYMTILE_CHECK(is_symbol_name(name), "'{}' is not a symbol name; sanitize_symbol makes one", name);
  return DimBuilder::atom(DimAtom{DimAtom::Kind::symbol, std::move(name), {}});
}

DimExpr DimExpr::unknown() {
  static const std::shared_ptr<const Node> node = [] {
    auto n = std::make_shared<Node>();
    n->unknown = true;
    n->hash = 0x3f3f3f3f;
    return n;
  }();
  return DimExpr(node);
}

bool DimExpr::is_unknown() const { return node_->unknown; }

std::optional<int64_t> DimExpr::as_const() const {
  if (node_->unknown || node_->terms.size() > 1) return std::nullopt;
  if (node_->terms.empty()) return 0;
  if (!node_->terms[0].factors.empty()) return std::nullopt;
  return node_->terms[0].coefficient;
}

std::optional<std::string> DimExpr::as_symbol() const {
  const DimAtom* atom = as_atom(*this);
  if (atom == nullptr || atom->kind != DimAtom::Kind::symbol) return std::nullopt;
  return atom->name;
}

const std::vector<DimTerm>& DimExpr::terms() const {
  SYMTILE_CHECK(!node_->unknown, "the unknown dimension has no terms");
  return node_->terms;
}

size_t DimExpr::hash() const { return node_->hash; }

void DimExpr::collect_symbols(std::set<std::string>& out) const {
  for (const DimTerm& t : node_->terms) {
    for (const auto& [atom, power] : t.factors) {
      if (atom.kind == DimAtom::Kind::symbol) out.insert(atom.name);
      for (const DimExpr& arg : atom.args) arg.collect_symbols(out);
    }
  }
}

std::set<std::string> DimExpr::symbols() const {
  std::set<std::string> out;
  collect_symbols(out);
  return out;
}

// ---------------------------------------------------------------------------- order

int DimAtom::compare(const DimAtom& a, const DimAtom& b) {
  if (a.kind != b.kind) return a.kind < b.kind ? -1 : 1;
  if (a.kind == Kind::symbol) {
    const int c = a.name.compare(b.name);
    return c < 0 ? -1 : (c > 0 ? 1 : 0);
  }
  for (size_t i = 0; i < a.args.size(); ++i) {
    if (const int c = DimExpr::compare(a.args[i], b.args[i]); c != 0) return c;
  }
  return 0;
}

int degree(const DimFactors& factors) {
  int total = 0;
  for (const auto& [atom, power] : factors) total += power;
  return total;
}

int compare_factors(const DimFactors& a, const DimFactors& b) {
  const int da = degree(a);
  const int db = degree(b);
  if (da != db) return da > db ? -1 : 1;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (const int c = DimAtom::compare(a[i].first, b[i].first); c != 0) return c;
    if (a[i].second != b[i].second) return a[i].second > b[i].second ? -1 : 1;
  }
  return 0;  // equal degrees and equal prefixes: equal
}

int DimExpr::compare(const DimExpr& a, const DimExpr& b) {
  if (a.node_ == b.node_) return 0;
  if (a.is_unknown() || b.is_unknown()) {
    return static_cast<int>(a.is_unknown()) - static_cast<int>(b.is_unknown());
  }
  const auto ca = a.as_const();
  const auto cb = b.as_const();
  if (ca && cb) return *ca < *cb ? -1 : (*ca > *cb ? 1 : 0);
  if (ca || cb) return ca ? -1 : 1;
  const auto& ta = a.node_->terms;
  const auto& tb = b.node_->terms;
  for (size_t i = 0; i < ta.size() && i < tb.size(); ++i) {
    if (const int c = compare_factors(ta[i].factors, tb[i].factors); c != 0) return c;
    if (ta[i].coefficient != tb[i].coefficient) {
      return ta[i].coefficient < tb[i].coefficient ? -1 : 1;
    }
  }
  return ta.size() == tb.size() ? 0 : (ta.size() < tb.size() ? -1 : 1);
}

bool DimExpr::same(const DimExpr& a, const DimExpr& b) {
  if (a.node_ == b.node_) return true;
  if (a.node_->hash != b.node_->hash) return false;
  return compare(a, b) == 0;
}

const DimAtom* as_atom(const DimExpr& e) {
  if (e.is_unknown() || e.terms().size() != 1) return nullptr;
  const DimTerm& t = e.terms()[0];
  if (t.coefficient != 1 || t.factors.size() != 1 || t.factors[0].second != 1) return nullptr;
  return &t.factors[0].first;
}

const DimAtom* as_opaque(const DimExpr& e, DimAtom::Kind kind) {
  const DimAtom* atom = as_atom(e);
  return atom != nullptr && atom->kind == kind ? atom : nullptr;
}

int64_t constant_part(const DimExpr& e) {
  if (e.terms().empty() || !e.terms().back().factors.empty()) return 0;
  return e.terms().back().coefficient;
}

std::optional<int64_t> constant_difference(const DimExpr& a, const DimExpr& b) {
  const int64_t ca = constant_part(a);
  const int64_t cb = constant_part(b);
  const size_t na = a.terms().size() - (ca != 0 ? 1 : 0);
  const size_t nb = b.terms().size() - (cb != 0 ? 1 : 0);
  if (na != nb) return std::nullopt;
  for (size_t i = 0; i < na; ++i) {
    if (a.terms()[i].coefficient != b.terms()[i].coefficient) return std::nullopt;
    if (compare_factors(a.terms()[i].factors, b.terms()[i].factors) != 0) return std::nullopt;
  }
  int64_t out = 0;
  if (__builtin_sub_overflow(ca, cb, &out)) return std::nullopt;
  return out;
}

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

// ---------------------------------------------------------------------------- rewriting

uint64_t DimBuilder::symbol_bit(const std::string& name) {
  return uint64_t{1} << (mix(0, hash_text(name)) >> 58);
}

DimExpr DimBuilder::opaque(DimAtom::Kind kind, const DimExpr& a, const DimExpr& b) {
  return atom(DimAtom{kind, {}, {a, b}});
}

DimExpr DimBuilder::apply(DimAtom::Kind kind, const DimExpr& a, const DimExpr& b) {
  switch (kind) {
    case DimAtom::Kind::floordiv:
      return floordiv(a, b);
    case DimAtom::Kind::floormod:
      return floormod(a, b);
    case DimAtom::Kind::min:
      return min(a, b);
    case DimAtom::Kind::max:
      return max(a, b);
    case DimAtom::Kind::symbol:
      break;
  }
  SYMTILE_UNREACHABLE("a symbol has no operands");
}

DimExpr DimBuilder::rewrite(const DimExpr& e, const AtomRewrite& rewrite_atom) {
  if (e.is_unknown()) return e;
  bool changed = false;
  DimExpr total = 0;
  std::vector<DimTerm> unchanged;
  for (const DimTerm& t : e.terms()) {
    bool term_changed = false;
    DimExpr value = t.coefficient;
    for (const auto& [atom, power] : t.factors) {
      DimExpr factor = DimBuilder::atom(atom);
      if (atom.kind != DimAtom::Kind::symbol) {
        const DimExpr a = rewrite(atom.args[0], rewrite_atom);
        const DimExpr b = rewrite(atom.args[1], rewrite_atom);
        if (!DimExpr::same(a, atom.args[0]) || !DimExpr::same(b, atom.args[1])) {
          factor = apply(atom.kind, a, b);
          term_changed = true;
        }
      }
      if (const DimAtom* now = as_atom(factor)) {
        if (auto replacement = rewrite_atom(*now)) {
          factor = *std::move(replacement);
          term_changed = true;
        }
      }
      for (int i = 0; i < power; ++i) value *= factor;
    }
    if (term_changed) {
      changed = true;
      total += value;
    } else {
      unchanged.push_back(t);
    }
  }
  if (!changed) return e;
  return total + sorted_sum(std::move(unchanged));
}

DimExpr DimBuilder::replace(const DimExpr& e, const DimAtom& from, const DimExpr& to) {
  return rewrite(e, [&](const DimAtom& atom) -> std::optional<DimExpr> {
    if (DimAtom::compare(atom, from) != 0) return std::nullopt;
    return to;
  });
}

DimExpr DimExpr::substitute(const DimSubstitution& map) const {
  uint64_t mask = 0;
  for (const auto& [name, value] : map) mask |= DimBuilder::symbol_bit(name);
  if ((mask & node_->symbol_mask) == 0) return *this;
  std::function<DimExpr(const DimExpr&)> go = [&](const DimExpr& e) -> DimExpr {
    if (e.is_unknown() || (mask & e.node_->symbol_mask) == 0) return e;
    DimExpr total = 0;
    for (const DimTerm& t : e.terms()) {
      DimExpr value = t.coefficient;
      for (const auto& [atom, power] : t.factors) {
        DimExpr factor;
        if (atom.kind == DimAtom::Kind::symbol) {
          const auto it = map.find(atom.name);
          factor = it == map.end() ? DimBuilder::atom(atom) : it->second;
        } else {
          factor = DimBuilder::apply(atom.kind, go(atom.args[0]), go(atom.args[1]));
        }
        for (int i = 0; i < power; ++i) value *= factor;
      }
      total += value;
    }
    return total;
  };
  return go(*this);
}

// ---------------------------------------------------------------------------- evaluation

int64_t DimExpr::evaluate(const DimValues& values) const {
  if (is_unknown()) fail(DiagId::unknown_name, {}, "the dimension '?' has no value");
  const auto overflow = [&]() {
    fail(DiagId::dimension_overflow, {}, "the value of {} does not fit in 64 bits", str());
  };
  Wide total = 0;
  for (const DimTerm& t : node_->terms) {
    Wide value = t.coefficient;
    for (const auto& [atom, power] : t.factors) {
      int64_t factor = 0;
      if (atom.kind == DimAtom::Kind::symbol) {
        const auto it = values.find(atom.name);
        if (it == values.end()) {
          fail(DiagId::unknown_name, {}, "no value for the dimension '{}' of {}", atom.name, str());
        }
        factor = it->second;
      } else {
        const int64_t a = atom.args[0].evaluate(values);
        const int64_t b = atom.args[1].evaluate(values);
        switch (atom.kind) {
          case DimAtom::Kind::floordiv:
            factor = checked_floordiv(a, b);
            break;
          case DimAtom::Kind::floormod:
            factor = checked_floormod(a, b);
            break;
          case DimAtom::Kind::min:
            factor = std::min(a, b);
            break;
          default:
            factor = std::max(a, b);
            break;
        }
      }
      for (int i = 0; i < power; ++i) {
        if (__builtin_mul_overflow(value, Wide{factor}, &value)) overflow();
      }
    }
    if (__builtin_add_overflow(total, value, &total)) overflow();
  }
  if (!fits_int64(total)) overflow();
  return static_cast<int64_t>(total);
}

}  // namespace symtile
