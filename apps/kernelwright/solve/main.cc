// kernelwright-solve: the commands of the group "solve". kernelwright becomes this program when one
// of them is given.
#include "kernelwright/program.h"
#include "kernelwright/solve/commands.h"

int main(int argc, char** argv) {
  return kw::front::run_program(argc, argv, {&kw::front::run_solve_command});
}
