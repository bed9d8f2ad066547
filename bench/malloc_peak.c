/* Counts the bytes that a process holds from malloc and its kin, and their peak: preloaded into the
   process of a peer by bench/memory.py, which asks through the two functions at the end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

extern void* __libc_malloc(size_t);
extern void __libc_free(void*);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static _Atomic long live, peak;

static void* count(void* p) {
  if (!p) return p;
  const long size = (long)malloc_usable_size(p);
  const long now = atomic_fetch_add(&live, size) + size;
  long seen = atomic_load(&peak);
  while (now > seen && !atomic_compare_exchange_weak(&peak, &seen, now)) {
  }
  return p;
}

static void forget(void* p) {
  if (p) atomic_fetch_sub(&live, (long)malloc_usable_size(p));
}

void* malloc(size_t n) { return count(__libc_malloc(n)); }
void* calloc(size_t n, size_t size) { return count(__libc_calloc(n, size)); }
void* memalign(size_t align, size_t n) { return count(__libc_memalign(align, n)); }
void* aligned_alloc(size_t align, size_t n) { return memalign(align, n); }

int posix_memalign(void** out, size_t align, size_t n) {
  *out = memalign(align, n);
  return *out ? 0 : 12; /* ENOMEM */
}

void* realloc(void* p, size_t n) {
  forget(p);
  void* q = __libc_realloc(p, n);
  if (!q && n) {
    count(p); /* the old block is still there */
    return q;
  }
  return count(q);
}

void free(void* p) {
  forget(p);
  __libc_free(p);
}

/* The peak is counted anew from what is held now, which is returned. */
long malloc_peak_reset(void) {
  const long now = atomic_load(&live);
  atomic_store(&peak, now);
  return now;
}

long malloc_peak(void) { return atomic_load(&peak); }
