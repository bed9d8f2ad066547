// Places every value: one arena a call whose size is a formula of the entry symbols.
//
// A buffer's life runs from its definition to the last use of it or of any view of it. Buffers are
// placed from the largest down, each at the lowest offset that provably overlaps no buffer alive
// at the same time; "provably" is decided by the symbolic engine, so reuse happens also where one
// size is provably not larger than another (Relax reuses only provably equal sizes). An output
// takes the place of a dying input of the same size when the kernel reads each element before it
// writes it. Values with a size that entry symbols do not determine, function results and what
// library and graph calls return live on the heap.
#include <algorithm>
#include <numeric>

#include "symtile/op/op.h"
#include "symtile/pass/pass.h"
#include "symtile/transform/graph_utils.h"
#include "symtile/transform/tile/access.h"

namespace symtile {
namespace {

constexpr int64_t kAlignment = 64;

struct Block {
  DimExpr bytes;
  int64_t estimate = 0;  ///< bytes at representative dimensions, to order by
  int begin = 0, end = 0;
  DimExpr offset;
  int64_t offset_estimate = 0;
};

class Planner {
 public:
  Planner(Module& module, GraphFunction& f)
      : module_(module),
        f_(f),
        defs_(defining_bindings(f)),
        owner_(f.values.size(), -1),
        entry_(f.entry_symbols()) {}

  void run() {
    for (const ValueId p : f_.params) place(p, Placement::Kind::parameter);
    for (size_t i = 0; i < f_.bindings.size(); ++i) visit_binding(static_cast<int>(i));
    extend_lifetimes();
    share_dying_inputs();
    assign_offsets();
  }

 private:
  static size_t at(ValueId id) { return static_cast<size_t>(id.index); }
  void place(ValueId id, Placement::Kind kind) { f_.value(id).placement = {kind, {}, {}}; }
  void alias(ValueId id, ValueId of) { f_.value(id).placement = {Placement::Kind::alias, {}, of}; }

  /// The value whose memory `id` shares.
  ValueId root(ValueId id) const {
    while (f_.value(id).placement.kind == Placement::Kind::alias) id = f_.value(id).placement.of;
    return id;
  }

  bool is_result(ValueId id) const {
    return std::any_of(f_.results.begin(), f_.results.end(),
                       [&](ValueId r) { return root(r) == id; });
  }

  std::optional<DimExpr> bytes_of(const Type& type) const {
    if (!type.is_tensor() || !type.fully_known()) return std::nullopt;
    for (const std::string& s : product(*type.dims).symbols()) {
      if (!entry_.count(s)) return std::nullopt;
    }
    const DimExpr raw = f_.facts.simplify(product(*type.dims)) * size_of(type.dtype);
    // The coefficients tell divisibility for nearly all tensors; a proof would cost more than it
    // saves.
    const bool aligned = std::all_of(raw.terms().begin(), raw.terms().end(), [](const DimTerm& t) {
      return t.coefficient % kAlignment == 0;
    });
    return aligned ? raw : round_up(raw, kAlignment);
  }

  void own(ValueId id, int binding) {
    const auto bytes = bytes_of(f_.type(id));
    if (!bytes) {
      place(id, Placement::Kind::heap);
      return;
    }
    place(id, Placement::Kind::arena);
    owner_[at(id)] = static_cast<int>(blocks_.size());
    Block b;
    b.bytes = *bytes;
    b.estimate = estimate(*bytes);
    b.begin = b.end = binding;
    blocks_.push_back(std::move(b));
  }

  void visit_binding(int i) {
    const Binding& b = f_.bindings[static_cast<size_t>(i)];
    const ValueId r = b.result;
    if (std::holds_alternative<ConstantNode>(b.node)) {
      place(r, Placement::Kind::constant);
    } else if (const auto* cast = std::get_if<MatchCast>(&b.node)) {
      alias(r, cast->value);
    } else if (const auto* read = std::get_if<ReadDims>(&b.node)) {
      alias(r, read->value);
    } else if (const auto* op = std::get_if<OpCall>(&b.node)) {
      SYMTILE_CHECK(find_op(op->op) && find_op(op->op)->is_view,
                    "'{}' must be lowered before planning", op->op);
      alias(r, op->args.front());
    } else if (const auto* get = std::get_if<GetItem>(&b.node)) {
      visit_item(i, r, *get);
    } else if (std::holds_alternative<TileCall>(b.node) ||
               std::holds_alternative<DimsToTensor>(b.node)) {
      if (f_.type(r).is_tensor()) own(r, i);
    } else if (f_.type(r).is_tensor()) {
      place(r, Placement::Kind::heap);
    }
  }

  /// Members of a tile call's tuple are its output buffers; members of other tuples are handed
  /// over.
  void visit_item(int i, ValueId r, const GetItem& get) {
    const int def = defs_[at(get.tuple)];
    const GraphNode* node = def >= 0 ? &f_.bindings[static_cast<size_t>(def)].node : nullptr;
    if (node && std::holds_alternative<TileCall>(*node)) {
      own(r, i);
      if (owner_[at(r)] >= 0) blocks_[static_cast<size_t>(owner_[at(r)])].begin = def;
    } else if (const auto* made = node ? std::get_if<MakeTuple>(node) : nullptr) {
      alias(r, made->members[static_cast<size_t>(get.index)]);
    } else {
      place(r, Placement::Kind::heap);
    }
  }

  void extend_lifetimes() {
    const auto use = [&](ValueId id, int when) {
      if (!id.valid()) return;
      const int block = owner_[at(root(id))];
      if (block >= 0)
        blocks_[static_cast<size_t>(block)].end =
            std::max(blocks_[static_cast<size_t>(block)].end, when);
    };
    for (size_t i = 0; i < f_.bindings.size(); ++i) {
      const GraphNode& node = f_.bindings[i].node;
      for_each_operand(node, [&](ValueId id) { use(id, static_cast<int>(i)); });
      // A tuple keeps its members alive: their uses come through GetItem aliases or through calls.
    }
    // Results outlive the arena.
    for (const ValueId r : f_.results) {
      const ValueId base = root(r);
      if (owner_[at(base)] >= 0) {
        blocks_[static_cast<size_t>(owner_[at(base)])].bytes = 0;
        blocks_[static_cast<size_t>(owner_[at(base)])].end = -1;
        owner_[at(base)] = -1;
        place(base, Placement::Kind::heap);
      }
    }
  }

  /// Lets the result of an elementwise kernel take over the block of an input that dies there.
  void share_dying_inputs() {
    for (size_t i = 0; i < f_.bindings.size(); ++i) {
      const Binding& b = f_.bindings[i];
      const auto* call = std::get_if<TileCall>(&b.node);
      if (!call || !f_.type(b.result).is_tensor() || owner_[at(b.result)] < 0) continue;
      TileFunction& kernel = module_.tile(call->callee);
      for (const int input : inplace_inputs(kernel)) {
        const ValueId source = root(call->args[static_cast<size_t>(input)]);
        const int from = owner_[at(source)], to = owner_[at(b.result)];
        if (from < 0 || from == to) continue;
        Block& dying = blocks_[static_cast<size_t>(from)];
        Block& taken = blocks_[static_cast<size_t>(to)];
        if (dying.end != static_cast<int>(i) || !f_.facts.proves_equal(dying.bytes, taken.bytes))
          continue;
        // The same memory must not also come in as another operand.
        int appearances = 0;
        for (const ValueId a : call->args) appearances += root(a) == source;
        if (appearances != 1) continue;
        dying.end = std::max(dying.end, taken.end);
        taken.end = -1;
        owner_[at(b.result)] = from;
        alias(b.result, source);
        kernel.attrs.set("inplace", int64_t{1});
        break;
      }
    }
  }

  int64_t estimate(const DimExpr& e) const {
    DimValues values;
    int64_t next = 61;
    for (const std::string& s : e.symbols()) {
      const DimRange r = f_.facts.range(DimExpr::symbol(s));
      values[s] = std::clamp(next, r.low.value_or(0), r.high.value_or(kMaxDim));
      next += 36;
    }
    return e.evaluate(values);
  }

  bool proves_le(const DimExpr& a, const DimExpr& b) const { return f_.facts.proves_le(a, b); }

  bool disjoint(const Block& a, const DimExpr& offset, const DimExpr& bytes) const {
    return proves_le(a.offset + a.bytes, offset) || proves_le(offset + bytes, a.offset);
  }

  void assign_offsets() {
    std::vector<size_t> order;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (blocks_[i].end >= 0) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return blocks_[a].estimate > blocks_[b].estimate; });
    DimExpr total = 0;
    std::vector<size_t> placed;
    for (const size_t i : order) {
      Block& b = blocks_[i];
      std::vector<const Block*> rivals;
      for (const size_t j : placed) {
        const Block& other = blocks_[j];
        if (other.begin <= b.end && b.begin <= other.end) rivals.push_back(&other);
      }
      b.offset = lowest_offset(b, rivals, total);
      b.offset_estimate = estimate(b.offset);
      const DimExpr end = b.offset + b.bytes;
      if (!proves_le(end, total)) total = proves_le(total, end) ? end : max(total, end);
      placed.push_back(i);
    }
    f_.arena_bytes = f_.facts.simplify(total);
    for (size_t v = 0; v < owner_.size(); ++v) {
      Placement& p = f_.values[v].placement;
      if (p.kind == Placement::Kind::arena)
        p.offset = blocks_[static_cast<size_t>(owner_[v])].offset;
    }
  }

  DimExpr lowest_offset(const Block& b, const std::vector<const Block*>& rivals,
                        const DimExpr& total) const {
    std::vector<std::pair<int64_t, DimExpr>> candidates{{0, DimExpr(0)}};
    for (const Block* r : rivals)
      candidates.emplace_back(r->offset_estimate + r->estimate, r->offset + r->bytes);
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const auto& x, const auto& y) { return x.first < y.first; });
    for (const auto& [value, offset] : candidates) {
      const bool fits = std::all_of(rivals.begin(), rivals.end(), [&](const Block* r) {
        // The estimate refutes most candidates without a proof.
        const bool below = value + b.estimate <= r->offset_estimate;
        const bool above = r->offset_estimate + r->estimate <= value;
        return (below || above) && disjoint(*r, offset, b.bytes);
      });
      if (fits) return offset;
    }
    return total;
  }

  Module& module_;
  GraphFunction& f_;
  std::vector<int> defs_;
  std::vector<int> owner_;  ///< block of each value that owns or took over one; -1 otherwise
  std::set<std::string> entry_;
  std::vector<Block> blocks_;
};

/// Every member of a tile call's tuple needs memory, used or not.
void name_all_members(GraphFunction& f) {
  std::vector<Binding> out;
  std::set<std::pair<int32_t, int64_t>> present;
  for (const Binding& b : f.bindings) {
    if (const auto* get = std::get_if<GetItem>(&b.node))
      present.insert({get->tuple.index, get->index});
  }
  std::vector<Binding> bindings = std::move(f.bindings);
  for (Binding& b : bindings) {
    const bool is_tile = std::holds_alternative<TileCall>(b.node);
    const ValueId tuple = b.result;
    const Location location = b.location;
    out.push_back(std::move(b));
    if (!is_tile || !f.type(tuple).is_tuple()) continue;
    const std::vector<Type> members = f.type(tuple).elements;
    for (size_t k = 0; k < members.size(); ++k) {
      if (present.count({tuple.index, static_cast<int64_t>(k)})) continue;
      const ValueId item = f.add_value(f.value(tuple).name + "_unused", members[k]);
      out.push_back({item, GetItem{tuple, static_cast<int64_t>(k)}, location});
    }
  }
  f.bindings = std::move(out);
}

}  // namespace

void plan_memory(Module& module, PassContext&) {
  for (const std::string& name : module.graph_names()) {
    GraphFunction& f = module.graph(name);
    name_all_members(f);
    Planner(module, f).run();
  }
}

}  // namespace symtile
