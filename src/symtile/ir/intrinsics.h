// The target instructions whose meaning the IR defines (docs/ir.md, "Intrinsics"), and that meaning
// as plain statements, so that every backend can run them:
//
//   copy_async(%to[..], %from[..], n)       begins to copy n elements, consecutive in both
//   commit_copies()                         what this lane began since the last one is a group
//   wait_copies(n)                          until at most n groups of this lane are in flight
//   mma_m16n8k16(lane, %c[..], %a[..], %b[..])   C += A B by the 32 lanes of a warp
//
// Any other name is the target's business (prefetch and prefetch_write are hints everywhere).
#pragma once

#include "symtile/ir/tile.h"

namespace symtile {

enum class Intrinsic : uint8_t { copy_async, commit_copies, wait_copies, mma_m16n8k16 };
/// nullopt: the name means nothing to the IR.
std::optional<Intrinsic> intrinsic_of(const IntrinsicStmt& n);

/// Elements of one copy; its arguments are known to be right (verify).
int64_t copied_elements(const IntrinsicStmt& n);

/// The sizes of mma_m16n8k16.
inline constexpr int64_t kMmaRows = 16, kMmaColumns = 8, kMmaDepth = 16, kMmaLanes = 32;

/// What one lane does, as statements: a copy happens where it stands, a multiplication is a loop
/// over the elements of C that the lane has. Null for what orders copies, and for hints.
Stmt plain_statements(const IntrinsicStmt& n);

/// Why the arguments are wrong; empty when they are right. `buffer` finds declarations.
std::string why_wrong_intrinsic(const IntrinsicStmt& n,
                                const std::function<const Buffer*(const std::string&)>& buffer);

}  // namespace symtile
