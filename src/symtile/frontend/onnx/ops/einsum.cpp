// Einsum. More than two operands are contracted from the left, keeping the labels that are still
// needed; a pair that contracts labels becomes transposes, reshapes and one matmul; the rest is the
// core operator einsum.
#include <algorithm>
#include <cctype>

#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {
namespace {

struct Operand {
  ValueId value;
  std::string labels;  ///< digits: axes of the ellipsis, '9' the last one
};

bool contains(const std::string& s, char label) { return s.find(label) != std::string::npos; }
bool is_ellipsis(char label) { return std::isdigit(static_cast<unsigned char>(label)) != 0; }

std::string expand(ImportContext& c, const std::string& term, int rank) {
  std::string labels;
  const size_t dots = term.find("...");
  const int named = static_cast<int>(term.size()) - (dots == std::string::npos ? 0 : 3);
  const int hidden = dots == std::string::npos ? 0 : rank - named;
  if (rank - named != hidden || hidden < 0 || hidden > 10) {
    c.fail(DiagId::bad_attribute, "term '{}' of the equation does not fit a tensor of rank {}",
           term, rank);
  }
  for (size_t k = 0; k < term.size(); ++k) {
    if (k == dots) {
      for (int d = 0; d < hidden; ++d) labels += static_cast<char>('9' - hidden + 1 + d);
      k += 2;
    } else if (std::isalpha(static_cast<unsigned char>(term[k])) != 0) {
      labels += term[k];
    } else {
      c.fail(DiagId::bad_attribute, "'{}' is not a term of an equation", term);
    }
  }
  return labels;
}

class EinsumImport {
 public:
  explicit EinsumImport(ImportContext& c) : c_(c) { read_equation(); }

  void run() {
    while (operands_.size() > 2) {
      std::string needed = result_;
      for (size_t i = 2; i < operands_.size(); ++i) needed += operands_[i].labels;
      std::string kept;
      for (const char label : operands_[0].labels + operands_[1].labels) {
        if (contains(needed, label) && !contains(kept, label)) kept += label;
      }
      operands_[0] = {contract(operands_[0], operands_[1], kept), kept};
      operands_.erase(operands_.begin() + 1);
    }
    if (operands_.size() == 1) {
      c_.out(0, single(operands_[0]));
    } else {
      c_.out(0, contract(operands_[0], operands_[1], result_));
    }
  }

 private:
  void read_equation() {
    std::string text = c_.attr_text("equation", "");
    text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
    const size_t arrow = text.find("->");
    std::string left = text.substr(0, arrow) + ",";
    std::string all, ellipsis;
    size_t begin = 0;
    for (size_t comma = left.find(','); comma != std::string::npos; comma = left.find(',', begin)) {
      const int i = static_cast<int>(operands_.size());
      if (i >= c_.num_inputs()) {
        c_.fail(DiagId::bad_attribute, "equation '{}' has more operands than the node", text);
      }
      operands_.push_back({c_.in(i), expand(c_, left.substr(begin, comma - begin), c_.rank(i))});
      all += operands_.back().labels;
      for (const char label : operands_.back().labels) {
        if (is_ellipsis(label) && !contains(ellipsis, label)) ellipsis += label;
      }
      begin = comma + 1;
    }
    if (static_cast<int>(operands_.size()) != c_.num_inputs()) {
      c_.fail(DiagId::bad_attribute, "equation '{}' has {} operands, the node has {}", text,
              operands_.size(), c_.num_inputs());
    }
    std::sort(ellipsis.begin(), ellipsis.end());
    if (arrow != std::string::npos) {
      std::string term = text.substr(arrow + 2);
      const size_t dots = term.find("...");
      if (dots != std::string::npos) term.replace(dots, 3, ellipsis);
      result_ = term;
      for (const char label : result_) {
        if (!contains(all, label) || std::count(result_.begin(), result_.end(), label) > 1) {
          c_.fail(DiagId::bad_attribute, "label '{}' of the result in '{}' is unknown or repeated",
                  label, text);
        }
      }
      return;
    }
    // Implicit form: the ellipsis, then the labels that occur once, in alphabetical order.
    std::string once;
    for (const char label : all) {
      if (!is_ellipsis(label) && std::count(all.begin(), all.end(), label) == 1) once += label;
    }
    std::sort(once.begin(), once.end());
    result_ = ellipsis + once;
  }

  ValueId plain(const std::vector<Operand>& operands, const std::string& result) {
    std::string equation;
    std::vector<ValueId> args;
    for (const Operand& x : operands) {
      equation += (equation.empty() && args.empty() ? "" : ",") + x.labels;
      args.push_back(x.value);
    }
    return c_.call("einsum", args, {{"equation", equation + "->" + result}});
  }

  ValueId single(const Operand& x) {
    std::string sorted = x.labels, wanted = result_;
    std::sort(sorted.begin(), sorted.end());
    std::sort(wanted.begin(), wanted.end());
    const bool distinct = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
    return distinct && sorted == wanted ? permute(x, result_) : plain({x}, result_);
  }

  ValueId permute(const Operand& x, const std::string& order) {
    std::vector<int64_t> perm;
    bool identity = true;
    for (const char label : order) {
      perm.push_back(static_cast<int64_t>(x.labels.find(label)));
      identity = identity && perm.back() == static_cast<int64_t>(perm.size()) - 1;
    }
    return identity ? x.value : c_.transpose(x.value, perm);
  }

  Dims extents(const Operand& x, const std::string& labels) {
    Dims out;
    for (const char label : labels) {
      out.push_back((*c_.build().type(x.value).dims)[x.labels.find(label)]);
    }
    return out;
  }

  /// Contracts a pair: labels of neither `result` are summed.
  ValueId contract(const Operand& a, const Operand& b, const std::string& result) {
    std::string batch, rows, columns, summed;
    bool plain_only = false;
    for (const Operand* x : {&a, &b}) {
      for (const char label : x->labels) {
        const bool in_a = contains(a.labels, label), in_b = contains(b.labels, label);
        const bool in_result = contains(result, label);
        if (std::count(x->labels.begin(), x->labels.end(), label) > 1) plain_only = true;
        // A label of one operand only that is summed.
        if (!in_result && (!in_a || !in_b)) plain_only = true;
        if (is_ellipsis(label) && !in_result) plain_only = true;
        if (x == &b && in_a) continue;
        if (in_result) {
          (in_a && in_b ? batch : in_a ? rows : columns) += label;
        } else {
          summed += label;
        }
      }
    }
    const auto has_unknown = [&](const Operand& x) {
      const Dims& dims = *c_.build().type(x.value).dims;
      return std::any_of(dims.begin(), dims.end(), [](const DimExpr& d) { return d.is_unknown(); });
    };
    if (plain_only || summed.empty() || has_unknown(a) || has_unknown(b)) {
      return plain({a, b}, result);
    }
    // (batch..., rows, summed) x (batch..., summed, columns); the right operand may stay
    // (batch..., columns, summed) when it already is.
    std::sort(batch.begin(), batch.end(),
              [&](char l, char r) { return order_key(l, result) < order_key(r, result); });
    const bool swap = !b.labels.empty() && contains(summed, b.labels.back()) && !columns.empty();
    const ValueId left = matrix(a, batch, rows, summed);
    const ValueId right =
        swap ? matrix(b, batch, columns, summed) : matrix(b, batch, summed, columns);
    Attributes attrs;
    if (swap) attrs.set("transpose_b", int64_t{1});
    ValueId y = c_.call("matmul", {left, right}, attrs);
    const Dims product_dims = *c_.build().type(y).dims;
    Dims dims(product_dims.begin(), product_dims.begin() + static_cast<int64_t>(batch.size()));
    for (const DimExpr& d : extents(a, rows)) dims.push_back(d);
    for (const DimExpr& d : extents(b, columns)) dims.push_back(d);
    y = c_.reshape(y, dims);
    return permute({y, batch + rows + columns}, result);
  }

  /// Ellipsis axes come first and in order, then the order of the result.
  static size_t order_key(char label, const std::string& result) {
    return is_ellipsis(label) ? static_cast<size_t>(label - '0') : 100 + result.find(label);
  }

  /// x as (batch..., product of `first`, product of `second`).
  ValueId matrix(const Operand& x, const std::string& batch, const std::string& first,
                 const std::string& second) {
    Dims dims = extents(x, batch);
    const ValueId ordered = permute(x, batch + first + second);
    dims.push_back(product(extents(x, first)));
    dims.push_back(product(extents(x, second)));
    return c_.reshape(ordered, dims);
  }

  ImportContext& c_;
  std::vector<Operand> operands_;
  std::string result_;
};

}  // namespace

void import_einsum(ImportContext& c) { EinsumImport(c).run(); }

}  // namespace symtile::onnx_import
