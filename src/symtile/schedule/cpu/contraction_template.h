// The contraction template's plan and the pieces of its code, shared by contraction.cpp (blocks,
// register tile, epilogue) and contraction_pack.cpp (operands in the order in which they are read).
//
// Reduction steps are counted in units: one element, or, for products of 8-bit numbers, a word of
// several (contraction_words.h).
#pragma once

#include "symtile/schedule/cpu/contraction.h"
#include "symtile/schedule/cpu/contraction_words.h"
#include "symtile/schedule/cpu/window_code.h"

namespace symtile {

class ContractionTemplate {
 public:
  ContractionTemplate(const TileFunction& f, const ComputeForm& form, const Contraction& c,
                      const CpuTarget& target, const ContractionTile& tile);
  TileFunction build();

 private:
  using TileBody = std::function<Stmt(const Expr& row, const Expr& lane)>;

  // contraction.cpp: the plan
  void shrink_rows();
  void choose_columns();
  void choose_rows();
  void choose_reduction();
  bool row_is_direct() const;

  // contraction.cpp: the code
  Stmt task();
  Stmt row_blocks(const Expr& k_block);
  Stmt multiply(const Expr& k_block);
  Stmt micro_kernel(int64_t rows, const Expr& i, const Expr& j, const Expr& k_block);
  Expr row_element(const Expr& i, const Expr& r, const Expr& k) const;
  Expr col_element(const Expr& j, const Expr& k, const Expr& lane) const;
  Stmt epilogue();
  Stmt window_epilogue();
  /// The stage's value and flat index with the sum read from the tile at (m, tile column).
  std::pair<Expr, Expr> result_at(const Expr& m, const Expr& tile_column,
                                  const std::map<std::string, Expr>& columns) const;

  // contraction_sums.cpp: zero points of bytes
  Stmt column_sums(const Expr& k_block);
  Stmt row_sums(const Expr& k_block);
  /// The sum of the stage, from the tile, the sums and the zero points.
  Expr without_zero_points(const Expr& tile, const Expr& row_sum, const Expr& column_sum) const;
  bool needs_column_sums() const { return words_ && words_->row_zero.defined(); }
  bool needs_row_sums() const { return words_ && words_->col_zero.defined(); }

  // contraction_prefetch.cpp
  int64_t panel_lines() const;
  Expr next_panel(int64_t rows, const Expr& i, const Expr& j) const;
  std::vector<Stmt> prefetch_panel(int64_t rows, const Expr& next, const Expr& k) const;

  // contraction_pack.cpp
  Stmt pack_rows();
  Stmt pack_columns();
  /// Stores the units of columns [start, end) at `place` (of k and column), then zeros up to the
  /// end of the panel: what is left there from before may be denormal, which is slow to multiply.
  Stmt pack_part(const Expr& value, const std::string& n, const std::string& start,
                 const Expr& place);
  Expr tabulate_columns(const std::string& start, const std::string& x, Stmt& tables);
  Stmt fill_window();
  DimExpr window_span() const;
  Stmt fill_offsets();
  /// One unit of reduction from `e`, an operand over the axes c_.k: the values of the axes, bound
  /// by lets, and the packed element.
  struct Unit {
    std::vector<std::pair<std::string, Expr>> lets;
    Expr value;
  };
  Unit unit_of(const Expr& e, const Expr& k);
  Buffer scratch(const std::string& hint, DType dtype, const DimExpr& elements);

  const TileFunction& f_;
  LinearForm linear_;
  Contraction c_;
  NameSource names_;
  ComputeStmt stage_;
  Expr sum_, row_operand_, col_operand_;
  DType acc_type_ = DType::f32;
  ContractionTile tile_;
  int64_t lanes_ = 1;                    ///< of one vector of accumulators
  std::optional<SlidingWindow> window_;  ///< columns are positions of its plane then
  std::optional<Words> words_;
  DimExpr m_extent_, n_extent_, k_extent_;
  DimExpr mt_, nt_;      ///< rows and columns of a task
  DimExpr units_;        ///< of the whole reduction
  int64_t block_ = 256;  ///< units of a block
  DimExpr blocks_;
  bool a_direct_ = false;
  std::vector<Buffer> buffers_;
  std::string n0_, m0_, n_len_, m_len_, i0_, i_len_, k0_, k_len_, c_tile_, b_pack_, a_pack_,
      offsets_, column_sums_, row_sums_;
};

}  // namespace symtile
