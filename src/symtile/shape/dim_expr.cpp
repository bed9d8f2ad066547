// Nodes of DimExpr: making, hashing, taking apart and ordering them.
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
  const auto is_tail = [&](char c) { return is_head(c) || (c >= '0' && c <= '9') || c == '.'; };
  return !name.empty() && is_head(name[0]) && std::all_of(name.begin() + 1, name.end(), is_tail);
}

}  // namespace

// ---------------------------------------------------------------------------- nodes

DimExpr DimBuilder::finish(std::vector<DimTerm> terms) {
  auto node = std::make_shared<DimExpr::Node>();
  size_t h = 0x51ed270b;
  for (const DimTerm& t : terms) {
    h = mix(h, static_cast<size_t>(t.coefficient));
    ++node->weight;
    for (const auto& [atom, power] : t.factors) {
      h = mix(h, static_cast<size_t>(atom.kind) * 131 + static_cast<size_t>(power));
      ++node->weight;
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
        node->weight = std::min(node->weight + arg.node_->weight, kMaxDimWeight);
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

uint64_t DimBuilder::symbol_bit(const std::string& name) {
  return uint64_t{1} << (mix(0, hash_text(name)) >> 58);
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

}  // namespace symtile
