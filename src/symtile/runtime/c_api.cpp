// The C API over Model and Session: the one place where the runtime's exceptions end.
#include <algorithm>
#include <cstring>
#include <new>

#include "symtile/base/check.h"
#include "symtile/runtime/session.h"
#include "symtile/symtile.h"

struct symtile_error {
  symtile_status status;
  std::string message;
};

struct symtile_model {
  struct Info {
    symtile_value_info info;
    std::vector<const char*> dims;
  };
  std::shared_ptr<const symtile::Model> model;
  std::vector<Info> inputs, outputs;

  explicit symtile_model(std::shared_ptr<const symtile::Model> m) : model(std::move(m)) {
    describe(model->program().inputs, inputs);
    describe(model->program().outputs, outputs);
  }
  static void describe(const std::vector<symtile::format::EntryValue>& values,
                       std::vector<Info>& infos) {
    infos.resize(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      for (const auto& dim : values[i].dims) infos[i].dims.push_back(dim.text.c_str());
      infos[i].info = {values[i].name.c_str(), static_cast<symtile_dtype>(values[i].dtype),
                       values[i].known_rank ? static_cast<int32_t>(infos[i].dims.size()) : -1,
                       infos[i].dims.data()};
    }
  }
};

struct symtile_session {
  symtile::Session session;
};

namespace {

using symtile::UserError;

symtile_status report(symtile_error** out, symtile_status status, const char* message) noexcept {
  if (out) {
    try {
      *out = new symtile_error{status, message};
    } catch (...) {
      *out = nullptr;  // no memory left to say more than the status does
    }
  }
  return status;
}

/// Runs `f`; every exception becomes a status and an error object.
template <typename F>
symtile_status guarded(symtile_error** out, F&& f) noexcept {
  if (out) *out = nullptr;
  try {
    f();
    return SYMTILE_OK;
  } catch (const symtile::UserError& e) {
    return report(out, SYMTILE_USER_ERROR, e.what());
  } catch (const symtile::EnvironmentError& e) {
    return report(out, SYMTILE_ENVIRONMENT_ERROR, e.what());
  } catch (const std::bad_alloc&) {
    return report(out, SYMTILE_ENVIRONMENT_ERROR, "out of memory");
  } catch (const std::exception& e) {
    return report(out, SYMTILE_INTERNAL_ERROR, e.what());
  } catch (...) {
    return report(out, SYMTILE_INTERNAL_ERROR, "internal error: unknown exception");
  }
}

template <typename T>
T& given(T* pointer, const char* what) {
  if (!pointer) throw UserError(fmt::format("{} is NULL", what));
  return *pointer;
}

/// Options of an older or newer caller: fields that it does not know keep their defaults.
template <typename Options>
Options known_fields(const Options* options) {
  Options out{};
  if (options) std::memcpy(&out, options, std::min(options->struct_size, sizeof out));
  return out;
}

symtile::LoadOptions load_options(const symtile_load_options* options) {
  const auto known = known_fields(options);
  return {known.skip_constants_check == 0, known.level ? known.level : ""};
}

symtile::InputTensor input_of(const symtile_tensor& t, size_t index) {
  if (t.rank < 0 || (t.rank > 0 && !t.dims)) {
    throw UserError(fmt::format("input {} has no dimensions", index));
  }
  if (static_cast<unsigned>(t.dtype) >= static_cast<unsigned>(symtile::kNumDTypes)) {
    throw UserError(fmt::format("input {} has an unknown element type", index));
  }
  const auto dtype = static_cast<symtile::DType>(t.dtype);
  const std::span<const int64_t> dims(t.dims, static_cast<size_t>(t.rank));
  if (t.bytes != 0 && dims.size() <= symtile::format::kMaxRank) {
    symtile::Tensor needed;
    needed.set_shape(dtype, dims);
    if (static_cast<size_t>(needed.bytes) > t.bytes) {
      throw UserError(fmt::format("input {} is {}, which takes {} bytes, but its memory has {}",
                                  index, describe(needed), needed.bytes, t.bytes));
    }
  }
  return {dtype, dims, t.data};
}

void set_output(const symtile::OutputTensor& from, symtile_tensor& to) {
  to.data = const_cast<void*>(from.data);
  to.dims = from.dims.data();
  to.rank = static_cast<int32_t>(from.dims.size());
  to.dtype = static_cast<symtile_dtype>(from.dtype);
  to.bytes = from.bytes;
}

const symtile_value_info* info_at(const std::vector<symtile_model::Info>& infos, size_t index) {
  return index < infos.size() ? &infos[index].info : nullptr;
}

const char* text_at(const std::vector<std::string>& texts, size_t index) {
  return index < texts.size() ? texts[index].c_str() : nullptr;
}

}  // namespace

extern "C" {

const char* symtile_version(void) { return SYMTILE_VERSION; }

const char* symtile_dtype_name(symtile_dtype dtype) {
  const auto index = static_cast<unsigned>(dtype);
  if (index >= static_cast<unsigned>(symtile::kNumDTypes)) return nullptr;
  return symtile::name_of(static_cast<symtile::DType>(index)).data();
}

size_t symtile_dtype_size(symtile_dtype dtype) {
  const auto index = static_cast<unsigned>(dtype);
  if (index >= static_cast<unsigned>(symtile::kNumDTypes)) return 0;
  return static_cast<size_t>(symtile::size_of(static_cast<symtile::DType>(index)));
}

const char* symtile_error_message(const symtile_error* e) { return e ? e->message.c_str() : ""; }
symtile_status symtile_error_status(const symtile_error* e) { return e ? e->status : SYMTILE_OK; }
void symtile_error_free(symtile_error* e) { delete e; }

symtile_status symtile_model_load_file(const char* path, const symtile_load_options* options,
                                       symtile_model** model, symtile_error** error) {
  return guarded(error, [&] {
    given(model, "model") = nullptr;
    *model =
        new symtile_model(symtile::Model::load_file(&given(path, "path"), load_options(options)));
  });
}

symtile_status symtile_model_load_memory(const void* bytes, size_t size,
                                         const symtile_load_options* options, symtile_model** model,
                                         symtile_error** error) {
  return guarded(error, [&] {
    given(model, "model") = nullptr;
    const auto* data = static_cast<const std::byte*>(bytes);
    if (size > 0) given(data, "bytes");
    *model = new symtile_model(symtile::Model::load_memory({data, size}, load_options(options)));
  });
}

void symtile_model_free(symtile_model* model) { delete model; }

size_t symtile_model_input_count(const symtile_model* m) { return m ? m->inputs.size() : 0; }
size_t symtile_model_output_count(const symtile_model* m) { return m ? m->outputs.size() : 0; }

const symtile_value_info* symtile_model_input(const symtile_model* m, size_t index) {
  return m ? info_at(m->inputs, index) : nullptr;
}

const symtile_value_info* symtile_model_output(const symtile_model* m, size_t index) {
  return m ? info_at(m->outputs, index) : nullptr;
}

size_t symtile_model_symbol_count(const symtile_model* m) {
  return m ? m->model->program().symbols.size() : 0;
}

const char* symtile_model_symbol(const symtile_model* m, size_t index) {
  return m ? text_at(m->model->program().symbols, index) : nullptr;
}

size_t symtile_model_fact_count(const symtile_model* m) {
  return m ? m->model->program().facts.size() : 0;
}

const char* symtile_model_fact(const symtile_model* m, size_t index) {
  return m ? text_at(m->model->program().facts, index) : nullptr;
}

const char* symtile_model_manifest(const symtile_model* m, const char* key) {
  if (!m || !key) return nullptr;
  for (const auto& [k, v] : m->model->manifest().entries) {
    if (k == key) return v.c_str();
  }
  return nullptr;
}

const char* symtile_model_level(const symtile_model* m) {
  return m ? m->model->level().c_str() : "";
}

uint64_t symtile_model_constant_bytes(const symtile_model* m) {
  return m ? m->model->constant_bytes() : 0;
}

symtile_status symtile_model_arena_bytes(const symtile_model* model, const char* const* symbols,
                                         const int64_t* values, size_t count, int64_t* bytes,
                                         symtile_error** error) {
  return guarded(error, [&] {
    std::map<std::string, int64_t> map;
    for (size_t i = 0; i < count; ++i) {
      map[&given(given(symbols, "symbols") ? symbols[i] : nullptr, "a symbol")] =
          (&given(values, "values"))[i];
    }
    given(bytes, "bytes") = given(model, "model").model->arena_bytes(map);
  });
}

symtile_status symtile_session_create(const symtile_model* model,
                                      const symtile_session_options* options,
                                      symtile_session** session, symtile_error** error) {
  return guarded(error, [&] {
    given(session, "session") = nullptr;
    const auto known = known_fields(options);
    const symtile::SessionOptions wanted{known.threads, known.profile != 0,
                                         known.device ? known.device : ""};
    *session = new symtile_session{symtile::Session(given(model, "model").model, wanted)};
  });
}

void symtile_session_free(symtile_session* session) { delete session; }

symtile_status symtile_session_run(symtile_session* session, const symtile_tensor* inputs,
                                   size_t input_count, symtile_tensor* outputs, size_t output_count,
                                   symtile_error** error) {
  return guarded(error, [&] {
    symtile::Session& s = given(session, "session").session;
    std::vector<symtile::InputTensor> in;
    for (size_t i = 0; i < input_count; ++i) {
      in.push_back(input_of((&given(inputs, "inputs"))[i], i));
    }
    std::vector<symtile::OutputMemory> out;
    for (size_t i = 0; i < output_count; ++i) {
      const symtile_tensor& t = (&given(outputs, "outputs"))[i];
      out.push_back({t.data, t.bytes});
    }
    s.run(in, out);
    for (size_t i = 0; i < output_count; ++i) set_output(s.output(i), outputs[i]);
  });
}

symtile_status symtile_session_output(const symtile_session* session, size_t index,
                                      symtile_tensor* output, symtile_error** error) {
  return guarded(error, [&] {
    const symtile::Session& s = given(session, "session").session;
    if (index >= s.num_outputs()) {
      throw UserError(fmt::format("output {} of {} was asked for", index, s.num_outputs()));
    }
    set_output(s.output(index), given(output, "output"));
  });
}

int symtile_session_threads(const symtile_session* s) { return s ? s->session.threads() : 0; }

uint64_t symtile_session_held_bytes(const symtile_session* s) {
  return s ? s->session.held_bytes() : 0;
}

void symtile_session_trim(symtile_session* s) {
  if (s) s->session.trim();
}

void symtile_session_set_profiling(symtile_session* s, int on) {
  if (s) s->session.set_profiling(on != 0);
}

size_t symtile_session_profile_count(const symtile_session* s) {
  return s ? s->session.profile().size() : 0;
}

symtile_status symtile_session_profile(const symtile_session* session, size_t index,
                                       symtile_profile_entry* entry, symtile_error** error) {
  return guarded(error, [&] {
    const auto& profile = given(session, "session").session.profile();
    if (index >= profile.size()) {
      throw UserError(fmt::format("entry {} of {} was asked for", index, profile.size()));
    }
    const symtile::CallProfile& p = profile[index];
    given(entry, "entry") = {p.name.c_str(), p.calls, p.nanoseconds};
  });
}

}  // extern "C"
