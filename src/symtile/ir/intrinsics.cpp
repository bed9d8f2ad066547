#include "symtile/ir/intrinsics.h"

#include "symtile/base/check.h"
#include "symtile/ir/expr_node.h"
#include "symtile/ir/text_format.h"

namespace symtile {
namespace {

constexpr std::pair<std::string_view, Intrinsic> kNames[] = {
    {"copy_async", Intrinsic::copy_async},
    {"commit_copies", Intrinsic::commit_copies},
    {"wait_copies", Intrinsic::wait_copies},
    {"mma_m16n8k16", Intrinsic::mma_m16n8k16},
};

/// A variable that no argument mentions.
std::string fresh(const IntrinsicStmt& n, std::string name) {
  const auto used = [&] {
    for (const Expr& a : n.args) {
      bool found = false;
      visit(a, [&](const Expr& e) {
        const auto* v = e.as<VarRef>();
        found = found || (v && v->name == name);
      });
      if (found) return true;
    }
    return false;
  };
  while (used()) name += "_";
  return name;
}

/// The region's indices, further by `last` along its last dimension and by `before` along the one
/// before.
std::vector<Expr> at(const Load& region, const Expr& before, const Expr& last) {
  std::vector<Expr> out = region.indices;
  out.back() = out.back() + last;
  if (out.size() > 1) out[out.size() - 2] = out[out.size() - 2] + before;
  return out;
}

Stmt copy(const IntrinsicStmt& n) {
  const Load &to = *n.args[0].as<Load>(), &from = *n.args[1].as<Load>();
  const int64_t count = copied_elements(n);
  if (count == 1) return store(to.buffer, to.indices, n.args[1]);
  const std::string e = fresh(n, "e");
  return for_loop(
      e, 0, Expr(count), LoopKind::vectorized,
      store(to.buffer, at(to, 0, var(e)), load(from.buffer, from.dtype, at(from, 0, var(e)))));
}

/// Lane l has rows l / 4 and l / 4 + 8 of C, of each the columns 2 (l % 4) and the next one.
Stmt multiply(const IntrinsicStmt& n) {
  const Load &c = *n.args[1].as<Load>(), &a = *n.args[2].as<Load>(), &b = *n.args[3].as<Load>();
  const std::string i = fresh(n, "i"), k = fresh(n, "k");
  const Expr row = floordiv(n.args[0], Expr(4)) + floordiv(var(i), Expr(2)) * Expr(8);
  const Expr column = floormod(n.args[0], Expr(4)) * Expr(2) + floormod(var(i), Expr(2));
  const Expr left = cast(c.dtype, load(a.buffer, a.dtype, at(a, row, var(k))));
  const Expr right = cast(c.dtype, load(b.buffer, b.dtype, at(b, var(k), column)));
  const std::vector<Expr> mine = at(c, 0, var(i));
  return for_loop(i, 0, Expr(4), LoopKind::serial,
                  for_loop(k, 0, Expr(kMmaDepth), LoopKind::serial,
                           store(c.buffer, mine, load(c.buffer, c.dtype, mine) + left * right)));
}

}  // namespace

std::optional<Intrinsic> intrinsic_of(const IntrinsicStmt& n) {
  for (const auto& [name, id] : kNames) {
    if (n.name == name) return id;
  }
  return std::nullopt;
}

int64_t copied_elements(const IntrinsicStmt& n) {
  const auto count = n.args.at(2).as_int();
  SYMTILE_CHECK(count && *count >= 1, "'{}' copies a constant number of elements", n.name);
  return *count;
}

Stmt plain_statements(const IntrinsicStmt& n) {
  const auto id = intrinsic_of(n);
  if (id == Intrinsic::copy_async) return copy(n);
  if (id == Intrinsic::mma_m16n8k16) return multiply(n);
  return nullptr;
}

std::string why_wrong_intrinsic(const IntrinsicStmt& n,
                                const std::function<const Buffer*(const std::string&)>& buffer) {
  const auto id = intrinsic_of(n);
  if (!id) return "";
  const auto count = [&](size_t wanted) { return n.args.size() == wanted; };
  const auto region = [&](size_t i) { return n.args[i].as<Load>(); };
  const auto scope = [&](const Load* l) { return buffer(l->buffer)->scope; };
  switch (*id) {
    case Intrinsic::commit_copies:
      return count(0) ? "" : "takes no arguments";
    case Intrinsic::wait_copies: {
      const auto left = count(1) ? n.args[0].as_int() : std::nullopt;
      return left && *left >= 0 ? "" : "takes a constant number of groups";
    }
    case Intrinsic::copy_async: {
      if (!count(3) || !region(0) || !region(1)) return "takes two elements and a number";
      const auto elements = n.args[2].as_int();
      if (!elements || *elements < 1) return "copies a constant number of elements, at least 1";
      if (region(0)->indices.empty() || region(1)->indices.empty())
        return "needs buffers of rank 1 or more";
      if (region(0)->dtype != region(1)->dtype) return "copies between different element types";
      const Scope from = scope(region(1));
      if (scope(region(0)) != Scope::shared || (from != Scope::global && from != Scope::scratch))
        return "copies from global to shared memory";
      return "";
    }
    case Intrinsic::mma_m16n8k16: {
      if (!count(4) || n.args[0].dtype() != DType::i64 || !region(1) || !region(2) || !region(3))
        return "takes a lane and elements of C, A and B";
      const DType t = region(2)->dtype;
      if (region(1)->dtype != DType::f32 || region(3)->dtype != t ||
          (t != DType::f16 && t != DType::bf16))
        return "adds products of f16 or of bf16 to f32";
      if (region(1)->indices.empty() || region(2)->indices.size() < 2 ||
          region(3)->indices.size() < 2)
        return "needs matrices A and B, and elements of C";
      if (scope(region(1)) != Scope::local || scope(region(2)) != Scope::shared ||
          scope(region(3)) != Scope::shared)
        return "reads A and B in shared memory and has C in registers";
      return "";
    }
  }
  SYMTILE_UNREACHABLE("intrinsic");
}

}  // namespace symtile
