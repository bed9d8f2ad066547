// Tile functions: how one kernel computes it, in destination-passing style.
//
// Two forms share one statement language. In the *compute form* the body is a block of
// `Compute` stages (each output element as an expression over index variables) with `Allocate`
// for intermediate buffers. In the *scheduled form* loops, worker mappings, memory scopes,
// vectors and barriers are explicit and no Compute is left. Outputs never alias inputs unless
// plan_memory proved the body reads each element before writing it. Every output element is
// written exactly once by a Compute; a zero extent means no elements. Stages run in order.
#pragma once

#include "symtile/ir/expr.h"
#include "symtile/mapping/task_mapping.h"

namespace symtile {

/// Where a buffer lives. GPU: global / shared / warp fragment / registers. CPU: global /
/// scratch (per thread, planned) / registers (unrolled and promoted).
enum class Scope : uint8_t { global, scratch, shared, warp, local };
std::string_view name_of(Scope scope);

/// Who runs the iterations of a loop.
enum class LoopKind : uint8_t {
  serial,
  unrolled,    ///< constant extent, expanded
  vectorized,  ///< constant extent, one SIMD operation a lane group; iterations independent
               ///< except for sums into a buffer indexed without the loop variable
  parallel,    ///< iterations independent, spread over CPU threads
  grid_block,  ///< GPU: block index / workgroup
  block_warp,  ///< GPU: warp index in the block
  warp_lane,   ///< GPU: lane / invocation
};
std::string_view name_of(LoopKind kind);

struct Buffer {
  std::string name;
  DType dtype = DType::f32;
  Dims dims;
  Scope scope = Scope::global;
  Dims strides;  ///< in elements; empty: row-major, dense
  friend bool operator==(const Buffer&, const Buffer&) = default;
};

struct StmtNode;
using Stmt = std::shared_ptr<const StmtNode>;

struct BlockStmt {
  std::vector<Stmt> stmts;
};
/// buffer[axes] = value for every point of the axes; value may contain reductions.
struct ComputeStmt {
  std::string buffer;
  std::vector<Axis> axes;
  Expr value;
};
/// `buffer` exists within `body`; contents start undefined.
struct AllocateStmt {
  Buffer buffer;
  Stmt body;
};
struct StoreStmt {
  std::string buffer;
  std::vector<Expr> indices;
  Expr value;
};
/// var = begin, begin + step, ... while var < end. step >= 1.
struct ForStmt {
  std::string var;
  Expr begin, end;
  int64_t step = 1;
  LoopKind kind;
  Stmt body;
};
struct LetStmt {
  std::string var;
  Expr value;
  Stmt body;
};
/// else_body may be null.
struct IfStmt {
  Expr condition;
  Stmt then_body, else_body;
};
/// Runs the tasks of worker `worker` of the mapping, in order, binding `vars`.
struct TaskStmt {
  TaskMapping mapping;
  Expr worker;
  std::vector<std::string> vars;
  Stmt body;
};
/// All workers of the level wait; memory of `scope` written before is visible after.
struct BarrierStmt {
  Scope scope;
};
/// A target instruction on buffer regions (matrix multiply, asynchronous copy, ...): each
/// argument is a Load that names the first element, or a scalar.
struct IntrinsicStmt {
  std::string name;
  std::vector<Expr> args;
};

struct StmtNode {
  std::variant<BlockStmt, ComputeStmt, AllocateStmt, StoreStmt, ForStmt, LetStmt, IfStmt, TaskStmt,
               BarrierStmt, IntrinsicStmt>
      value;
};

template <typename T>
const T* as(const Stmt& s) {
  return s ? std::get_if<T>(&s->value) : nullptr;
}
template <typename T>
Stmt make_stmt(T node) {
  return std::make_shared<const StmtNode>(StmtNode{std::move(node)});
}
Stmt block(std::vector<Stmt> stmts);  ///< flattens nested blocks; a single one stays itself
Stmt store(std::string buffer, std::vector<Expr> indices, Expr value);
Stmt for_loop(std::string var, Expr begin, Expr end, LoopKind kind, Stmt body, int64_t step = 1);
bool structurally_equal(const Stmt& a, const Stmt& b);

struct TileFunction {
  std::string name;
  std::vector<std::string> symbols;  ///< i64 parameters, passed by the caller
  std::vector<Buffer> inputs;
  std::vector<Buffer> outputs;
  Stmt body;
  Facts facts;
  Attributes attrs;  ///< notes for later passes and people, e.g. op = "conv"

  const Buffer* find_param(std::string_view name) const;
  /// True when no Compute stage is left.
  bool is_scheduled() const;
};

/// Calls `on_stmt` for every statement (parents first) and `on_expr` for every expression root.
void visit(const Stmt& s, const std::function<void(const Stmt&)>& on_stmt,
           const std::function<void(const Expr&)>& on_expr);
/// Rebuilds bottom-up: `on_expr` on every expression root, then `on_stmt` on every statement.
/// Either may be null.
Stmt rewrite(const Stmt& s, const std::function<Stmt(const Stmt&)>& on_stmt,
             const std::function<Expr(const Expr&)>& on_expr);
/// Replaces variables and symbols, in loop bounds and buffer dims too.
Stmt substitute(const Stmt& s, const std::map<std::string, Expr>& map);
/// Renames buffers; names not in the map stay.
Stmt rename_buffers(const Stmt& s, const std::map<std::string, std::string>& map);

}  // namespace symtile
