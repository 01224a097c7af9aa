#include "autograd/nn/module.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>
#include <typeinfo>

#include "tensor/error.h"

namespace troupe::nn {
namespace {

/// Removes repeated variables, keeping the first of each.
NamedVariables each_once(NamedVariables all) {
  std::set<const void*> seen;
  std::erase_if(all, [&](const auto& named) { return !seen.insert(named.second.id()).second; });
  return all;
}

/// Returns whether the module at `path` is the one at `other` or one of its parts.
bool is_inside(std::string_view path, std::string_view other) {
  return other.empty() || path == other || (path.starts_with(other) && path[other.size()] == '.');
}

/// "Linear" of "troupe::nn::Linear", "Pair<a::B>" of "(anonymous namespace)::Pair<a::B>".
std::string without_namespaces(const std::string& name) {
  std::size_t begin = 0;
  int depth = 0;  // of brackets: text inside them is kept
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<' || name[i] == '(') ++depth;
    if (name[i] == '>' || name[i] == ')') --depth;
    if (depth == 0 && name.compare(i, 2, "::") == 0) begin = i + 2;
  }
  return name.substr(begin);
}

}  // namespace

Module::Module() = default;

Module::~Module() = default;

std::string Module::kind() const {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(typeid(*this).name(), nullptr, nullptr, &status), &std::free);
  return without_namespaces(status == 0 ? name.get() : typeid(*this).name());
}

std::vector<Variable> Module::parameters() const {
  std::vector<Variable> all;
  for (auto& [name, parameter] : named_parameters()) all.push_back(parameter);
  return all;
}

NamedVariables Module::named_parameters() const {
  NamedVariables all;
  for (const auto& [path, module] : tree()) {
    for (const auto& [name, parameter] : module->parameters_) all.emplace_back(path + name, parameter);
  }
  return each_once(std::move(all));
}

NamedVariables Module::named_buffers() const {
  NamedVariables all;
  for (const auto& [path, module] : tree()) {
    for (const auto& [name, buffer] : module->buffers_) all.emplace_back(path + name, buffer.value);
  }
  return each_once(std::move(all));
}

NamedVariables Module::named_state() const {
  NamedVariables all;
  for (const auto& [path, module] : tree()) {
    for (const auto& [name, parameter] : module->parameters_) all.emplace_back(path + name, parameter);
    for (const auto& [name, buffer] : module->buffers_) {
      if (buffer.persistent == Persistent::yes) all.emplace_back(path + name, buffer.value);
    }
  }
  return all;
}

std::vector<std::pair<std::string, Generator*>> Module::named_generators() {
  std::vector<std::pair<std::string, Generator*>> all;
  for (const auto& [path, module] : named_modules()) {
    for (const auto& [name, generator] : module->generators_)
      all.emplace_back(path.empty() ? name : path + "." + name, generator);
  }
  return all;
}

std::vector<std::pair<std::string, Module*>> Module::named_modules() {
  std::vector<std::pair<std::string, Module*>> all;
  // This module is not const here, and every part is owned as a non-const Module.
  for (const auto& [path, module] : std::as_const(*this).named_modules()) {
    all.emplace_back(path, const_cast<Module*>(module));
  }
  return all;
}

std::vector<std::pair<std::string, const Module*>> Module::named_modules() const {
  std::vector<std::pair<std::string, const Module*>> all;
  std::set<const Module*> seen;
  for (const auto& [path, module] : tree()) {
    if (seen.insert(module).second) all.emplace_back(path.substr(0, path.rfind('.')), module);
  }
  return all;
}

std::vector<std::pair<std::string, const Module*>> Module::tree() const {
  std::vector<std::pair<std::string, const Module*>> all;
  std::vector<std::pair<std::string, const Module*>> to_visit{{"", this}};
  while (!to_visit.empty()) {
    all.push_back(std::move(to_visit.back()));
    to_visit.pop_back();
    const auto& [path, module] = all.back();
    for (auto part = module->parts_.rbegin(); part != module->parts_.rend(); ++part) {
      to_visit.emplace_back(path + part->first + ".", part->second.get());
    }
  }
  return all;
}

void Module::apply(const std::function<void(Module&)>& visit) {
  std::vector<std::pair<std::string, Module*>> open;  // modules whose parts are not all visited
  const auto close = [&] {
    visit(*open.back().second);
    open.pop_back();
  };
  for (auto& named : named_modules()) {
    while (!open.empty() && !is_inside(named.first, open.back().first)) close();
    open.push_back(std::move(named));
  }
  while (!open.empty()) close();
}

void Module::set_requires_grad(RequiresGrad requires_grad) {
  for (const Variable& parameter : parameters()) parameter.set_requires_grad(requires_grad);
}

void Module::to(Device device) {
  convert([device](const Tensor& x) { return x.to(device); });
}

void Module::to(DType dtype) {
  if (!is_floating(dtype)) throw DTypeError(fmt::format("[to] not a floating dtype: {}", name_of(dtype)));
  convert([dtype](const Tensor& x) { return is_floating(x.dtype()) ? x.to(dtype) : x; });
}

void Module::convert(const std::function<Tensor(const Tensor&)>& converted) {
  NamedVariables all = named_parameters();
  for (auto& buffer : named_buffers()) all.push_back(std::move(buffer));
  std::vector<Tensor> values;
  values.reserve(all.size());
  for (const auto& [name, variable] : all) values.push_back(converted(variable.value()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i].second.convert_value(std::move(values[i]));
}

Device Module::device() const {
  const Variable* first = first_parameter();
  if (first == nullptr) first = first_buffer();
  return first != nullptr ? first->device() : Device::cpu();
}

const Variable* Module::first_parameter() const {
  if (!parameters_.empty()) return &parameters_.front().second;
  for (const auto& [name, part] : parts_) {
    if (const Variable* found = part->first_parameter()) return found;
  }
  return nullptr;
}

const Variable* Module::first_buffer() const {
  if (!buffers_.empty()) return &buffers_.front().second.value;
  for (const auto& [name, part] : parts_) {
    if (const Variable* found = part->first_buffer()) return found;
  }
  return nullptr;
}

void Module::set_mode(Mode mode) {
  for (const auto& [path, module] : named_modules()) module->mode_ = mode;
}

Variable Module::add_parameter(std::string name, Tensor initial) {
  check_name(name);
  Variable parameter(std::move(initial), RequiresGrad::yes);
  names_.insert(name);
  return parameters_.emplace_back(std::move(name), std::move(parameter)).second;
}

Variable Module::share_parameter(std::string name, Variable parameter) {
  check_name(name);
  if (!parameter.defined() || !parameter.is_leaf()) throw ValueError(fmt::format("[nn] not a leaf: {}", name));
  names_.insert(name);
  return parameters_.emplace_back(std::move(name), std::move(parameter)).second;
}

Variable Module::add_buffer(std::string name, Tensor initial, Persistent persistent) {
  check_name(name);
  const Variable value(std::move(initial));
  names_.insert(name);
  buffers_.emplace_back(std::move(name), Buffer{value, persistent});
  return value;
}

void Module::add_generator(std::string name, Generator& generator) {
  check_name(name);
  names_.insert(name);
  generators_.emplace_back(std::move(name), &generator);
}

void Module::adopt(std::string name, std::shared_ptr<Module> part) {
  check_name(name);
  if (!part) throw ValueError(fmt::format("[nn] no module for the name: {}", name));
  names_.insert(name);
  parts_.emplace_back(std::move(name), std::move(part));
}

void Module::check_name(const std::string& name) const {
  if (name.empty() || name.find('.') != std::string::npos) throw ValueError(fmt::format("[nn] not a name: {}", name));
  if (names_.contains(name)) throw ValueError(fmt::format("[nn] name given twice: {}", name));
}

}  // namespace troupe::nn
