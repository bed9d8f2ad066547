// Attributes of a node: kinds are checked, references to a function's attributes are resolved.
#include "symtile/frontend/onnx/load_model.h"
#include "symtile/frontend/onnx/node_import.h"

namespace symtile::onnx_import {
namespace {

/// Files before IR version 2 leave the kind out.
pb::AttributeProto::AttributeType kind_of(const pb::AttributeProto& a) {
  using A = pb::AttributeProto;
  if (a.has_type() && a.type() != A::UNDEFINED) return a.type();
  if (a.has_f()) return A::FLOAT;
  if (a.has_i()) return A::INT;
  if (a.has_s()) return A::STRING;
  if (a.has_t()) return A::TENSOR;
  if (a.has_g()) return A::GRAPH;
  if (a.floats_size() > 0) return A::FLOATS;
  if (a.ints_size() > 0) return A::INTS;
  if (a.strings_size() > 0) return A::STRINGS;
  return A::UNDEFINED;
}

const char* kind_name(pb::AttributeProto::AttributeType kind) {
  using A = pb::AttributeProto;
  switch (kind) {
    case A::FLOAT:
      return "a float";
    case A::INT:
      return "an integer";
    case A::STRING:
      return "a string";
    case A::TENSOR:
      return "a tensor";
    case A::GRAPH:
      return "a graph";
    case A::FLOATS:
      return "a list of floats";
    case A::INTS:
      return "a list of integers";
    case A::STRINGS:
      return "a list of strings";
    default:
      return "of another kind";
  }
}

}  // namespace

const pb::AttributeProto* GraphImporter::resolve(const pb::AttributeProto& a,
                                                 const FunctionFrame& frame) {
  if (a.ref_attr_name().empty()) return &a;
  const auto it = frame.attributes.find(a.ref_attr_name());
  return it == frame.attributes.end() ? nullptr : it->second;
}

const pb::AttributeProto* NodeContext::attribute(const char* name) const {
  for (const pb::AttributeProto& a : node_.attribute()) {
    if (a.name() == name) return GraphImporter::resolve(a, scope_.frame);
  }
  return nullptr;
}

const pb::AttributeProto* NodeContext::attribute(const char* name,
                                                 pb::AttributeProto::AttributeType type) const {
  const pb::AttributeProto* a = attribute(name);
  if (!a) return nullptr;
  const auto kind = kind_of(*a);
  // An empty list without a kind is a list of whatever is asked for.
  if (kind != type && kind != pb::AttributeProto::UNDEFINED) {
    symtile::fail(DiagId::bad_attribute, location_, "the attribute '{}' must be {}, but is {}",
                  name, kind_name(type), kind_name(kind));
  }
  return a;
}

int64_t NodeContext::attr_int(const char* name, int64_t fallback) const {
  const auto* a = attribute(name, pb::AttributeProto::INT);
  return a ? a->i() : fallback;
}

double NodeContext::attr_float(const char* name, double fallback) const {
  const auto* a = attribute(name, pb::AttributeProto::FLOAT);
  return a ? static_cast<double>(a->f()) : fallback;
}

std::string NodeContext::attr_text(const char* name, const std::string& fallback) const {
  const auto* a = attribute(name, pb::AttributeProto::STRING);
  return a ? a->s() : fallback;
}

std::vector<int64_t> NodeContext::attr_ints(const char* name, std::vector<int64_t> fallback) const {
  const auto* a = attribute(name, pb::AttributeProto::INTS);
  return a ? std::vector<int64_t>(a->ints().begin(), a->ints().end()) : std::move(fallback);
}

std::vector<double> NodeContext::attr_floats(const char* name, std::vector<double> fallback) const {
  const auto* a = attribute(name, pb::AttributeProto::FLOATS);
  return a ? std::vector<double>(a->floats().begin(), a->floats().end()) : std::move(fallback);
}

Constant NodeContext::attr_tensor(const char* name) const {
  const auto* a = attribute(name, pb::AttributeProto::TENSOR);
  if (!a) return nullptr;
  if (!a->has_t()) {
    symtile::fail(DiagId::bad_attribute, location_, "the attribute '{}' holds no tensor", name);
  }
  return importer_.tensor(a->t(), location_);
}

DType NodeContext::attr_dtype(const char* name, DType fallback) const {
  const auto* a = attribute(name, pb::AttributeProto::INT);
  if (!a) return fallback;
  const int64_t number = a->i();
  const auto dtype =
      number >= 0 && number < 1024 ? dtype_of(static_cast<int>(number)) : std::nullopt;
  if (!dtype) {
    symtile::fail(DiagId::unsupported, location_,
                  "the element type {} (attribute '{}') is not supported",
                  number >= 0 && number < 1024 ? onnx_type_name(static_cast<int>(number))
                                               : fmt::format("number {}", number),
                  name);
  }
  return *dtype;
}

const pb::GraphProto& NodeContext::graph_attribute(const char* name) const {
  const auto* a = attribute(name, pb::AttributeProto::GRAPH);
  if (!a || !a->has_g())
    symtile::fail(DiagId::bad_attribute, location_, "the graph '{}' is missing", name);
  return a->g();
}

}  // namespace symtile::onnx_import
