// A candidate of executor_test.cc that needs a symbol which nobody has.
extern "C" void nowhere_defined();
extern "C" void kw_call(void*, void* const*) {
  nowhere_defined();
}
