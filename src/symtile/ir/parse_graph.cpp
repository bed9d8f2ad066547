// Parser of graph functions.
#include "symtile/base/check.h"
#include "symtile/ir/graph_keywords.h"
#include "symtile/ir/parse_expr.h"
#include "symtile/ir/parse_function.h"

namespace symtile {
namespace {

/// A result as the head of the function declares it.
struct DeclaredResult {
  Type type;
  size_t position;
};

class GraphParser {
 public:
  explicit GraphParser(TextCursor& cursor) : cursor_(cursor) {}

  GraphFunction function() {
    f_.name = cursor_.sigil_name('@', "the name of a graph function");
    f_.dim_params = parse_symbols(cursor_);
    parameters();
    cursor_.expect("->", "the parameters of a graph function");
    declared_results();
    if (cursor_.accept_word("facts")) f_.facts = parse_facts(cursor_);
    if (cursor_.accept_word("arena")) {
      cursor_.expect("(", "'arena'");
      f_.arena_bytes = cursor_.dim(")");
      cursor_.expect(")", "the size of the arena");
    }
    cursor_.expect("{", "the head of a graph function");
    while (!cursor_.accept_word("return")) {
      binding();
      cursor_.accept(";");
    }
    results();
    cursor_.expect("}", "the results of a graph function");
    return std::move(f_);
  }

 private:
  void parameters() {
    cursor_.expect("(", "the name of a graph function");
    if (cursor_.accept(")")) return;
    do {
      const size_t position = cursor_.position();
      const std::string name = cursor_.sigil_name('%', "a parameter");
      cursor_.expect(":", "the name of a parameter");
      f_.params.push_back(define(position, name));
    } while (cursor_.accept(","));
    cursor_.expect(")", "the parameters");
  }

  /// Reads type and placement and adds the value.
  ValueId define(size_t position, const std::string& name) {
    Value value{name, cursor_.type(), {}};
    value.placement = placement();
    const ValueId id{static_cast<int32_t>(f_.values.size())};
    if (!ids_.emplace(name, id).second) {
      cursor_.fail_at(position, "{} is defined twice", value_name(name));
    }
    f_.values.push_back(std::move(value));
    return id;
  }

  Placement placement() {
    Placement out;
    if (!cursor_.accept("@")) return out;
    if (cursor_.accept_word("arena")) {
      out.kind = Placement::Kind::arena;
      cursor_.expect("(", "'@arena'");
      out.offset = cursor_.dim(")");
      cursor_.expect(")", "an arena offset");
    } else if (cursor_.accept_word("alias")) {
      out.kind = Placement::Kind::alias;
      cursor_.expect("(", "'@alias'");
      out.of = operand();
      cursor_.expect(")", "an alias");
    } else if (cursor_.accept_word("heap")) {
      out.kind = Placement::Kind::heap;
    } else if (cursor_.accept_word("constant")) {
      out.kind = Placement::Kind::constant;
    } else if (cursor_.accept_word("parameter")) {
      out.kind = Placement::Kind::parameter;
    } else {
      cursor_.fail_expected("a placement: arena, alias, heap, constant or parameter");
    }
    return out;
  }

  void declared_results() {
    if (!cursor_.accept("(")) {
      const size_t position = cursor_.position();
      declared_.push_back({cursor_.type(), position});
      return;
    }
    if (cursor_.accept(")")) return;
    const bool named = cursor_.peek_quote();
    do {
      if (named) {
        f_.result_names.push_back(cursor_.quoted("the name of a result"));
        cursor_.expect(":", "the name of a result");
      }
      const size_t position = cursor_.position();
      declared_.push_back({cursor_.type(), position});
    } while (cursor_.accept(","));
    cursor_.expect(")", "the results");
  }

  void results() {
    const size_t position = cursor_.position();
    if (!cursor_.peek("}")) {
      do {
        f_.results.push_back(operand());
      } while (cursor_.accept(","));
    }
    if (f_.results.size() != declared_.size()) {
      cursor_.fail_at(position, "{} results are returned, {} are declared", f_.results.size(),
                      declared_.size());
    }
    for (size_t i = 0; i < declared_.size(); ++i) {
      if (!f_.results[i].valid()) cursor_.fail_at(position, "a result cannot be absent");
      const Type& type = f_.type(f_.results[i]);
      if (!(type == declared_[i].type)) {
        cursor_.fail_at(declared_[i].position, "result {} is declared {} but returned as {}", i,
                        declared_[i].type.str(), type.str());
      }
    }
  }

  void binding() {
    const size_t position = cursor_.position();
    const std::string name = cursor_.sigil_name('%', "a binding or 'return'");
    cursor_.expect("=", "the name of a binding");
    GraphNode node = right_hand_side();
    cursor_.expect(":", "the right-hand side of a binding");
    const ValueId result = define(position, name);
    if (auto* cast = std::get_if<MatchCast>(&node); cast && !match_type_given_) {
      cast->type = f_.type(result);
    }
    f_.bindings.push_back({result, std::move(node), location(position)});
  }

  Location location(size_t position) {
    if (!cursor_.accept_word("loc")) {
      return make_location(cursor_.file(), "", "", cursor_.line_at(position));
    }
    cursor_.expect("(", "'loc'");
    std::string file = cursor_.quoted("a file name");
    cursor_.expect(",", "a file name");
    std::string node = cursor_.quoted("the name of a foreign node");
    cursor_.expect(",", "the name of a foreign node");
    std::string op = cursor_.quoted("a foreign operator");
    cursor_.expect(",", "a foreign operator");
    const size_t line_position = cursor_.position();
    const int64_t line = cursor_.integer("a line");
    if (line < 0 || line > INT32_MAX) cursor_.fail_at(line_position, "no line number");
    cursor_.expect(")", "a location");
    return make_location(std::move(file), std::move(node), std::move(op), static_cast<int>(line));
  }

  GraphNode right_hand_side() {
    const std::string word(cursor_.peek_word());
    if (!is_graph_keyword(word)) {
      return op_call(cursor_.identifier("an operator or a call"));
    }
    cursor_.expect_word(word);
    if (word == "op") return op_call(cursor_.quoted("the name of an operator"));
    if (word == "call_tile") {
      TileCall n;
      n.callee = callee();
      n.args = operands();
      n.dims = dims();
      return n;
    }
    if (word == "call_extern") {
      ExternCall n;
      n.callee = callee();
      n.args = operands();
      n.attrs = attributes();
      return n;
    }
    if (word == "call") {
      GraphCall n;
      n.callee = callee();
      n.args = operands();
      n.dims = dims();
      return n;
    }
    if (word == "if") return if_node();
    if (word == "loop") return loop_node();
    if (word == "match_cast") return match_cast();
    if (word == "read_dims") return read_dims();
    if (word == "dims_to_tensor") return dims_to_tensor();
    if (word == "check_dims") return check_dims();
    if (word == "constant") return ConstantNode{parse_constant(cursor_)};
    if (word == "tuple") return MakeTuple{operands()};
    SYMTILE_CHECK(word == "get", "no parser for '{}'", word);
    GetItem n;
    n.tuple = operand();
    cursor_.expect("[", "a tuple");
    n.index = cursor_.integer("a tuple index");
    cursor_.expect("]", "a tuple index");
    return n;
  }

  OpCall op_call(std::string op) {
    OpCall n;
    n.op = std::move(op);
    n.args = operands();
    n.attrs = attributes();
    return n;
  }

  If if_node() {
    If n;
    n.condition = operand();
    cursor_.expect_word("then");
    n.then_fn = callee();
    cursor_.expect_word("else");
    n.else_fn = callee();
    n.args = operands();
    n.dims = dims();
    return n;
  }

  Loop loop_node() {
    Loop n;
    n.body = callee();
    cursor_.expect_word("trip_count");
    n.trip_count = operand();
    cursor_.expect_word("condition");
    n.condition = operand();
    cursor_.expect_word("carried");
    n.carried = operands();
    cursor_.expect_word("captured");
    n.captured = operands();
    cursor_.expect_word("scanned");
    n.scanned = cursor_.integer("the number of scanned outputs");
    n.dims = dims();
    return n;
  }

  MatchCast match_cast() {
    MatchCast n;
    n.value = operand();
    match_type_given_ = cursor_.accept_word("to");
    if (match_type_given_) n.type = cursor_.type();
    return n;
  }

  ReadDims read_dims() {
    ReadDims n;
    n.value = operand();
    cursor_.expect_word("as");
    cursor_.expect("(", "'as'");
    if (cursor_.accept(")")) return n;
    do {
      n.symbols.push_back(cursor_.identifier("a symbol"));
    } while (cursor_.accept(","));
    cursor_.expect(")", "a list of symbols");
    return n;
  }

  DimsToTensor dims_to_tensor() {
    DimsToTensor n;
    n.scalar = cursor_.accept_word("scalar") ? 1 : 0;
    n.dtype = cursor_.dtype("the element type of a tensor");
    n.dims = cursor_.dims_in_parentheses();
    return n;
  }

  CheckDims check_dims() {
    CheckDims n;
    n.a = cursor_.dim("=");
    cursor_.expect("==", "a dimension");
    n.b = cursor_.dim(",");
    cursor_.expect(",", "a dimension");
    n.message = cursor_.quoted("the message of a check");
    return n;
  }

  std::string callee() { return cursor_.sigil_name('@', "a function"); }

  ValueId operand() {
    if (cursor_.accept_word("_")) return {};
    const size_t position = cursor_.position();
    const std::string name = cursor_.sigil_name('%', "a value");
    const auto it = ids_.find(name);
    if (it == ids_.end()) {
      cursor_.fail_at(position, "{} is not defined here", value_name(name));
    }
    return it->second;
  }

  std::vector<ValueId> operands() {
    std::vector<ValueId> out;
    cursor_.expect("(", "the start of the arguments");
    if (cursor_.accept(")")) return out;
    do {
      out.push_back(operand());
    } while (cursor_.accept(","));
    cursor_.expect(")", "the arguments");
    return out;
  }

  Attributes attributes() { return cursor_.peek("{") ? parse_attributes(cursor_) : Attributes{}; }

  Dims dims() {
    Dims out;
    if (!cursor_.accept("[")) return out;
    do {
      out.push_back(cursor_.dim(",]"));
    } while (cursor_.accept(","));
    cursor_.expect("]", "the values of the callee's symbols");
    return out;
  }

  TextCursor& cursor_;
  GraphFunction f_;
  std::map<std::string, ValueId> ids_;
  std::vector<DeclaredResult> declared_;
  bool match_type_given_ = false;
};

}  // namespace

GraphFunction parse_graph_function(TextCursor& cursor) { return GraphParser(cursor).function(); }

Module parse_module(std::string_view text, const std::string& file) {
  TextCursor cursor(text, file);
  Module m;
  while (!cursor.at_end()) {
    const size_t position = cursor.position();
    Function f;
    if (cursor.accept_word("graph")) {
      f = parse_graph_function(cursor);
    } else if (cursor.accept_word("tile")) {
      f = parse_tile_function(cursor);
    } else if (cursor.accept_word("extern")) {
      f = ExternFunction{cursor.sigil_name('@', "the name of a library function")};
    } else {
      cursor.fail_expected("'graph', 'tile' or 'extern'");
    }
    if (m.has(name_of(f))) {
      cursor.fail_at(position, "function {} is defined twice", function_name(name_of(f)));
    }
    m.add(std::move(f));
  }
  return m;
}

}  // namespace symtile
