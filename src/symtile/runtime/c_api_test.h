/* The part of the C API's test that is compiled as C99. */
#ifndef SYMTILE_RUNTIME_C_API_TEST_H_
#define SYMTILE_RUNTIME_C_API_TEST_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Loads and runs the artifact (x: f32[n, 4], y: f32[n, 4] -> 2x + y). NULL when all is well, else
 * what is not. */
const char* symtile_c_api_test(const void* artifact, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
