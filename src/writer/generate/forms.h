// A plan's graph and interface under the names that a module or a definition gives them.
#pragma once
#include "writer/generate/definition_text.h"
#include "writer/generate/generate.h"
#include "writer/generate/module_text.h"

namespace kw::writer::generate {

// kInternal when the form breaks a rule of its own format.
Result<ProblemForm> module_form(const Plan& plan, const std::string& name, ModuleText text);
Result<ProblemForm> definition_form(const Plan& plan, DefinitionText text);

}  // namespace kw::writer::generate
