#include "symtile/frontend/onnx/check_model.h"

#include <functional>
#include <queue>
#include <set>
#include <unordered_set>

#include "symtile/frontend/onnx/load_model.h"

namespace symtile::onnx_import {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<pb::NodeProto>;
using Names = std::unordered_set<std::string>;

/// Names visible at one point: of this body so far, and of the enclosing ones.
struct NameScope {
  Names names;
  const NameScope* outer = nullptr;
  bool has(const std::string& name) const {
    for (const NameScope* s = this; s; s = s->outer) {
      if (s->names.count(name)) return true;
    }
    return false;
  }
};

class Checker {
 public:
  Checker(const std::string& file_name, CheckedModel& checked)
      : file_(file_name), where_(make_location(file_name, "", "")), checked_(checked) {}

  void graph(const pb::GraphProto& g, const NameScope* outer, int depth) {
    if (depth > kMaxGraphNesting) {
      fail(DiagId::too_large, where_, "graphs are nested more than {} deep", kMaxGraphNesting);
    }
    NameScope scope{{}, outer};
    for (const pb::ValueInfoProto& v : g.input()) define(scope, v.name(), "graph input");
    const Names inputs = scope.names;
    Names initializers;
    const auto add_initializer = [&](const std::string& name) {
      if (!initializers.insert(name).second) {
        fail(DiagId::bad_model_file, where_, "the initialiser '{}' is defined twice",
             printable(name));
      }
      if (!inputs.count(name)) define(scope, name, "initialiser");
    };
    for (const pb::TensorProto& t : g.initializer()) add_initializer(t.name());
    if (g.sparse_initializer_size() > 0) {
      fail(DiagId::unsupported, where_,
           "the model has sparse initialisers, which are not supported");
    }
    body(&g, g.node(), scope, depth);
    for (const pb::ValueInfoProto& v : g.output()) {
      if (!scope.has(v.name())) {
        fail(DiagId::bad_model_file, where_, "the graph output '{}' is not defined",
             printable(v.name()));
      }
    }
  }

  void function(const pb::FunctionProto& f) {
    NameScope scope;
    for (const std::string& name : f.input()) define(scope, name, "function input");
    body(&f, f.node(), scope, 1);
    for (const std::string& name : f.output()) {
      if (!scope.has(name)) {
        fail(DiagId::bad_model_file, where_, "output '{}' of function '{}' is not defined",
             printable(name), printable(f.name()));
      }
    }
  }

 private:
  Location at(const pb::NodeProto& n) const {
    const std::string& name = !n.name().empty() || n.output().empty() ? n.name() : n.output(0);
    return make_location(file_, printable(name), printable(n.op_type()));
  }

  void define(NameScope& scope, const std::string& name, const char* kind) {
    if (name.empty()) fail(DiagId::bad_model_file, where_, "a {} has no name", kind);
    if (name.size() > kMaxNameLength) {
      fail(DiagId::too_large, where_, "a name has {} bytes; at most {} are allowed", name.size(),
           kMaxNameLength);
    }
    if (scope.outer && scope.outer->has(name)) {
      fail(DiagId::bad_model_file, where_,
           "the {} '{}' of a subgraph hides a value of the enclosing graph", kind, printable(name));
    }
    if (!scope.names.insert(name).second) {
      fail(DiagId::bad_model_file, where_, "the name '{}' is defined twice", printable(name));
    }
  }

  /// Names that a graph takes from the enclosing one.
  const std::vector<std::string>& free_names(const pb::GraphProto& g, int depth) {
    if (depth > kMaxGraphNesting) {
      fail(DiagId::too_large, where_, "graphs are nested more than {} deep", kMaxGraphNesting);
    }
    const auto known = free_.find(&g);
    if (known != free_.end()) return known->second;
    Names defined;
    for (const auto& v : g.input()) defined.insert(v.name());
    for (const auto& t : g.initializer()) defined.insert(t.name());
    for (const auto& n : g.node()) defined.insert(n.output().begin(), n.output().end());
    std::set<std::string> free;
    const auto use = [&](const std::string& name) {
      if (!name.empty() && !defined.count(name)) free.insert(name);
    };
    for (const pb::NodeProto& n : g.node()) {
      for (const std::string& name : n.input()) use(name);
      for_each_subgraph(n, [&](const pb::GraphProto& sub) {
        for (const std::string& name : free_names(sub, depth + 1)) use(name);
      });
    }
    for (const auto& v : g.output()) use(v.name());
    return free_.emplace(&g, std::vector<std::string>(free.begin(), free.end())).first->second;
  }

  void check_node(const pb::NodeProto& n) {
    if (++nodes_ > kMaxNodes) {
      fail(DiagId::too_large, where_, "the model has more than {} nodes", kMaxNodes);
    }
    if (n.op_type().empty()) fail(DiagId::bad_model_file, at(n), "the node has no operator type");
    if (n.op_type().size() > kMaxNameLength || n.name().size() > kMaxNameLength) {
      fail(DiagId::too_large, where_, "a name has more than {} bytes", kMaxNameLength);
    }
    std::set<std::string> attributes;
    for (const pb::AttributeProto& a : n.attribute()) {
      if (a.name().empty()) fail(DiagId::bad_model_file, at(n), "an attribute has no name");
      if (!attributes.insert(a.name()).second) {
        fail(DiagId::bad_model_file, at(n), "the attribute '{}' is given twice",
             printable(a.name()));
      }
    }
  }

  /// Sorts the nodes, checks them and their subgraphs, and leaves all names in `scope`.
  void body(const void* key, const Nodes& nodes, NameScope& scope, int depth) {
    std::unordered_map<std::string, int> producer;
    for (int i = 0; i < nodes.size(); ++i) {
      check_node(nodes[i]);
      for (const std::string& name : nodes[i].output()) {
        if (name.empty()) continue;
        if (scope.names.count(name) || !producer.emplace(name, i).second) {
          fail(DiagId::bad_model_file, at(nodes[i]), "its output '{}' is defined twice",
               printable(name));
        }
      }
    }
    std::vector<int> order = sort(nodes, producer, scope, depth);
    for (const int i : order) {
      for_each_subgraph(nodes[i], [&](const pb::GraphProto& g) { graph(g, &scope, depth + 1); });
      for (const std::string& name : nodes[i].output()) {
        if (!name.empty()) define(scope, name, "node output");
      }
    }
    checked_.order[key] = std::move(order);
  }

  std::vector<int> sort(const Nodes& nodes, const std::unordered_map<std::string, int>& producer,
                        const NameScope& scope, int depth) {
    std::vector<std::vector<int>> consumers(static_cast<size_t>(nodes.size()));
    std::vector<int> missing(static_cast<size_t>(nodes.size()), 0);
    for (int i = 0; i < nodes.size(); ++i) {
      const auto use = [&](const std::string& name) {
        if (name.empty()) return;
        const auto it = producer.find(name);
        if (it != producer.end()) {
          consumers[static_cast<size_t>(it->second)].push_back(i);
          ++missing[static_cast<size_t>(i)];
        } else if (!scope.has(name)) {
          fail(DiagId::bad_model_file, at(nodes[i]),
               "its input '{}' is not the output of any node, an input or an initialiser",
               printable(name));
        }
      };
      for (const std::string& name : nodes[i].input()) use(name);
      for_each_subgraph(nodes[i], [&](const pb::GraphProto& g) {
        for (const std::string& name : free_names(g, depth + 1)) use(name);
      });
    }
    // The lowest position first: a graph that is already in order keeps its order.
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (int i = 0; i < nodes.size(); ++i) {
      if (missing[static_cast<size_t>(i)] == 0) ready.push(i);
    }
    std::vector<int> order;
    while (!ready.empty()) {
      const int i = ready.top();
      ready.pop();
      order.push_back(i);
      for (const int c : consumers[static_cast<size_t>(i)]) {
        if (--missing[static_cast<size_t>(c)] == 0) ready.push(c);
      }
    }
    for (int i = 0; i < nodes.size(); ++i) {
      if (missing[static_cast<size_t>(i)] > 0) {
        fail(DiagId::bad_model_file, at(nodes[i]),
             "the graph has a cycle that this node depends on");
      }
    }
    return order;
  }

  const std::string& file_;
  Location where_;
  CheckedModel& checked_;
  std::unordered_map<const pb::GraphProto*, std::vector<std::string>> free_;
  int nodes_ = 0;
};

void for_each_node(const Nodes& nodes, const std::function<void(const pb::NodeProto&)>& f) {
  for (const pb::NodeProto& n : nodes) {
    f(n);
    for_each_subgraph(n, [&](const pb::GraphProto& g) { for_each_node(g.node(), f); });
  }
}

/// Depth-first over calls between functions; a function that is met while it is open is recursive.
void check_recursion(const CheckedModel& checked, const Location& where) {
  enum class Mark : uint8_t { open, done };
  using Callees = std::vector<const pb::FunctionProto*>;
  struct Frame {
    const pb::FunctionProto* function;
    Callees callees;
    size_t next;
  };
  std::map<const pb::FunctionProto*, Mark> marks;
  std::vector<Frame> stack;
  const auto enter = [&](const pb::FunctionProto* f) {
    marks[f] = Mark::open;
    std::set<const pb::FunctionProto*> callees;
    for_each_node(f->node(), [&](const pb::NodeProto& n) {
      if (const auto* g = checked.find_function(n)) callees.insert(g);
    });
    stack.push_back({f, Callees(callees.begin(), callees.end()), 0});
  };
  for (const auto& entry : checked.functions) {
    if (marks.count(entry.second)) continue;
    enter(entry.second);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next == frame.callees.size()) {
        marks[frame.function] = Mark::done;
        stack.pop_back();
        continue;
      }
      const pb::FunctionProto* callee = frame.callees[frame.next++];
      const auto mark = marks.find(callee);
      if (mark == marks.end()) {
        enter(callee);
      } else if (mark->second == Mark::open) {
        fail(DiagId::bad_model_file, where, "the function '{}' calls itself",
             printable(callee->name()));
      }
    }
  }
}

}  // namespace

FunctionKey function_key(const pb::NodeProto& n) {
  return {normal_domain(n.domain()), n.op_type(), n.overload()};
}
FunctionKey function_key(const pb::FunctionProto& f) {
  return {normal_domain(f.domain()), f.name(), f.overload()};
}

const pb::FunctionProto* CheckedModel::find_function(const pb::NodeProto& node) const {
  if (functions.empty()) return nullptr;
  const auto it = functions.find(function_key(node));
  return it == functions.end() ? nullptr : it->second;
}

int64_t imported_version(const google::protobuf::RepeatedPtrField<pb::OperatorSetIdProto>& imports,
                         const std::string& domain) {
  for (const pb::OperatorSetIdProto& o : imports) {
    if (normal_domain(o.domain()) == domain) return o.version();
  }
  return 0;
}

CheckedModel check_model(const pb::ModelProto& model, const std::string& file_name) {
  CheckedModel checked;
  checked.model = &model;
  const Location where = make_location(file_name, "", "");
  for (const pb::FunctionProto& f : model.functions()) {
    if (f.name().empty()) fail(DiagId::bad_model_file, where, "a function has no name");
    if (!checked.functions.emplace(function_key(f), &f).second) {
      fail(DiagId::bad_model_file, where, "the function '{}' is defined twice",
           printable(f.name()));
    }
  }
  Checker checker(file_name, checked);
  for (const pb::FunctionProto& f : model.functions()) checker.function(f);
  checker.graph(model.graph(), nullptr, 1);
  check_recursion(checked, where);
  return checked;
}

}  // namespace symtile::onnx_import
