#include "memory_check.h"

#include <fmt/format.h>

#include <algorithm>

namespace symtile::test {
namespace {

class Replay {
 public:
  Replay(const GraphFunction& f, const DimValues& symbols)
      : f_(f), symbols_(symbols), content_(f.values.size(), -1) {}

  std::string run() {
    const int64_t size = f_.arena_bytes ? f_.arena_bytes->evaluate(symbols_) : 0;
    if (size < 0) return "the arena has a negative size";
    shadow_.assign(static_cast<size_t>(size), -1);
    for (size_t i = 0; i < f_.bindings.size() && wrong_.empty(); ++i) step(f_.bindings[i]);
    for (const ValueId r : f_.results) {
      if (in_arena(r)) complain("result {} is in the arena", r);
    }
    return wrong_;
  }

 private:
  struct Span {
    int64_t begin, end;
  };

  void complain(fmt::format_string<std::string> text, ValueId id) {
    if (wrong_.empty()) wrong_ = fmt::format(text, "%" + f_.value(id).name);
  }

  /// The value whose placement says where `id` lives.
  ValueId storage(ValueId id) const {
    while (f_.value(id).placement.kind == Placement::Kind::alias) id = f_.value(id).placement.of;
    return id;
  }
  bool in_arena(ValueId id) const {
    return f_.value(storage(id)).placement.kind == Placement::Kind::arena;
  }

  Span span(ValueId id) const {
    const ValueId base = storage(id);
    const int64_t begin = f_.value(base).placement.offset.evaluate(symbols_);
    const Type& type = f_.type(id);
    return {begin, begin + product(*type.dims).evaluate(symbols_) * size_of(type.dtype)};
  }

  void read(ValueId id) {
    if (!id.valid() || !f_.type(id).is_tensor() || !in_arena(id)) return;
    const Span s = span(id);
    for (int64_t k = s.begin; k < s.end; ++k) {
      if (shadow_[static_cast<size_t>(k)] == content_[static_cast<size_t>(id.index)]) continue;
      return complain("{} is read after something else took its bytes", id);
    }
  }

  void write(ValueId id, const std::vector<ValueId>& args) {
    content_[static_cast<size_t>(id.index)] = id.index;
    if (!in_arena(id)) return;
    const Span s = span(id);
    if (s.begin < 0 || s.end > static_cast<int64_t>(shadow_.size()))
      return complain("{} lies outside the arena", id);
    for (const ValueId a : args) {
      if (!a.valid() || !f_.type(a).is_tensor() || !in_arena(a) || storage(a) == storage(id))
        continue;
      const Span t = span(a);
      if (s.begin < t.end && t.begin < s.end) complain("{} overlaps an argument of its kernel", id);
    }
    std::fill(shadow_.begin() + s.begin, shadow_.begin() + s.end, id.index);
  }

  /// The members of a tile call's tuple, which are written by the call.
  std::vector<ValueId> members(ValueId tuple) const {
    std::vector<ValueId> out;
    for (const Binding& b : f_.bindings) {
      const auto* get = std::get_if<GetItem>(&b.node);
      if (get && get->tuple == tuple) out.push_back(b.result);
    }
    return out;
  }

  void step(const Binding& b) {
    std::vector<ValueId> args;
    for_each_operand(b.node, [&](ValueId id) { args.push_back(id); });
    const auto* get = std::get_if<GetItem>(&b.node);
    if (!get) {
      for (const ValueId a : args) read(a);
    }
    if (f_.type(b.result).is_tuple()) {
      for (const ValueId m : members(b.result)) write(m, args);
    } else if (std::holds_alternative<MatchCast>(b.node) ||
               std::holds_alternative<ReadDims>(b.node) || std::holds_alternative<OpCall>(b.node)) {
      // A view: the same bytes, written by whoever wrote them.
      content_[static_cast<size_t>(b.result.index)] =
          content_[static_cast<size_t>(args.front().index)];
    } else if (!get && f_.type(b.result).is_tensor()) {
      write(b.result, args);
    }
  }

  const GraphFunction& f_;
  const DimValues& symbols_;
  std::vector<int32_t> content_;  ///< of each value: who wrote what it holds
  std::vector<int32_t> shadow_;   ///< of each byte: who wrote it last
  std::string wrong_;
};

}  // namespace

std::string check_memory(const GraphFunction& f, const DimValues& symbols) {
  return Replay(f, symbols).run();
}

}  // namespace symtile::test
