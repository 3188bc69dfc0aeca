// kernelwright-model: the commands of the group "model". kernelwright becomes this program when one
// of them is given.
#include "kernelwright/model/commands.h"
#include "kernelwright/program.h"

int main(int argc, char** argv) {
  return kw::front::run_program(argc, argv, {&kw::front::run_model_command});
}
