// Kernel launches and builtin calls.
#include <algorithm>

#include "symtile/base/check.h"
#include "symtile/runtime/host_view.h"
#include "symtile/runtime/machine.h"

namespace symtile {
namespace {

// A rough model of how long a kernel takes, only to decide how many threads are worth waking.
constexpr int64_t kOpsPerNanosecond = 16;
constexpr int64_t kBytesPerNanosecond = 16;
/// A thread that would get less than this is not used.
constexpr int64_t kNanosecondsPerThread = 2500;
/// Chunks are not made shorter than this: taking one costs an atomic operation that the other
/// threads wait for. Longer tasks are taken one by one, so that no thread ends with several.
constexpr int64_t kNanosecondsPerChunk = 4000;

int64_t ceil_divide(int64_t a, int64_t b) { return a / b + (a % b != 0); }

struct LaunchContext {
  KernelFunction run;
  void* const* buffers;
  const int64_t* symbols;
  const AlignedBuffer* scratch;
};

/// What a builtin sees of the machine.
class CallContext final : public BuiltinContext {
 public:
  CallContext(const format::CallBuiltin& op, const std::string& name,
              std::vector<BuiltinTensor> inputs, std::vector<bool> present,
              std::vector<std::vector<int64_t>> dims, HeapPool& heap)
      : op_(op),
        name_(name),
        inputs_(std::move(inputs)),
        present_(std::move(present)),
        dims_(std::move(dims)),
        heap_(heap),
        results_(op.results.size()) {}

  int num_inputs() const override { return static_cast<int>(inputs_.size()); }
  const BuiltinTensor* input(int i) const override {
    const auto k = static_cast<size_t>(i);
    return i >= 0 && k < inputs_.size() && present_[k] ? &inputs_[k] : nullptr;
  }
  bool has_attr(std::string_view name) const override { return find(name) != nullptr; }
  int64_t attr_int(std::string_view name, int64_t fallback) const override {
    return get<int64_t>(name, fallback);
  }
  double attr_float(std::string_view name, double fallback) const override {
    return get<double>(name, fallback);
  }
  std::string attr_text(std::string_view name, std::string_view fallback) const override {
    return get<std::string>(name, std::string(fallback));
  }
  std::vector<int64_t> attr_ints(std::string_view name,
                                 std::vector<int64_t> fallback) const override {
    const format::BuiltinAttribute* a = find(name);
    if (a && std::holds_alternative<std::vector<format::FormulaId>>(a->value)) {
      return dims_[static_cast<size_t>(a - op_.attributes.data())];
    }
    return get<std::vector<int64_t>>(name, std::move(fallback));
  }
  std::byte* output(int k, DType dtype, const std::vector<int64_t>& dims) override {
    SYMTILE_CHECK(k >= 0 && static_cast<size_t>(k) < results_.size() &&
                      !results_[static_cast<size_t>(k)].owner,
                  "{} makes result {} of {}", name_, k, results_.size());
    SYMTILE_CHECK(dtype == op_.dtypes[static_cast<size_t>(k)], "{} makes {} as result {}, not {}",
                  name_, symtile::name_of(dtype), k,
                  symtile::name_of(op_.dtypes[static_cast<size_t>(k)]));
    Tensor& t = results_[static_cast<size_t>(k)];
    t.set_shape(dtype, dims);
    t.owner = heap_.allocate(static_cast<size_t>(t.bytes));
    t.data = t.owner->data;
    return t.data;
  }
  [[noreturn]] void fail(const std::string& message) const override {
    throw UserError(fmt::format("error[bad_input]: {}{}{}: {}", op_.location,
                                op_.location.empty() ? "" : ": ", name_, message));
  }

  std::vector<Tensor>& results() { return results_; }

 private:
  const format::BuiltinAttribute* find(std::string_view name) const {
    for (const auto& a : op_.attributes) {
      if (a.name == name) return &a;
    }
    return nullptr;
  }
  template <typename T>
  T get(std::string_view name, T fallback) const {
    const format::BuiltinAttribute* a = find(name);
    if (!a) return fallback;
    const T* value = std::get_if<T>(&a->value);
    SYMTILE_CHECK(value, "attribute '{}' of {} has another kind", name, name_);
    return *value;
  }

  const format::CallBuiltin& op_;
  const std::string& name_;
  std::vector<BuiltinTensor> inputs_;
  std::vector<bool> present_;
  std::vector<std::vector<int64_t>> dims_;  ///< values of `dims` attributes, by attribute
  HeapPool& heap_;
  std::vector<Tensor> results_;
};

}  // namespace

void Machine::step(Frame& f, const format::LaunchKernel& op) {
  if (device_) return launch_on_device(f, op);
  buffers_.clear();
  symbols_.clear();
  launch_bytes_ = 0;
  for (format::Use r : op.buffers) {
    const Tensor& t = at(f, r);
    buffers_.push_back(t.data);
    launch_bytes_ += t.bytes;
  }
  for (format::FormulaId id : op.symbols) symbols_.push_back(value(f, id));
  const Model::Kernel& kernel = model_->kernel(op.kernel.value);
  if (!profiling_) return launch(kernel);
  const auto begin = std::chrono::steady_clock::now();
  launch(kernel);
  add_time(op.kernel.value, begin);
}

void Machine::launch(const Model::Kernel& kernel) {
  const int64_t extent = format::evaluate(kernel.entry->parallel_extent, symbols_);
  if (extent <= 0) return;
  const int64_t scratch =
      std::max<int64_t>(format::evaluate(kernel.entry->scratch_bytes, symbols_), 0);
  const int64_t work = format::evaluate(kernel.entry->work, symbols_);
  const int64_t nanoseconds =
      std::max({work / kOpsPerNanosecond, launch_bytes_ / kBytesPerNanosecond, int64_t{1}});
  const int64_t threads =
      std::min({int64_t{pool_.threads()}, extent, nanoseconds / kNanosecondsPerThread});
  const size_t used = threads < 2 ? 1 : scratch_.size();
  for (size_t i = 0; i < used && scratch > 0; ++i) {
    scratch_[i].reserve(static_cast<size_t>(scratch));
  }
  if (threads < 2) {
    kernel.run(buffers_.data(), symbols_.data(), scratch_[0].data(), 0, extent);
    return;
  }
  const int64_t chunks = std::clamp(nanoseconds / kNanosecondsPerChunk, threads, extent);
  LaunchContext context{kernel.run, buffers_.data(), symbols_.data(), scratch_.data()};
  pool_.run(
      extent, ceil_divide(extent, chunks),
      [](void* opaque, int worker, int64_t begin, int64_t end) {
        const auto& c = *static_cast<const LaunchContext*>(opaque);
        c.run(c.buffers, c.symbols, c.scratch[worker].data(), begin, end);
      },
      &context);
}

void Machine::step(Frame& f, const format::CallBuiltin& op) {
  std::vector<BuiltinTensor> inputs(op.args.size());
  std::vector<bool> present(op.args.size());
  std::vector<HostView> views;
  for (size_t i = 0; i < op.args.size(); ++i) {
    if (!op.args[i].valid()) continue;
    const Tensor& t = at(f, format::Use{op.args[i].value});
    views.emplace_back(device_.get(), t);
    inputs[i] = {t.dtype, {t.dims().begin(), t.dims().end()}, views.back().data()};
    present[i] = true;
  }
  std::vector<std::vector<int64_t>> dims(op.attributes.size());
  for (size_t i = 0; i < op.attributes.size(); ++i) {
    const auto* formulas = std::get_if<std::vector<format::FormulaId>>(&op.attributes[i].value);
    if (!formulas) continue;
    for (format::FormulaId id : *formulas) dims[i].push_back(value(f, id));
  }
  const std::string& name = model_->program().builtins[op.builtin.value];
  CallContext context(op, name, std::move(inputs), std::move(present), std::move(dims),
                      device_ ? host_heap_ : heap_);
  const auto begin = std::chrono::steady_clock::now();
  model_->builtin(op.builtin.value)(context);
  if (profiling_) add_time(model_->program().kernels.size() + op.builtin.value, begin);
  for (size_t i = 0; i < op.results.size(); ++i) {
    SYMTILE_CHECK(context.results()[i].owner, "{} left out result {}", name, i);
    Tensor& result = context.results()[i];
    at(f, op.results[i]) = device_ ? to_device(result) : std::move(result);
  }
}

}  // namespace symtile
