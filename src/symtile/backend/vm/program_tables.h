// The tables of the program being built; equal entries are stored once.
#pragma once

#include <map>
#include <unordered_map>

#include "symtile/backend/vm/lower_program.h"

namespace symtile {

class ProgramTables {
 public:
  LoweredProgram lowered;

  format::FormulaId formula(format::Formula formula);
  format::ShapeId shape(format::TensorShape shape);
  format::ConstantId constant(const Constant& data);
  format::KernelId kernel(const TileFunction& f);
  format::BuiltinId builtin(const std::string& name);
  /// Functions are added callees first.
  void add_function(format::Function f);
  format::FunctionId function(const std::string& name) const;

 private:
  format::Program& program() { return lowered.program; }

  std::map<std::pair<std::string, std::vector<int64_t>>, uint32_t> formulas_;
  std::map<std::vector<uint32_t>, uint32_t> shapes_;
  std::unordered_multimap<size_t, uint32_t> constants_;  ///< by hash of the contents
  std::map<std::string, uint32_t> kernels_, builtins_, functions_;
};

}  // namespace symtile
