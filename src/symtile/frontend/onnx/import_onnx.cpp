#include "symtile/frontend/onnx/graph_import.h"
#include "symtile/frontend/onnx/input_dims.h"
#include "symtile/frontend/onnx/load_model.h"
#include "symtile/frontend/onnx/onnx.h"

namespace symtile {
namespace {

using namespace onnx_import;

/// The main graph's initialisers as constants; their bytes in the message are given back.
void read_initializers(pb::GraphProto& graph, GraphImporter& importer, const Location& where) {
  for (pb::TensorProto& t : *graph.mutable_initializer()) {
    (void)importer.tensor(t, where);
    delete t.release_raw_data();
    pb::TensorProto empty;
    t.mutable_float_data()->Swap(empty.mutable_float_data());
  }
}

void import_main(const pb::ModelProto& model, GraphImporter& importer, BranchChoices& choices,
                 const OnnxImportOptions& options) {
  const Location where = make_location(importer.file(), "", "");
  const pb::GraphProto& graph = model.graph();
  Module& module = importer.module();
  FunctionState state(module, std::string(Module::kMain), choices);
  GraphFunction& f = state.function;
  module.add(GraphFunction{.name = f.name});  // first in the module
  const FunctionFrame frame{&model.opset_import(), {}, false, 0, ""};
  onnx_import::Scope scope{nullptr, state, frame, {}};

  std::set<std::string> initialised;
  for (const pb::TensorProto& t : graph.initializer()) initialised.insert(t.name());
  InputDims dims(graph, initialised, where);
  dims.apply(options.dims, f.facts);
  for (const pb::ValueInfoProto& info : graph.input()) {
    if (initialised.count(info.name())) continue;
    auto entry = std::make_shared<Entry>();
    entry->name = info.name();
    entry->type = dims.type(info);
    entry->value = f.add_param(info.name(), entry->type);
    scope.names[info.name()] = entry;
  }
  importer.graph(scope, graph);
  state.build.location = where;
  for (const pb::ValueInfoProto& info : graph.output()) {
    f.results.push_back(state.materialise(*scope.find(info.name())));
    f.result_names.push_back(info.name());
  }
  if (f.results.empty()) fail(DiagId::bad_model_file, where, "the graph has no outputs");
  module.add(std::move(f));
}

Module import_model(std::unique_ptr<pb::ModelProto> model, const std::string& file,
                    const std::filesystem::path& folder, const OnnxImportOptions& options) {
  const CheckedModel checked = check_model(*model, file);
  check_operators(checked, file);
  Module module;
  TensorReader tensors(file, folder);
  GraphImporter importer(checked, module, tensors, file);
  read_initializers(*model->mutable_graph(), importer, make_location(file, "", ""));
  with_branch_choices(
      module, [&](BranchChoices& choices) { import_main(*model, importer, choices, options); });
  return module;
}

}  // namespace

Module import_onnx(const std::filesystem::path& file, const OnnxImportOptions& options) {
  const std::string name = file.filename().string();
  std::unique_ptr<pb::ModelProto> model;
  {
    const std::string bytes = read_model_file(file);  // given back before the import
    model = parse_model(bytes, name);
  }
  return import_model(std::move(model), name, file.parent_path(), options);
}

Module import_onnx_bytes(std::string_view bytes, const std::string& file_name,
                         const std::filesystem::path& folder, const OnnxImportOptions& options) {
  return import_model(parse_model(bytes, file_name), file_name, folder, options);
}

}  // namespace symtile
