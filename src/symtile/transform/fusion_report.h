// What the fuse pass decided, for people: which operators became which kernel, and why the others
// stay apart.
#pragma once

#include <string>
#include <vector>

namespace symtile {

enum class FusionRole : uint8_t { anchor, epilogue, prologue };
inline const char* name_of(FusionRole role) {
  constexpr const char* names[] = {"anchor", "epilogue", "prologue"};
  return names[static_cast<size_t>(role)];
}

struct FusedMember {
  std::string value;  ///< of the graph function before fusion
  std::string op;     ///< the operator that it was lowered from
  std::string kind;   ///< "elementwise", "contraction", ...
  FusionRole role;
};

struct FusedKernel {
  std::string function;  ///< the graph function
  std::string kernel;    ///< the tile function
  std::string value;     ///< its result
  std::string kind;      ///< of its anchor; of its exit without one
  std::string apart;     ///< why nothing that reads the result is in the kernel
  std::vector<FusedMember> members;
};

/// A producer and a consumer that are different kernels.
struct FusionRefusal {
  std::string function, producer, producer_kind, consumer, reason;
};

struct FusionReport {
  std::vector<FusedKernel> kernels;
  std::vector<FusionRefusal> refusals;
};

}  // namespace symtile
