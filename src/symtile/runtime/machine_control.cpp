// Instructions that call functions.
#include <algorithm>
#include <functional>
#include <limits>

#include "symtile/base/check.h"
#include "symtile/runtime/host_view.h"
#include "symtile/runtime/machine.h"

namespace symtile {
namespace {

/// The value of a tensor that must have one element of type `dtype`.
int64_t read_scalar(DeviceQueue* device, const Tensor& t, DType dtype, const char* what) {
  if (t.dtype != dtype || t.elements() != 1) {
    throw UserError(fmt::format("error[bad_input]: {} is {}, but must be one {}", what, describe(t),
                                name_of(dtype)));
  }
  return read_int(HostView(device, t).tensor());
}

/// A loop may stop early, so no more than this is reserved for slices still to come.
constexpr size_t kPlannedBytes = size_t{64} << 20;

/// Stacks the slices of one scanned output on a new axis 0.
class ScanBuffer {
 public:
  /// Copies bytes of a tensor to a place in another.
  using CopyBytes =
      std::function<void(const Tensor& to, int64_t at, const Tensor& from, int64_t bytes)>;

  explicit ScanBuffer(const format::ScanShape& shape) : shape_(shape) {}

  void append(const Tensor& slice, HeapPool& heap, const CopyBytes& copy, size_t expected) {
    if (slice.dtype != shape_.dtype) {
      throw UserError(fmt::format("error[bad_input]: a loop scans {}, but the model expects {}",
                                  describe(slice), name_of(shape_.dtype)));
    }
    if (count_ == 0) {
      first_ = slice;
      first_.owner = {};
    } else if (!std::equal(slice.dims().begin(), slice.dims().end(), first_.dims().begin(),
                           first_.dims().end())) {
      throw UserError(fmt::format("error[bad_input]: a loop scans {} in iteration {} and {} before",
                                  describe(slice), count_, describe(first_)));
    }
    const auto used = static_cast<size_t>(count_ * slice.bytes);
    const auto bytes = static_cast<size_t>(slice.bytes);
    if (!stack_.owner || stack_.owner->capacity < used + bytes) {
      // All of it at once when that is known and not much, else twice as much each time.
      const size_t planned =
          count_ == 0 && bytes <= kPlannedBytes / expected ? bytes * expected : 0;
      Tensor larger;
      larger.own(heap.allocate(std::max({used + bytes, planned, 2 * used})));
      copy(larger, 0, stack_, static_cast<int64_t>(used));
      stack_ = std::move(larger);
    }
    copy(stack_, static_cast<int64_t>(used), slice, slice.bytes);
    ++count_;
  }

  /// `unknown`: the dimensions of a slice, for a loop that never ran.
  Tensor take(HeapPool& heap, std::span<const int64_t> unknown) {
    if (!stack_.owner) stack_.own(heap.allocate(0));
    const std::span<const int64_t> slice = count_ > 0 ? first_.dims() : unknown;
    std::vector<int64_t> dims = {count_};
    dims.insert(dims.end(), slice.begin(), slice.end());
    if (dims.size() > format::kMaxRank)
      throw UserError("error[too_large]: a scan has a rank too high");
    stack_.set_shape(shape_.dtype, dims);
    return std::move(stack_);
  }

 private:
  const format::ScanShape& shape_;
  Tensor first_;
  Tensor stack_;  ///< without a shape until it is taken
  int64_t count_ = 0;
};

}  // namespace

void Machine::call(Frame& f, format::FunctionId id, const std::vector<format::Use>& args,
                   const std::vector<format::FormulaId>& dims,
                   const std::vector<format::Def>& results) {
  f.args.clear();
  f.dims.clear();
  for (format::Use r : args) f.args.push_back(at(f, r));
  for (format::FormulaId d : dims) f.dims.push_back(value(f, d));
  execute(id.value, f.args, f.dims, f.results);
  for (size_t i = 0; i < results.size(); ++i) at(f, results[i]) = std::move(f.results[i]);
  f.args.clear();
  f.results.clear();
}

void Machine::step(Frame& f, const format::CallFunction& op) {
  call(f, op.function, op.args, op.dims, op.results);
}

void Machine::step(Frame& f, const format::Branch& op) {
  const bool condition = read_scalar(device_.get(), at(f, op.condition), DType::boolean,
                                     "the condition of an if") != 0;
  call(f, condition ? op.then_function : op.else_function, op.args, op.dims, op.results);
}

void Machine::step(Frame& f, const format::Loop& op) {
  constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();
  const int64_t trips = op.trip_count.valid()
                            ? read_scalar(device_.get(), at(f, format::Use{op.trip_count.value}),
                                          DType::i64, "a trip count")
                            : kUnbounded;
  const auto as_use = [](format::OptionalUse r) { return format::Use{r.value}; };
  uint8_t running = 1;
  if (op.condition.valid()) {
    running = read_scalar(device_.get(), at(f, as_use(op.condition)), DType::boolean,
                          "a loop condition") != 0;
  }

  // Arguments: iteration, condition, carried, captured.
  int64_t iteration = 0;
  std::vector<Tensor> args(2);
  args[0].set_shape(DType::i64, {});
  args[0].data = reinterpret_cast<std::byte*>(&iteration);
  args[1].set_shape(DType::boolean, {});
  args[1].data = reinterpret_cast<std::byte*>(&running);
  const Tensor host_iteration = args[0], host_running = args[1];
  for (format::Use r : op.carried) args.push_back(at(f, r));
  for (format::Use r : op.captured) args.push_back(at(f, r));
  std::vector<int64_t> dims;
  for (format::FormulaId d : op.dims) dims.push_back(value(f, d));
  std::vector<ScanBuffer> scans(op.scans.begin(), op.scans.end());
  const auto expected = static_cast<size_t>(trips == kUnbounded ? 1 : std::max<int64_t>(trips, 1));

  const ScanBuffer::CopyBytes copy = [this](const Tensor& to, int64_t place, const Tensor& from,
                                            int64_t bytes) { copy_bytes(to, place, from, bytes); };
  const size_t carried = op.carried.size();
  std::vector<Tensor> results;
  for (; iteration < trips && running; ++iteration) {
    if (device_) {
      args[0] = to_device(host_iteration);
      args[1] = to_device(host_running);
    }
    execute(op.body.value, args, dims, results);
    running = read_scalar(device_.get(), results[0], DType::boolean, "a loop condition") != 0;
    for (size_t i = 0; i < carried; ++i) args[2 + i] = std::move(results[1 + i]);
    for (size_t i = 0; i < scans.size(); ++i) {
      scans[i].append(results[1 + carried + i], heap_, copy, expected);
    }
    results.clear();
  }

  for (size_t i = 0; i < carried; ++i) {
    Tensor& value = args[2 + i];
    at(f, op.results[i]) = iteration > 0 ? std::move(value) : heap_copy(value);
  }
  for (size_t i = 0; i < scans.size(); ++i) {
    std::vector<int64_t> slice;
    for (format::OptionalFormulaId d : op.scans[i].dims) {
      slice.push_back(d.valid() ? value(f, format::FormulaId{d.value}) : 0);
    }
    at(f, op.results[carried + i]) = scans[i].take(heap_, slice);
  }
}

}  // namespace symtile
