#include <set>

#include "symtile/frontend/onnx/check_model.h"
#include "symtile/frontend/onnx/dispatch.h"
#include "symtile/frontend/onnx/load_model.h"

namespace symtile::onnx_import {
namespace {

using Imports = google::protobuf::RepeatedPtrField<pb::OperatorSetIdProto>;

class Collector {
 public:
  Collector(const CheckedModel& checked, const std::string& file_name)
      : checked_(checked), file_(file_name) {}

  void nodes(const google::protobuf::RepeatedPtrField<pb::NodeProto>& list,
             const Imports& imports) {
    for (const pb::NodeProto& n : list) {
      for_each_subgraph(n, [&](const pb::GraphProto& g) { nodes(g.node(), imports); });
      if (const pb::FunctionProto* f = checked_.find_function(n)) {
        // Only functions that are called count, and each of them once.
        if (seen_.insert(f).second) waiting_.push_back(f);
        continue;
      }
      node(n, imports);
    }
  }

  void model() {
    nodes(checked_.model->graph().node(), checked_.model->opset_import());
    while (!waiting_.empty()) {
      const pb::FunctionProto* f = waiting_.back();
      waiting_.pop_back();
      nodes(f->node(), f->opset_import());
    }
  }

  std::vector<std::string> lines;
  std::set<std::string> operators;

 private:
  void node(const pb::NodeProto& n, const Imports& imports) {
    const std::string domain = normal_domain(n.domain());
    int64_t version = imported_version(imports, domain);
    if (version == 0) version = imported_version(checked_.model->opset_import(), domain);
    if (version == 0 && domain.empty() && checked_.model->ir_version() < 3) version = 1;
    if (domain.empty() && version == 0) {
      fail(DiagId::bad_model_file,
           make_location(file_, printable(n.name()), printable(n.op_type())),
           "the model does not import the operator set that this node belongs to");
    }
    const bool known =
        domain.empty() && (find_importer(n.op_type()) || is_core_operator(n.op_type()));
    const std::string unknown = known ? unknown_attributes(n) : "";
    if (known && unknown.empty()) return;
    const std::string name = !n.name().empty() || n.output().empty() ? n.name() : n.output(0);
    operators.insert(printable(n.op_type()));
    lines.push_back(fmt::format("{} (domain '{}', version {}), node '{}'{}", printable(n.op_type()),
                                domain.empty() ? "ai.onnx" : printable(domain), version,
                                printable(name), unknown));
  }

  static std::string unknown_attributes(const pb::NodeProto& n) {
    std::string names;
    for (const pb::AttributeProto& a : n.attribute()) {
      if (!knows_attribute(n.op_type(), a.name()))
        names += fmt::format("{}'{}'", names.empty() ? "" : ", ", printable(a.name()));
    }
    return names.empty() ? names : ": it has no attribute " + names;
  }

  const CheckedModel& checked_;
  const std::string& file_;
  std::set<const pb::FunctionProto*> seen_;
  std::vector<const pb::FunctionProto*> waiting_;
};

}  // namespace

void check_operators(const CheckedModel& checked, const std::string& file_name) {
  constexpr size_t kShown = 200;
  Collector collector(checked, file_name);
  collector.model();
  std::vector<std::string>& lines = collector.lines;
  if (lines.empty()) return;
  const size_t count = lines.size();
  if (count > kShown) {
    lines.resize(kShown);
    lines.push_back(fmt::format("and {} more", count - kShown));
  }
  fail(DiagId::unsupported, make_location(file_name, "", ""),
       "{} of its nodes cannot be imported; the operators that are not supported are {}:\n  {}",
       count, fmt::join(collector.operators, ", "), fmt::join(lines, "\n  "));
}

}  // namespace symtile::onnx_import
