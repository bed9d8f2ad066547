#include "symtile/driver/onnx_case.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <set>

#include "symtile/diag/diagnostic.h"
#include "symtile/driver/compare.h"
#include "symtile/driver/driver.h"
#include "symtile/frontend/onnx/onnx.h"
#include "symtile/frontend/onnx/schema.h"
#include "symtile/interp/interpreter.h"

namespace symtile {
namespace {

namespace pb = onnx_import::pb;
using Path = std::filesystem::path;

void collect_operators(const google::protobuf::RepeatedPtrField<pb::NodeProto>& nodes,
                       std::set<std::string>& out) {
  for (const pb::NodeProto& node : nodes) {
    const bool core = node.domain().empty() || node.domain() == "ai.onnx";
    out.insert(core ? node.op_type() : node.domain() + "." + node.op_type());
    for (const pb::AttributeProto& a : node.attribute()) {
      if (a.has_g()) collect_operators(a.g().node(), out);
      for (const pb::GraphProto& g : a.graphs()) collect_operators(g.node(), out);
    }
  }
}

std::vector<Path> data_sets(const Path& folder) {
  std::vector<Path> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const bool named = entry.path().filename().string().starts_with("test_data_set_");
    if (named && entry.is_directory()) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// An input or output of a data set, with its bytes as they are in the file.
struct Sample {
  std::string name;
  std::string bytes;
  std::string file;
  Constant value() const { return parse_onnx_tensor(bytes, file); }
};

/// ONNX's generator of test data stores bf16 tensors as u16: the same bytes with the other dtype.
Constant stored_as(DType dtype, const Constant& c) {
  const bool same_bits = (dtype == DType::bf16 && c->dtype == DType::u16) ||
                         (dtype == DType::u16 && c->dtype == DType::bf16);
  return same_bits ? make_constant(dtype, c->dims, c->bytes) : c;
}

/// Runs the data sets of one case.
class Case {
 public:
  Case(const Path& folder, const CaseOptions& options) : folder_(folder), options_(options) {
    bytes_ = read_whole_file(folder / "model.onnx");
    (void)model_.ParseFromString(bytes_);  // what is wrong with it is the importer's to say
    std::set<std::string> initialised;
    for (const pb::TensorProto& t : model_.graph().initializer()) initialised.insert(t.name());
    for (const pb::ValueInfoProto& v : model_.graph().input()) {
      if (!initialised.count(v.name())) inputs_.push_back(v.name());
    }
    for (const pb::ValueInfoProto& v : model_.graph().output()) outputs_.push_back(v.name());
  }

  bool inputs_fixed = false;

  /// Empty when the outputs agree; else what differs.
  std::string run(const Path& data_set) {
    const std::vector<Sample> inputs = read(data_set, "input", inputs_);
    declare_shapes(inputs);
    const std::vector<Constant> actual = outputs_of(inputs);
    const std::vector<Sample> expected = read(data_set, "output", outputs_);
    if (expected.empty()) throw UserError("error: the data set has no outputs");
    for (size_t i = 0; i < expected.size(); ++i) {
      const Constant e = stored_as(actual.at(i)->dtype, expected[i].value());
      const Comparison c = compare(*actual[i], *e, scaled_tolerance(*e));
      if (!c.agree()) return fmt::format("output '{}': {}", expected[i].name, c.mismatch);
    }
    return {};
  }

 private:
  std::vector<Sample> read(const Path& data_set, const char* kind,
                           const std::vector<std::string>& names) const {
    std::vector<Sample> out;
    for (size_t i = 0; i < names.size(); ++i) {
      const Path file = data_set / fmt::format("{}_{}.pb", kind, i);
      if (!std::filesystem::exists(file)) break;
      out.push_back({names[i], read_whole_file(file), file.filename().string()});
    }
    return out;
  }

  /// Outputs of the model; where that takes it, with its small inputs fixed.
  std::vector<Constant> outputs_of(const std::vector<Sample>& inputs) {
    std::exception_ptr first;
    try {
      return run_model(bytes_, inputs);
    } catch (const DiagnosticError& e) {
      if (e.id() != DiagId::unsupported && e.id() != DiagId::bad_input) throw;
      first = std::current_exception();
    } catch (const api::Error& e) {
      // A run-time check of something that only a constant can select, such as dropout's training.
      if (e.status() != SYMTILE_USER_ERROR) throw;
      first = std::current_exception();
    }
    const auto [fixed, free] = fix_small_inputs(inputs);
    if (free.size() == inputs.size()) std::rethrow_exception(first);
    try {
      std::vector<Constant> out = run_model(fixed, free);
      inputs_fixed = true;
      return out;
    } catch (const DiagnosticError& e) {
      if (e.id() == DiagId::unsupported) throw;
    } catch (const api::Error&) {
      // The first error is the one about the model as it is.
    }
    std::rethrow_exception(first);
  }

  /// Some cases declare another rank than their data have; the data are what counts. With
  /// `symbolic`, every extent but 1 becomes a symbol, equal extents the same one.
  void declare_shapes(const std::vector<Sample>& inputs) {
    bool changed = false;
    for (const Sample& input : inputs) {
      pb::TensorProto tensor;
      if (!tensor.ParseFromString(input.bytes)) continue;
      for (pb::ValueInfoProto& info : *model_.mutable_graph()->mutable_input()) {
        if (info.name() != input.name || !info.type().has_tensor_type()) continue;
        pb::TensorShapeProto& shape = *info.mutable_type()->mutable_tensor_type()->mutable_shape();
        if (!options_.symbolic && shape.dim_size() == tensor.dims_size()) continue;
        shape.clear_dim();
        for (const int64_t extent : tensor.dims()) {
          pb::TensorShapeProto::Dimension& dim = *shape.add_dim();
          if (options_.symbolic && extent != 1) {
            dim.set_dim_param(fmt::format("n{}", extent));
          } else {
            dim.set_dim_value(extent);
          }
        }
        changed = true;
      }
    }
    if (!changed) return;
    model_.mutable_graph()->clear_value_info();
    for (pb::ValueInfoProto& info : *model_.mutable_graph()->mutable_output()) {
      if (info.type().has_tensor_type()) info.mutable_type()->mutable_tensor_type()->clear_shape();
    }
    bytes_ = model_.SerializeAsString();
  }

  /// The model with its small inputs as initialisers, and the other inputs.
  std::pair<std::string, std::vector<Sample>> fix_small_inputs(
      const std::vector<Sample>& inputs) const {
    pb::ModelProto fixed = model_;
    std::vector<Sample> free;
    for (const Sample& input : inputs) {
      pb::TensorProto tensor;
      if (!tensor.ParseFromString(input.bytes) || !is_parameter(tensor)) {
        free.push_back(input);
        continue;
      }
      tensor.set_name(input.name);
      *fixed.mutable_graph()->add_initializer() = std::move(tensor);
    }
    return {fixed.SerializeAsString(), free};
  }

  /// A shape, axes, a flag, a ratio: a short list of integers or bools, or any scalar.
  static bool is_parameter(const pb::TensorProto& t) {
    constexpr int64_t kMaxElements = 64;
    if (t.dims_size() == 0) return true;
    const bool integer = t.data_type() == pb::TensorProto::INT64 ||
                         t.data_type() == pb::TensorProto::INT32 ||
                         t.data_type() == pb::TensorProto::BOOL;
    return integer && t.dims_size() == 1 && t.dims(0) <= kMaxElements;
  }

  std::vector<Constant> run_model(const std::string& model,
                                  const std::vector<Sample>& samples) const {
    Module module = import_onnx_bytes(model, "model.onnx", folder_);
    const GraphFunction& main = module.graph(Module::kMain);
    std::vector<Constant> inputs;
    for (const ValueId p : main.params) {
      const auto it = std::find_if(samples.begin(), samples.end(),
                                   [&](const Sample& s) { return s.name == main.value(p).name; });
      if (it == samples.end()) {
        throw UserError(fmt::format("error: the data set has no input '{}'", main.value(p).name));
      }
      inputs.push_back(stored_as(main.type(p).dtype, it->value()));
    }
    return options_.reference ? interpret(module, inputs)
                              : compile_and_run(std::move(module), inputs);
  }

  static std::vector<Constant> interpret(const Module& module,
                                         const std::vector<Constant>& inputs) {
    std::vector<RefTensor> arguments;
    for (const Constant& c : inputs) arguments.push_back(RefTensor::from_constant(*c));
    std::vector<Constant> out;
    for (const RefTensor& t : Interpreter(module).run(arguments)) out.push_back(t.to_constant());
    return out;
  }

  std::vector<Constant> compile_and_run(Module module, const std::vector<Constant>& inputs) const {
    CompileOptions options;
    options.threads = 1;  // the cases run side by side
    options.optimize = options_.optimize;
    options.targets = {options_.device};
    const auto bytes = format::artifact_bytes(compile(std::move(module), options).parts());
    const api::Model model(bytes.data(), bytes.size());
    api::Session session(model, 1, false, options_.device.c_str());
    return run_session(session, inputs);
  }

  Path folder_;
  CaseOptions options_;
  std::string bytes_;
  pb::ModelProto model_;
  std::vector<std::string> inputs_, outputs_;
};

void run_data_sets(const Path& folder, const CaseOptions& options, CaseResult& result) {
  Case c(folder, options);
  const std::vector<Path> sets = data_sets(folder);
  if (sets.empty()) throw UserError("error: the case has no test_data_set_* folder");
  result.status = CaseStatus::passed;
  for (const Path& set : sets) {
    const std::string mismatch = c.run(set);
    result.inputs_fixed = c.inputs_fixed;
    if (mismatch.empty()) continue;
    result.status = CaseStatus::wrong;
    result.detail = set.filename().string() + ": " + mismatch;
    return;
  }
}

}  // namespace

std::string_view name_of(CaseStatus status) {
  constexpr std::string_view names[] = {"passed", "wrong", "unsupported", "error", "crashed"};
  return names[static_cast<size_t>(status)];
}

bool is_onnx_case(const Path& folder) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(folder / "model.onnx", ignored);
}

std::vector<std::string> operators_of_case(const Path& folder) {
  std::set<std::string> operators;
  try {
    pb::ModelProto model;
    if (model.ParseFromString(read_whole_file(folder / "model.onnx"))) {
      collect_operators(model.graph().node(), operators);
      for (const pb::FunctionProto& f : model.functions()) collect_operators(f.node(), operators);
    }
  } catch (const EnvironmentError&) {
    operators.clear();  // running the case will say so
  }
  return {operators.begin(), operators.end()};
}

static bool draws_random_numbers(const Path& folder) {
  const std::vector<std::string> operators = operators_of_case(folder);
  return std::any_of(operators.begin(), operators.end(), [](const std::string& name) {
    return name.starts_with("Random") || name == "Bernoulli";
  });
}

CaseResult run_onnx_case(const Path& folder, const CaseOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  CaseResult result;
  result.name = folder.filename().string();
  try {
    run_data_sets(folder, options, result);
    if (result.status == CaseStatus::wrong && draws_random_numbers(folder)) {
      result.status = CaseStatus::unsupported;
      result.detail = "random numbers: ONNX leaves open which, so its outputs cannot be expected";
    }
  } catch (const DiagnosticError& e) {
    result.status = e.id() == DiagId::unsupported ? CaseStatus::unsupported : CaseStatus::error;
    result.detail = e.what();
  } catch (const std::exception& e) {
    result.status = CaseStatus::error;
    result.detail = e.what();
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace symtile
