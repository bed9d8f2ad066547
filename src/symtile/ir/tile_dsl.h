// Tile programs in C++: a kernel's author writes loops, mappings and loads as in the text form.
//
//   TileBuilder t("scale");
//   Expr n = t.symbol("n");
//   Tensor x = t.input("x", DType::f32, {n}), y = t.output("y", DType::f32, {n});
//   t.parallel("b", 0, ceildiv(n, 128), [&](Expr b) {
//     t.for_each(repeat(ceildiv(128, 8)), 0, [&](Expr i) { ... y(b * 128 + i) = 2 * x(...); });
//   });
//   TileFunction f = t.build();
//
// Everything is an Expr: symbols, loop variables, elements read. Assigning to an element stores.
// An allocation or a let lasts to the end of the braces it stands in. build() verifies; the result
// prints, parses and compiles as any other tile function.
#pragma once

#include "symtile/ir/tile.h"
#include "symtile/mapping/layout.h"
#include "symtile/mapping/projection.h"

namespace symtile::dsl {

/// A formula of symbols and numbers as an extent; CHECKs that it is one.
DimExpr extent(const Expr& e);
std::vector<DimExpr> extents(const std::vector<Expr>& list);

Expr ceildiv(const Expr& a, const Expr& b);
/// The remainder of the floor, as in the text form.
inline Expr operator%(const Expr& a, const Expr& b) { return floormod(a, b); }
/// `value` where `inside`, else zero of its type; the load is guarded.
Expr predicated(const Expr& inside, const Expr& value);

/// spatial(4, 8), repeat(2, n): extents are numbers or formulas of symbols.
template <typename... E>
TaskMapping spatial(E... e) {
  return TaskMapping::spatial(extents({Expr(e)...}));
}
template <typename... E>
TaskMapping repeat(E... e) {
  return TaskMapping::repeat(extents({Expr(e)...}));
}
template <typename... E>
TaskMapping column_spatial(E... e) {
  return TaskMapping::column_spatial(extents({Expr(e)...}));
}
template <typename... E>
TaskMapping column_repeat(E... e) {
  return TaskMapping::column_repeat(extents({Expr(e)...}));
}

class TileBuilder;

/// One element of a tensor: reads as an Expr, stores on assignment.
class Element {
 public:
  operator Expr() const;  // NOLINT: an element is its value
  void operator=(const Expr& value) const;
  void operator=(double value) const;
  void operator=(const Element& value) const { *this = static_cast<Expr>(value); }
  void operator+=(const Expr& value) const;

 private:
  friend class Tensor;
  Element(TileBuilder& builder, const Buffer& buffer, std::vector<Expr> indices)
      : builder_(builder), buffer_(buffer), indices_(std::move(indices)) {}
  TileBuilder& builder_;
  const Buffer& buffer_;
  std::vector<Expr> indices_;
};

/// A buffer of the program, perhaps behind a layout.
class Tensor {
 public:
  template <typename... I>
  Element operator()(I... index) const {
    return at({Expr(index)...});
  }
  Element at(std::vector<Expr> index) const;
  const std::string& name() const { return buffer_->name; }
  DType dtype() const { return buffer_->dtype; }

 private:
  friend class TileBuilder;
  Tensor(TileBuilder& builder, std::shared_ptr<const Buffer> buffer,
         std::optional<DataLayout> layout)
      : builder_(&builder), buffer_(std::move(buffer)), layout_(std::move(layout)) {}
  TileBuilder* builder_;
  std::shared_ptr<const Buffer> buffer_;
  std::optional<DataLayout> layout_;
};

class TileBuilder {
 public:
  explicit TileBuilder(std::string name);

  Expr symbol(const std::string& name);
  /// "n % 4 == 0", "1 <= n <= 4096"
  void assume(const std::string& fact) { function_.facts.assume_text(fact); }
  Tensor input(const std::string& name, DType dtype, const std::vector<Expr>& dims);
  Tensor output(const std::string& name, DType dtype, const std::vector<Expr>& dims);

  /// Until the end of the enclosing braces. With a layout the buffer is flat and indices go through
  /// the layout.
  Tensor alloc(Scope scope, const std::string& name, DType dtype, const std::vector<Expr>& dims);
  Tensor alloc(Scope scope, const std::string& name, DType dtype, const DataLayout& layout);
  template <typename Shape>
  Tensor shared(const std::string& name, DType dtype, const Shape& shape) {
    return alloc(Scope::shared, name, dtype, shape);
  }
  template <typename Shape>
  Tensor local(const std::string& name, DType dtype, const Shape& shape) {
    return alloc(Scope::local, name, dtype, shape);
  }
  template <typename Shape>
  Tensor scratch(const std::string& name, DType dtype, const Shape& shape) {
    return alloc(Scope::scratch, name, dtype, shape);
  }
  Tensor local(const std::string& name, DType dtype, std::initializer_list<Expr> dims) {
    return alloc(Scope::local, name, dtype, std::vector<Expr>(dims));
  }
  Tensor shared(const std::string& name, DType dtype, std::initializer_list<Expr> dims) {
    return alloc(Scope::shared, name, dtype, std::vector<Expr>(dims));
  }
  Tensor scratch(const std::string& name, DType dtype, std::initializer_list<Expr> dims) {
    return alloc(Scope::scratch, name, dtype, std::vector<Expr>(dims));
  }
  /// The value under a name, computed once.
  Expr let(const std::string& name, const Expr& value);

  using Body = std::function<void(Expr)>;
  void loop(LoopKind kind, const std::string& name, const Expr& begin, const Expr& end,
            const Body& body, int64_t step = 1);
#define SYMTILE_DSL_LOOP(kind)                                                             \
  void kind(const std::string& name, const Expr& begin, const Expr& end, const Body& body, \
            int64_t step = 1) {                                                            \
    loop(LoopKind::kind, name, begin, end, body, step);                                    \
  }
  SYMTILE_DSL_LOOP(serial)
  SYMTILE_DSL_LOOP(unrolled)
  SYMTILE_DSL_LOOP(vectorized)
  SYMTILE_DSL_LOOP(parallel)
  SYMTILE_DSL_LOOP(grid_block)
  SYMTILE_DSL_LOOP(block_warp)
  SYMTILE_DSL_LOOP(warp_lane)
#undef SYMTILE_DSL_LOOP

  /// Runs body(i, j, ...) for the tasks of `worker`; projected coordinates are 0.
  template <typename F>
  void for_each(const ProjectedMapping& mapping, const Expr& worker, const F& body) {
    tasks(mapping, worker, [&](const std::vector<Expr>& at) { apply(body, at); });
  }
  void when(const Expr& condition, const std::function<void()>& then,
            const std::function<void()>& otherwise = nullptr);
  void barrier(Scope scope = Scope::shared);
  /// Regions are elements: the first of the region.
  void intrinsic(const std::string& name, std::vector<Expr> arguments);

  /// A stage of the compute form: every element of `target` as body(i, j, ...).
  template <typename F>
  void compute(const Tensor& target, const F& body) {
    stage(target, [&](const std::vector<Expr>& at) { return apply(body, at); });
  }
  /// sum({k}, [&](Expr i) { ... }): a reduction inside compute, over indices below the extents.
  template <typename F>
  Expr reduce(ReduceKind kind, const std::vector<Expr>& over, const F& body) {
    return reduction(kind, over, [&](const std::vector<Expr>& at) { return apply(body, at); });
  }
  template <typename F>
  Expr sum(const std::vector<Expr>& over, const F& body) {
    return reduce(ReduceKind::sum, over, body);
  }

  /// The finished function, verified. The builder is empty afterwards.
  TileFunction build();

 private:
  friend class Element;
  /// Statements of one pair of braces; what wraps the rest of them (alloc, let) opens another one.
  struct Frame {
    std::vector<Stmt> stmts;
    std::function<Stmt(Stmt)> wrap;  ///< null: the braces themselves
  };

  void emit(Stmt s) { frames_.back().stmts.push_back(std::move(s)); }
  Stmt braces(const std::function<void()>& body);
  Stmt close_frame();
  std::string fresh(const std::string& hint);
  Tensor parameter(std::vector<Buffer>& list, const std::string& name, DType dtype,
                   const std::vector<Expr>& dims);
  Tensor allocated(Buffer buffer, std::optional<DataLayout> layout);
  void tasks(const ProjectedMapping& mapping, const Expr& worker,
             const std::function<void(const std::vector<Expr>&)>& body);
  void factor(const ProjectedMapping& mapping, size_t i, const Expr& worker,
              const std::vector<Expr>& base,
              const std::function<void(const std::vector<Expr>&)>& body);
  void stage(const Tensor& target, const std::function<Expr(const std::vector<Expr>&)>& body);
  Expr reduction(ReduceKind kind, const std::vector<Expr>& over,
                 const std::function<Expr(const std::vector<Expr>&)>& body);

  template <typename F>
  static auto apply(const F& f, const std::vector<Expr>& at) {
    if constexpr (std::is_invocable_v<F, std::vector<Expr>>) {
      return f(at);
    } else if constexpr (std::is_invocable_v<F, Expr>) {
      return expect_rank<1>(at), f(at[0]);
    } else if constexpr (std::is_invocable_v<F, Expr, Expr>) {
      return expect_rank<2>(at), f(at[0], at[1]);
    } else if constexpr (std::is_invocable_v<F, Expr, Expr, Expr>) {
      return expect_rank<3>(at), f(at[0], at[1], at[2]);
    } else {
      return expect_rank<4>(at), f(at[0], at[1], at[2], at[3]);
    }
  }
  template <size_t N>
  static void expect_rank(const std::vector<Expr>& at) {
    SYMTILE_CHECK(at.size() == N, "a body of {} indices for {} dimensions", N, at.size());
  }

  TileFunction function_;
  std::vector<Frame> frames_;
  std::set<std::string> names_;    ///< of variables and symbols
  std::set<std::string> buffers_;  ///< in the whole function
};

}  // namespace symtile::dsl
