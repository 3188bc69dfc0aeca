// Makes the compiler print without end.
// expect: compile_error
// class: I10
#define A(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x)
#define B(x) C(x) C(x) C(x) C(x) C(x) C(x) C(x) C(x)
#define C(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x)
#define D(x) undeclared_##x(1);

extern "C" void run(const float* x, float* y) {
  A(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa)
}
