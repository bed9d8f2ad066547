#include "c_api_test.h"

#include <string.h>

#include "symtile/symtile.h"

#define STRING_OF(x) #x
#define TEXT_OF(x) STRING_OF(x)
#define EXPECT(condition)                                               \
  do {                                                                  \
    if (!(condition)) return "line " TEXT_OF(__LINE__) ": " #condition; \
  } while (0)

static symtile_tensor tensor(void* data, const int64_t* dims, size_t bytes) {
  symtile_tensor t;
  t.data = data;
  t.dims = dims;
  t.rank = 2;
  t.dtype = SYMTILE_F32;
  t.bytes = bytes;
  return t;
}

static const char* describe_model(const symtile_model* model) {
  const char* const names[] = {"n"};
  const int64_t values[] = {10};
  int64_t bytes = 0;
  EXPECT(symtile_model_input_count(model) == 2);
  EXPECT(symtile_model_output_count(model) == 1);
  EXPECT(symtile_model_input(model, 2) == NULL);
  EXPECT(strcmp(symtile_model_input(model, 1)->name, "y") == 0);
  EXPECT(symtile_model_input(model, 0)->dtype == SYMTILE_F32);
  EXPECT(symtile_model_input(model, 0)->rank == 2);
  EXPECT(strcmp(symtile_model_input(model, 0)->dims[0], "n") == 0);
  EXPECT(strcmp(symtile_model_output(model, 0)->dims[1], "4") == 0);
  EXPECT(symtile_model_symbol_count(model) == 1);
  EXPECT(strcmp(symtile_model_symbol(model, 0), "n") == 0);
  EXPECT(strcmp(symtile_model_fact(model, 0), "n <= 100000") == 0);
  EXPECT(symtile_model_fact(model, 1) == NULL);
  EXPECT(strcmp(symtile_model_manifest(model, "producer"), "test") == 0);
  EXPECT(symtile_model_manifest(model, "nothing") == NULL);
  EXPECT(strlen(symtile_model_level(model)) > 0);
  EXPECT(symtile_model_constant_bytes(model) == 0);
  EXPECT(symtile_model_arena_bytes(model, names, values, 1, &bytes, NULL) == SYMTILE_OK);
  EXPECT(bytes == 224);
  EXPECT(symtile_model_arena_bytes(model, names, values, 0, &bytes, NULL) == SYMTILE_USER_ERROR);
  return NULL;
}

static const char* run_session(symtile_session* session) {
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  float y[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  float mine[8] = {0};
  const int64_t dims[2] = {2, 4};
  const int64_t short_dims[2] = {1, 4};
  symtile_tensor inputs[2];
  symtile_tensor output = {NULL, NULL, 0, SYMTILE_F32, 0};
  symtile_profile_entry entry;
  symtile_error* error = NULL;
  inputs[0] = tensor(x, dims, sizeof x);
  inputs[1] = tensor(y, dims, 0);

  EXPECT(symtile_session_output(session, 0, &output, NULL) == SYMTILE_USER_ERROR);
  EXPECT(symtile_session_run(session, inputs, 2, &output, 1, &error) == SYMTILE_OK);
  EXPECT(error == NULL);
  EXPECT(output.rank == 2 && output.dims[0] == 2 && output.dims[1] == 4);
  EXPECT(output.bytes == sizeof mine && output.dtype == SYMTILE_F32);
  EXPECT(((float*)output.data)[7] == 17);

  output.data = mine;
  EXPECT(symtile_session_run(session, inputs, 2, &output, 1, &error) == SYMTILE_OK);
  EXPECT(output.data == mine && mine[0] == 3 && mine[7] == 17);
  EXPECT(symtile_session_run(session, inputs, 2, NULL, 0, &error) == SYMTILE_OK);
  EXPECT(symtile_session_output(session, 0, &output, &error) == SYMTILE_OK);
  EXPECT(((float*)output.data)[0] == 3);
  EXPECT(symtile_session_output(session, 1, &output, NULL) == SYMTILE_USER_ERROR);

  inputs[1] = tensor(y, short_dims, sizeof y);
  EXPECT(symtile_session_run(session, inputs, 2, NULL, 0, &error) == SYMTILE_USER_ERROR);
  EXPECT(symtile_error_status(error) == SYMTILE_USER_ERROR);
  EXPECT(strstr(symtile_error_message(error), "input 'y': dimension 0 is 1") != NULL);
  symtile_error_free(error);
  inputs[1] = tensor(y, dims, sizeof y - 1);
  EXPECT(symtile_session_run(session, inputs, 2, NULL, 0, &error) == SYMTILE_USER_ERROR);
  EXPECT(strstr(symtile_error_message(error), "its memory has 31") != NULL);
  symtile_error_free(error);
  EXPECT(symtile_session_run(session, inputs, 1, NULL, 0, NULL) == SYMTILE_USER_ERROR);
  EXPECT(symtile_session_run(session, NULL, 2, NULL, 0, NULL) == SYMTILE_USER_ERROR);

  inputs[1] = tensor(y, dims, sizeof y);
  symtile_session_set_profiling(session, 1);
  EXPECT(symtile_session_run(session, inputs, 2, NULL, 0, NULL) == SYMTILE_OK);
  EXPECT(symtile_session_profile_count(session) == 1);
  EXPECT(symtile_session_profile(session, 0, &entry, NULL) == SYMTILE_OK);
  EXPECT(strcmp(entry.name, "add") == 0 && entry.calls == 2);
  EXPECT(symtile_session_profile(session, 1, &entry, NULL) == SYMTILE_USER_ERROR);
  EXPECT(symtile_session_threads(session) == 2);
  EXPECT(symtile_session_held_bytes(session) > 0);
  symtile_session_trim(session);
  EXPECT(symtile_session_held_bytes(session) == 0);
  return NULL;
}

const char* symtile_c_api_test(const void* artifact, size_t bytes) {
  symtile_model* model = NULL;
  symtile_session* session = NULL;
  symtile_error* error = NULL;
  symtile_session_options options = {0};
  const char* wrong;

  EXPECT(strcmp(symtile_version(), "0.1.0") == 0);
  EXPECT(strcmp(symtile_dtype_name(SYMTILE_BOOL), "bool") == 0);
  EXPECT(symtile_dtype_size(SYMTILE_F64) == 8);

  EXPECT(symtile_model_load_file("/no/such/file", NULL, &model, &error) ==
         SYMTILE_ENVIRONMENT_ERROR);
  EXPECT(model == NULL && strstr(symtile_error_message(error), "/no/such/file") != NULL);
  symtile_error_free(error);
  EXPECT(symtile_model_load_memory(artifact, bytes - 1, NULL, &model, &error) ==
         SYMTILE_USER_ERROR);
  EXPECT(strstr(symtile_error_message(error), "truncated") != NULL);
  symtile_error_free(error);
  EXPECT(symtile_model_load_memory(NULL, 5, NULL, &model, NULL) == SYMTILE_USER_ERROR);

  EXPECT(symtile_model_load_memory(artifact, bytes, NULL, &model, &error) == SYMTILE_OK);
  wrong = describe_model(model);
  if (wrong) return wrong;
  options.struct_size = sizeof options;
  options.threads = -1;
  EXPECT(symtile_session_create(model, &options, &session, NULL) == SYMTILE_USER_ERROR);
  options.threads = 2;
  EXPECT(symtile_session_create(model, &options, &session, &error) == SYMTILE_OK);
  symtile_model_free(model); /* the session keeps what it needs */
  wrong = run_session(session);
  symtile_session_free(session);
  symtile_session_free(NULL);
  return wrong;
}
