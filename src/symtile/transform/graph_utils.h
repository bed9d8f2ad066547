// Small helpers shared by graph passes.
#pragma once

#include <unordered_map>

#include "symtile/ir/module.h"

namespace symtile {

/// Number of uses of every value: as an operand of a binding or as a function result.
std::vector<int> count_uses(const GraphFunction& f);

/// Positions of the bindings that use each value, once for each operand; -1: a function result.
std::vector<std::vector<int>> users_of(const GraphFunction& f);

/// The binding that defines each value; -1 for parameters.
std::vector<int> defining_bindings(const GraphFunction& f);

/// Replaces operands (and results) by `map[old]`, following chains.
void replace_uses(GraphFunction& f, const std::unordered_map<int32_t, ValueId>& map);

/// Contents if `id` is bound to a constant; null otherwise.
Constant constant_of(const GraphFunction& f, const std::vector<int>& defs, ValueId id);

/// True for nodes that must stay although nobody uses their result: they bind symbols or check.
bool has_effect(const GraphNode& node, const GraphFunction& f, const std::set<std::string>& needed);

/// Symbols that `node` binds (match_cast, read_dims), given those in scope before it.
std::vector<std::string> bound_symbols(const GraphNode& node,
                                       const std::set<std::string>& in_scope);

/// Provably the same extents.
bool equal_dims(const Facts& facts, const Dims& a, const Dims& b);

/// A value of type `from` may stand for one of type `to`.
bool may_stand_for(const Facts& facts, const Type& from, const Type& to);

}  // namespace symtile
