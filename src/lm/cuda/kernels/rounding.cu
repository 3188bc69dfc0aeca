// Arithmetic that several kernels do on the same numbers, to the same bits. A compiler makes one
// rounding of a product and a sum where it likes, in each kernel anew: of two products that are
// added it may fuse the one or the other. So fused products are written out here.
__device__ __forceinline__ float sum_of_squares(float4 v) {
  return fmaf(v.w, v.w, fmaf(v.z, v.z, fmaf(v.y, v.y, v.x * v.x)));
}

__device__ __forceinline__ float sum_of_squares(float a, float b) {
  return fmaf(a, a, b * b);
}

// The pair (a, b) turned by an angle.
__device__ __forceinline__ float2 rotated(float a, float b, float cosine, float sine) {
  return make_float2(fmaf(a, cosine, -(b * sine)), fmaf(b, cosine, a * sine));
}

__device__ __forceinline__ float scaled_plus(float x, float factor, float bias) {
  return fmaf(x, factor, bias);
}
