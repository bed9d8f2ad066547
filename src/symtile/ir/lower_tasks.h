// Task statements as loops and index arithmetic: what a backend without task mappings runs.
//
// spatial becomes division and remainder of the worker, repeat a loop nest in rank order (unrolled
// where the whole mapping repeats little), outer atoms outside. A worker outside [0, workers) has
// no tasks, so the nest stands behind a check unless `facts` show that it cannot fail.
#pragma once

#include "symtile/ir/tile.h"

namespace symtile {

/// Equivalent to the statement; `facts` may know the ranges of the variables in scope.
Stmt lower_tasks(const TaskStmt& task, const Facts& facts = {});
/// The function with every task statement lowered; workers that loops and facts prove to be within
/// a mapping are not checked.
TileFunction without_tasks(TileFunction f);

}  // namespace symtile
