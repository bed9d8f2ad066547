// Merges chains of kernels: one kernel a group, with one result (Relax FuseOps and FuseTIR, §4.2;
// Hidet §5.2: what can be inlined into the anchor is).
//
// Epilogues first: from every reduction or contraction (the anchor) a group grows along its result,
// as long as all readers of the result so far lead to one next result. Then prologues: from the
// last binding to the first, what has no reduction joins the group that reads it, or starts one.
// Every use of a member that is not the exit is inside the group, so no path can leave a group and
// come back. A cheap producer of several groups is evaluated in each of them. What may join follows
// from the bodies alone: transform/tile/fusion_rules.h.
// Equal kernels made by different groups are shared, and scalar constants become immediates.
#include <algorithm>
#include <unordered_map>

#include "symtile/pass/pass.h"
#include "symtile/transform/fusion_report.h"
#include "symtile/transform/graph_utils.h"
#include "symtile/transform/splitting_view.h"
#include "symtile/transform/tile/fusion_rules.h"
#include "symtile/transform/tile/merge_kernels.h"

namespace symtile {
namespace {

/// More members would make kernels that nobody can read, and registers spill long before.
constexpr size_t kMaxMembers = 64;
/// Distinct buffers of one kernel.
constexpr size_t kMaxInputs = 24;
/// Operators between a result and the next one that everything leads to (softplus, gelu, mish).
constexpr size_t kMaxDiamond = 32;
/// Kernels that a cheap producer may be repeated in.
constexpr size_t kMaxRepeats = 8;

struct Group {
  std::set<int> members;  ///< binding positions; the exit is the last one
  int anchor = -1;
  std::set<int> prologues;  ///< members that the anchor, or an epilogue, reads
  int exit() const { return *members.rbegin(); }
  int core() const { return anchor >= 0 ? anchor : exit(); }
};

using KnownKernels = std::unordered_multimap<size_t, std::string>;

class Fuser {
 public:
  Fuser(Module& module, GraphFunction& f, PassContext& context, KnownKernels& known)
      : module_(module), f_(f), context_(context), known_(known) {}

  void run() {
    const int count = static_cast<int>(f_.bindings.size());
    uses_ = users_of(f_);
    definitions_ = defining_bindings(f_);
    groups_of_.assign(f_.bindings.size(), {});
    kinds_.assign(f_.bindings.size(), KernelKind::opaque);
    for (int i = 0; i < count; ++i) {
      if (call(i)) kinds_[at(i)] = classify(kernel(i));
      ops_.push_back(call(i) ? base_name(call(i)->callee) : "");
      if (auto view = splitting_view(f_, binding(i))) {
        views_.emplace(i, std::move(*view));
        ops_.back() = "reshape";
      }
    }
    for (int i = count - 1; i >= 0; --i) {
      if (is_anchor(i)) grow_epilogues(i);
    }
    for (int i = count - 1; i >= 0; --i) {
      const bool placed = !call(i) || views_.count(i) || grouped(i);
      if (!placed && kinds_[at(i)] < KernelKind::reduction) place_prologue(i);
    }
    for (const Group& g : groups_) rebuild(g);
    for (auto& [exit, node] : rebuilt_) binding(exit).node = std::move(node);
    report();
    drop_merged();
  }

 private:
  static size_t at(int i) { return static_cast<size_t>(i); }
  Binding& binding(int i) { return f_.bindings[at(i)]; }
  /// The call of a kernel; that of a view which only splits dimensions is made up.
  const TileCall* call(int i) {
    const auto view = views_.find(i);
    return view == views_.end() ? std::get_if<TileCall>(&binding(i).node) : &view->second.call;
  }
  const TileFunction& kernel(int i) {
    const auto view = views_.find(i);
    return view == views_.end() ? module_.tile(call(i)->callee) : view->second.kernel;
  }
  const std::vector<int>& uses(int i) { return uses_[at(binding(i).result.index)]; }
  const std::string& name(int i) { return f_.value(binding(i).result).name; }
  bool is_anchor(int i) {
    return kinds_[at(i)] == KernelKind::reduction || kinds_[at(i)] == KernelKind::contraction;
  }
  bool grouped(int i) { return !groups_of_[at(i)].empty(); }

  /// The buffers through which kernel u reads the results of `producers`.
  std::vector<std::string> buffers_of(const std::set<int>& producers, int u) {
    std::vector<std::string> out;
    const TileCall& c = *call(u);
    for (size_t a = 0; a < c.args.size(); ++a) {
      const int def = definitions_[at(c.args[a].index)];
      if (def >= 0 && producers.count(def)) out.push_back(kernel(u).inputs[a].name);
    }
    return out;
  }

  size_t add_group(Group group) {
    for (const int m : group.members) groups_of_[at(m)].push_back(groups_.size());
    groups_.push_back(std::move(group));
    return groups_.size() - 1;
  }

  void grow_epilogues(int anchor) {
    Group group;
    group.members = {anchor};
    group.anchor = anchor;
    while (true) {
      std::set<int> next;
      if (Refusal why = next_epilogue(group, next)) {
        reasons_[group.exit()] = *why;
        break;
      }
      group.members.insert(next.begin(), next.end());
    }
    add_group(std::move(group));
  }

  /// The readers of the group's result, and what they lead to, up to one next result.
  Refusal next_epilogue(const Group& group, std::set<int>& next) {
    const int exit = group.exit();
    for (const int u : uses(exit)) {
      if (u < 0) return "it is a result of the function";
      next.insert(u);
    }
    if (next.empty()) return "nothing reads it";
    for (bool grown = true; grown;) {
      grown = false;
      const std::set<int> readers = next;
      for (const int s : readers) {
        if (!call(s) || views_.count(s)) return "its reader is no kernel";
        if (kinds_[at(s)] == KernelKind::opaque)
          return "its reader has several results or a schedule of its own";
        if (kinds_[at(s)] >= KernelKind::reduction) {
          return readers.size() > 1 ? "several kernels read it"
                                    : "the reader has a reduction of its own";
        }
        if (grouped(s)) return "another kernel took its reader as an epilogue";
        if (s == *readers.rbegin()) continue;
        for (const int u : uses(s)) {
          if (u < 0) return "several kernels read it";
          grown |= next.insert(u).second;
        }
      }
      if (next.size() > kMaxDiamond) return "several kernels read it";
    }
    std::set<int> inside = next;
    inside.insert(exit);
    const bool moving = next.size() == 1 && may_move(kernel(group.anchor));
    for (const int s : next) {
      if (Refusal why =
              refuse_epilogue(kernel(s), buffers_of(inside, s), kinds_[at(group.anchor)], moving))
        return why;
    }
    Group grown = group;
    grown.members.insert(next.begin(), next.end());
    return refuse_group(grown);
  }

  /// Who reads the result of binding i, perhaps through views that only split dimensions.
  struct Readers {
    std::vector<std::pair<int, int>> kernels;  ///< what is read (i or a view of it), and by whom
    Refusal refusal;
  };

  Readers readers_of(int i) {
    Readers out;
    const auto add = [&](int read, int u) -> Refusal {
      if (u < 0) return "it is a result of the function";
      if (!call(u) || views_.count(u)) return "its reader is no kernel";
      if (kinds_[at(u)] == KernelKind::opaque)
        return "its reader has several results or a schedule of its own";
      out.kernels.emplace_back(read, u);
      return std::nullopt;
    };
    for (const int u : uses(i)) {
      if (out.refusal) break;
      if (u < 0 || !views_.count(u)) {
        out.refusal = add(i, u);
        continue;
      }
      if (uses(u).empty()) out.refusal = "nothing reads it";
      for (const int reader : uses(u)) {
        if (!out.refusal) out.refusal = add(u, reader);
      }
    }
    if (!out.refusal && out.kernels.empty()) out.refusal = "nothing reads it";
    return out;
  }

  /// Binding i, which has no reduction, joins its readers or starts a group.
  void place_prologue(int i) {
    const Readers readers = readers_of(i);
    Refusal why = readers.refusal;
    std::set<size_t> targets;
    for (const auto& [read, u] : readers.kernels)
      targets.insert(groups_of_[at(u)].begin(), groups_of_[at(u)].end());
    if (!why && targets.size() > 1 &&
        (targets.size() > kMaxRepeats || !cheap_to_repeat(kernel(i)))) {
      why = fmt::format("{} kernels read it", targets.size());
    }
    for (const auto& [read, u] : readers.kernels) {
      if (!why) why = refuse_prologue(kernel(i), kernel(u), buffers_of({read}, u));
    }
    std::vector<Group> grown;
    for (const size_t t : targets) {
      if (why) break;
      grown.push_back(groups_[t]);
      // Only what this group reads: a view for another group may lie behind the exit of this one.
      for (const auto& [read, u] : readers.kernels) {
        if (!groups_[t].members.count(u)) continue;
        for (auto* list : {&grown.back().members, &grown.back().prologues}) list->insert({i, read});
      }
      why = refuse_group(grown.back());
    }
    if (why) {
      reasons_[i] = *why;
      Group group;
      group.members = {i};
      add_group(std::move(group));
      return;
    }
    auto next = grown.begin();
    for (const size_t t : targets) {
      groups_[t] = std::move(*next++);
      groups_of_[at(i)].push_back(t);
    }
  }

  MergedKernel merge(const Group& g) {
    std::vector<KernelCall> calls;
    for (const int m : g.members) {
      KernelCall c{&kernel(m), {}, binding(m).result.index, call(m)->dims};
      for (const ValueId a : call(m)->args) c.args.push_back(a.index);
      calls.push_back(std::move(c));
    }
    return merge_kernels(calls, f_.facts);
  }

  Refusal refuse_group(const Group& g) {
    if (g.members.size() > kMaxMembers) return "the kernel has as many operators as one may have";
    const MergedKernel merged = merge(g);
    if (merged.args.size() > kMaxInputs) return "the kernel has as many inputs as one may have";
    return refuse_merged(kernel(g.core()), merged.function);
  }

  /// Makes the exit of the group a call of the merged kernel.
  void rebuild(const Group& g) {
    MergedKernel merged = merge(g);
    TileCall out;
    for (size_t a = merged.args.size(); a-- > 0;) {
      const ValueId value{merged.args[a]};
      const Constant c = constant_of(f_, definitions_, value);
      if (!c || c->element_count() != 1) {
        out.args.insert(out.args.begin(), value);
        continue;
      }
      replace_input(merged.function, a,
                    is_float(c->dtype) ? float_imm(c->dtype, c->as_double(0))
                                       : int_imm(c->dtype, c->as_int(0)));
    }
    for (const std::string& s : merged.function.symbols) out.dims.push_back(DimExpr::symbol(s));
    out.callee = share(std::move(merged.function), g);
    rebuilt_.emplace_back(g.exit(), std::move(out));
  }

  std::string share(TileFunction function, const Group& g) {
    std::string name;
    for (const int m : g.members) {
      if (name.size() + ops_[at(m)].size() < 40) name += (name.empty() ? "" : "_") + ops_[at(m)];
    }
    function.name = name;
    const size_t hash = structural_hash(function);
    auto [begin, end] = known_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      function.name = it->second;
      if (structurally_equal(module_.tile(it->second), function)) return it->second;
    }
    function.name = module_.fresh_name(name);
    known_.emplace(hash, function.name);
    module_.add(function);
    return function.name;
  }

  /// Members that are evaluated inside all their readers; the others are still needed.
  void drop_merged() {
    std::vector<bool> needed(f_.bindings.size(), true);
    for (const Group& g : groups_) {
      for (const int m : g.members) needed[at(m)] = false;
    }
    for (const Group& g : groups_) needed[at(g.exit())] = true;
    std::vector<Binding> out;
    for (size_t i = 0; i < f_.bindings.size(); ++i) {
      if (needed[i]) out.push_back(std::move(f_.bindings[i]));
    }
    f_.bindings = std::move(out);
  }

  void report() {
    std::unordered_map<int32_t, int> exits;
    for (const Group& g : groups_) exits[binding(g.exit()).result.index] = g.exit();
    for (int i = static_cast<int>(f_.bindings.size()) - 1; i >= 0; --i) {
      if (!exits.count(binding(i).result.index)) continue;
      for (const ValueId a : call(i)->args) {
        const auto producer = exits.find(a.index);
        if (producer == exits.end()) continue;
        const auto known = reasons_.find(producer->second);
        const std::string& reason =
            known == reasons_.end() ? std::string("it was not considered") : known->second;
        const std::string kind(name_of(kinds_[at(producer->second)]));
        context_.note("fuse: %{} ({}) stays out of %{}: {}", name(producer->second), kind, name(i),
                      reason);
        if (context_.fusion) {
          context_.fusion->refusals.push_back(
              {f_.name, name(producer->second), kind, name(i), reason});
        }
      }
    }
    if (!context_.fusion) return;
    for (const Group& g : groups_) {
      FusedKernel kernel{f_.name, call(g.exit())->callee, name(g.exit()), "", "", {}};
      if (const auto why = reasons_.find(g.exit()); why != reasons_.end())
        kernel.apart = why->second;
      kernel.kind = name_of(kinds_[at(g.core())]);
      for (const int m : g.members) {
        const FusionRole role = m == g.core()          ? FusionRole::anchor
                                : g.prologues.count(m) ? FusionRole::prologue
                                                       : FusionRole::epilogue;
        kernel.members.push_back({name(m), ops_[at(m)], std::string(name_of(kinds_[at(m)])), role});
      }
      context_.fusion->kernels.push_back(std::move(kernel));
    }
  }

  /// "conv_12" -> "conv".
  static std::string base_name(const std::string& name) {
    size_t end = name.size();
    while (end > 0 && std::isdigit(static_cast<unsigned char>(name[end - 1]))) --end;
    return end > 1 && end < name.size() && name[end - 1] == '_' ? name.substr(0, end - 1) : name;
  }

  Module& module_;
  GraphFunction& f_;
  PassContext& context_;
  KnownKernels& known_;
  std::vector<std::vector<int>> uses_;
  std::vector<int> definitions_;
  std::vector<KernelKind> kinds_;
  std::vector<std::string> ops_;
  std::vector<std::vector<size_t>> groups_of_;
  std::vector<Group> groups_;
  std::map<int, SplittingView> views_;
  std::vector<std::pair<int, GraphNode>> rebuilt_;  ///< what becomes of the exits
  std::map<int, std::string> reasons_;  ///< why a result was not merged with its readers
};

}  // namespace

void fuse(Module& module, PassContext& context) {
  KnownKernels known;
  for (const std::string& name : module.graph_names()) {
    GraphFunction f = module.graph(name);
    Fuser(module, f, context, known).run();
    module.graph(name) = std::move(f);
  }
}

}  // namespace symtile
