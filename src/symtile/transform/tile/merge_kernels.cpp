#include "symtile/transform/tile/merge_kernels.h"

#include <fmt/format.h>

#include "symtile/transform/tile/inline_stages.h"

namespace symtile {
namespace {

Buffer substituted(Buffer b, const DimSubstitution& dims) {
  for (DimExpr& d : b.dims) d = d.substitute(dims);
  return b;
}

/// Renames the buffers, symbols and axes of one callee; every axis gets a name of its own.
class Renaming {
 public:
  Renaming(const KernelCall& call, int& next_axis) : next_axis_(next_axis) {
    for (size_t s = 0; s < call.kernel->symbols.size(); ++s) {
      dims_.emplace(call.kernel->symbols[s], call.dims[s]);
      values_.emplace(call.kernel->symbols[s], to_expr(call.dims[s]));
    }
  }

  Buffer dims_of(const Buffer& b) const { return substituted(b, dims_); }
  void rename(const std::string& from, const Buffer& to) { buffers_[from] = to.name; }

  ComputeStmt stage(ComputeStmt stage) {
    stage.buffer = buffers_.at(stage.buffer);
    std::map<std::string, Expr> values = values_;
    for (Axis& a : stage.axes) {
      const std::string name = fresh();
      values[a.name] = var(name);
      a = {name, a.extent.substitute(dims_)};
    }
    stage.value = expression(stage.value, std::move(values));
    return stage;
  }

 private:
  std::string fresh() { return fmt::format("_i{}", next_axis_++); }

  Expr expression(const Expr& e, std::map<std::string, Expr> values) {
    // Reduction axes get names of their own as well, so that inlining can never capture.
    std::map<std::string, Expr> axes;
    visit(e, [&](const Expr& x) {
      const auto* r = x.as<ReduceExpr>();
      if (!r) return;
      for (const Axis& a : r->axes) axes.emplace(a.name, var(fresh()));
    });
    for (const auto& [name, v] : axes) values[name] = v;
    return rewrite(e, [&](const Expr& x) -> Expr {
      if (const auto* v = x.as<VarRef>()) {
        const auto it = values.find(v->name);
        return it == values.end() ? x : it->second;
      }
      if (const auto* l = x.as<Load>()) return load(buffers_.at(l->buffer), l->dtype, l->indices);
      if (const auto* r = x.as<ReduceExpr>()) {
        std::vector<Axis> renamed;
        for (const Axis& a : r->axes) {
          renamed.push_back({values.at(a.name).as<VarRef>()->name, a.extent.substitute(dims_)});
        }
        return reduce(r->kind, std::move(renamed), r->body);
      }
      return x;
    });
  }

  DimSubstitution dims_;
  std::map<std::string, Expr> values_;
  std::map<std::string, std::string> buffers_;
  int& next_axis_;
};

}  // namespace

MergedKernel merge_kernels(const std::vector<KernelCall>& calls, const std::set<int32_t>& results,
                           const Facts& facts) {
  MergedKernel out;
  TileFunction& f = out.function;
  ComputeForm all;
  std::map<int32_t, Buffer> buffer_of;  // value -> buffer of the merged function
  int next_axis = 0;
  for (const KernelCall& call : calls) {
    Renaming names(call, next_axis);
    for (size_t a = 0; a < call.args.size(); ++a) {
      auto [it, fresh] = buffer_of.try_emplace(call.args[a]);
      if (fresh) {
        it->second = names.dims_of(call.kernel->inputs[a]);
        it->second.name = fmt::format("in{}", f.inputs.size());
        f.inputs.push_back(it->second);
        out.args.push_back(call.args[a]);
      }
      names.rename(call.kernel->inputs[a].name, it->second);
    }
    const bool stays = results.count(call.result) > 0;
    Buffer result = names.dims_of(call.kernel->outputs[0]);
    result.name = !stays                ? fmt::format("t{}", all.temporaries.size())
                  : results.size() == 1 ? "out"
                                        : fmt::format("out{}", f.outputs.size());
    names.rename(call.kernel->outputs[0].name, result);
    buffer_of[call.result] = result;
    if (stays) {
      f.outputs.push_back(result);
    } else {
      all.temporaries.push_back(result);
    }
    const ComputeForm form = *compute_form(*call.kernel);
    for (const Buffer& t : form.temporaries) {
      Buffer b = names.dims_of(t);
      b.name = fmt::format("t{}", all.temporaries.size());
      names.rename(t.name, b);
      all.temporaries.push_back(b);
    }
    for (const ComputeStmt& stage : form.stages) all.stages.push_back(names.stage(stage));
  }
  f.body = make_body(all);
  std::set<std::string> used;
  for (const auto* list : {&f.inputs, &f.outputs, &all.temporaries}) {
    for (const Buffer& b : *list) {
      for (const DimExpr& d : b.dims) d.collect_symbols(used);
    }
  }
  collect_free_symbols(all, used);
  f.symbols.assign(used.begin(), used.end());
  f.facts = restricted_facts(facts, used);
  inline_stages(f);
  return out;
}

void replace_input(TileFunction& f, size_t position, const Expr& immediate) {
  const std::string name = f.inputs[position].name;
  f.inputs.erase(f.inputs.begin() + static_cast<std::ptrdiff_t>(position));
  f.body = rewrite(f.body, nullptr, [&](const Expr& root) {
    return rewrite(root, [&](const Expr& e) {
      const auto* l = e.as<Load>();
      return l && l->buffer == name ? immediate : e;
    });
  });
}

}  // namespace symtile
