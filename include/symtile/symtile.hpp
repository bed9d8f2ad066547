// C++17 over symtile.h: the same objects with destructors, and errors as exceptions.
//
//   symtile::api::Model model("model.symtile");
//   symtile::api::Session session(model);
//   std::vector<float> x = ...;
//   const auto& outputs = session.run({symtile::api::input(x.data(), {1, 384})});
//   const float* y = outputs[0].data<float>();
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "symtile/symtile.h"

namespace symtile::api {

class Error : public std::runtime_error {
 public:
  Error(symtile_status status, const std::string& message)
      : std::runtime_error(message), status_(status) {}
  symtile_status status() const { return status_; }

 private:
  symtile_status status_;
};

namespace detail {

/// Calls f(&error) and throws what it reports.
template <typename F>
void call(F&& f) {
  symtile_error* error = nullptr;
  const symtile_status status = f(&error);
  if (status == SYMTILE_OK) return;
  const std::unique_ptr<symtile_error, decltype(&symtile_error_free)> owned(error,
                                                                            symtile_error_free);
  throw Error(status, symtile_error_message(error));
}

template <typename T>
inline constexpr symtile_dtype dtype_of = [] {
  static_assert(sizeof(T) == 0, "no symtile element type");
  return SYMTILE_F32;
}();
template <>
inline constexpr symtile_dtype dtype_of<float> = SYMTILE_F32;
template <>
inline constexpr symtile_dtype dtype_of<double> = SYMTILE_F64;
template <>
inline constexpr symtile_dtype dtype_of<int8_t> = SYMTILE_I8;
template <>
inline constexpr symtile_dtype dtype_of<int16_t> = SYMTILE_I16;
template <>
inline constexpr symtile_dtype dtype_of<int32_t> = SYMTILE_I32;
template <>
inline constexpr symtile_dtype dtype_of<int64_t> = SYMTILE_I64;
template <>
inline constexpr symtile_dtype dtype_of<uint8_t> = SYMTILE_U8;
template <>
inline constexpr symtile_dtype dtype_of<uint16_t> = SYMTILE_U16;
template <>
inline constexpr symtile_dtype dtype_of<uint32_t> = SYMTILE_U32;
template <>
inline constexpr symtile_dtype dtype_of<uint64_t> = SYMTILE_U64;
template <>
inline constexpr symtile_dtype dtype_of<bool> = SYMTILE_BOOL;

}  // namespace detail

/// A tensor of the caller, to be read; the memory must outlive the run.
struct Input {
  const void* data;
  std::vector<int64_t> dims;
  symtile_dtype dtype;
};

template <typename T>
Input input(const T* data, std::vector<int64_t> dims) {
  return {data, std::move(dims), detail::dtype_of<T>};
}

/// A result; the memory is the session's, valid until its next run.
class Output {
 public:
  explicit Output(const symtile_tensor& tensor)
      : tensor_(tensor), dims_(tensor.dims, tensor.dims + tensor.rank) {}

  const std::vector<int64_t>& dims() const { return dims_; }
  symtile_dtype dtype() const { return tensor_.dtype; }
  size_t bytes() const { return tensor_.bytes; }
  const void* raw() const { return tensor_.data; }
  template <typename T>
  const T* data() const {
    if (detail::dtype_of<T> != tensor_.dtype) {
      throw Error(SYMTILE_USER_ERROR, std::string("the output is ") +
                                          symtile_dtype_name(tensor_.dtype) + ", not " +
                                          symtile_dtype_name(detail::dtype_of<T>));
    }
    return static_cast<const T*>(tensor_.data);
  }

 private:
  symtile_tensor tensor_;
  std::vector<int64_t> dims_;
};

class Model {
 public:
  explicit Model(const std::string& path, const symtile_load_options* options = nullptr) {
    symtile_model* model = nullptr;
    detail::call([&](symtile_error** e) {
      return symtile_model_load_file(path.c_str(), options, &model, e);
    });
    model_.reset(model);
  }
  Model(const void* bytes, size_t size, const symtile_load_options* options = nullptr) {
    symtile_model* model = nullptr;
    detail::call([&](symtile_error** e) {
      return symtile_model_load_memory(bytes, size, options, &model, e);
    });
    model_.reset(model);
  }

  const symtile_model* get() const { return model_.get(); }
  size_t input_count() const { return symtile_model_input_count(get()); }
  size_t output_count() const { return symtile_model_output_count(get()); }
  const symtile_value_info& input(size_t i) const { return at(symtile_model_input(get(), i)); }
  const symtile_value_info& output(size_t i) const { return at(symtile_model_output(get(), i)); }
  uint64_t constant_bytes() const { return symtile_model_constant_bytes(get()); }

  int64_t arena_bytes(const std::vector<std::pair<std::string, int64_t>>& symbols) const {
    std::vector<const char*> names;
    std::vector<int64_t> values;
    for (const auto& [name, value] : symbols) {
      names.push_back(name.c_str());
      values.push_back(value);
    }
    int64_t bytes = 0;
    detail::call([&](symtile_error** e) {
      return symtile_model_arena_bytes(get(), names.data(), values.data(), names.size(), &bytes, e);
    });
    return bytes;
  }

 private:
  static const symtile_value_info& at(const symtile_value_info* info) {
    if (!info) throw Error(SYMTILE_USER_ERROR, "the model has no such input or output");
    return *info;
  }
  struct Free {
    void operator()(symtile_model* m) const { symtile_model_free(m); }
  };
  std::unique_ptr<symtile_model, Free> model_;
};

class Session {
 public:
  explicit Session(const Model& model, int threads = 0, bool profile = false,
                   const char* device = nullptr) {
    const symtile_session_options options{sizeof(symtile_session_options), threads, profile,
                                          device};
    symtile_session* session = nullptr;
    detail::call([&](symtile_error** e) {
      return symtile_session_create(model.get(), &options, &session, e);
    });
    session_.reset(session);
    outputs_.resize(model.output_count());
  }

  /// The outputs are valid until the next run.
  std::vector<Output> run(const std::vector<Input>& inputs) {
    std::vector<symtile_tensor> tensors;
    for (const Input& i : inputs) {
      tensors.push_back({const_cast<void*>(i.data), i.dims.data(),
                         static_cast<int32_t>(i.dims.size()), i.dtype, 0});
    }
    outputs_.assign(outputs_.size(), symtile_tensor{});
    detail::call([&](symtile_error** e) {
      return symtile_session_run(get(), tensors.data(), tensors.size(), outputs_.data(),
                                 outputs_.size(), e);
    });
    return {outputs_.begin(), outputs_.end()};
  }

  symtile_session* get() const { return session_.get(); }

 private:
  struct Free {
    void operator()(symtile_session* s) const { symtile_session_free(s); }
  };
  std::unique_ptr<symtile_session, Free> session_;
  std::vector<symtile_tensor> outputs_;
};

}  // namespace symtile::api
