// Arrays are made and compared here.

// New weights in their place. They are normally distributed, each a function of the seed, the
// tensor's number and its own.
KW_KERNEL __launch_bounds__(256)
    kw_initial(Weight* out, i64 size, u64 seed, u32 tensor, float deviation) {
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i * 4 < size; i += (i64)gridDim.x * 256) {
    // Philox4x32-10; two pairs of Box and Muller.
    u32 c[4] = {(u32)i, (u32)((u64)i >> 32), tensor, 0x6b77u}, k0 = (u32)seed,
        k1 = (u32)(seed >> 32);
#pragma unroll
    for (int round = 0; round < 10; ++round) {
      const u32 low0 = 0xD2511F53u * c[0], high0 = __umulhi(0xD2511F53u, c[0]);
      const u32 low1 = 0xCD9E8D57u * c[2], high1 = __umulhi(0xCD9E8D57u, c[2]);
      c[0] = high1 ^ c[1] ^ k0;
      c[1] = low1;
      c[2] = high0 ^ c[3] ^ k1;
      c[3] = low0;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      const float u = ((float)(c[2 * pair] >> 8) + 0.5f) * 0x1.0p-24f;
      const float angle = (float)(c[2 * pair + 1] >> 8) * 0x1.0p-23f;  // in units of pi
      const float radius = deviation * sqrtf(-2.0f * logf(u));
      float s, co;
      sincospif(angle, &s, &co);
      const i64 at = i * 4 + pair * 2;
      if (at < size) store_one(out + at, radius * co);
      if (at + 1 < size) store_one(out + at + 1, radius * s);
    }
  }
}

KW_KERNEL __launch_bounds__(256) kw_fill(float* out, i64 size, float value) {
  let_next_kernel_start();
  wait_for_previous_kernel();
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < size; i += (i64)gridDim.x * 256)
    out[i] = value;
}

// Adds to *sum what tells arrays apart that differ anywhere; integers, whose sum has no order.
KW_KERNEL __launch_bounds__(256) kw_checksum(const u32* words, i64 count, u64* sum) {
  u64 mine = 0;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < count; i += (i64)gridDim.x * 256) {
    // The last steps of MurmurHash3, of the word and its place.
    u64 h = ((u64)i << 32) ^ ((u64)i >> 32) ^ words[i];
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdull;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53ull;
    mine += h ^ (h >> 33);
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) mine += __shfl_xor_sync(0xffffffffu, mine, step);
  if ((threadIdx.x & 31) == 0) atomicAdd((unsigned long long*)sum, (unsigned long long)mine);
}
