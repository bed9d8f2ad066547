// Merges chains of kernels: one kernel a group (Relax FuseOps and FuseTIR, §4.2; Hidet §5.2: what
// can be inlined into the anchor is).
//
// Epilogues first: from every reduction or contraction (the anchor) a group grows along its result,
// as long as all readers of the result so far lead to one next result. Then prologues: from the
// last binding to the first, what has no reduction joins the group that reads it, or starts one.
// Every use of a member that is not the exit is inside the group, so no path can leave a group and
// come back. A cheap producer of several groups is evaluated in each of them. Last, groups without
// a reduction join one that makes what they read, where both can be made at the same points: that
// kernel has several results. It runs where the first of them was made, so all that it reads must
// be there by then. What may join follows from the bodies alone: transform/tile/fusion_rules.h.
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
constexpr size_t kMaxInputs = 32;
/// Operators between a result and the next one that everything leads to (softplus, gelu, mish).
constexpr size_t kMaxDiamond = 32;
/// Kernels that a cheap producer may be repeated in.
constexpr size_t kMaxRepeats = 8;
/// Results of one kernel: each is a stream of stores.
constexpr size_t kMaxResults = 4;

struct Group {
  std::set<int>
      members;  ///< binding positions; the exit is the last one; none: it has joined another
  int anchor = -1;
  std::set<int> prologues;  ///< members that the anchor, or an epilogue, reads
  std::set<int> results;    ///< members that others read, or the function returns
  int exit() const { return *members.rbegin(); }
  int core() const { return anchor >= 0 ? anchor : exit(); }
};

using KnownKernels = std::unordered_multimap<size_t, std::string>;

class Fuser {
 public:
  Fuser(Module& module, GraphFunction& f, PassContext& context, KnownKernels& known)
      : module_(module), f_(f), context_(context), known_(known) {}

  void run() {
    // So that a kernel which moves up finds its constants.
    std::stable_partition(f_.bindings.begin(), f_.bindings.end(), [](const Binding& b) {
      return std::holds_alternative<ConstantNode>(b.node);
    });
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
    join_producers();
    std::erase_if(groups_, [](const Group& g) { return g.members.empty(); });
    for (const Group& g : groups_) calls_.push_back(merged_call(g));
    report();
    rebuild();
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
    group.results = {group.exit()};
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
      if (Refusal why = refuse_epilogue(kernel(s), buffers_of(inside, s), moving)) return why;
    }
    Group grown = group;
    grown.members.insert(next.begin(), next.end());
    grown.results = {grown.exit()};
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
        (targets.size() > kMaxRepeats || !cheap_to_repeat(kernel(i))) && !join_readers(targets)) {
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

  /// Makes one group of several without a reduction that are made at the same points (sine and
  /// cosine of one angle).
  bool join_readers(std::set<size_t>& targets) {
    Group all = groups_[*targets.begin()];
    for (const size_t t : targets) {
      if (groups_[t].anchor >= 0) return false;
      all = together(all, groups_[t]);
    }
    if (all.results.size() < 2 || refuse_group(all)) return false;
    const size_t kept = *targets.begin();
    for (const size_t t : targets) {
      for (const int m : groups_[t].members) {
        std::erase(groups_of_[at(m)], t);
        groups_of_[at(m)].push_back(kept);
      }
      if (t != kept) groups_[t] = {};
    }
    groups_[kept] = std::move(all);
    targets = {kept};
    return true;
  }

  /// Groups without a reduction, in order, join the maker of what they read.
  void join_producers() {
    std::map<int, size_t> makers;
    std::map<int, size_t> order;
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g].members.empty()) continue;
      for (const int r : groups_[g].results) makers.emplace(r, g);
      if (groups_[g].anchor < 0) order.emplace(groups_[g].exit(), g);
    }
    for (const auto& [exit, g] : order) {
      std::set<int> read;
      for (const int m : groups_[g].members) {
        for (const ValueId a : call(m)->args) {
          const int def = definitions_[at(a.index)];
          if (def >= 0 && !groups_[g].members.count(def) && makers.count(def)) read.insert(def);
        }
      }
      for (const int value : read) {
        const size_t maker = makers.at(value);
        Group both = together(groups_[maker], groups_[g]);
        if (both.results.size() == 1) continue;  // an epilogue, which has been refused
        if (Refusal why = refuse_group(both)) {
          apart_[{value, exit}] = *why;
          continue;
        }
        for (const int r : groups_[g].results) makers.erase(r);
        for (const int r : both.results) makers[r] = maker;
        groups_[maker] = std::move(both);
        groups_[g] = {};
        break;
      }
    }
  }

  Group together(const Group& maker, const Group& reader) {
    Group out = maker;
    out.members.insert(reader.members.begin(), reader.members.end());
    out.prologues.insert(reader.prologues.begin(), reader.prologues.end());
    out.results.insert(reader.results.begin(), reader.results.end());
    std::erase_if(out.results, [&](int r) {
      const std::vector<int>& readers = uses(r);
      return r != out.exit() && std::all_of(readers.begin(), readers.end(),
                                            [&](int u) { return out.members.count(u) > 0; });
    });
    return out;
  }

  /// What a kernel of several results needs besides.
  Refusal refuse_results(const Group& g) {
    if (g.results.size() == 1) return std::nullopt;
    if (g.results.size() > kMaxResults) return "the kernel has as many results as one may have";
    // What members bring with them must be there when the first result is made.
    const int begin = *g.results.begin();
    for (const int m : g.members) {
      for (const ValueId a : call(m)->args) {
        const int def = definitions_[at(a.index)];
        if (def >= begin && !g.members.count(def)) return "its other operands are made later";
      }
    }
    std::set<std::string> checked;
    for (int i = begin; i < g.exit(); ++i) {
      if (const auto* check = std::get_if<CheckDims>(&binding(i).node)) {
        check->a.collect_symbols(checked);
        check->b.collect_symbols(checked);
      }
      for (const std::string& s : bound_symbols(binding(i).node, {})) checked.insert(s);
    }
    for (const int m : g.members) {
      for (const DimExpr& d : call(m)->dims) {
        for (const std::string& s : d.symbols()) {
          if (checked.count(s)) return "its dimensions are known later";
        }
      }
    }
    return std::nullopt;
  }

  MergedKernel merge(const Group& g) {
    std::set<int32_t> results;
    for (const int r : g.results) results.insert(binding(r).result.index);
    std::vector<KernelCall> calls;
    for (const int m : g.members) {
      KernelCall c{&kernel(m), {}, binding(m).result.index, call(m)->dims};
      for (const ValueId a : call(m)->args) c.args.push_back(a.index);
      calls.push_back(std::move(c));
    }
    return merge_kernels(calls, results, f_.facts);
  }

  Refusal refuse_group(const Group& g) {
    if (g.members.size() > kMaxMembers) return "the kernel has as many operators as one may have";
    if (Refusal why = refuse_results(g)) return why;
    const MergedKernel merged = merge(g);
    if (merged.args.size() > kMaxInputs) return "the kernel has as many inputs as one may have";
    return refuse_merged(kernel(g.core()), merged.function);
  }

  /// The call of the group's kernel.
  TileCall merged_call(const Group& g) {
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
    return out;
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

  /// A call where the first result of each group was made; other members are gone: they are
  /// evaluated inside their readers.
  void rebuild() {
    std::vector<bool> merged(f_.bindings.size(), false);
    std::vector<std::vector<Binding>> made(f_.bindings.size());
    for (size_t k = 0; k < groups_.size(); ++k) {
      const Group& g = groups_[k];
      for (const int m : g.members) merged[at(m)] = true;
      const int first = *g.results.begin();
      std::vector<Binding>& out = made[at(first)];
      const Location& location = binding(first).location;
      if (g.results.size() == 1) {
        out.push_back({binding(first).result, std::move(calls_[k]), location});
        continue;
      }
      std::vector<Type> types;
      for (const int r : g.results) types.push_back(f_.type(binding(r).result));
      const ValueId all = f_.add_value(name(first) + "_all", Type::tuple(std::move(types)));
      out.push_back({all, std::move(calls_[k]), location});
      for (const int r : g.results) {
        const auto item = static_cast<int64_t>(out.size()) - 1;
        out.push_back({binding(r).result, GetItem{all, item}, binding(r).location});
      }
    }
    std::vector<Binding> out;
    for (size_t i = 0; i < f_.bindings.size(); ++i) {
      if (!merged[i]) out.push_back(std::move(f_.bindings[i]));
      std::move(made[i].begin(), made[i].end(), std::back_inserter(out));
    }
    f_.bindings = std::move(out);
  }

  void report() {
    std::unordered_map<int32_t, int> made;  // value -> the result of a group
    for (const Group& g : groups_) {
      for (const int r : g.results) made[binding(r).result.index] = r;
    }
    std::map<int, size_t, std::greater<>> by_exit;
    for (size_t k = 0; k < groups_.size(); ++k) by_exit.emplace(groups_[k].exit(), k);
    for (const auto& [exit, k] : by_exit) {
      for (const ValueId a : calls_[k].args) {
        const auto producer = made.find(a.index);
        if (producer == made.end()) continue;
        const int p = producer->second;
        const std::string kind(name_of(kinds_[at(p)]));
        const std::string reason = why_apart(p, exit);
        context_.note("fuse: %{} ({}) stays out of %{}: {}", name(p), kind, name(exit), reason);
        if (context_.fusion)
          context_.fusion->refusals.push_back({f_.name, name(p), kind, name(exit), reason});
      }
    }
    if (!context_.fusion) return;
    for (size_t k = 0; k < groups_.size(); ++k) {
      const Group& g = groups_[k];
      FusedKernel kernel{f_.name, calls_[k].callee, name(g.exit()), "", "", {}};
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

  std::string why_apart(int producer, int exit) {
    const auto known = reasons_.find(producer);
    std::string why = known == reasons_.end() ? "it was not considered" : known->second;
    const auto results = apart_.find({producer, exit});
    return results == apart_.end() ? why
                                   : fmt::format("{}; in one kernel: {}", why, results->second);
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
  std::vector<TileCall> calls_;         ///< of the groups' kernels
  std::map<int, std::string> reasons_;  ///< why a result was not merged with its readers
  /// Why a result and a group (by its exit) that reads it are no kernel of several results.
  std::map<std::pair<int, int>, std::string> apart_;
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
