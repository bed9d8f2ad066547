// A tile function prepared for the emulator: variables and buffers are numbers, every statement
// knows its line in the printed program.
#pragma once

#include "symtile/ir/module.h"

namespace symtile::emulation {

struct ExprCode {
  enum class Kind : uint8_t { integer, real, variable, load, unary, binary, select, cast, reduce };
  Kind kind = Kind::integer;
  DType dtype = DType::i64;
  int64_t integer = 0;
  double real = 0;
  int slot = -1;  ///< of the variable, or the number of the buffer
  UnaryOp unary{};
  BinaryOp binary{};
  ReduceKind reduction{};
  std::vector<int> axes;        ///< slots of a reduction's axes
  std::vector<ExprCode> parts;  ///< operands, indices; a reduction: extents, then the body
};

struct BufferCode {
  Buffer declaration;
  std::vector<ExprCode> dims, strides;  ///< strides empty: row-major
  bool written = false;
};

struct StmtCode {
  enum class Kind : uint8_t {
    block,
    allocate,
    store,
    loop,
    let,
    condition,
    tasks,
    barrier,
    copy,  ///< asynchronous: slot and exprs of both sides, `step` elements
    commit,
    wait,      ///< until `step` groups are left
    together,  ///< what all lanes of a warp do as one
    nothing
  };
  Kind kind = Kind::nothing;
  int line = 0;
  int slot = -1;    ///< variable bound, or the number of the buffer
  int source = -1;  ///< of a copy: the number of the buffer
  LoopKind loop{};
  int64_t step = 1;
  Scope scope{};
  std::vector<int> slots;  ///< variables of tasks
  const TaskStmt* tasks = nullptr;
  std::vector<ExprCode> extents;  ///< of the atoms of the mapping, in order
  std::vector<ExprCode> exprs;  ///< store: indices, value; loop: begin, end; let, condition, worker
  std::vector<ExprCode> from;   ///< copy: indices of the source
  std::vector<StmtCode> bodies;  ///< condition: then, else
};

struct Code {
  std::vector<std::string> lines;  ///< the printed program
  int slots = 0;
  std::vector<DType> slot_types;
  std::vector<int> symbols;         ///< slots of the function's symbols, in order
  std::vector<BufferCode> buffers;  ///< inputs, outputs, then allocations
  StmtCode body;
};

Code compile(const TileFunction& f);

}  // namespace symtile::emulation
