#include "symtile/schedule/cpu/contraction_words.h"

#include <algorithm>

#include "symtile/schedule/cpu/window.h"
#include "symtile/transform/tile/packed_words.h"

namespace symtile {
namespace {

constexpr int64_t kFlip = 128;
/// Three bytes of four would be padding.
constexpr int64_t kFewestInQuad = 3;

struct Interval {
  int64_t low, high;
};

std::optional<Interval> interval_of(const Expr& e) {
  if (e.dtype() != DType::i32) return std::nullopt;
  if (const auto value = e.as_int()) return Interval{*value, *value};
  if (const auto* c = e.as<CastExpr>()) {
    switch (c->a.dtype()) {
      case DType::u8:
        return Interval{0, 255};
      case DType::i8:
        return Interval{-128, 127};
      case DType::boolean:
        return Interval{0, 1};
      default:
        return std::nullopt;
    }
  }
  if (const auto* s = e.as<SelectExpr>()) {
    const auto a = interval_of(s->then_value), b = interval_of(s->else_value);
    if (!a || !b) return std::nullopt;
    return Interval{std::min(a->low, b->low), std::max(a->high, b->high)};
  }
  if (const auto* n = e.as<BinaryExpr>()) {
    const auto a = interval_of(n->a), b = interval_of(n->b);
    if (!a || !b) return std::nullopt;
    if (n->op == BinaryOp::add) return Interval{a->low + b->low, a->high + b->high};
    if (n->op == BinaryOp::sub) return Interval{a->low - b->high, a->high - b->low};
  }
  return std::nullopt;
}

/// Whether the values of an i32 expression always fit i16, as far as its form tells.
bool fits_pair(const Expr& e) {
  const auto range = interval_of(e);
  return range && range->low >= -32768 && range->high <= 32767;
}

Expr i32(int64_t value) { return int_imm(DType::i32, value); }
Expr shl(const Expr& a, int64_t bits) { return bits ? binary(BinaryOp::shl, a, i32(bits)) : a; }
Expr shr(const Expr& a, int64_t bits) { return bits ? binary(BinaryOp::shr, a, i32(bits)) : a; }

/// e = byte - zero.
struct Bytes {
  Expr byte;  ///< i8 or u8
  Expr zero;  ///< i32, the same for the whole reduction; undefined: 0
  bool is_unsigned() const { return byte.dtype() == DType::u8; }
};

Expr plus(const Expr& a, const Expr& b) { return a.defined() ? a + b : b; }

/// A zero point as a byte of that type, where its form tells that it is one.
Expr as_byte(const Expr& zero, DType t) {
  if (!zero.defined()) return imm(t, 0);
  if (const auto* c = zero.as<CastExpr>(); c && c->a.dtype() == t) return c->a;
  const auto value = zero.as_int();
  const bool fits =
      value && (t == DType::u8 ? *value >= 0 && *value <= 255 : *value >= -128 && *value <= 127);
  return fits ? int_imm(t, *value) : Expr();
}

std::optional<Bytes> bytes_of(const Expr& e, const std::vector<Axis>& k) {
  if (const auto* c = e.as<CastExpr>()) {
    if (c->a.dtype() != DType::u8 && c->a.dtype() != DType::i8) return std::nullopt;
    return Bytes{c->a, {}};
  }
  if (const auto* n = e.as<BinaryExpr>()) {
    const bool minus = n->op == BinaryOp::sub;
    if ((!minus && n->op != BinaryOp::add) || depends_on_any(n->b, k)) return std::nullopt;
    auto inner = bytes_of(n->a, k);
    if (inner) inner->zero = plus(inner->zero, minus ? n->b : i32(0) - n->b);
    return inner;
  }
  if (const auto* s = e.as<SelectExpr>()) {
    // Padding is 0 after the zero point is taken off.
    if (!s->else_value.is_int(0)) return std::nullopt;
    auto inner = bytes_of(s->then_value, k);
    if (!inner) return std::nullopt;
    const Expr fill = as_byte(inner->zero, inner->byte.dtype());
    if (!fill.defined()) return std::nullopt;
    inner->byte = select(s->condition, inner->byte, fill);
    return inner;
  }
  return std::nullopt;
}

class WordMaker {
 public:
  WordMaker(const Contraction& c, const Facts& facts, const std::string& split, const Axis& word,
            int64_t group)
      : c_(c), facts_(facts), split_(split), word_(word), group_(group) {
    for (const Axis& a : c.k) {
      if (a.name == split) extent_ = a.extent;
    }
    whole_ = split.empty() || facts.proves_divisible(extent_, group);
  }

  Expr pair(const Expr& e) const {
    const Expr low = binary(BinaryOp::bit_and, part(e, 0, 0), i32(0xffff));
    return split_.empty() ? low : binary(BinaryOp::bit_or, low, shl(part(e, 1, 0), 16));
  }

  Expr quad(const Bytes& b, bool flip) const {
    Expr out;
    // Bytes behind the last element may hold anything.
    const Expr word = split_.empty() || !whole_ ? Expr() : word_of_byte(b.byte, split_);
    if (word.defined()) {
      out = in_words(word);
    } else {
      const int64_t padding = flip ? (b.is_unsigned() ? kFlip : -kFlip) : 0;
      for (int64_t j = 0; j < (split_.empty() ? 1 : group_); ++j) {
        const Expr byte = cast(DType::i32, cast(DType::u8, part(b.byte, j, padding)));
        out = j == 0 ? byte : binary(BinaryOp::bit_or, out, shl(byte, 8 * j));
      }
    }
    // Bytes that no element fills are 0 whatever the signs.
    if (!flip) return out;
    return binary(BinaryOp::bit_xor, out,
                  i32(split_.empty() ? kFlip : static_cast<int32_t>(0x80808080u)));
  }

  /// Panels of words: [n // kPanel, word, n % kPanel].
  bool in_panels(const Expr& indexed_word) const {
    const auto* l = indexed_word.as<Load>();
    if (!whole_ || !l || l->indices.size() < 3 || c_.cols.size() != 1 || c_.k.size() != 1)
      return false;
    const size_t last = l->indices.size() - 1;
    const Expr n = var(c_.cols[0].name), k = var(split_);
    return structurally_equal(l->indices[last], floormod(n, Expr(kPanel))) &&
           structurally_equal(l->indices[last - 1], floordiv(k, Expr(kBytesOfWord))) &&
           structurally_equal(l->indices[last - 2], floordiv(n, Expr(kPanel)));
  }

 private:
  Expr part(const Expr& e, int64_t j, int64_t padding) const {
    if (split_.empty()) return e;
    const Expr at = var(word_.name) * Expr(group_) + Expr(j);
    const Expr value = substitute(e, {{split_, at}});
    if (whole_ || j == 0) return value;
    return select(at < to_expr(extent_), value, int_imm(value.dtype(), padding));
  }

  /// The load of a packed word, addressed by words.
  Expr in_words(const Expr& word) const {
    const auto& l = *word.as<Load>();
    const Expr index = substitute(l.indices[0], {{split_, var(word_.name) * Expr(group_)}});
    const auto dim = to_dim_expr(index);
    return load(l.buffer, l.dtype, {dim ? to_expr(facts_.simplify(*dim)) : index});
  }

  const Contraction& c_;
  const Facts& facts_;
  std::string split_;
  Axis word_;
  int64_t group_;
  DimExpr extent_ = 1;
  bool whole_ = true;
};

Expr flipped_zero(const Bytes& b, bool flip) {
  if (!flip) return b.zero;
  // An unsigned byte lost 128, a signed one got it.
  return plus(b.zero, i32(b.is_unsigned() ? -kFlip : kFlip));
}

}  // namespace

std::optional<Words> count_in_words(const Contraction& c, const Expr& row, const Expr& col,
                                    bool dot, Facts& facts, NameSource& names) {
  if (c.sum.dtype() != DType::i32 || c.packed || !fits_pair(row) || !fits_pair(col))
    return std::nullopt;
  const auto window = find_window(c.col_operand, col, c.cols, c.k, facts);
  const bool only_taps = window && window->others.empty();
  const Axis& first = c.k.front();
  Words out;
  out.elements = extent_of(c.k);
  const auto r = bytes_of(row, c.k), s = bytes_of(col, c.k);
  const auto count = only_taps ? std::optional<int64_t>(1) : first.extent.as_const();
  out.group = dot && r && s && !(count && *count < kFewestInQuad) ? 4 : 2;
  out.k = c.k;
  if (!only_taps) {
    out.k.front() = {names.fresh(first.name), facts.simplify(ceildiv(first.extent, out.group))};
    add_axis_facts(facts, {out.k.front()});
  }
  const WordMaker maker(c, facts, only_taps ? "" : first.name, out.k.front(), out.group);
  if (out.group == 2) {
    out.row = maker.pair(row);
    out.col = maker.pair(col);
    return out;
  }
  // One side unsigned, the other signed; of two alike the one with a zero point changes.
  const bool alike = r->is_unsigned() == s->is_unsigned();
  const bool flip_col = alike && s->zero.defined(), flip_row = alike && !flip_col;
  out.col_unsigned = s->is_unsigned() != flip_col;
  out.row = maker.quad(*r, flip_row);
  out.col = maker.quad(*s, flip_col);
  out.row_zero = flipped_zero(*r, flip_row);
  out.col_zero = flipped_zero(*s, flip_col);
  if (!flip_col && !only_taps) {
    const auto indexed = bytes_of(c.col_operand, c.k);
    const Expr word = indexed ? word_of_byte(indexed->byte, first.name) : Expr();
    out.col_in_panels = word.defined() && maker.in_panels(word);
  }
  return out;
}

Expr word_product(const Words& w, const Expr& row, const Expr& col) {
  if (w.group == 2) {
    const auto half = [](const Expr& e, bool high) { return shr(high ? e : shl(e, 16), 16); };
    return half(row, false) * half(col, false) + half(row, true) * half(col, true);
  }
  const Expr &u = w.col_unsigned ? col : row, &s = w.col_unsigned ? row : col;
  Expr sum;
  for (int64_t j = 0; j < 4; ++j) {
    const Expr product =
        binary(BinaryOp::bit_and, shr(u, 8 * j), i32(255)) * shr(shl(s, 24 - 8 * j), 24);
    sum = plus(sum, product);
  }
  return sum;
}

Expr word_sum(const Words& w, const Expr& word, const Expr& ones, bool of_columns) {
  return of_columns ? word_product(w, ones, word) : word_product(w, word, ones);
}

}  // namespace symtile
