// Statements of the body of a launch.
#include <utility>

#include "symtile/backend/c_source/printer.h"
#include "symtile/base/check.h"
#include "symtile/ir/intrinsics.h"
#include "symtile/ir/stmt_walk.h"

namespace symtile::c_source {
namespace {

/// The operands of `buffer[i] = buffer[i] + a * b`, which is one rounding where the device can.
struct ProductUpdate {
  Expr a, b;
};

std::optional<ProductUpdate> match_product_update(const StoreStmt& n) {
  const auto* sum = n.value.as<BinaryExpr>();
  if (!sum || sum->op != BinaryOp::add || !is_float(sum->dtype)) return std::nullopt;
  const auto reads_target = [&](const Expr& e) {
    const auto* l = e.as<Load>();
    if (!l || l->buffer != n.buffer) return false;
    for (size_t i = 0; i < n.indices.size(); ++i) {
      if (!structurally_equal(l->indices[i], n.indices[i])) return false;
    }
    return true;
  };
  for (const auto& [old, added] : {std::pair(sum->a, sum->b), std::pair(sum->b, sum->a)}) {
    const auto* product = added.as<BinaryExpr>();
    if (reads_target(old) && product && product->op == BinaryOp::mul) {
      return ProductUpdate{product->a, product->b};
    }
  }
  return std::nullopt;
}

}  // namespace

void Printer::line(const std::string& text) {
  text_.append(static_cast<size_t>(indent_) * 2, ' ');
  text_ += text;
  text_ += '\n';
}

void Printer::print(const Stmt& s) {
  if (const auto* n = as<BlockStmt>(s)) {
    for (const Stmt& part : n->stmts) print(part);
  } else if (const auto* n = as<AllocateStmt>(s)) {
    print_allocate(*n);
  } else if (const auto* n = as<StoreStmt>(s)) {
    print_store(*n);
  } else if (const auto* n = as<ForStmt>(s)) {
    print_for(*n);
  } else if (const auto* n = as<LetStmt>(s)) {
    print_let(*n);
  } else if (const auto* n = as<IfStmt>(s)) {
    print_if(*n);
  } else if (const auto* n = as<BarrierStmt>(s)) {
    const bool global = n->scope == Scope::global || n->scope == Scope::scratch;
    // One lane's registers need no barrier.
    if (n->scope != Scope::local) line(global ? dialect_.global_barrier : dialect_.shared_barrier);
  } else if (const auto* n = as<IntrinsicStmt>(s)) {
    // Copies happen where they stand and need no waiting. Hints may be left out; anything else
    // would change what is computed.
    SYMTILE_CHECK(intrinsic_of(*n) || n->name.starts_with("prefetch"),
                  "intrinsic '{}' of '{}' is not in {}", n->name, f_.name, dialect_.name);
    if (const Stmt plain = plain_statements(*n)) print(plain);
  } else {
    SYMTILE_UNREACHABLE("'{}' has a stage that is not scheduled", f_.name);
  }
}

void Printer::print_for(const ForStmt& n) {
  if (n.kind == LoopKind::block_warp || n.kind == LoopKind::warp_lane) {
    return print_worker_loop(n);
  }
  SYMTILE_CHECK(n.kind != LoopKind::grid_block, "'{}' has a grid_block loop inside another loop",
                f_.name);
  SYMTILE_CHECK(n.kind != LoopKind::parallel,
                "'{}' has a loop over CPU threads; schedule it for this target", f_.name);
  if (n.kind == LoopKind::vectorized && print_vectors(n)) return;
  const Value begin = print_root(n.begin);
  const Value end = print_root(n.end);
  const std::string name = fresh(n.var);
  if (n.kind != LoopKind::serial && !dialect_.unroll_hint.empty()) line(dialect_.unroll_hint);
  const std::string step =
      n.step == 1 ? fmt::format("++{}", name) : fmt::format("{} += {}", name, n.step);
  braces(fmt::format("for (i64 {0} = {1}; {0} < {2}; {3})", name, begin.text, end.text, step), [&] {
    with_variable(n.var, {name, begin.index, begin.non_negative}, [&] { print(n.body); });
  });
}

void Printer::print_worker_loop(const ForStmt& n) {
  const bool is_warp = n.kind == LoopKind::block_warp;
  const int64_t begin = n.begin.as_int().value_or(0);
  std::string worker;
  if (warps_ == 1 || lanes_ == 1) {
    worker = (is_warp ? warps_ : lanes_) == 1 ? "0" : dialect_.thread_index;
  } else {
    worker = fmt::format("{} {} {}", dialect_.thread_index, is_warp ? "/" : "%", lanes_);
  }
  if (n.step != 1) worker = fmt::format("{} * ({})", n.step, worker);
  if (begin != 0) worker = fmt::format("{} + {}", begin, worker);
  const std::string name = fresh(n.var);
  line(fmt::format("const i64 {} = {};", name, worker));
  with_variable(n.var, {name, true, begin >= 0}, [&] { print(n.body); });
}

void Printer::print_let(const LetStmt& n) {
  const Value value = print_root(n.value);
  const std::string name = fresh(n.var);
  line(fmt::format("const {} {} = {};", compute_type(n.value.dtype()), name, value.text));
  with_variable(n.var, {name, value.index, value.non_negative}, [&] { print(n.body); });
}

void Printer::print_if(const IfStmt& n) {
  const Value condition = print_root(n.condition);
  if (!n.else_body) {
    return braces(fmt::format("if ({})", condition.text), [&] { print(n.then_body); });
  }
  line(fmt::format("if ({}) {{", condition.text));
  ++indent_;
  print(n.then_body);
  --indent_;
  braces("} else", [&] { print(n.else_body); });
}

void Printer::print_store(const StoreStmt& n) {
  const BufferSlot& slot = buffers_.at(n.buffer);
  const DType dtype = slot.buffer.dtype;
  const auto update = match_product_update(n);
  const auto uses = std::exchange(uses_, {});
  const auto memo = std::exchange(memo_, {});
  memo_.emplace_back();
  for (const Expr& i : n.indices) count_uses(i);
  std::string value;
  if (update) {
    count_uses(update->a);
    count_uses(update->b);
    const Value a = print(update->a), b = print(update->b);
    const std::string target = spilled({element(slot, n.indices)}, dtype).text;
    value = fmt::format("st_fma_{}({}, {}, {})", compute_type(n.value.dtype()), a.text, b.text,
                        loaded(slot, target).text);
    line(fmt::format("{} = {};", target, stored(dtype, value)));
  } else {
    count_uses(n.value);
    value = print(n.value).text;
    line(fmt::format("{} = {};", element(slot, n.indices), stored(dtype, value)));
  }
  uses_ = uses;
  memo_ = memo;
}

std::string Printer::declare_buffer(const Buffer& buffer) {
  const auto elements = product(buffer.dims).as_const();
  SYMTILE_CHECK(elements && buffer.strides.empty(),
                "buffer '{}' of '{}' needs constant extents to be {}", buffer.name, f_.name,
                name_of(buffer.scope));
  const std::string name = fresh(buffer.name);
  const bool shared = buffer.scope == Scope::shared || buffer.scope == Scope::warp;
  line(fmt::format("{}{} {}[{}];", shared ? dialect_.shared_declaration : "",
                   storage_type(buffer.dtype), name, std::max<int64_t>(*elements, 1)));
  return name;
}

void Printer::print_allocate(const AllocateStmt& n) {
  const Buffer& buffer = n.buffer;
  std::string name;
  if (buffer.scope == Scope::shared) {
    name = shared_names_.at(&n);
  } else {
    SYMTILE_CHECK(buffer.scope == Scope::local, "'{}' allocates {} buffer '{}' inside a block",
                  f_.name, name_of(buffer.scope), buffer.name);
    name = declare_buffer(buffer);
  }
  with_buffer(buffer, std::move(name), [&] { print(n.body); });
}

/// Some languages allow shared memory to be declared only where a kernel begins.
void Printer::declare_shared(const Stmt& s) {
  if (const auto* n = as<AllocateStmt>(s); n && n->buffer.scope == Scope::shared) {
    shared_names_[n] = declare_buffer(n->buffer);
  }
  for_each_part(*s, [&](const Stmt& part) { declare_shared(part); }, [](const Expr&) {});
}

}  // namespace symtile::c_source
