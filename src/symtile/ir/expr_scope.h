// Names and scopes in expressions and statements: free variables, and substitution that does not
// capture. Axes, loop variables and lets hide outer names; an inner binder is renamed when a
// value that is substituted below it mentions its name.
#pragma once

#include "symtile/ir/expr.h"

namespace symtile {

using VariableMap = std::map<std::string, Expr>;

/// Variables of `e` that no reduction in it binds, symbols of reduction extents included.
std::set<std::string> free_variables(const Expr& e);

/// Replaces symbols of `dim`; the replacements must be index arithmetic.
DimExpr substitute_dim(const DimExpr& dim, const VariableMap& map);

/// The substitution below binders of `names`, whose scope uses the variables `in_body`. Renames
/// the binders, of dtype `dtype`, that would capture.
VariableMap enter_scope(const VariableMap& map, std::vector<std::string*> names,
                        const std::set<std::string>& in_body, DType dtype = DType::i64);
VariableMap enter_scope(const VariableMap& map, std::vector<Axis>& axes,
                        const std::set<std::string>& in_body);

}  // namespace symtile
