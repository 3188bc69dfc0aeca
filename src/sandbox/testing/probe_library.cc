// A shared object that a probe loads from a memory file.
extern "C" int kw_probe_answer() {
  return 42;
}
