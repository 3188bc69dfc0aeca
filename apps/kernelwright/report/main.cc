// kernelwright-report: the commands of the group "report". kernelwright becomes this program when
// one of them is given.
#include "kernelwright/program.h"
#include "kernelwright/report/commands.h"

int main(int argc, char** argv) {
  return kw::front::run_program(argc, argv, {&kw::front::run_report_command});
}
