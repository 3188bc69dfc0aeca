// kernelwright-data: the commands of the group "data". kernelwright becomes this program when one
// of them is given.
#include "kernelwright/data/commands.h"
#include "kernelwright/program.h"

int main(int argc, char** argv) {
  return kw::front::run_program(argc, argv, {&kw::front::run_data_command});
}
