// Parts shared by the pooling operators: attribute `kernel` and the window attributes.
#pragma once

#include "symtile/op/nn/window.h"

namespace symtile {

std::vector<AttrSpec> pool_attrs(std::vector<AttrSpec> more = {});
/// Result dims of a pooling of argument 0; nullopt when its rank is unknown.
std::optional<Dims> deduce_pool_dims(DeduceContext& c);
Window pool_window(const Attributes& attrs);
ConcreteWindow pool_window(const EvalContext& c);
std::vector<int64_t> pool_extents(const EvalContext& c, const ConcreteWindow& window);
/// Calls f(flat position of x, or -1 in the padding; tap index) for the window of output `index`.
void for_each_pool_tap(const EvalContext& c, const std::vector<int64_t>& index,
                       const ConcreteWindow& window,
                       const std::function<void(int64_t, const std::vector<int64_t>&)>& f);

/// reduce(kind) over the window at output `index` of value(x index, in bounds or undefined).
Expr pool_reduce(LowerContext& c, ReduceKind kind, const Index& index,
                 const std::function<Expr(const Index&, const Expr&)>& value);

}  // namespace symtile
