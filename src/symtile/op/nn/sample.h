// Short makers for conformance samples.
#pragma once

#include "symtile/op/op.h"

namespace symtile {

inline OpSample make_sample(std::vector<Type> inputs, Attributes attrs = {}, DimValues symbols = {},
                            double low = -2, double high = 2) {
  OpSample s;
  s.input_types = std::move(inputs);
  s.attrs = std::move(attrs);
  s.symbols = std::move(symbols);
  s.low = low;
  s.high = high;
  return s;
}

inline Type f32_tensor(Dims dims) { return Type::tensor(std::move(dims), DType::f32); }
inline DimExpr sym(const char* name) { return DimExpr::symbol(name); }

}  // namespace symtile
