// Embeds a file outside its sandbox through the assembler.
// expect: compile_error
// class: I04, I05
asm(".section .rodata\nsecret: .incbin \"@SECRET@\"\n.text\n");

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
