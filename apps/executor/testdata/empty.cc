// A candidate of executor_test.cc without the entry point.
extern "C" int something_else() {
  return 1;
}
