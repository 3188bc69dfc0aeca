// silu(gate) * up after a matmul of another library; our own has it in its last stage.
// F = KW_INTERMEDIATE.
// in: [rows, 2 F], gate then up; bias: [2 F] or null; out: [rows, F].
KW_KERNEL __launch_bounds__(256)
    kw_silu(const float* in, const float* bias, Activation* out, i64 fours) {
  let_next_kernel_start();
  wait_for_previous_kernel();
  constexpr int kFours = KW_INTERMEDIATE / 4;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < fours; i += (i64)gridDim.x * 256) {
    const i64 row = i / kFours;
    const int at = (int)(i - row * kFours) * 4;
    const float* gates = in + row * 2 * KW_INTERMEDIATE + at;
    float4 gate = __ldcg((const float4*)gates);
    float4 up = __ldcg((const float4*)(gates + KW_INTERMEDIATE));
    if (bias != nullptr) {
      gate = plus(gate, __ldg((const float4*)(bias + at)));
      up = plus(up, __ldg((const float4*)(bias + KW_INTERMEDIATE + at)));
    }
    store_activations(out + row * KW_INTERMEDIATE + at,
                      make_float4(silu(gate.x) * up.x, silu(gate.y) * up.y, silu(gate.z) * up.z,
                                  silu(gate.w) * up.w));
  }
}
