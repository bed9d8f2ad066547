// Instructions that bind and check dimensions and that make tensors.
#include <algorithm>
#include <cstring>

#include "symtile/base/check.h"
#include "symtile/base/half.h"
#include "symtile/runtime/host_view.h"
#include "symtile/runtime/machine.h"

namespace symtile {
namespace {

/// Larger dimensions would invalidate what the compiler proved about overflow.
constexpr int64_t kMaxDim = int64_t{1} << 40;

template <typename... Args>
[[noreturn]] void bad_input(fmt::format_string<Args...> format, Args&&... args) {
  throw UserError("error[bad_input]: " + fmt::format(format, std::forward<Args>(args)...));
}

template <typename T>
void put(std::byte* data, size_t index, T value) {
  std::memcpy(data + index * sizeof value, &value, sizeof value);
}

void store_element(DType dtype, std::byte* data, size_t i, int64_t v) {
  switch (dtype) {
    case DType::f32:
      return put(data, i, static_cast<float>(v));
    case DType::f64:
      return put(data, i, static_cast<double>(v));
    case DType::f16:
      return put(data, i, float_to_half(static_cast<float>(v)));
    case DType::bf16:
      return put(data, i, float_to_bfloat(static_cast<float>(v)));
    case DType::i8:
    case DType::u8:
      return put(data, i, static_cast<uint8_t>(v));
    case DType::i16:
    case DType::u16:
      return put(data, i, static_cast<uint16_t>(v));
    case DType::i32:
    case DType::u32:
      return put(data, i, static_cast<uint32_t>(v));
    case DType::i64:
    case DType::u64:
      return put(data, i, v);
    case DType::boolean:
      return put(data, i, static_cast<uint8_t>(v != 0));
  }
}

}  // namespace

void Machine::step(Frame& f, const format::BindDims& op) {
  const Tensor& t = at(f, op.value);
  if (t.dtype != op.dtype) {
    bad_input("{}: element type is {}, but the model expects {}", op.what, name_of(t.dtype),
              name_of(op.dtype));
  }
  if (!op.known_rank) return;
  if (t.rank != op.dims.size()) {
    bad_input("{}: shape is ({}), which has rank {}, but the model expects rank {}", op.what,
              fmt::join(t.dims(), ", "), t.rank, op.dims.size());
  }
  for (size_t i = 0; i < op.dims.size(); ++i) {
    const int64_t actual = t.extents[i];
    const format::DimRule& rule = op.dims[i];
    if (rule.kind == format::DimRule::Kind::bind) {
      if (actual > kMaxDim)
        bad_input("{}: dimension {} is {}, which is too large", op.what, i, actual);
      f.slots[rule.slot.value] = actual;
    } else if (rule.kind == format::DimRule::Kind::check) {
      const format::Formula& expected = formula({rule.formula.value});
      const int64_t v = format::evaluate(expected, f.slots);
      if (v == actual) continue;
      const std::string where = values_text(f, expected);
      if (where.empty()) {
        bad_input("{}: dimension {} is {}, but the model expects {}", op.what, i, actual,
                  expected.text);
      }
      bad_input("{}: dimension {} is {}, but formula '{}' is {} ({})", op.what, i, actual,
                expected.text, v, where);
    }
  }
}

void Machine::step(Frame& f, const format::EvalDim& op) {
  f.slots[op.slot.value] = value(f, op.formula);
}

void Machine::step(Frame& f, const format::CheckDims& op) {
  const format::Formula& fa = formula(op.a);
  const format::Formula& fb = formula(op.b);
  const int64_t a = format::evaluate(fa, f.slots);
  const int64_t b = format::evaluate(fb, f.slots);
  const bool equal = op.relation == format::Relation::equal;
  if (equal ? a == b : a <= b) return;
  std::string where = values_text(f, fa);
  const std::string more = values_text(f, fb);
  if (!more.empty() && more != where) where += (where.empty() ? "" : ", ") + more;
  // The message says it already; a long polynomial says nothing more.
  constexpr size_t kReadable = 60;
  if (!op.message.empty() && std::max(fa.text.size(), fb.text.size()) > kReadable) {
    bad_input("{}: not so at {}", op.message, where);
  }
  bad_input("{}{}'{}' {} '{}' does not hold: {} against {}{}{}{}", op.message,
            op.message.empty() ? "" : ": ", fa.text, equal ? "==" : "<=", fb.text, a, b,
            where.empty() ? "" : " (", where, where.empty() ? "" : ")");
}

void Machine::step(Frame& f, const format::Arena& op) {
  const int64_t bytes = value(f, op.bytes);
  if (bytes < 0) bad_input("the memory formula '{}' is {}", formula(op.bytes).text, bytes);
  if (!device_) {
    f.arena.reserve(static_cast<size_t>(bytes));
  } else if (!f.device_arena || f.device_arena->bytes() < static_cast<size_t>(bytes)) {
    f.device_arena.reset();
    f.device_arena = device_->allocate(static_cast<size_t>(bytes));
  }
  f.arena_bytes = bytes;
}

void Machine::set_shape(const Frame& f, Tensor& t, format::ShapeId id) const {
  const format::TensorShape& shape = model_->program().shapes[id.value];
  std::array<int64_t, format::kMaxRank> dims;
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    dims[i] = value(f, shape.dims[i]);
    if (dims[i] < 0) {
      const format::Formula& dim = formula(shape.dims[i]);
      bad_input("dimension '{}' is {}, which is negative ({})", dim.text, dims[i],
                values_text(f, dim));
    }
  }
  t.set_shape(shape.dtype, std::span(dims).first(shape.dims.size()));
}

void Machine::step(Frame& f, const format::ArenaTensor& op) {
  Tensor& t = at(f, op.result);
  set_shape(f, t, op.shape);
  const int64_t offset = value(f, op.offset);
  // A violation is a bug of the compiler, or a corrupt artifact with a good checksum.
  SYMTILE_CHECK(offset >= 0 && offset <= f.arena_bytes && t.bytes <= f.arena_bytes - offset &&
                    offset % size_of(t.dtype) == 0,
                "{} at offset {} = {} does not fit an arena of {} bytes", describe(t),
                formula(op.offset).text, offset, f.arena_bytes);
  t.owner = {};
  if (device_) {
    t.place = {f.device_arena.get(), offset};
  } else {
    t.data = f.arena.data() + offset;
  }
}

void Machine::step(Frame& f, const format::HeapTensor& op) {
  Tensor& t = at(f, op.result);
  set_shape(f, t, op.shape);
  if (op.output >= 0 && depth_ == 1 && static_cast<size_t>(op.output) < output_memory_.size()) {
    const OutputMemory& memory = output_memory_[static_cast<size_t>(op.output)];
    if (memory.data && memory.bytes >= static_cast<size_t>(t.bytes)) {
      t.owner = heap_.adopt(memory.data, memory.bytes);
      t.data = static_cast<std::byte*>(memory.data);
      return;
    }
  }
  t.owner = {};  // the old block may serve again
  t.own(heap_.allocate(static_cast<size_t>(t.bytes)));
}

void Machine::step(Frame& f, const format::ViewTensor& op) {
  const Tensor& source = at(f, op.source);
  Tensor& t = at(f, op.result);
  set_shape(f, t, op.shape);
  SYMTILE_CHECK(t.bytes <= source.bytes, "{} is no view of {}", describe(t), describe(source));
  t.data = source.data;
  t.place = source.place;
  t.owner = source.owner;
}

void Machine::step(Frame& f, const format::ConstantTensor& op) {
  const format::ConstantInfo& info = model_->program().constants[op.constant.value];
  Tensor& t = at(f, op.result);
  t.set_shape(info.dtype, info.dims);
  t.owner = {};
  if (device_) {
    t.place = {&device_->constants(), static_cast<int64_t>(info.offset)};
    return;
  }
  // Read-only memory: the compiler never places a result over a constant.
  t.data = const_cast<std::byte*>(model_->constant(op.constant.value));
}

void Machine::step(Frame& f, const format::Copy& op) {
  const Tensor& target = at(f, op.target);
  const Tensor& source = at(f, op.source);
  SYMTILE_CHECK(target.bytes == source.bytes, "cannot copy {} to {}", describe(source),
                describe(target));
  copy_bytes(target, 0, source, target.bytes);
}

void Machine::step(Frame& f, const format::Release& op) { f.registers[op.value.value].owner = {}; }

void Machine::step(Frame& f, const format::ReadDims& op) {
  const Tensor& t = at(f, op.value);
  if (t.elements() != static_cast<int64_t>(op.slots.size())) {
    bad_input("{}: has {} elements, but the model expects {}", op.what, t.elements(),
              op.slots.size());
  }
  const HostView view(device_.get(), t);
  for (size_t i = 0; i < op.slots.size(); ++i) {
    // Clamped to the range that the compiler assumes: "to the end" is often written as INT64_MAX.
    f.slots[op.slots[i].value] =
        std::clamp(read_int(view.tensor(), static_cast<int64_t>(i)), -kMaxDim, kMaxDim);
  }
}

void Machine::step(Frame& f, const format::StoreDims& op) {
  Tensor& t = f.registers[op.target.value];
  SYMTILE_CHECK(t.elements() == static_cast<int64_t>(op.values.size()), "{} for {} values",
                describe(t), op.values.size());
  const HostView view(device_.get(), t, HostView::Access::write);
  for (size_t i = 0; i < op.values.size(); ++i) {
    store_element(t.dtype, view.data(), i, value(f, op.values[i]));
  }
}

Tensor Machine::heap_tensor(DType dtype, std::span<const int64_t> dims) {
  Tensor t;
  t.set_shape(dtype, dims);
  t.own(heap_.allocate(static_cast<size_t>(t.bytes)));
  return t;
}

Tensor Machine::heap_copy(const Tensor& source) {
  Tensor t = heap_tensor(source.dtype, source.dims());
  copy_bytes(t, 0, source, t.bytes);
  return t;
}

void Machine::copy_bytes(const Tensor& to, int64_t at, const Tensor& from, int64_t bytes) {
  if (bytes == 0) return;
  if (device_) {
    device_->copy({to.place.memory, to.place.offset + at}, from.place, static_cast<size_t>(bytes));
  } else {
    std::memmove(to.data + at, from.data, static_cast<size_t>(bytes));
  }
}

}  // namespace symtile
