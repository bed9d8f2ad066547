#include "symtile/transform/tile/results.h"

#include <fmt/format.h>

#include <algorithm>

#include "symtile/base/check.h"

namespace symtile {
namespace {

/// A value that is named in several results is copied into each: no more nodes than this.
constexpr int64_t kMaxNodes = 512;

/// max(value, max(also:NAME, other)): no kernel can name such a variable.
constexpr std::string_view kMark = "also:";

Expr with_result(const Expr& value, const std::string& buffer, const Expr& other) {
  const DType type = value.dtype();
  return max(value, max(var(std::string(kMark) + buffer, type), cast(type, other)));
}

/// Takes the last result off a joined value: its buffer and value; nullopt when there is none.
struct Also {
  Expr rest;
  std::string buffer;
  Expr value;
};
std::optional<Also> last_result(const Expr& e) {
  const auto* outer = e.as<BinaryExpr>();
  const auto* inner = outer && outer->op == BinaryOp::max ? outer->b.as<BinaryExpr>() : nullptr;
  const auto* mark = inner && inner->op == BinaryOp::max ? inner->a.as<VarRef>() : nullptr;
  if (!mark || !mark->name.starts_with(kMark)) return std::nullopt;
  return Also{outer->a, mark->name.substr(kMark.size()), inner->b};
}

bool is_small(const Expr& e) {
  int64_t nodes = 0;
  visit(e, [&](const Expr&) { ++nodes; });
  return nodes <= kMaxNodes;
}

bool same_points(const ComputeStmt& a, const ComputeStmt& b, const Facts& facts) {
  return std::equal(
      a.axes.begin(), a.axes.end(), b.axes.begin(), b.axes.end(),
      [&](const Axis& x, const Axis& y) { return facts.proves_equal(x.extent, y.extent); });
}

/// The value of `stage` at the points of `head`, with the values made before in place of their
/// loads; undefined when a load is elsewhere.
Expr at_points_of(const ComputeStmt& head, const ComputeStmt& stage,
                  const std::map<std::string, Expr>& made) {
  std::map<std::string, Expr> axes;
  for (size_t i = 0; i < stage.axes.size(); ++i) axes[stage.axes[i].name] = var(head.axes[i].name);
  bool here = true;
  for (const Load* l : loads_of(stage.value)) {
    if (made.count(l->buffer)) here = here && is_identity_load(*l, stage);
  }
  if (!here) return {};
  return rewrite(substitute(stage.value, axes), [&](const Expr& e) {
    const auto* l = e.as<Load>();
    const auto it = l ? made.find(l->buffer) : made.end();
    return it == made.end() ? e : it->second;
  });
}

/// Joins the stages from `first` on; nullopt when they are not made at the same points.
std::optional<ComputeForm> joined_from(size_t first, ComputeForm form, const Facts& facts) {
  ComputeStmt& head = form.stages[first];
  std::map<std::string, Expr> made;
  Expr value;
  std::string buffer;
  for (size_t i = first; i < form.stages.size(); ++i) {
    const ComputeStmt& stage = form.stages[i];
    if (!same_points(head, stage, facts) || (i > first && has_reduction(stage.value)))
      return std::nullopt;
    const Expr here = at_points_of(head, stage, made);
    if (!here.defined() || !is_small(here)) return std::nullopt;
    made[stage.buffer] = here;
    const bool temporary = std::erase_if(form.temporaries, [&](const Buffer& b) {
                             return b.name == stage.buffer;
                           }) > 0;
    if (temporary) continue;
    if (here.dtype() == DType::boolean) return std::nullopt;
    if (!value.defined()) buffer = stage.buffer;
    value = value.defined() ? with_result(value, stage.buffer, here) : here;
  }
  head.buffer = buffer;
  head.value = value;
  form.stages.erase(form.stages.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                    form.stages.end());
  return form;
}

}  // namespace

std::optional<TileFunction> join_results(const TileFunction& f) {
  if (f.outputs.size() == 1) return f;
  const auto form = compute_form(f);
  for (size_t first = 0; form && first < form->stages.size(); ++first) {
    if (auto joined = joined_from(first, *form, f.facts)) {
      TileFunction out = f;
      out.body = make_body(*joined);
      return out;
    }
    // No stage before this one may be a result.
    if (!is_temporary(*form, form->stages[first].buffer)) break;
  }
  return std::nullopt;
}

TileFunction split_results(TileFunction f) {
  if (f.outputs.size() == 1) return f;
  std::map<std::string, DType> types;
  for (const Buffer& b : f.outputs) types.emplace(b.name, b.dtype);
  const auto split = [&](const Stmt& s) -> Stmt {
    const auto* st = as<StoreStmt>(s);
    if (!st || !last_result(st->value)) return s;
    std::vector<Also> results;  // the last one first
    Expr value = st->value;
    for (auto also = last_result(value); also; also = last_result(value)) {
      value = also->rest;
      results.push_back(std::move(*also));
    }
    results.push_back({{}, st->buffer, value});
    std::reverse(results.begin(), results.end());
    std::vector<Stmt> stores;
    std::vector<std::pair<std::string, Expr>> lets;
    for (const Also& r : results) {
      Expr here = r.value;
      const DType type = types.at(r.buffer);
      // The cast that made the types agree.
      if (const auto* c = here.as<CastExpr>(); c && here.dtype() != type) here = c->a;
      here = rewrite(here, [&](const Expr& e) {
        for (const auto& [name, made] : lets) {
          if (structurally_equal(e, made)) return var(name, made.dtype());
        }
        return e;
      });
      SYMTILE_CHECK(here.dtype() == type, "result '{}' has another type than its buffer", r.buffer);
      const std::string name = fmt::format("_r{}", lets.size());
      stores.push_back(store(r.buffer, st->indices, var(name, type)));
      lets.emplace_back(name, std::move(here));
    }
    Stmt body = block(std::move(stores));
    for (auto it = lets.rbegin(); it != lets.rend(); ++it)
      body = make_stmt(LetStmt{it->first, it->second, std::move(body)});
    return body;
  };
  f.body = rewrite(f.body, split, nullptr);
  return f;
}

}  // namespace symtile
