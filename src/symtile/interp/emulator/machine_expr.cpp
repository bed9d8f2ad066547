// The machine: memory and expressions.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "symtile/base/check.h"
#include "symtile/interp/emulator/machine.h"
#include "symtile/ir/reduction.h"
#include "symtile/ir/text_format.h"

namespace symtile::emulation {

Memory& Machine::make_memory(int number) {
  const BufferCode& code = code_.buffers[static_cast<size_t>(number)];
  Memory& m = memories_[static_cast<size_t>(number)];
  m = Memory();
  m.code = &code;
  m.elements = 1;
  for (const ExprCode& d : code.dims) {
    m.dims.push_back(uniform(d, all_));
    SYMTILE_CHECK(m.dims.back() >= 0, "extent {} of '{}' in '{}'", m.dims.back(),
                  code.declaration.name, f_.name);
    m.elements *= m.dims.back();
  }
  if (code.strides.empty()) {
    m.strides.assign(m.dims.size(), 1);
    for (size_t i = m.dims.size(); i-- > 1;) m.strides[i - 1] = m.strides[i] * m.dims[i];
  } else {
    int64_t reach = 1;
    for (size_t i = 0; i < m.dims.size(); ++i) {
      m.strides.push_back(uniform(code.strides[i], all_));
      reach += (m.dims[i] - 1) * m.strides[i];
    }
    if (m.elements > 0) m.elements = std::max(m.elements, reach);
  }
  const Scope scope = code.declaration.scope;
  const int lanes = static_cast<int>(all_.size());
  m.made_for_lanes = lanes;
  const bool inside = in_launch_;
  const bool per_lane = inside && (scope == Scope::local || scope == Scope::scratch);
  if (per_lane) {
    m.copies = lanes;
    // Made before the lanes part: the block has one copy, and its lanes share it.
    m.shared_out = !in_lanes_;
  } else if (scope == Scope::warp && inside) {
    m.copies = std::max(1, warps_);
    m.shared_out = true;
  } else {
    m.shared_out = true;
    m.is_global = !inside || scope == Scope::global || scope == Scope::scratch;
  }
  const auto count = static_cast<size_t>(m.elements * m.copies);
  if (m.holds_reals()) {
    m.real.assign(count, std::numeric_limits<double>::quiet_NaN());
  } else {
    m.integer.assign(count, wrap_to(code.declaration.dtype, 0x5a5a5a5a5a5a5a5a));
  }
  m.undefined.assign(count, kNeverWritten);
  if (m.shared_out && code.written) m.shadow.assign(count, Shadow());
  return m;
}

void Machine::fill(Memory& m, const RefTensor& t) {
  SYMTILE_CHECK(m.elements <= t.size(), "buffer '{}' needs {} elements, has {}",
                m.code->declaration.name, m.elements, t.size());
  const auto n = static_cast<std::ptrdiff_t>(m.elements);
  if (m.holds_reals()) {
    m.real.assign(t.f.begin(), t.f.begin() + n);
  } else {
    m.integer.assign(t.i.begin(), t.i.begin() + n);
  }
  std::fill(m.undefined.begin(), m.undefined.end(), kDefined);
}

RefTensor Machine::take(Memory& m) {
  RefTensor out(m.code->declaration.dtype, m.dims);
  const std::string name = value_name(m.code->declaration.name);
  for (int64_t at = 0; at < out.size(); ++at) {
    const int origin = m.undefined[static_cast<size_t>(at)];
    if (origin == kNeverWritten) {
      log_.add(FaultKind::never_written, 1, 0, name,
               fmt::format("element {} of {} is never written", at, name));
    } else if (origin != kDefined) {
      log_.add(FaultKind::uninitialised_read, origin, 0, name,
               fmt::format("undefined memory reaches element {} of {}", at, name));
    }
  }
  const auto n = static_cast<std::ptrdiff_t>(out.size());
  if (m.holds_reals()) {
    out.f.assign(m.real.begin(), m.real.begin() + n);
  } else {
    out.i.assign(m.integer.begin(), m.integer.begin() + n);
  }
  return out;
}

int64_t Machine::copy_of(const Memory& m, int lane) const {
  if (m.copies == 1) return 0;
  if (m.code->declaration.scope == Scope::warp) return warp_of(lane) % m.copies;
  return lane / (static_cast<int>(all_.size()) / m.made_for_lanes);
}

Access Machine::access(const Memory& m, int lane) const {
  const int warp = warp_of(lane);
  return {
      block_,
      lane,
      warp,
      m.is_global ? global_epoch_ : shared_epoch_,
      warp < static_cast<int>(warp_epochs_.size()) ? warp_epochs_[static_cast<size_t>(warp)] : 0,
      line_};
}

void Machine::locate(const Memory& m, const std::vector<ExprCode>& indices, size_t rank,
                     const Lanes& lanes, std::vector<int64_t>& at, const char* what) {
  const size_t n = lanes.size();
  at.assign(n, 0);
  Pool::Borrowed index(pool_);
  for (size_t d = 0; d < rank; ++d) {
    evaluate(indices[d], lanes, *index);
    for (size_t k = 0; k < n; ++k) {
      if (at[k] < 0) continue;
      const int64_t i = index->integer[k];
      decide(*index, k);
      if (i < 0 || i >= m.dims[d]) {
        const std::string name = value_name(m.code->declaration.name);
        log_.add(FaultKind::out_of_bounds, line_, 0, name,
                 fmt::format("{} of {}: index {} of dimension {} is outside [0, {}), lane {}", what,
                             name, i, d, m.dims[d], lanes[k]));
        at[k] = -1;
        continue;
      }
      at[k] += i * m.strides[d];
    }
  }
  for (size_t k = 0; k < n; ++k) {
    if (at[k] >= 0) at[k] += copy_of(m, lanes[k]) * m.elements;
  }
}

void Machine::decide(const Values& v, size_t k) {
  if (const int origin = v.origin(k)) {
    log_.add(FaultKind::uninitialised_read, origin, line_, "",
             fmt::format("undefined memory decides in line {}", line_));
  }
}

int64_t Machine::uniform(const ExprCode& e, const Lanes& lanes) {
  Pool::Borrowed v(pool_);
  const Lanes first = {lanes.front()};
  evaluate(e, first, *v);
  return v->integer[0];
}

void Machine::evaluate(const ExprCode& e, const Lanes& lanes, Values& out) {
  const size_t n = lanes.size();
  switch (e.kind) {
    case ExprCode::Kind::integer:
      out.prepare(n, false);
      std::fill_n(out.integer.begin(), n, e.integer);
      return;
    case ExprCode::Kind::real:
      out.prepare(n, true);
      std::fill_n(out.real.begin(), n, e.real);
      return;
    case ExprCode::Kind::variable:
      return read_variable(e, lanes, out);
    case ExprCode::Kind::load:
      return load(e, lanes, out);
    case ExprCode::Kind::unary: {
      Pool::Borrowed a(pool_);
      evaluate(e.parts[0], lanes, *a);
      return apply_unary(e.unary, e.parts[0].dtype, *a, out, n);
    }
    case ExprCode::Kind::binary: {
      Pool::Borrowed a(pool_), b(pool_);
      evaluate(e.parts[0], lanes, *a);
      evaluate(e.parts[1], lanes, *b);
      return apply_binary(e.binary, e.parts[0].dtype, *a, *b, out, n);
    }
    case ExprCode::Kind::cast: {
      Pool::Borrowed a(pool_);
      evaluate(e.parts[0], lanes, *a);
      return apply_cast(e.parts[0].dtype, e.dtype, *a, out, n);
    }
    case ExprCode::Kind::select:
      return choose(e, lanes, out);
    case ExprCode::Kind::reduce:
      return reduce(e, lanes, out);
  }
}

void Machine::read_variable(const ExprCode& e, const Lanes& lanes, Values& out) {
  const Values& v = variables_[static_cast<size_t>(e.slot)];
  const size_t n = lanes.size();
  const bool real = is_float(e.dtype);
  out.prepare(n, real);
  for (size_t k = 0; k < n; ++k) {
    const auto lane = static_cast<size_t>(lanes[k]);
    if (real) {
      out.real[k] = v.real[lane];
    } else {
      out.integer[k] = v.integer[lane];
    }
    if (v.any_undefined && v.undefined[lane]) out.mark(k, v.undefined[lane], n);
  }
}

void Machine::load(const ExprCode& e, const Lanes& lanes, Values& out) {
  Memory& m = memories_[static_cast<size_t>(e.slot)];
  const size_t n = lanes.size();
  std::vector<int64_t> at;
  locate(m, e.parts, e.parts.size(), lanes, at, "load");
  const bool real = m.holds_reals();
  out.prepare(n, real);
  for (size_t k = 0; k < n; ++k) {
    if (at[k] < 0) {
      if (real) {
        out.real[k] = 0;
      } else {
        out.integer[k] = 0;
      }
      continue;
    }
    const auto i = static_cast<size_t>(at[k]);
    if (!landing_.empty()) touch_copied(e.slot, at[k], false);
    if (real) {
      out.real[k] = m.real[i];
    } else {
      out.integer[k] = m.integer[i];
    }
    if (const int state = m.undefined[i]; state != kDefined)
      out.mark(k, state == kNeverWritten ? line_ : state, n);
    if (!m.shadow.empty()) note_read(m, at[k], access(m, lanes[k]), launch_, log_);
  }
}

void Machine::split(const ExprCode& condition, const Lanes& lanes, std::vector<size_t>& yes,
                    std::vector<size_t>& no) {
  Pool::Borrowed c(pool_);
  evaluate(condition, lanes, *c);
  for (size_t k = 0; k < lanes.size(); ++k) {
    decide(*c, k);
    (c->integer[k] ? yes : no).push_back(k);
  }
}

Lanes Machine::pick(const Lanes& lanes, const std::vector<size_t>& positions) {
  Lanes out;
  out.reserve(positions.size());
  for (const size_t k : positions) out.push_back(lanes[k]);
  return out;
}

void Machine::copy_value(Values& to, size_t at, const Values& from, size_t k, bool real, size_t n) {
  if (real) {
    to.real[at] = from.real[k];
  } else {
    to.integer[at] = from.integer[k];
  }
  if (const int origin = from.origin(k)) {
    to.mark(at, origin, n);
  } else if (to.any_undefined) {
    to.undefined[at] = 0;
  }
}

void Machine::choose(const ExprCode& e, const Lanes& lanes, Values& out) {
  std::vector<size_t> yes, no;
  split(e.parts[0], lanes, yes, no);
  if (no.empty()) return evaluate(e.parts[1], lanes, out);
  if (yes.empty()) return evaluate(e.parts[2], lanes, out);
  const bool real = is_float(e.dtype);
  out.prepare(lanes.size(), real);
  Pool::Borrowed part(pool_);
  for (const bool taken : {true, false}) {
    const std::vector<size_t>& positions = taken ? yes : no;
    evaluate(e.parts[taken ? 1 : 2], pick(lanes, positions), *part);
    for (size_t k = 0; k < positions.size(); ++k)
      copy_value(out, positions[k], *part, k, real, lanes.size());
  }
}

void Machine::set_variable(int slot, const Lanes& lanes,
                           const std::function<int64_t(size_t)>& value) {
  Values& v = variables_[static_cast<size_t>(slot)];
  v.integer.resize(all_.size());
  v.any_undefined = false;
  for (size_t k = 0; k < lanes.size(); ++k) v.integer[static_cast<size_t>(lanes[k])] = value(k);
}

void Machine::reduce(const ExprCode& e, const Lanes& lanes, Values& out) {
  const size_t rank = e.axes.size(), n = lanes.size();
  // Extents may differ between lanes: then one lane after the other.
  std::vector<int64_t> extents;
  for (size_t d = 0; d < rank; ++d) {
    Pool::Borrowed v(pool_);
    evaluate(e.parts[d], lanes, *v);
    for (size_t k = 1; k < n; ++k) {
      if (v->integer[k] != v->integer[0]) return reduce_lane_by_lane(e, lanes, out);
    }
    extents.push_back(n ? v->integer[0] : 0);
  }
  const ExprCode& body = e.parts[rank];
  const bool real = is_float(body.dtype);
  const bool position = is_arg_reduction(e.reduction);
  Pool::Borrowed acc(pool_), at(pool_), x(pool_);
  acc->prepare(n, real);
  at->prepare(n, false);
  std::fill_n(at->integer.begin(), n, 0);
  start(e.reduction, body.dtype, *acc, n);
  int64_t step = 0;
  for_each_index(extents, [&](const std::vector<int64_t>& index) {
    for (size_t d = 0; d < rank; ++d)
      set_variable(e.axes[d], lanes, [&](size_t) { return index[d]; });
    evaluate(body, lanes, *x);
    if (position) {
      for (size_t k = 0; k < n; ++k) {
        if (step != 0 && !better(e.reduction, body.dtype, *x, *acc, k)) continue;
        copy_value(*acc, k, *x, k, real, n);
        at->integer[k] = step;
      }
    } else {
      Pool::Borrowed next(pool_);
      apply_binary(combining_operator(e.reduction), body.dtype, *acc, *x, *next, n);
      std::swap(*acc, *next);
    }
    ++step;
  });
  out.prepare(n, is_float(e.dtype));
  for (size_t k = 0; k < n; ++k) copy_value(out, k, position ? *at : *acc, k, is_float(e.dtype), n);
}

void Machine::reduce_lane_by_lane(const ExprCode& e, const Lanes& lanes, Values& out) {
  const bool real = is_float(e.dtype);
  out.prepare(lanes.size(), real);
  Pool::Borrowed one(pool_);
  for (size_t k = 0; k < lanes.size(); ++k) {
    reduce(e, {lanes[k]}, *one);
    copy_value(out, k, *one, 0, real, lanes.size());
  }
}

void Machine::start(ReduceKind kind, DType t, Values& acc, size_t n) {
  const double inf = std::numeric_limits<double>::infinity();
  const bool one = kind == ReduceKind::prod || kind == ReduceKind::all;
  const double real = kind == ReduceKind::max ? -inf : kind == ReduceKind::min ? inf : one;
  if (is_float(t)) {
    std::fill_n(acc.real.begin(), n, real);
  } else {
    std::fill_n(acc.integer.begin(), n, cast_float_to_int(t, real));
  }
}

bool Machine::better(ReduceKind kind, DType t, const Values& x, const Values& best, size_t k) {
  const bool max = kind == ReduceKind::argmax || kind == ReduceKind::argmax_last;
  const bool last = kind == ReduceKind::argmax_last || kind == ReduceKind::argmin_last;
  if (is_float(t)) {
    const double a = x.real[k], b = best.real[k];
    if (b != b) return last && a != a;
    if (a != a) return true;
    if (a == b) return last;
    return max ? a > b : a < b;
  }
  if (x.integer[k] == best.integer[k]) return last;
  return eval_compare_int(max ? BinaryOp::gt : BinaryOp::lt, t, x.integer[k], best.integer[k]);
}

}  // namespace symtile::emulation
