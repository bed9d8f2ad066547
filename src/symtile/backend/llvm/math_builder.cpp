#include "symtile/backend/llvm/math_builder.h"

namespace symtile::codegen {

llvm::Value* MathBuilder::unary(UnaryOp op, llvm::Value*) {
  SYMTILE_UNREACHABLE("'{}' has no code yet", name_of(op));
}
llvm::Value* MathBuilder::pow(llvm::Value* x, llvm::Value*) {
  (void)target_;
  (void)b_;
  return x;
}

}  // namespace symtile::codegen
