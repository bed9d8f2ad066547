// Translates one scheduled tile function to one LLVM function.
//
// The central idea is `Lanes`: the value of an expression in all SIMD lanes at once. Inside a
// vectorised loop the loop variable is `base + lane * step`, and index arithmetic keeps that
// linear form as long as it can; a load whose flat index has lane stride 1 becomes a vector load,
// stride 0 a scalar load, anything else a gather. Outside vectorised loops there is one lane and
// the same code emits scalars. Constants are kept apart from the rest of an index, so addresses
// of unrolled code differ by immediates only.
//
// Lane masks come from `if` and `select` on varying conditions and from the tails of vectorised
// loops; while a mask is set, memory is touched only in active lanes.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "symtile/backend/llvm/compile_cpu.h"
#include "symtile/backend/llvm/op_emitter.h"
#include "symtile/backend/llvm/vector_plan.h"

namespace symtile::codegen {

/// An i64 `value + offset + lane * stride` (null value: 0; null stride: 0), or, for any type, a
/// scalar or vector `value` with neither offset nor stride.
struct Lanes {
  llvm::Value* value = nullptr;
  int64_t offset = 0;
  llvm::Value* stride = nullptr;

  bool is_vector() const { return value && lane_count(value) > 0; }
  bool is_uniform() const { return !stride && !is_vector(); }
  bool is_constant() const { return !value && !stride; }
};

class KernelCodegen {
 public:
  KernelCodegen(llvm::Module& module, const TileFunction& function, const CpuTarget& target,
                std::string symbol);
  /// Emits the function; call once. The function carries no target attributes yet.
  KernelCode build();
  llvm::Function* function() const { return llvm_function_; }

 private:
  struct Variable {
    Lanes lanes;
    bool non_negative = false;
  };
  struct BufferSlot {
    DType dtype = DType::f32;
    llvm::Value* base = nullptr;
    std::vector<Lanes> strides;
    std::optional<int64_t> elements;  ///< when constant
    int lanes = 1;                    ///< copies: > 1 for buffers private to each lane
    llvm::MDNode* scope = nullptr;    ///< alias scope list of its accesses; may be null
    llvm::MDNode* no_alias = nullptr;
  };
  /// Vector accumulators standing in for a buffer during a vectorised loop.
  struct Shadow {
    LaneReduction reduction;
    llvm::AllocaInst* storage = nullptr;
    int64_t elements = 1;  ///< 1: the single place `place`
    Lanes place;
  };
  struct ShadowSet {
    int lanes = 1;
    std::map<std::string, Shadow> shadows;
  };
  /// Where a loop runs from and to; all uniform.
  struct LoopBounds {
    Lanes begin, end;
    std::optional<int64_t> count;  ///< iterations, when constant
  };
  /// A division whose quotient is fixed, and whose remainder counts up, in the current segment of
  /// a vectorised loop.
  struct Segment {
    LaneDivision division;
    Lanes quotient;
    Lanes rest_less_var;  ///< the remainder minus the loop variable
  };
  enum class Hint : uint8_t { none, finished, unroll };
  using Body = std::function<void(llvm::Value*)>;

  // kernel_codegen.cpp: the frame
  void create_function();
  void collect_scoped_buffers(const Stmt& s, std::vector<std::string>& names);
  void assign_alias_scopes();
  void bind_parameters();
  BufferSlot make_slot(const Buffer& buffer, llvm::Value* base);
  void emit_parallel(KernelCode& code);
  llvm::AllocaInst* entry_alloca(llvm::Type* type, int64_t count);
  llvm::Type* i64() { return b_.getInt64Ty(); }

  // kernel_stmt.cpp: statements
  void emit(const Stmt& s);
  void emit_for(const ForStmt& n);
  void emit_unrolled(const ForStmt& n, const Lanes& begin, int64_t count);
  void emit_serial(const ForStmt& n, Hint hint);
  void emit_if(const IfStmt& n);
  void emit_allocate(const AllocateStmt& n);
  void emit_intrinsic(const IntrinsicStmt& n);
  void with_variable(const std::string& name, Variable variable, const std::function<void()>& f);
  /// do { body(i); i += step; } while (i < end), guarded unless provably entered.
  void counted_loop(const Lanes& begin, const Lanes& end, int64_t step, Hint hint,
                    const Body& body);
  llvm::MDNode* loop_metadata(Hint hint);
  LoopBounds bounds_of(const ForStmt& n);

  // kernel_vector.cpp: vectorised loops
  void emit_vectorized(const ForStmt& n);
  void emit_lane_group(const ForStmt& n, const Lanes& base, int lanes, llvm::Value* mask,
                       ShadowSet* shadows);
  void emit_strip_mined(const ForStmt& n, const LoopBounds& bounds, const VectorPlan& plan);
  void emit_strips(const ForStmt& n, llvm::Value* begin, llvm::Value* end, const VectorPlan& plan,
                   ShadowSet* wide, ShadowSet& narrow);
  void emit_segments(const ForStmt& n, const LoopBounds& bounds, const VectorPlan& plan,
                     ShadowSet* wide, ShadowSet& narrow);
  const Segment* find_segment(const BinaryExpr& n) const;
  bool can_mask_tail(const VectorPlan& plan) const;
  ShadowSet make_shadows(const VectorPlan& plan, int lanes);
  void fold_shadows(ShadowSet& wide, ShadowSet& narrow);
  void finish_shadows(ShadowSet& set);
  bool store_to_shadow(const StoreStmt& n);
  /// Lanes `i` with base + i * step < end, as a mask.
  llvm::Value* mask_below(llvm::Value* count, int lanes);

  // kernel_memory.cpp: buffers
  BufferSlot& slot(const std::string& name);
  Lanes flatten(const BufferSlot& slot, const std::vector<Expr>& indices);
  Lanes place_in(const BufferSlot& slot, const std::vector<Expr>& indices);
  llvm::Value* pointer(const BufferSlot& slot, const Lanes& flat);
  llvm::Value* pointers(const BufferSlot& slot, const Lanes& flat, llvm::Value* mask);
  llvm::Value* load_lanes(const BufferSlot& slot, const Lanes& flat);
  llvm::Value* load_strided(const BufferSlot& slot, const Lanes& flat, int64_t stride);
  llvm::Value* load_strided_masked(const BufferSlot& slot, const Lanes& flat, int64_t stride);
  bool masks_loads(DType dtype) const;
  void store_lanes(const BufferSlot& slot, const Lanes& flat, llvm::Value* value);
  void emit_store(const StoreStmt& n);
  llvm::Value* updated_value(const StoreStmt& n, const ReductionUpdate& update);
  /// acc + e where e is a sum of products of the parts of two words; null elsewhere.
  llvm::Value* emit_dot_product(const Expr& e, llvm::Value* acc);
  template <typename Access>
  Access* annotate(Access* access, const BufferSlot& slot);
  llvm::Value* safe_place();

  // kernel_expr.cpp: expressions
  Lanes emit(const Expr& e);
  Lanes emit_node(const Expr& e);
  llvm::Value* emit_value(const Expr& e) { return value_of(emit(e)); }
  /// Emits a whole expression; nothing of it is remembered.
  Lanes emit_root(const Expr& e);
  /// Runs f with an empty memory of emitted nodes, or one that is forgotten after f.
  void with_fresh_memo(const std::function<void()>& f);
  void with_inner_memo(const std::function<void()>& f);
  Lanes emit_binary(const BinaryExpr& n);
  Lanes emit_index_binary(const BinaryExpr& n, const Lanes& a, const Lanes& b, bool& done);
  Lanes emit_select(const SelectExpr& n);
  Lanes emit_select_branch(const SelectExpr& n, llvm::Value* condition);
  Lanes emit_select_masked(const SelectExpr& n, llvm::Value* condition);
  llvm::Value* compare_linear(BinaryOp op, const Lanes& a, const Lanes& b, bool may_wrap);
  Lanes add(const Lanes& a, const Lanes& b);
  Lanes subtract(const Lanes& a, const Lanes& b);
  Lanes multiply(const Lanes& a, const Lanes& b);
  /// The scalar of lane 0.
  llvm::Value* first_lane(const Lanes& a);
  /// A scalar when uniform, else a vector.
  llvm::Value* value_of(const Lanes& a);
  llvm::Value* vector_of(const Lanes& a) { return broadcast(b_, value_of(a), lanes_); }
  llvm::Value* both(llvm::Value* mask, llvm::Value* condition);
  llvm::Value* any_lane(llvm::Value* mask);
  bool non_negative(const Expr& e);
  bool varies(const Expr& e);
  bool touches_memory(const Expr& e);

  // kernel_reduce.cpp: reductions inside expressions
  Lanes emit_reduce(const ReduceExpr& n);
  Lanes emit_arg_reduce(const ReduceExpr& n);
  void reduce_axes(const ReduceExpr& n, size_t axis, bool unroll, const std::function<void()>& f);

  llvm::Module& module_;
  const TileFunction source_;  ///< without task statements
  const CpuTarget& target_;
  std::string symbol_;
  Builder b_;
  OpEmitter ops_;
  llvm::Function* llvm_function_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;
  llvm::Value* safe_place_ = nullptr;
  DimExpr scratch_bytes_;

  std::map<std::string, Variable> variables_;
  std::map<std::string, BufferSlot> buffers_;
  std::map<std::string, std::pair<llvm::MDNode*, llvm::MDNode*>> alias_scopes_;
  std::map<const AllocateStmt*, DimExpr> scratch_offsets_;
  std::vector<std::unordered_map<const ExprNode*, Lanes>> memo_;  ///< innermost scope last

  int lanes_ = 1;                 ///< of the enclosing vectorised loop
  llvm::Value* mask_ = nullptr;   ///< active lanes; null: all
  bool some_lane_active_ = true;  ///< false inside arms of a select
  ShadowSet* shadows_ = nullptr;
  std::string segment_var_;
  std::vector<Segment> segments_;
  int unrolled_bodies_ = 0;
};

}  // namespace symtile::codegen
