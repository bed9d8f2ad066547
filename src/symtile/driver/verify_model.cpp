#include "symtile/driver/verify_model.h"

#include <algorithm>
#include <map>
#include <set>

#include "symtile/diag/diagnostic.h"
#include "symtile/driver/compare.h"
#include "symtile/interp/interpreter.h"
#include "symtile/interp/tile_interp.h"
#include "symtile/op/op.h"
#include "symtile/schedule/schedule.h"
#include "symtile/transform/passes.h"

namespace symtile {
namespace {

using Refs = std::vector<RefTensor>;

Comparison compare_refs(const RefTensor& actual, const RefTensor& expected) {
  const Constant e = expected.to_constant();
  return compare(*actual.to_constant(), *e, scaled_tolerance(*e));
}

/// Every value of main, by name and by id.
struct Trace {
  std::map<std::string, RefTensor> by_name;
  std::map<int32_t, RefTensor> by_id;
};

Trace trace_of(const Module& module, const Refs& inputs) {
  Trace out;
  const GraphFunction& main = module.graph(Module::kMain);
  for (size_t i = 0; i < inputs.size(); ++i) out.by_id[main.params[i].index] = inputs[i];
  Interpreter interpreter(module);
  interpreter.on_value = [&](const GraphFunction& f, const Binding& b, const RefTensor& t) {
    out.by_name[f.value(b.result).name] = t;
    out.by_id[b.result.index] = t;
  };
  interpreter.run(inputs);
  return out;
}

std::string where(const Binding& b) {
  if (!b.location) return {};
  return fmt::format(", from node '{}' ({})", b.location->node, b.location->op);
}

/// The single kernel call of `b` as a module of its own, all shapes as they were in the run.
class KernelCase {
 public:
  KernelCase(const TileFunction& tile, const Binding& b, const Trace& trace,
             const DimValues& symbols) {
    const auto& call = std::get<TileCall>(b.node);
    GraphFunction main;
    main.name = Module::kMain;
    std::vector<ValueId> args;
    for (const ValueId a : call.args) {
      inputs.push_back(trace.by_id.at(a.index));
      args.push_back(main.add_param(fmt::format("arg{}", args.size()), type_of(inputs.back())));
    }
    Dims dims;
    for (const DimExpr& d : call.dims) dims.emplace_back(d.evaluate(symbols));
    for (size_t i = 0; i < dims.size(); ++i) values[tile.symbols[i]] = *dims[i].as_const();
    DimSubstitution map;
    for (const auto& [name, value] : values) map.emplace(name, DimExpr(value));
    std::vector<Type> results;
    for (const Buffer& out : tile.outputs) {
      results.push_back(Type::tensor(out.dims, out.dtype).substitute(map));
    }
    const bool single = results.size() == 1;
    const ValueId result =
        main.bind(TileCall{tile.name, args, dims}, single ? results[0] : Type::tuple(results));
    for (size_t k = 0; k < results.size(); ++k) {
      main.results.push_back(
          single ? result : main.bind(GetItem{result, static_cast<int64_t>(k)}, results[k]));
      main.result_names.push_back(tile.outputs[k].name);
    }
    module.add(std::move(main));
    module.add(tile);
  }

  Module module;
  Refs inputs;
  DimValues values;  ///< of the symbols of the tile function

 private:
  static Type type_of(const RefTensor& t) {
    return Type::tensor(Dims(t.dims.begin(), t.dims.end()), t.dtype);
  }
};

class Search {
 public:
  Search(const Module& module, const Refs& inputs, const Refs& expected,
         const VerifyOptions& options, VerifyReport& report)
      : module_(module), inputs_(inputs), expected_(expected), options_(options), report_(report) {}

  void run() {
    Module module = module_;
    for (const std::string& name : pass_order(options_.compile.optimize)) {
      say("checking pass " + name);
      const Module before = module;
      PassContext context;
      context.check_ops = [](const GraphFunction& f, const Binding& b) { check_op_call(f, b); };
      PassManager({find_pass(name)}, context).run(module);
      if (!pass_is_right(before, module, name)) return;
    }
    check_kernels(module);
  }

 private:
  void say(const std::string& text) const {
    if (options_.progress) options_.progress(text);
  }

  bool pass_is_right(const Module& before, const Module& after, const std::string& pass) {
    try {
      const Refs outputs = Interpreter(after).run(inputs_);
      bool right = outputs.size() == expected_.size();
      for (size_t i = 0; right && i < outputs.size(); ++i) {
        right = compare_refs(outputs[i], expected_[i]).agree();
      }
      if (right) return true;
      report_.pass = pass;
      first_difference(trace_of(before, inputs_), after);
    } catch (const std::exception& e) {
      report_.pass = pass;
      report_.detail = fmt::format("the module after it cannot be interpreted: {}", e.what());
    }
    return false;
  }

  /// The first value of `after` that the module before the pass has too, with other contents.
  void first_difference(const Trace& before, const Module& after) {
    const Trace now = trace_of(after, inputs_);
    const GraphFunction& main = after.graph(Module::kMain);
    for (const Binding& b : main.bindings) {
      const std::string& name = main.value(b.result).name;
      const auto old = before.by_name.find(name), fresh = now.by_name.find(name);
      if (old == before.by_name.end() || fresh == now.by_name.end()) continue;
      const Comparison c = compare_refs(fresh->second, old->second);
      if (c.agree()) continue;
      report_.value = name;
      report_.detail = c.mismatch + where(b);
      if (const auto* call = std::get_if<TileCall>(&b.node)) report_.kernel = call->callee;
      return;
    }
    report_.detail = "no value that was there before the pass differs, but the outputs do";
  }

  void check_kernels(const Module& module) {
    const Trace trace = trace_of(module, inputs_);
    const GraphFunction& main = module.graph(Module::kMain);
    const DimValues symbols = symbols_of(main, trace);
    std::set<std::string> done;
    for (const Binding& b : main.bindings) {
      const auto* call = std::get_if<TileCall>(&b.node);
      if (!call || !done.insert(call->callee).second) continue;
      say("checking kernel " + call->callee);
      const TileFunction& tile = module.tile(call->callee);
      const std::string wrong = check_kernel(tile, KernelCase(tile, b, trace, symbols));
      if (wrong.empty()) continue;
      report_.kernel = call->callee;
      report_.value = main.value(b.result).name;
      report_.detail = wrong + where(b);
      return;
    }
    report_.detail =
        "every pass and every kernel of main is right by itself; the memory plan, the program of "
        "the virtual machine or a library call is not";
  }

  /// Symbols of main: those of its inputs, then what its bindings read.
  DimValues symbols_of(const GraphFunction& main, const Trace& trace) const {
    DimValues out;
    const auto bind = [&](const Type& type, const RefTensor& t) {
      for (size_t i = 0; type.dims && i < t.dims.size(); ++i) {
        if (const auto s = (*type.dims)[i].as_symbol()) out.emplace(*s, t.dims[i]);
      }
    };
    for (size_t i = 0; i < main.params.size(); ++i) bind(main.type(main.params[i]), inputs_[i]);
    for (const Binding& b : main.bindings) {
      const auto value = trace.by_id.find(b.result.index);
      if (value == trace.by_id.end()) continue;
      if (const auto* cast = std::get_if<MatchCast>(&b.node)) bind(cast->type, value->second);
      if (const auto* read = std::get_if<ReadDims>(&b.node)) {
        for (size_t i = 0; i < read->symbols.size(); ++i) {
          out[read->symbols[i]] = value->second.as_int(static_cast<int64_t>(i));
        }
      }
    }
    return out;
  }

  /// Empty when the code of the kernel computes what its tile function says.
  std::string check_kernel(const TileFunction& tile, const KernelCase& c) const {
    const Refs expected = Interpreter(c.module).run(c.inputs);
    const std::vector<std::byte> bytes =
        format::artifact_bytes(compile(c.module, options_.compile).parts());
    const api::Model model(bytes.data(), bytes.size());
    api::Session session(model, options_.threads, false, options_.device.c_str());
    std::vector<Constant> arguments;
    for (const RefTensor& t : c.inputs) arguments.push_back(t.to_constant());
    const std::vector<Constant> actual = run_session(session, arguments);
    for (size_t i = 0; i < expected.size(); ++i) {
      const Constant e = expected[i].to_constant();
      const Comparison difference = compare(*actual.at(i), *e, scaled_tolerance(*e));
      if (difference.agree()) continue;
      const CpuTarget& cpu = cpu_target(
          options_.compile.cpus.empty() ? native_cpu_level() : options_.compile.cpus.front());
      if (const auto gpu = parse_gpu_target(options_.device)) {
        // Blocks and lanes one after another: barriers do not count here.
        const bool right = schedule_is_right(schedule_for_gpu(tile, *gpu), c, expected);
        return fmt::format("{}; the {} is to blame", difference.mismatch,
                           right ? "printer, a barrier or the driver" : "schedule");
      }
      return fmt::format("{}; the {} is to blame (schedule '{}')", difference.mismatch,
                         schedule_is_right(schedule_for_cpu(tile, cpu), c, expected)
                             ? "code generator"
                             : "schedule",
                         schedule_name(tile, cpu));
    }
    return {};
  }

  static bool schedule_is_right(const TileFunction& scheduled, const KernelCase& c,
                                const Refs& expected) {
    std::vector<const RefTensor*> inputs;
    for (const RefTensor& t : c.inputs) inputs.push_back(&t);
    try {
      const Refs actual = run_tile(scheduled, c.values, inputs);
      for (size_t i = 0; i < actual.size(); ++i) {
        if (!compare_refs(actual[i], expected.at(i)).agree()) return false;
      }
      return true;
    } catch (const InternalError&) {
      return false;  // it reads or writes out of bounds
    }
  }

  const Module& module_;
  const Refs& inputs_;
  const Refs& expected_;
  const VerifyOptions& options_;
  VerifyReport& report_;
};

}  // namespace

bool VerifyReport::agree() const {
  return std::all_of(outputs.begin(), outputs.end(),
                     [](const OutputCheck& o) { return o.mismatch.empty(); });
}

VerifyReport verify_model(const Module& module, const api::Model& program,
                          const std::vector<Constant>& inputs, const VerifyOptions& options) {
  Refs arguments;
  for (const Constant& c : inputs) arguments.push_back(RefTensor::from_constant(*c));
  if (options.progress) options.progress("interpreting the model");
  const Refs expected = Interpreter(module).run(arguments);
  api::Session session(program, options.threads, false, options.device.c_str());
  const std::vector<Constant> actual = run_session(session, inputs);
  VerifyReport report;
  for (size_t i = 0; i < expected.size(); ++i) {
    const Constant e = expected[i].to_constant();
    const Comparison c = compare(*actual.at(i), *e, scaled_tolerance(*e));
    report.outputs.push_back({program.output(i).name, c.max_error, c.mismatch});
  }
  if (!report.agree()) Search(module, arguments, expected, options, report).run();
  return report;
}

}  // namespace symtile
