#include "autograd/nn/module.h"

#include <fmt/format.h>

#include "tensor/error.h"

namespace troupe::nn {
namespace {

/// Calls `visit(path, module)` for `root` and all its parts, parts after what they are a part of.
/// `parts_of(module)` lists a module's parts.
template <class M, class PartsOf, class Visit>
void walk(M& root, PartsOf parts_of, Visit visit) {
  std::vector<std::pair<std::string, M*>> to_visit{{"", &root}};
  while (!to_visit.empty()) {
    auto [path, module] = std::move(to_visit.back());
    to_visit.pop_back();
    visit(path, *module);
    const auto& parts = parts_of(*module);
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      to_visit.emplace_back(path + part->first + ".", part->second.get());
    }
  }
}

}  // namespace

std::vector<Variable> Module::parameters() const {
  std::vector<Variable> all;
  for (auto& [name, parameter] : named_parameters()) all.push_back(parameter);
  return all;
}

std::vector<std::pair<std::string, Variable>> Module::named_parameters() const {
  std::vector<std::pair<std::string, Variable>> all;
  walk(
      *this, [](const Module& m) -> auto& { return m.parts_; },
      [&](const std::string& path, const Module& module) {
        for (const auto& [name, parameter] : module.parameters_) all.emplace_back(path + name, parameter);
      });
  return all;
}

void Module::set_mode(Mode mode) {
  walk(
      *this, [](Module & m) -> auto& { return m.parts_; },
      [mode](const std::string&, Module& module) { module.mode_ = mode; });
}

Variable Module::add_parameter(std::string name, Tensor initial) {
  check_name(name);
  return parameters_.emplace_back(std::move(name), Variable(std::move(initial), RequiresGrad::yes)).second;
}

void Module::adopt(std::string name, std::shared_ptr<Module> part) {
  check_name(name);
  if (!part) throw ValueError(fmt::format("[nn] no module for the name: {}", name));
  parts_.emplace_back(std::move(name), std::move(part));
}

void Module::check_name(const std::string& name) const {
  if (name.empty() || name.find('.') != std::string::npos) throw ValueError(fmt::format("[nn] not a name: {}", name));
  bool taken = false;
  for (const auto& [other, parameter] : parameters_) taken = taken || other == name;
  for (const auto& [other, part] : parts_) taken = taken || other == name;
  if (taken) throw ValueError(fmt::format("[nn] name given twice: {}", name));
}

}  // namespace troupe::nn
