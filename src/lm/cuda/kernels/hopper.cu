// The additions of compute capability 9.0: boxes of a matrix that the copy engine copies, barriers
// that count their bytes, clusters of blocks, and matmuls of a warpgroup.

// A matrix of bfloat16 in device memory and the size of a box, as cuTensorMapEncodeTiled encodes
// them.
struct __align__(128) TensorMap {
  u64 opaque[16];
};

__device__ __forceinline__ void barrier_begin(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void barriers_have_begun() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
// One arrival. The barrier's phase ends when all threads and all bytes have arrived.
__device__ __forceinline__ void barrier_arrive(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void barrier_wait(u32 barrier, u32 phase) {
  asm volatile(
      "{\n.reg .pred done;\nagain_%=:\n"
      "mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
      "@!done bra again_%=;\n}" ::"r"(barrier),
      "r"(phase)
      : "memory");
}

__device__ __forceinline__ void prefetch_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}
// A box of 64 columns (128 bytes), zeros beyond the matrix, to a multiple of 1024 bytes: a row is
// 128 bytes, its pieces of 16 exchanged as the 128-byte swizzle has it.
__device__ __forceinline__ void copy_box(u32 shared, const TensorMap& map, int column, int row,
                                         u32 barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
      "%3}], [%4];" ::"r"(shared),
      "l"(&map), "r"(column), "r"(row), "r"(barrier)
      : "memory");
}
// The place of 8 columns of a row in a box.
__device__ __forceinline__ u32 place_of(int row, int piece) {
  return row * 128 + ((piece ^ (row & 7)) << 4);
}

__device__ __forceinline__ void arrive_at_cluster() {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}
// For a block that shows nothing to the others, and only says that it has read them.
__device__ __forceinline__ void arrive_at_cluster_after_reading() {
  asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
}
__device__ __forceinline__ void wait_for_cluster() {
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}
// A load from the shared memory of the cluster's block `rank`.
__device__ __forceinline__ float4 load_from_block(u32 shared, int rank) {
  u32 there;
  float4 v;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared), "r"(rank));
  asm volatile("ld.shared::cluster.v4.f32 {%0,%1,%2,%3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(there)
               : "memory");
  return v;
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define KW_WGMMA 1

// Matmuls of 64 rows by some columns, both sides in shared memory as copy_box leaves them. By a
// warpgroup: warp w has rows 16 w to 16 w + 15, and of these a lane has what it has of
// mma.m16n8k16's results. PTX ISA, "Asynchronous warpgroup level matrix instructions".

// Of a matrix at a multiple of 1024 bytes, 8 rows every 1024 bytes; or, 32 bytes on, of its next 16
// of k.
__device__ __forceinline__ u64 matrix_descriptor(u32 shared) {
  constexpr u64 kSwizzle128 = 1ull << 62, kEightRows = (u64)(1024 >> 4) << 32;
  return kSwizzle128 | kEightRows | 1ull << 16 | ((shared & 0x3ffff) >> 4);
}

#define KW_NUMBERS_0 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
#define KW_NUMBERS_1 "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define KW_NUMBERS_2 "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47"
#define KW_NUMBERS_3 "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define KW_NUMBERS_4 "%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79"
#define KW_NUMBERS_5 "%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define KW_EIGHT_COLUMNS(b) "+f"(c[b][0]), "+f"(c[b][1]), "+f"(c[b][2]), "+f"(c[b][3])
#define KW_COLUMNS_32(b)                                                             \
  KW_EIGHT_COLUMNS(4 * b), KW_EIGHT_COLUMNS(4 * b + 1), KW_EIGHT_COLUMNS(4 * b + 2), \
      KW_EIGHT_COLUMNS(4 * b + 3)

// c [64, N] = a [64, 16] b [N, 16]^T, or this added to c; N = 8 times the size of c.
#define KW_WARPGROUP_MULTIPLY(N, NUMBERS, A, B, ADDS, ...)                                    \
  __device__ __forceinline__ void warpgroup_multiply(float(&c)[N / 8][4], u64 a, u64 b,       \
                                                     bool adds) {                             \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " ADDS                                     \
                 ", 0;\n"                                                                     \
                 "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.bf16.bf16 {" NUMBERS "}, " A \
                 ", " B ", p, 1, 1, 0, 0;\n}"                                                 \
                 : __VA_ARGS__                                                                \
                 : "l"(a), "l"(b), "r"((u32)adds));                                           \
  }
KW_WARPGROUP_MULTIPLY(64, KW_NUMBERS_0 "," KW_NUMBERS_1, "%32", "%33", "%34", KW_COLUMNS_32(0),
                      KW_COLUMNS_32(1))
KW_WARPGROUP_MULTIPLY(96, KW_NUMBERS_0 "," KW_NUMBERS_1 "," KW_NUMBERS_2, "%48", "%49", "%50",
                      KW_COLUMNS_32(0), KW_COLUMNS_32(1), KW_COLUMNS_32(2))
KW_WARPGROUP_MULTIPLY(128, KW_NUMBERS_0 "," KW_NUMBERS_1 "," KW_NUMBERS_2 "," KW_NUMBERS_3, "%64",
                      "%65", "%66", KW_COLUMNS_32(0), KW_COLUMNS_32(1), KW_COLUMNS_32(2),
                      KW_COLUMNS_32(3))
KW_WARPGROUP_MULTIPLY(192,
                      KW_NUMBERS_0 "," KW_NUMBERS_1 "," KW_NUMBERS_2 "," KW_NUMBERS_3
                                   "," KW_NUMBERS_4 "," KW_NUMBERS_5,
                      "%96", "%97", "%98", KW_COLUMNS_32(0), KW_COLUMNS_32(1), KW_COLUMNS_32(2),
                      KW_COLUMNS_32(3), KW_COLUMNS_32(4), KW_COLUMNS_32(5))

__device__ __forceinline__ void warpgroup_begin() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void warpgroup_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// It waits for all that was committed but the last kPending.
template <int kPending>
__device__ __forceinline__ void warpgroup_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
#else
#define KW_WGMMA 0
template <int kPending>
__device__ __forceinline__ void warpgroup_wait() {}
#endif
