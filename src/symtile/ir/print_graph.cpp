// Prints graph functions and whole modules. Each node kind has one overload, so a new kind that
// does not print fails to compile.
#include "symtile/ir/print_graph.h"

#include "symtile/base/check.h"
#include "symtile/ir/graph_keywords.h"
#include "symtile/ir/text_format.h"

namespace symtile {
namespace {

class GraphPrinter {
 public:
  GraphPrinter(const GraphFunction& f, const PrintOptions& options) : f_(f), options_(options) {}

  std::string print() {
    header();
    out_ += " {\n";
    for (const Binding& b : f_.bindings) binding(b);
    out_ += "  return";
    for (size_t i = 0; i < f_.results.size(); ++i) out_ += (i ? ", " : " ") + id(f_.results[i]);
    out_ += "\n}\n";
    return std::move(out_);
  }

 private:
  void header() {
    out_ = "graph " + function_name(f_.name);
    if (!f_.dim_params.empty()) {
      out_ += "<";
      for (size_t i = 0; i < f_.dim_params.size(); ++i) out_ += (i ? ", " : "") + f_.dim_params[i];
      out_ += ">";
    }
    out_ += "(";
    for (size_t i = 0; i < f_.params.size(); ++i) {
      out_ += (i ? ", " : "") + typed(f_.params[i]);
    }
    out_ += ") -> ";
    results();
    if (const std::string facts = print_facts(f_.facts); !facts.empty()) out_ += "\n    " + facts;
    if (f_.arena_bytes) out_ += fmt::format("\n    arena({})", f_.arena_bytes->str());
  }

  void results() {
    const bool named = !f_.results.empty() && f_.result_names.size() == f_.results.size();
    const bool bare = f_.results.size() == 1 && !named;
    if (!bare) out_ += "(";
    for (size_t i = 0; i < f_.results.size(); ++i) {
      if (i) out_ += ", ";
      if (named) out_ += quote(f_.result_names[i]) + ": ";
      out_ += f_.type(f_.results[i]).str();
    }
    if (!bare) out_ += ")";
  }

  void binding(const Binding& b) {
    out_ += "  " + id(b.result) + " = ";
    std::visit([&](const auto& n) { node(n, f_.type(b.result)); }, b.node);
    out_ += " : " + f_.type(b.result).str() + placement(f_.value(b.result));
    if (options_.locations && b.location) {
      const LocationInfo& at = *b.location;
      out_ += fmt::format(" loc({}, {}, {}, {})", quote(at.file), quote(at.node), quote(at.op),
                          at.line);
    }
    out_ += "\n";
  }

  void node(const OpCall& n, const Type&) {
    if (is_identifier(n.op) && !is_graph_keyword(n.op)) {
      out_ += n.op;
    } else {
      out_ += "op " + quote(n.op);
    }
    out_ += ids(n.args);
    attributes(n.attrs);
  }
  void node(const TileCall& n, const Type&) {
    out_ += "call_tile " + function_name(n.callee) + ids(n.args);
    dims(n.dims);
  }
  void node(const ExternCall& n, const Type&) {
    out_ += "call_extern " + function_name(n.callee) + ids(n.args);
    attributes(n.attrs);
  }
  void node(const GraphCall& n, const Type&) {
    out_ += "call " + function_name(n.callee) + ids(n.args);
    dims(n.dims);
  }
  void node(const If& n, const Type&) {
    out_ += fmt::format("if {} then {} else {} {}", id(n.condition), function_name(n.then_fn),
                        function_name(n.else_fn), ids(n.args));
    dims(n.dims);
  }
  void node(const Loop& n, const Type&) {
    out_ += fmt::format("loop {} trip_count {} condition {} carried {} captured {} scanned {}",
                        function_name(n.body), id(n.trip_count), id(n.condition), ids(n.carried),
                        ids(n.captured), n.scanned);
    dims(n.dims);
  }
  void node(const MatchCast& n, const Type& type) {
    out_ += "match_cast " + id(n.value);
    if (!(n.type == type)) out_ += " to " + n.type.str();
  }
  void node(const ReadDims& n, const Type&) {
    out_ += "read_dims " + id(n.value) + " as (";
    for (size_t i = 0; i < n.symbols.size(); ++i) out_ += (i ? ", " : "") + n.symbols[i];
    out_ += ")";
  }
  void node(const DimsToTensor& n, const Type&) {
    out_ += fmt::format("dims_to_tensor {}{} {}", n.scalar ? "scalar " : "", name_of(n.dtype),
                        dims_text(n.dims));
  }
  void node(const CheckDims& n, const Type&) {
    out_ += fmt::format("check_dims {} == {}, {}", n.a.str(), n.b.str(), quote(n.message));
  }
  void node(const ConstantNode& n, const Type&) {
    out_ += "constant " + (n.data ? print_constant(*n.data, options_.constants) : "missing");
  }
  void node(const MakeTuple& n, const Type&) { out_ += "tuple" + ids(n.members); }
  void node(const GetItem& n, const Type&) {
    out_ += fmt::format("get {}[{}]", id(n.tuple), n.index);
  }

  void attributes(const Attributes& attrs) {
    if (!attrs.map().empty()) out_ += " " + print_attributes(attrs);
  }
  void dims(const Dims& dims) {
    if (dims.empty()) return;
    out_ += " [";
    for (size_t i = 0; i < dims.size(); ++i) out_ += (i ? ", " : "") + dims[i].str();
    out_ += "]";
  }

  std::string typed(ValueId v) const {
    return id(v) + ": " + f_.type(v).str() + placement(f_.value(v));
  }
  std::string placement(const Value& v) const {
    switch (v.placement.kind) {
      case Placement::Kind::none:
        return "";
      case Placement::Kind::arena:
        return fmt::format(" @arena({})", v.placement.offset.str());
      case Placement::Kind::alias:
        return fmt::format(" @alias({})", id(v.placement.of));
      case Placement::Kind::heap:
        return " @heap";
      case Placement::Kind::constant:
        return " @constant";
      case Placement::Kind::parameter:
        return " @parameter";
    }
    SYMTILE_UNREACHABLE();
  }
  std::string id(ValueId v) const { return v.valid() ? value_name(f_.value(v).name) : "_"; }
  std::string ids(const std::vector<ValueId>& list) const {
    std::string out = "(";
    for (size_t i = 0; i < list.size(); ++i) out += (i ? ", " : "") + id(list[i]);
    return out + ")";
  }

  const GraphFunction& f_;
  const PrintOptions& options_;
  std::string out_;
};

}  // namespace

std::string print(const GraphFunction& f, const PrintOptions& options) {
  return GraphPrinter(f, options).print();
}

std::string print(const Module& m, const PrintOptions& options) {
  std::string out;
  for (const Function& f : m.functions()) {
    if (!out.empty()) out += "\n";
    if (const auto* g = std::get_if<GraphFunction>(&f)) {
      out += print(*g, options);
    } else if (const auto* t = std::get_if<TileFunction>(&f)) {
      out += print(*t);
    } else {
      out += "extern " + function_name(name_of(f)) + "\n";
    }
  }
  return out;
}

}  // namespace symtile
