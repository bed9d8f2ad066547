/* The symtile runtime: loads compiled models (model.symtile) and runs them. C99.
 *
 *   symtile_model* model = NULL;
 *   symtile_session* session = NULL;
 *   symtile_error* error = NULL;
 *   if (symtile_model_load_file("model.symtile", NULL, &model, &error) ||
 *       symtile_session_create(model, NULL, &session, &error) ||
 *       symtile_session_run(session, inputs, 1, outputs, 1, &error)) {
 *     fprintf(stderr, "%s\n", symtile_error_message(error));
 *     symtile_error_free(error);
 *   }
 *   symtile_session_free(session);
 *   symtile_model_free(model);
 *
 * Ownership. What a function of the form `..._load_*` or `..._create` returns is freed with the
 * `_free` function of the same name; these accept NULL. Strings and infos belong to the model and
 * live as long as it does. A session keeps its model alive: the two may be freed in any order.
 *
 * Threads. A model is immutable: any number of threads may use it and its sessions at once. A
 * session is used by one thread at a time; it has its own worker threads. The library has no other
 * state. A process that forks must not use sessions of its parent.
 *
 * Errors. Functions that can fail return a status; 0 is success. If `error` is not NULL, a failure
 * stores an error object there, which the caller frees. Nothing throws and nothing aborts. After
 * a failed run the session is as usable as before. */
#ifndef SYMTILE_SYMTILE_H_
#define SYMTILE_SYMTILE_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SYMTILE_API __attribute__((visibility("default")))
#else
#define SYMTILE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct symtile_model symtile_model;
typedef struct symtile_session symtile_session;
typedef struct symtile_error symtile_error;

typedef enum symtile_status {
  SYMTILE_OK = 0,
  SYMTILE_USER_ERROR = 1,        /* the artifact, an input or an argument is at fault */
  SYMTILE_ENVIRONMENT_ERROR = 3, /* a file, memory or processor feature is not available */
  SYMTILE_INTERNAL_ERROR = 4     /* a bug of symtile; please report it */
} symtile_status;

typedef enum symtile_dtype {
  SYMTILE_F32 = 0,
  SYMTILE_F64 = 1,
  SYMTILE_F16 = 2,
  SYMTILE_BF16 = 3,
  SYMTILE_I8 = 4,
  SYMTILE_I16 = 5,
  SYMTILE_I32 = 6,
  SYMTILE_I64 = 7,
  SYMTILE_U8 = 8,
  SYMTILE_U16 = 9,
  SYMTILE_U32 = 10,
  SYMTILE_U64 = 11,
  SYMTILE_BOOL = 12 /* one byte, 0 or 1 */
} symtile_dtype;

/* "0.1.0" */
SYMTILE_API const char* symtile_version(void);
/* "f32", "bool", ...; NULL for an unknown type. */
SYMTILE_API const char* symtile_dtype_name(symtile_dtype dtype);
/* Bytes of one element; 0 for an unknown type. */
SYMTILE_API size_t symtile_dtype_size(symtile_dtype dtype);

/* ---- errors ------------------------------------------------------------------------------- */

/* "" for NULL. */
SYMTILE_API const char* symtile_error_message(const symtile_error* error);
/* SYMTILE_OK for NULL. */
SYMTILE_API symtile_status symtile_error_status(const symtile_error* error);
SYMTILE_API void symtile_error_free(symtile_error* error);

/* ---- models ------------------------------------------------------------------------------- */

/* Set `struct_size` to sizeof(symtile_load_options) and the rest to 0 for the defaults. */
typedef struct symtile_load_options {
  size_t struct_size;
  /* Do not read all constants once to compare their checksum. */
  int skip_constants_check;
  /* Use the code of this level, e.g. "x86-64-v2"; NULL: the best that this machine runs. */
  const char* level;
} symtile_load_options;

/* Maps the file, which must not change while the model lives; processes share its memory.
 * `options` may be NULL. The code of an artifact runs in this process: load only what you trust. */
SYMTILE_API symtile_status symtile_model_load_file(const char* path,
                                                   const symtile_load_options* options,
                                                   symtile_model** model, symtile_error** error);
/* Copies the bytes. */
SYMTILE_API symtile_status symtile_model_load_memory(const void* bytes, size_t size,
                                                     const symtile_load_options* options,
                                                     symtile_model** model, symtile_error** error);
SYMTILE_API void symtile_model_free(symtile_model* model);

/* An input or output. `dims` are formulas of the symbols of the model: "384", "n", "4*n + 1",
 * or "?" where only a run can tell. */
typedef struct symtile_value_info {
  const char* name;
  symtile_dtype dtype;
  int32_t rank; /* -1: unknown */
  const char* const* dims;
} symtile_value_info;

SYMTILE_API size_t symtile_model_input_count(const symtile_model* model);
SYMTILE_API size_t symtile_model_output_count(const symtile_model* model);
/* NULL when there is no such input or output. */
SYMTILE_API const symtile_value_info* symtile_model_input(const symtile_model* model, size_t index);
SYMTILE_API const symtile_value_info* symtile_model_output(const symtile_model* model,
                                                           size_t index);
/* The symbols that the shapes of the inputs bind. */
SYMTILE_API size_t symtile_model_symbol_count(const symtile_model* model);
SYMTILE_API const char* symtile_model_symbol(const symtile_model* model, size_t index);
/* What the model was compiled for: "1 <= n <= 4096", "n % 8 == 0"; each run checks it. */
SYMTILE_API size_t symtile_model_fact_count(const symtile_model* model);
SYMTILE_API const char* symtile_model_fact(const symtile_model* model, size_t index);
/* An entry of the manifest, e.g. "producer" or "memory"; NULL when there is none. */
SYMTILE_API const char* symtile_model_manifest(const symtile_model* model, const char* key);
/* Level of the code in use; "" when the model has none. */
SYMTILE_API const char* symtile_model_level(const symtile_model* model);

/* Bytes of constants, shared by all sessions. */
SYMTILE_API uint64_t symtile_model_constant_bytes(const symtile_model* model);
/* Bytes of intermediate results of one run, for values of the symbols given by name. Nested
 * functions (bodies of if and loop) and outputs come on top. */
SYMTILE_API symtile_status symtile_model_arena_bytes(const symtile_model* model,
                                                     const char* const* symbols,
                                                     const int64_t* values, size_t count,
                                                     int64_t* bytes, symtile_error** error);

/* ---- sessions ----------------------------------------------------------------------------- */

/* Set `struct_size` to sizeof(symtile_session_options) and the rest to 0 for the defaults. */
typedef struct symtile_session_options {
  size_t struct_size;
  int threads; /* 0: one for every processor that the process may use; 1: no worker threads */
  int profile; /* 1: measure every kernel */
  /* Where kernels run: "cpu" or NULL, or a kind of device that the model was compiled for, such as
   * "opencl". Inputs and outputs are in memory of the process in any case. */
  const char* device;
} symtile_session_options;

/* Dense, row-major, aligned to the element type (64 bytes is best). */
typedef struct symtile_tensor {
  void* data; /* inputs are not written */
  const int64_t* dims;
  int32_t rank;
  symtile_dtype dtype;
  size_t bytes; /* size of the memory at `data`; for inputs 0 means: as much as `dims` need */
} symtile_tensor;

/* `options` may be NULL. */
SYMTILE_API symtile_status symtile_session_create(const symtile_model* model,
                                                  const symtile_session_options* options,
                                                  symtile_session** session, symtile_error** error);
SYMTILE_API void symtile_session_free(symtile_session* session);

/* Runs the model once; inputs in the order of the model. `outputs` is NULL with output_count 0, or
 * has one entry an output: an entry whose `data` is NULL gets memory of the session, valid until
 * its next run; otherwise the output is written to `data`, which has `bytes` bytes and must not
 * overlap the inputs. On success every field of the entries is set; `dims` belong to the session
 * and are valid until its next run. */
SYMTILE_API symtile_status symtile_session_run(symtile_session* session,
                                               const symtile_tensor* inputs, size_t input_count,
                                               symtile_tensor* outputs, size_t output_count,
                                               symtile_error** error);
/* An output of the last successful run. */
SYMTILE_API symtile_status symtile_session_output(const symtile_session* session, size_t index,
                                                  symtile_tensor* output, symtile_error** error);

/* Threads in use, the calling one included. */
SYMTILE_API int symtile_session_threads(const symtile_session* session);
/* Memory that the session holds now, without the constants. */
SYMTILE_API uint64_t symtile_session_held_bytes(const symtile_session* session);
/* Gives cached memory back to the system, outputs of the session included. */
SYMTILE_API void symtile_session_trim(symtile_session* session);

typedef struct symtile_profile_entry {
  const char* name; /* of a kernel or library call; belongs to the session */
  uint64_t calls;
  uint64_t nanoseconds; /* of all calls together */
} symtile_profile_entry;

/* Starts or stops measuring; counts start at 0. */
SYMTILE_API void symtile_session_set_profiling(symtile_session* session, int on);
SYMTILE_API size_t symtile_session_profile_count(const symtile_session* session);
SYMTILE_API symtile_status symtile_session_profile(const symtile_session* session, size_t index,
                                                   symtile_profile_entry* entry,
                                                   symtile_error** error);

#ifdef __cplusplus
}
#endif

#endif /* SYMTILE_SYMTILE_H_ */
