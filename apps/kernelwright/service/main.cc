// kernelwright-service: the commands of the group "service". kernelwright becomes this program when
// one of them is given.
#include "kernelwright/program.h"
#include "kernelwright/service/commands.h"

int main(int argc, char** argv) {
  return kw::front::run_program(argc, argv, {&kw::front::run_service_command});
}
