// Test helpers: the reference meaning of one call on small tensors.
#pragma once

#include "symtile/op/builder.h"

namespace symtile {

inline RefTensor ref_floats(std::vector<int64_t> dims, const std::vector<double>& values,
                            DType dtype = DType::f32) {
  RefTensor t(dtype, std::move(dims));
  t.f = values;
  return t;
}

inline RefTensor ref_ints(std::vector<int64_t> dims, const std::vector<int64_t>& values,
                          DType dtype = DType::i64) {
  RefTensor t(dtype, std::move(dims));
  t.i = values;
  return t;
}

/// 0, 1, 2, ... counted from `first`.
inline RefTensor ref_count(std::vector<int64_t> dims, double first = 0) {
  RefTensor t(DType::f32, std::move(dims));
  for (int64_t i = 0; i < t.size(); ++i) t.set(i, first + static_cast<double>(i));
  return t;
}

inline std::vector<RefTensor> meaning_of(const std::string& op,
                                         const std::vector<RefTensor>& inputs,
                                         const Attributes& attrs = {}, int num_results = 1) {
  OpCall call{op, {}, attrs};
  const DimValues symbols;
  EvalContext c(call, symbols);
  for (const RefTensor& x : inputs) c.inputs.push_back(&x);
  c.num_results = num_results;
  find_op(op)->evaluate(c);
  return c.outputs;
}

inline std::vector<Type> types_of(const std::string& op, const std::vector<Type>& args,
                                  const Attributes& attrs = {},
                                  std::vector<DimCheck>* checks = nullptr,
                                  const Facts& facts = {}) {
  OpCall call{op, {}, attrs};
  for (size_t i = 0; i < args.size(); ++i) call.args.push_back(ValueId{static_cast<int32_t>(i)});
  return deduce_call(call, args, {}, facts, nullptr, checks);
}

}  // namespace symtile
