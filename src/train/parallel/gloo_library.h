/* The C interface of libkw_gloo.so, which links Debian's libgloo: libtorch has another version of
 * gloo with the same symbols, so nothing of either may be seen by the other. All functions may be
 * called by one thread at a time. Those that return int give 0, or else another value after which
 * kw_gloo_error() has the reason. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct kw_gloo;

/* Gives this rank's bytes to all and gets those of each rank: out(to, rank, bytes, size) is called
 * for every rank. 0: done. */
typedef void (*kw_gloo_out)(void* to, int rank, const char* bytes, size_t size);
typedef int (*kw_gloo_exchange)(void* context, const char* mine, size_t size, kw_gloo_out out,
                                void* to);

/* address: of this host, where it listens for the other ranks. NULL: failed. */
struct kw_gloo* kw_gloo_open(int rank, int size, const char* address, int64_t limit_ms,
                             kw_gloo_exchange exchange, void* context);
void kw_gloo_close(struct kw_gloo* gloo);
const char* kw_gloo_error(void);

/* is_double: 1 float64, 0 float32. */
int kw_gloo_all_reduce(struct kw_gloo* gloo, void* values, size_t count, int is_double);
int kw_gloo_broadcast(struct kw_gloo* gloo, void* values, size_t bytes, int root);
/* Of numbers float32: rank r's shard is [begins[r], begins[r + 1]). Sums are taken in the order of
 * the ranks. */
int kw_gloo_reduce_scatter(struct kw_gloo* gloo, float* block, const int64_t* begins);
/* The same of bytes: begins are bytes too. */
int kw_gloo_all_gather(struct kw_gloo* gloo, char* block, const int64_t* begins);

#ifdef __cplusplus
}
#endif
