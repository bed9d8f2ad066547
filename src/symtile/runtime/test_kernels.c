/* Kernels for the runtime's tests, built as a shared object with the ABI of compiled ones. */
#include <stdint.h>
#include <string.h>

#define KERNEL(name)                                                                             \
  __attribute__((visibility("default"))) void name(void* const* buffers, const int64_t* symbols, \
                                                   void* scratch, int64_t begin, int64_t end)

/* out[i] = a[i] + b[i], parallel over elements */
KERNEL(add) {
  const float* a = buffers[0];
  const float* b = buffers[1];
  float* out = buffers[2];
  (void)symbols, (void)scratch;
  for (int64_t i = begin; i < end; ++i) out[i] = a[i] + b[i];
}

/* out[r] = sum of row r of in[rows, columns]; copies the row through scratch; symbols: columns */
KERNEL(row_sum) {
  const float* in = buffers[0];
  float* out = buffers[1];
  float* row = scratch;
  const int64_t columns = symbols[0];
  for (int64_t r = begin; r < end; ++r) {
    float sum = 0;
    memcpy(row, in + r * columns, (size_t)columns * sizeof(float));
    for (int64_t c = 0; c < columns; ++c) sum += row[c];
    out[r] = (uintptr_t)scratch % 64 == 0 ? sum : -1;
  }
}

/* out = in + 1, one i64 */
KERNEL(increment) {
  (void)symbols, (void)scratch, (void)begin, (void)end;
  *(int64_t*)buffers[1] = *(const int64_t*)buffers[0] + 1;
}

/* out = in < symbol, one bool */
KERNEL(less) {
  (void)scratch, (void)begin, (void)end;
  *(uint8_t*)buffers[1] = *(const int64_t*)buffers[0] < symbols[0];
}
