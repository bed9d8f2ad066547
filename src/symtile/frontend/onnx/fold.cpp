// Contents of small constant expressions, for importers that need them now (the shape operand of
// a Reshape, the scales of a Resize). Folding of the graph itself is left to a pass.
#include "symtile/frontend/onnx/graph_scope.h"

namespace symtile::onnx_import {
namespace {

constexpr int64_t kMaxFoldedElements = int64_t{1} << 16;
constexpr int kMaxFoldDepth = 64;

bool is_small(const Type& t) {
  if (!t.is_tensor() || !t.has_rank()) return false;
  int64_t count = 1;
  for (const DimExpr& d : *t.dims) {
    const auto extent = d.as_const();
    if (!extent || *extent > kMaxFoldedElements) return false;
    count *= *extent;
    if (count > kMaxFoldedElements) return false;
  }
  return true;
}

}  // namespace

const Binding* FunctionState::binding(ValueId value) {
  for (; scanned_bindings_ < function.bindings.size(); ++scanned_bindings_) {
    binding_of_[function.bindings[scanned_bindings_].result.index] = scanned_bindings_;
  }
  const auto it = binding_of_.find(value.index);
  return it == binding_of_.end() ? nullptr : &function.bindings[it->second];
}

Constant FunctionState::fold(ValueId value) {
  try {
    return fold(value, 0);
  } catch (const UserError&) {
    // Not computable (an index out of range, say): then it is an error at run time, not here.
    return nullptr;
  }
}

Constant FunctionState::fold(ValueId value, int depth) {
  if (Constant known = build.constant_of(value)) return known;
  if (depth > kMaxFoldDepth || !is_small(function.type(value))) return nullptr;
  const Binding* b = binding(value);
  if (!b) return nullptr;
  size_t result = 0;
  if (const auto* get = std::get_if<GetItem>(&b->node)) {
    result = static_cast<size_t>(get->index);
    b = binding(get->tuple);
    if (!b) return nullptr;
  }
  const auto* call = std::get_if<OpCall>(&b->node);
  if (!call) return nullptr;
  const OpRecord* op = find_op(call->op);
  if (!op || !op->evaluate) return nullptr;
  std::vector<RefTensor> inputs(call->args.size());
  const DimValues no_symbols;
  EvalContext c(*call, no_symbols);
  const Type& type = function.type(b->result);
  c.num_results = type.is_tuple() ? static_cast<int>(type.elements.size()) : 1;
  for (size_t i = 0; i < call->args.size(); ++i) {
    if (!call->args[i].valid()) {
      c.inputs.push_back(nullptr);
      continue;
    }
    if (!is_small(function.type(call->args[i]))) return nullptr;
    const Constant argument = fold(call->args[i], depth + 1);
    if (!argument) return nullptr;
    inputs[i] = RefTensor::from_constant(*argument);
    c.inputs.push_back(&inputs[i]);
  }
  op->evaluate(c);
  return result < c.outputs.size() ? c.outputs[result].to_constant() : nullptr;
}

}  // namespace symtile::onnx_import
