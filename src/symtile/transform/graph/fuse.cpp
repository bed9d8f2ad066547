// Merges chains of kernels: one kernel a group, with one result (Relax FuseOps and FuseTIR, §4.2;
// Hidet §5.2: what can be inlined into the anchor is).
//
// Groups grow from consumers to producers. A producer joins the group of its consumers when every
// use of its result is inside that one group, so a group has a single exit and no path can leave
// it and come back. What may join follows from the bodies alone:
//   injective producer    into any reader that is no heavy sum, if that does not repeat much work;
//   reduction, contraction  as the anchor of a group that only maps its elements one to one.
// Equal kernels made by different groups are shared, and scalar constants become immediates.
#include <algorithm>
#include <unordered_map>

#include "symtile/pass/pass.h"
#include "symtile/transform/graph_utils.h"
#include "symtile/transform/tile/access.h"
#include "symtile/transform/tile/inline_stages.h"

namespace symtile {
namespace {

/// More members would make kernels that nobody can read, and registers spill long before.
constexpr size_t kMaxMembers = 64;
/// Distinct buffers of one kernel.
constexpr size_t kMaxInputs = 24;

struct Group {
  std::vector<int> members;  ///< binding positions, descending: the exit first
  bool has_anchor = false;   ///< a reduction or contraction is inside
};

class Fuser {
 public:
  Fuser(Module& module, GraphFunction& f, PassContext& context,
        std::unordered_multimap<size_t, std::string>& known)
      : module_(module), f_(f), context_(context), known_(known) {}

  void run() {
    uses_ = users();
    group_of_.assign(f_.bindings.size(), -1);
    for (int i = static_cast<int>(f_.bindings.size()) - 1; i >= 0; --i) visit_binding(i);
    std::vector<Binding> out;
    std::vector<bool> dropped(f_.bindings.size(), false);
    for (const Group& g : groups_) {
      if (!rebuild(g)) continue;
      for (size_t k = 1; k < g.members.size(); ++k)
        dropped[static_cast<size_t>(g.members[k])] = true;
    }
    for (size_t i = 0; i < f_.bindings.size(); ++i) {
      if (!dropped[i]) out.push_back(std::move(f_.bindings[i]));
    }
    f_.bindings = std::move(out);
  }

 private:
  Binding& binding(int i) { return f_.bindings[static_cast<size_t>(i)]; }
  const TileCall* call(int i) { return std::get_if<TileCall>(&binding(i).node); }

  /// Binding positions that use each value; -1 stands for "function result".
  std::vector<std::vector<int>> users() const {
    std::vector<std::vector<int>> out(f_.values.size());
    for (size_t i = 0; i < f_.bindings.size(); ++i) {
      for_each_operand(f_.bindings[i].node, [&](ValueId id) {
        if (id.valid()) out[static_cast<size_t>(id.index)].push_back(static_cast<int>(i));
      });
    }
    for (const ValueId r : f_.results) out[static_cast<size_t>(r.index)].push_back(-1);
    return out;
  }

  void visit_binding(int i) {
    if (!call(i)) return;
    const TileFunction& kernel = module_.tile(call(i)->callee);
    const KernelKind kind = classify(kernel);
    if (kind == KernelKind::opaque) return;
    const int target = joinable_group(i, kind);
    if (target >= 0) {
      groups_[static_cast<size_t>(target)].members.push_back(i);
      groups_[static_cast<size_t>(target)].has_anchor |= kind >= KernelKind::reduction;
      group_of_[static_cast<size_t>(i)] = target;
      return;
    }
    group_of_[static_cast<size_t>(i)] = static_cast<int>(groups_.size());
    groups_.push_back({{i}, kind >= KernelKind::reduction});
  }

  /// The group that binding i may join; -1 when it starts its own.
  int joinable_group(int i, KernelKind kind) {
    const std::vector<int>& users = uses_[static_cast<size_t>(binding(i).result.index)];
    int target = -1;
    for (const int u : users) {
      const int g = u < 0 ? -1 : group_of_[static_cast<size_t>(u)];
      if (g < 0 || (target >= 0 && g != target)) return -1;
      target = g;
    }
    if (target < 0) return -1;
    const Group& group = groups_[static_cast<size_t>(target)];
    if (group.members.size() >= kMaxMembers || group_inputs(group) >= kMaxInputs) return -1;
    const std::string& name = f_.value(binding(i).result).name;
    const auto refuse = [&](const char* why) {
      context_.note("fuse: %{} ({}) stays out of %{}: {}", name, name_of(kind),
                    f_.value(binding(group.members.front()).result).name, why);
      return -1;
    };
    if (kind >= KernelKind::reduction) {
      if (group.has_anchor) return refuse("the kernel has a reduction already");
      if (!maps_one_to_one(i, group)) return refuse("its elements are not mapped one to one");
      return target;
    }
    for (const int u : users) {
      const Reading r = reading(i, u);
      if (r == Reading::many_times) return refuse("a reduction reads each element several times");
      if (r == Reading::inside_contraction && !is_relabeling(i)) {
        return refuse("a contraction would repeat its work");
      }
    }
    return target;
  }

  size_t group_inputs(const Group& g) {
    std::set<int32_t> inputs;
    for (const int m : g.members) {
      for (const ValueId a : call(m)->args) inputs.insert(a.index);
    }
    return inputs.size();
  }

  /// True when everything between binding i and the exit reads its operand at the output index.
  bool maps_one_to_one(int i, const Group& group) {
    std::vector<int> work{i};
    const int exit = group.members.front();
    while (!work.empty()) {
      const int at = work.back();
      work.pop_back();
      if (at == exit) continue;
      for (const int u : uses_[static_cast<size_t>(binding(at).result.index)]) {
        if (u < 0 || !reads_at_identity(at, u)) return false;
        work.push_back(u);
      }
    }
    return true;
  }

  /// The buffers through which kernel u reads the result of binding i.
  std::vector<std::string> buffers_of(int i, int u) {
    std::vector<std::string> out;
    const TileCall& c = *call(u);
    const TileFunction& kernel = module_.tile(c.callee);
    for (size_t a = 0; a < c.args.size(); ++a) {
      if (c.args[a] == binding(i).result) out.push_back(kernel.inputs[a].name);
    }
    return out;
  }

  /// Kernel u reads the whole result of binding i, each element once, at its output index. Where
  /// the output is larger (padding), the other elements would have no sum to be made of.
  bool reads_at_identity(int i, int u) {
    const std::vector<std::string> names = buffers_of(i, u);
    const TileFunction& kernel = module_.tile(call(u)->callee);
    const auto form = compute_form(kernel);
    if (!form || form->stages.size() != 1) return false;
    const ComputeStmt& stage = form->stages.front();
    if (has_reduction(stage.value)) return false;
    const std::vector<const Load*> loads = loads_of(stage.value);
    return std::all_of(loads.begin(), loads.end(), [&](const Load* l) {
      if (std::find(names.begin(), names.end(), l->buffer) == names.end()) return true;
      return is_identity_load(*l, stage) &&
             kernel.find_param(l->buffer)->dims == kernel.outputs[0].dims;
    });
  }

  enum class Reading { once, many_times, inside_contraction };

  Reading reading(int i, int u) {
    const std::vector<std::string> names = buffers_of(i, u);
    const TileFunction& kernel = module_.tile(call(u)->callee);
    const auto form = compute_form(kernel);
    const bool heavy = classify(kernel) == KernelKind::contraction;
    int reductions = 0;
    bool inside = false;
    for (const ComputeStmt& stage : form->stages) {
      visit(stage.value, [&](const Expr& e) {
        const auto* r = e.as<ReduceExpr>();
        if (!r) return;
        for (const Load* l : loads_of(r->body)) {
          if (std::find(names.begin(), names.end(), l->buffer) == names.end()) continue;
          inside = true;
          // Windows that overlap (pooling) read an element once for each output that covers it.
          for (const Expr& index : l->indices) reductions += index.as<BinaryExpr>() != nullptr;
        }
      });
    }
    if (inside && heavy) return Reading::inside_contraction;
    return reductions > 0 ? Reading::many_times : Reading::once;
  }

  /// A kernel that only moves elements (transpose, slice): free to repeat.
  bool is_relabeling(int i) {
    const auto form = compute_form(module_.tile(call(i)->callee));
    return form && form->stages.size() == 1 && form->stages.front().value.as<Load>() != nullptr;
  }

  /// False when the members stay as they are.
  bool rebuild(const Group& g) {
    std::vector<int> members(g.members.rbegin(), g.members.rend());
    std::sort(members.begin(), members.end());
    TileCall merged;
    TileFunction function = merge(members, merged);
    inline_stages(function);
    inline_scalars(function, merged);
    const auto form = compute_form(function);
    if (members.size() > 1 && form->stages.size() > 1 &&
        shared_prefix(*form, function.facts) == 0) {
      context_.note(
          "fuse: the group of %{} stays apart: its stages share no axis to run in parallel",
          f_.value(binding(g.members.front()).result).name);
      return false;
    }
    merged.callee = share(std::move(function), members);
    binding(g.members.front()).node = std::move(merged);
    return true;
  }

  /// One function whose stages are those of the members in order; results in between are
  /// temporaries.
  TileFunction merge(const std::vector<int>& members, TileCall& merged) {
    TileFunction out;
    ComputeForm all;
    std::map<int32_t, Buffer> buffer_of;  // value -> buffer in `out`
    std::vector<std::string> symbols;
    int next_axis = 0;
    for (const int m : members) {
      const TileCall& c = *call(m);
      const TileFunction& kernel = module_.tile(c.callee);
      // Formulas of the callee in terms of the caller's symbols.
      DimSubstitution dims;
      std::map<std::string, Expr> values;
      for (size_t s = 0; s < kernel.symbols.size(); ++s) {
        dims.emplace(kernel.symbols[s], c.dims[s]);
        values.emplace(kernel.symbols[s], to_expr(c.dims[s]));
      }
      std::map<std::string, Buffer> rename;
      for (size_t a = 0; a < c.args.size(); ++a) {
        auto [it, fresh] = buffer_of.try_emplace(c.args[a].index);
        if (fresh) {
          it->second = substituted(kernel.inputs[a], dims);
          it->second.name = fmt::format("in{}", out.inputs.size());
          out.inputs.push_back(it->second);
          merged.args.push_back(c.args[a]);
        }
        rename[kernel.inputs[a].name] = it->second;
      }
      const bool exit = m == members.back();
      Buffer result = substituted(kernel.outputs[0], dims);
      result.name = exit ? "out" : fmt::format("t{}", all.temporaries.size());
      rename[kernel.outputs[0].name] = result;
      buffer_of[binding(m).result.index] = result;
      ComputeForm form = *compute_form(kernel);
      if (!exit) all.temporaries.push_back(result);
      for (const Buffer& t : form.temporaries) {
        Buffer b = substituted(t, dims);
        b.name = fmt::format("t{}", all.temporaries.size());
        rename[t.name] = b;
        all.temporaries.push_back(b);
      }
      for (ComputeStmt& stage : form.stages) {
        all.stages.push_back(renamed(std::move(stage), rename, dims, values, next_axis));
      }
      if (exit) out.outputs.push_back(result);
    }
    out.body = make_body(all);
    std::set<std::string> used;
    for (const auto* list : {&out.inputs, &out.outputs, &all.temporaries}) {
      for (const Buffer& b : *list) {
        for (const DimExpr& d : b.dims) d.collect_symbols(used);
      }
    }
    collect_free_symbols(all, used);
    out.symbols.assign(used.begin(), used.end());
    for (const std::string& s : out.symbols) merged.dims.push_back(DimExpr::symbol(s));
    out.facts = restricted_facts(f_.facts, used);
    return out;
  }

  static Buffer substituted(Buffer b, const DimSubstitution& dims) {
    for (DimExpr& d : b.dims) d = d.substitute(dims);
    return b;
  }

  static ComputeStmt renamed(ComputeStmt stage, const std::map<std::string, Buffer>& rename,
                             const DimSubstitution& dims, std::map<std::string, Expr> values,
                             int& next_axis) {
    stage.buffer = rename.at(stage.buffer).name;
    for (Axis& a : stage.axes) {
      const std::string name = fmt::format("_i{}", next_axis++);
      values[a.name] = var(name);
      a = {name, a.extent.substitute(dims)};
    }
    stage.value = rename_expr(stage.value, rename, dims, values, next_axis);
    return stage;
  }

  static Expr rename_expr(const Expr& e, const std::map<std::string, Buffer>& rename,
                          const DimSubstitution& dims, const std::map<std::string, Expr>& values,
                          int& next_axis) {
    // Reduction axes get names of their own as well, so that inlining can never capture.
    std::map<std::string, Expr> axis_names;
    const std::function<void(const Expr&)> name_axes = [&](const Expr& x) {
      if (const auto* r = x.as<ReduceExpr>()) {
        for (const Axis& a : r->axes)
          axis_names.emplace(a.name, var(fmt::format("_i{}", next_axis++)));
      }
    };
    visit(e, name_axes);
    std::map<std::string, Expr> all = values;
    for (const auto& [name, v] : axis_names) all[name] = v;
    return rewrite(e, [&](const Expr& x) -> Expr {
      if (const auto* v = x.as<VarRef>()) {
        const auto it = all.find(v->name);
        return it == all.end() ? x : it->second;
      }
      if (const auto* l = x.as<Load>())
        return load(rename.at(l->buffer).name, l->dtype, l->indices);
      if (const auto* r = x.as<ReduceExpr>()) {
        std::vector<Axis> axes;
        for (const Axis& a : r->axes) {
          axes.push_back({all.at(a.name).as<VarRef>()->name, a.extent.substitute(dims)});
        }
        return reduce(r->kind, std::move(axes), r->body);
      }
      return x;
    });
  }

  /// Replaces inputs that are constants of one element by immediates.
  void inline_scalars(TileFunction& function, TileCall& call_node) {
    const std::vector<int>& defs = definitions();
    std::map<std::string, Expr> immediates;
    for (size_t a = call_node.args.size(); a-- > 0;) {
      const Constant c = constant_of(f_, defs, call_node.args[a]);
      if (!c || c->element_count() != 1) continue;
      immediates[function.inputs[a].name] = is_float(c->dtype)
                                                ? float_imm(c->dtype, c->as_double(0))
                                                : int_imm(c->dtype, c->as_int(0));
      function.inputs.erase(function.inputs.begin() + static_cast<std::ptrdiff_t>(a));
      call_node.args.erase(call_node.args.begin() + static_cast<std::ptrdiff_t>(a));
    }
    if (immediates.empty()) return;
    function.body = rewrite(function.body, nullptr, [&](const Expr& root) {
      return rewrite(root, [&](const Expr& e) {
        const auto* l = e.as<Load>();
        const auto it = l ? immediates.find(l->buffer) : immediates.end();
        return it == immediates.end() ? e : it->second;
      });
    });
  }

  const std::vector<int>& definitions() {
    if (definitions_.empty()) definitions_ = defining_bindings(f_);
    return definitions_;
  }

  std::string share(TileFunction function, const std::vector<int>& members) {
    std::string name;
    for (const int m : members) {
      const std::string part = base_name(call(m)->callee);
      if (name.size() + part.size() < 40) name += (name.empty() ? "" : "_") + part;
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

  /// "conv_12" -> "conv".
  static std::string base_name(const std::string& name) {
    size_t end = name.size();
    while (end > 0 && std::isdigit(static_cast<unsigned char>(name[end - 1]))) --end;
    return end > 1 && end < name.size() && name[end - 1] == '_' ? name.substr(0, end - 1) : name;
  }

  Module& module_;
  GraphFunction& f_;
  PassContext& context_;
  std::unordered_multimap<size_t, std::string>& known_;
  std::vector<std::vector<int>> uses_;
  std::vector<int> group_of_;
  std::vector<Group> groups_;
  std::vector<int> definitions_;
};

}  // namespace

void fuse(Module& module, PassContext& context) {
  std::unordered_multimap<size_t, std::string> known;
  for (const std::string& name : module.graph_names()) {
    GraphFunction f = module.graph(name);
    Fuser(module, f, context, known).run();
    module.graph(name) = std::move(f);
  }
}

}  // namespace symtile
