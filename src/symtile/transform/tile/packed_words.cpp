#include "symtile/transform/tile/packed_words.h"

namespace symtile {

Expr byte_in_word(const Expr& word, const Expr& place) {
  const Expr shift = cast(DType::i32, floormod(place, Expr(kBytesOfWord))) * int_imm(DType::i32, 8);
  return cast(DType::i8, binary(BinaryOp::shr, word, shift));
}

Expr word_of_byte(const Expr& e, const std::string& axis) {
  const auto* c = e.as<CastExpr>();
  const auto* shifted = c && c->dtype == DType::i8 ? c->a.as<BinaryExpr>() : nullptr;
  if (!shifted || shifted->op != BinaryOp::shr || shifted->dtype != DType::i32) return {};
  return structurally_equal(byte_in_word(shifted->a, var(axis)), e) ? shifted->a : Expr();
}

}  // namespace symtile
