// Inlining inside one tile function in compute form: stages that are read once disappear.
#pragma once

#include "symtile/transform/tile/access.h"

namespace symtile {

/// Substitutes the value of a stage into its reader when that repeats no work: the stage has no
/// reduction and is read at one place (or is as cheap as a load), or it has one and its single
/// reading stage maps its elements one to one. That stage may then name the same reduction several
/// times (x * sigmoid(x)); equal reductions are computed once. Temporaries without a stage are
/// dropped.
void inline_stages(TileFunction& f);

/// Symbols (free i64 variables that are no axis) in the stages of `form`, added to `out`.
void collect_free_symbols(const ComputeForm& form, std::set<std::string>& out);

/// The facts that mention only symbols of `symbols`.
Facts restricted_facts(const Facts& facts, const std::set<std::string>& symbols);

}  // namespace symtile
