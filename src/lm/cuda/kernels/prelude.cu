// All kernels share this file. NVRTC compiles it in front of each of the others, without a header.
// KW_F32: float32 weights, activations, keys and values; otherwise bfloat16.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#if KW_F32
typedef float Weight;
#else
typedef u16 Weight;  // bfloat16: the upper half of a float32
#endif
typedef Weight Activation;
typedef Weight KvElement;

#define KW_KERNEL extern "C" __global__ void
#define KW_NEGATIVE_INFINITY __int_as_float(0xff800000)

constexpr float kLog2E = 1.4426950408889634f;

// Programmatic dependent launch. Every thread of every kernel waits before it touches what kernels
// before it wrote, and before it ends: a kernel that is complete then means that all before it are.
__device__ __forceinline__ void wait_for_previous_kernel() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
__device__ __forceinline__ void let_next_kernel_start() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

__device__ __forceinline__ float widened(u16 bits) {
  return __uint_as_float((u32)bits << 16);
}
__device__ __forceinline__ float widened(float value) {
  return value;
}

__device__ __forceinline__ u16 bf16_of(float value) {  // to nearest, ties to even
  u16 out;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(out) : "f"(value));
  return out;
}
// Two of them in one word, `low` in the lower half.
__device__ __forceinline__ u32 bf16_pair(float low, float high) {
  u32 out;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
  return out;
}
__device__ __forceinline__ float low_of(u32 pair) {
  return __uint_as_float(pair << 16);
}
__device__ __forceinline__ float high_of(u32 pair) {
  return __uint_as_float(pair & 0xffff0000u);
}

// A float32 number as the sum of two bfloat16 numbers (16 bits of its 24): matmuls of both with a
// bfloat16 matrix are as good as those of the number itself. A product that a is stays rounded.
__device__ __forceinline__ void split_pair(float a, float b, u32& upper, u32& rest) {
  upper = bf16_pair(a, b);
  rest = bf16_pair(__fsub_rn(a, low_of(upper)), __fsub_rn(b, high_of(upper)));
}

__device__ __forceinline__ void store_activations(float* to, float4 v) {
  *(float4*)to = v;
}
__device__ __forceinline__ void store_activations(u16* to, float4 v) {
  *(uint2*)to = make_uint2(bf16_pair(v.x, v.y), bf16_pair(v.z, v.w));
}
__device__ __forceinline__ void store_one(float* to, float v) {
  *to = v;
}
__device__ __forceinline__ void store_one(u16* to, float v) {
  *to = bf16_of(v);
}
__device__ __forceinline__ float4 load_four(const float* from) {
  return *(const float4*)from;
}
__device__ __forceinline__ float4 load_four(const u16* from) {
  uint2 two = *(const uint2*)from;
  return make_float4(low_of(two.x), high_of(two.x), low_of(two.y), high_of(two.y));
}
__device__ __forceinline__ float4 plus(float4 a, float4 b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

__device__ __forceinline__ float exp2_of(float x) {
  float out;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}
__device__ __forceinline__ float silu(float x) {
  return x / (1.0f + exp2_of(-x * kLog2E));
}

// Every lane adds in the same order.
__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(0xffffffffu, v, step);
  return v;
}
__device__ __forceinline__ double warp_sum(double v) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(0xffffffffu, v, step);
  return v;
}
__device__ __forceinline__ float warp_max(float v) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, step));
  return v;
}

// All threads call it; `scratch` has one element a warp, and is free again when it returns.
template <int kWarps, typename T>
__device__ __forceinline__ T block_sum(T v, T* scratch) {
  v = warp_sum(v);
  if ((threadIdx.x & 31) == 0) scratch[threadIdx.x >> 5] = v;
  __syncthreads();
  T out = scratch[0];
#pragma unroll
  for (int i = 1; i < kWarps; ++i) out += scratch[i];
  __syncthreads();
  return out;
}
template <int kWarps>
__device__ __forceinline__ float block_max(float v, float* scratch) {
  v = warp_max(v);
  if ((threadIdx.x & 31) == 0) scratch[threadIdx.x >> 5] = v;
  __syncthreads();
  float out = scratch[0];
#pragma unroll
  for (int i = 1; i < kWarps; ++i) out = fmaxf(out, scratch[i]);
  __syncthreads();
  return out;
}

__device__ __forceinline__ u32 shared_address(const void* pointer) {
  return (u32)__cvta_generic_to_shared(pointer);
}
// 16 bytes from device memory to shared memory, past L1.
__device__ __forceinline__ void copy_async(u32 shared, const void* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global) : "memory");
}
// The same, or zeros without reading anything.
__device__ __forceinline__ void copy_async_or_zero(u32 shared, const void* global, bool copies) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global),
               "r"(copies ? 16 : 0)
               : "memory");
}
__device__ __forceinline__ void copy_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int kPending>
__device__ __forceinline__ void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// Fragments of mma.m16n8k16 (PTX ISA, "Matrix fragments"): lane l of a warp has, with g = l / 4 and
// t = l % 4, of A [16, 16] rows g and g + 8, of B [16, 8] column g, of C [16, 8] rows g and g + 8,
// columns 2 t and 2 t + 1.
__device__ __forceinline__ void load_matrices(u32 (&r)[4], u32 shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared)
               : "memory");
}
__device__ __forceinline__ void load_matrices_transposed(u32 (&r)[4], u32 shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared)
               : "memory");
}
__device__ __forceinline__ void multiply_add(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
