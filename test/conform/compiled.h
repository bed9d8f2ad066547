// Compiled code against the reference: many cases in one artifact, which runs at every shape.
#pragma once

#include <string>
#include <vector>

#include "cases.h"

namespace symtile::test {

struct Tally {
  int passed = 0, skipped = 0;
  std::vector<std::string> failures;
  void merge(Tally other);
};

/// Compiles and runs the cases in child processes: neither a crash nor an error of one case hides
/// the others, since a group that fails is divided until the culprit is alone.
Tally check_compiled(const std::vector<Case>& cases, bool optimize,
                     const std::string& device = "cpu");

}  // namespace symtile::test
