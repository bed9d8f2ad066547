#include "symtile/ir/tile_dsl.h"

#include "symtile/ir/verify.h"

namespace symtile {

/// xor of two index expressions, found by layout_address.
static Expr swizzle_xor(const Expr& a, const Expr& b, int64_t) {
  return binary(BinaryOp::bit_xor, a, b);
}

}  // namespace symtile

namespace symtile::dsl {

DimExpr extent(const Expr& e) {
  const auto dim = to_dim_expr(e);
  SYMTILE_CHECK(dim, "'{}' is no formula of symbols, so it cannot be an extent", e.str());
  return *dim;
}

std::vector<DimExpr> extents(const std::vector<Expr>& list) {
  std::vector<DimExpr> out;
  for (const Expr& e : list) out.push_back(extent(e));
  return out;
}

Expr ceildiv(const Expr& a, const Expr& b) {
  return to_expr(symtile::ceildiv(extent(a), extent(b)));
}

Expr predicated(const Expr& inside, const Expr& value) {
  return select(inside, value, imm(value.dtype(), 0));
}

Element::operator Expr() const { return load(buffer_.name, buffer_.dtype, indices_); }

void Element::operator=(const Expr& value) const {
  SYMTILE_CHECK(value.dtype() == buffer_.dtype, "a store of {} into '{}', which holds {}",
                name_of(value.dtype()), buffer_.name, name_of(buffer_.dtype));
  builder_.emit(store(buffer_.name, indices_, value));
}

void Element::operator=(double value) const { *this = imm(buffer_.dtype, value); }

void Element::operator+=(const Expr& value) const { *this = static_cast<Expr>(*this) + value; }

Element Tensor::at(std::vector<Expr> index) const {
  if (!layout_) {
    SYMTILE_CHECK(index.size() == buffer_->dims.size(), "{} indices for '{}' of {} dimensions",
                  index.size(), buffer_->name, buffer_->dims.size());
    return {*builder_, *buffer_, std::move(index)};
  }
  const Expr address = layout_address(*layout_, index, [](const DimExpr& d) { return to_expr(d); });
  return {*builder_, *buffer_, {address}};
}

TileBuilder::TileBuilder(std::string name) {
  function_.name = std::move(name);
  frames_.push_back({});
}

std::string TileBuilder::fresh(const std::string& hint) {
  std::string name = hint;
  for (int i = 1; !names_.insert(name).second; ++i) name = fmt::format("{}_{}", hint, i);
  return name;
}

Expr TileBuilder::symbol(const std::string& name) {
  SYMTILE_CHECK(names_.insert(name).second, "the name '{}' is taken", name);
  function_.symbols.push_back(name);
  return var(name);
}

Tensor TileBuilder::parameter(std::vector<Buffer>& list, const std::string& name, DType dtype,
                              const std::vector<Expr>& dims) {
  SYMTILE_CHECK(buffers_.insert(name).second, "the buffer name '{}' is taken", name);
  list.push_back({name, dtype, extents(dims), Scope::global, {}});
  return {*this, std::make_shared<const Buffer>(list.back()), std::nullopt};
}

Tensor TileBuilder::input(const std::string& name, DType dtype, const std::vector<Expr>& dims) {
  return parameter(function_.inputs, name, dtype, dims);
}

Tensor TileBuilder::output(const std::string& name, DType dtype, const std::vector<Expr>& dims) {
  return parameter(function_.outputs, name, dtype, dims);
}

Tensor TileBuilder::alloc(Scope scope, const std::string& name, DType dtype,
                          const std::vector<Expr>& dims) {
  return allocated({name, dtype, extents(dims), scope, {}}, std::nullopt);
}

Tensor TileBuilder::alloc(Scope scope, const std::string& name, DType dtype,
                          const DataLayout& layout) {
  return allocated({name, dtype, {layout.size()}, scope, {}}, layout);
}

Tensor TileBuilder::allocated(Buffer buffer, std::optional<DataLayout> layout) {
  const std::string hint = buffer.name;
  for (int i = 1; !buffers_.insert(buffer.name).second; ++i)
    buffer.name = fmt::format("{}_{}", hint, i);
  frames_.push_back(
      {{}, [buffer](Stmt body) { return make_stmt(AllocateStmt{buffer, std::move(body)}); }});
  return {*this, std::make_shared<const Buffer>(std::move(buffer)), std::move(layout)};
}

Expr TileBuilder::let(const std::string& hint, const Expr& value) {
  const std::string name = fresh(hint);
  frames_.push_back(
      {{}, [name, value](Stmt body) { return make_stmt(LetStmt{name, value, std::move(body)}); }});
  return var(name, value.dtype());
}

Stmt TileBuilder::close_frame() {
  Frame frame = std::move(frames_.back());
  frames_.pop_back();
  Stmt body = block(std::move(frame.stmts));
  return frame.wrap ? frame.wrap(std::move(body)) : body;
}

Stmt TileBuilder::braces(const std::function<void()>& body) {
  frames_.push_back({});
  const size_t depth = frames_.size();
  body();
  while (frames_.size() > depth) {
    Stmt inner = close_frame();
    emit(std::move(inner));
  }
  return close_frame();
}

void TileBuilder::loop(LoopKind kind, const std::string& hint, const Expr& begin, const Expr& end,
                       const Body& body, int64_t step) {
  const std::string name = fresh(hint);
  Stmt inner = braces([&] { body(var(name)); });
  emit(for_loop(name, begin, end, kind, std::move(inner), step));
}

void TileBuilder::tasks(const ProjectedMapping& mapping, const Expr& worker,
                        const std::function<void(const std::vector<Expr>&)>& body) {
  const std::vector<Expr> origin(static_cast<size_t>(mapping.rank()), Expr(0));
  if (mapping.factors().size() == 1) return factor(mapping, 0, worker, origin, body);
  // Named once: every factor takes its part of the number.
  Stmt all = braces([&] { factor(mapping, 0, let("worker", worker), origin, body); });
  emit(std::move(all));
}

void TileBuilder::factor(const ProjectedMapping& mapping, size_t i, const Expr& worker,
                         const std::vector<Expr>& base,
                         const std::function<void(const std::vector<Expr>&)>& body) {
  if (i == mapping.factors().size()) return body(base);
  const ProjectedMapping::Factor& f = mapping.factors()[i];
  DimExpr inner = 1;
  for (size_t j = i + 1; j < mapping.factors().size(); ++j)
    inner *= mapping.factors()[j].mapping.workers();
  constexpr const char* hints[] = {"i", "j", "k", "l"};
  TaskStmt task;
  task.mapping = f.mapping;
  task.worker = floordiv(worker, to_expr(inner));
  const std::vector<DimExpr> shape = task_shape(f);
  std::vector<Expr> at;
  for (size_t d = 0; d < base.size(); ++d) {
    task.vars.push_back(fresh(hints[std::min<size_t>(d, 3)]));
    at.push_back(base[d] * to_expr(shape[d]) + (f.projected[d] ? Expr(0) : var(task.vars[d])));
  }
  task.body = braces([&] { factor(mapping, i + 1, floormod(worker, to_expr(inner)), at, body); });
  emit(make_stmt(std::move(task)));
}

void TileBuilder::when(const Expr& condition, const std::function<void()>& then,
                       const std::function<void()>& otherwise) {
  Stmt yes = braces(then);
  Stmt no = otherwise ? braces(otherwise) : nullptr;
  emit(make_stmt(IfStmt{condition, std::move(yes), std::move(no)}));
}

void TileBuilder::barrier(Scope scope) { emit(make_stmt(BarrierStmt{scope})); }

void TileBuilder::intrinsic(const std::string& name, std::vector<Expr> arguments) {
  emit(make_stmt(IntrinsicStmt{name, std::move(arguments)}));
}

void TileBuilder::stage(const Tensor& target,
                        const std::function<Expr(const std::vector<Expr>&)>& body) {
  ComputeStmt out;
  out.buffer = target.name();
  std::vector<Expr> at;
  for (const DimExpr& d : target.buffer_->dims) {
    out.axes.push_back({fresh(fmt::format("i{}", at.size())), d});
    at.push_back(var(out.axes.back().name));
  }
  out.value = body(at);
  emit(make_stmt(std::move(out)));
}

Expr TileBuilder::reduction(ReduceKind kind, const std::vector<Expr>& over,
                            const std::function<Expr(const std::vector<Expr>&)>& body) {
  std::vector<Axis> axes;
  std::vector<Expr> at;
  for (const Expr& e : over) {
    axes.push_back({fresh(fmt::format("k{}", at.size())), extent(e)});
    at.push_back(var(axes.back().name));
  }
  return symtile::reduce(kind, std::move(axes), body(at));
}

TileFunction TileBuilder::build() {
  while (frames_.size() > 1) {
    Stmt inner = close_frame();
    emit(std::move(inner));
  }
  function_.body = block(std::move(frames_.back().stmts));
  verify_tile(function_);
  TileFunction out = std::move(function_);
  *this = TileBuilder(out.name);
  return out;
}

}  // namespace symtile::dsl
