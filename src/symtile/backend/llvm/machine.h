// What LLVM does with a finished module: verify, optimise, emit.
//
// One Machine belongs to one thread. Kernels are single functions that call nothing, so the
// pass list is short: it promotes local buffers to registers, hoists address arithmetic,
// vectorises the loops the schedule left scalar, and stops there. Compile speed matters as much
// as the last percent: a model has hundreds of kernels.
#pragma once

#include <memory>
#include <string>

#include "symtile/target/cpu_target.h"

namespace llvm {
class Function;
class Module;
class TargetMachine;
}  // namespace llvm

namespace symtile::codegen {

class Machine {
 public:
  explicit Machine(const CpuTarget& target);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  const CpuTarget& target() const { return target_; }
  /// Sets triple and data layout; call it before code is built.
  void prepare(llvm::Module& module) const;
  /// Attributes every function of a kernel module needs (CPU, features, vector width).
  void prepare(llvm::Function& function) const;
  /// CHECKs that the module is well-formed, then runs the pass list on it.
  void optimize(llvm::Module& module) const;
  /// An ELF relocatable object.
  std::string emit_object(llvm::Module& module) const;
  std::string emit_assembly(llvm::Module& module) const;

 private:
  CpuTarget target_;
  std::unique_ptr<llvm::TargetMachine> machine_;
};

}  // namespace symtile::codegen
