// kernelwright: the front program. It links no torch and starts in milliseconds.
#include "kernelwright/eval/commands.h"
#include "kernelwright/program.h"

int main(int argc, char** argv) {
  return kw::front::run_program(argc, argv, {&kw::front::run_eval_command});
}
