// The class ModelNew of a Triton candidate: its state under the problem's keys, and forward(),
// which calls run().
#pragma once
#include <string>

#include "task/signature.h"
#include "writer/loops/loops.h"

namespace kw::writer::triton {

std::string model_text(const Program& program, const task::Signature& signature);

}  // namespace kw::writer::triton
