// What differs between the C-like kernel languages, as plain data.
//
// Kernels are printed in terms of the type names i8 ... f64 and of helper functions st_*; a dialect
// says how these are introduced (prelude.h has the shared text), how memory is qualified, and how
// a work-item asks who it is. A new dialect is one such record.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace symtile::c_source {

struct Dialect {
  std::string name;
  /// Opens a kernel of so many work-items per block, up to its name: "__kernel void".
  std::function<std::string(int64_t threads)> kernel_head;
  std::string global;  ///< qualifiers of pointers to global and to shared memory, with a blank
  std::string shared;
  std::string shared_declaration;  ///< of an array in shared memory
  std::string block_index;         ///< i64 expressions
  std::string thread_index;
  /// Statements that the whole block reaches. `barrier warp` prints the first of them: where lanes
  /// of a warp cannot be ordered alone, the whole block must reach it.
  std::string shared_barrier;
  std::string global_barrier;
  std::string unroll_hint;  ///< a line before a loop
  /// Vectors of 2, 4, 8 and 16 elements, of the types f32x4 and so on, at any element's address;
  /// null: the language has none.
  std::function<std::string(int64_t lanes, const std::string& pointer)> vector_load;
  std::function<std::string(int64_t lanes, const std::string& value, const std::string& pointer)>
      vector_store;
  std::function<std::string(const std::string& value, int64_t lane)> vector_lane;
};

}  // namespace symtile::c_source
