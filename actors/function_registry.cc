#include "actors/function_registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace troupe {
namespace detail {

FunctionKey function_key(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a: fixed, so two builds agree
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return {hash};
}

}  // namespace detail

FunctionRegistry::FunctionRegistry(std::initializer_list<Registration> registrations) {
  add(registrations);
}

FunctionRegistry FunctionRegistry::with(std::initializer_list<Registration> registrations) const {
  FunctionRegistry both = *this;
  both.add(registrations);
  return both;
}

const detail::RegisteredFunction* FunctionRegistry::find(const detail::CallableKey& callable) const {
  const auto found = by_callable_.find(callable);
  return found == by_callable_.end() ? nullptr : found->second.get();
}

const detail::RegisteredFunction* FunctionRegistry::find(FunctionKey key) const { return find_shared(key).get(); }

std::shared_ptr<const detail::RegisteredFunction> FunctionRegistry::find_shared(FunctionKey key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second;
}

std::vector<std::string> FunctionRegistry::names() const {
  std::vector<std::string> names;
  for (const auto& [key, function] : by_key_) names.push_back(function->name);
  std::sort(names.begin(), names.end());
  return names;
}

void FunctionRegistry::add(std::initializer_list<Registration> registrations) {
  auto exceptions = std::make_shared<detail::ExceptionTypes>(*exceptions_);
  for (const Registration& registration : registrations) {
    if (const auto* type = std::get_if<detail::RegisteredException>(&registration.entry())) exceptions->add(*type);
    else add(std::get<detail::RegisteredFunction>(registration.entry()));
  }
  exceptions_ = std::move(exceptions);
}

void FunctionRegistry::add(detail::RegisteredFunction function) {
  if (function.name.empty()) throw std::invalid_argument("[FunctionRegistry] a function needs a name");
  function.key = detail::function_key(function.name);
  if (const auto* other = find(function.key)) {
    throw std::invalid_argument(other->name == function.name
                                    ? fmt::format("[FunctionRegistry] the name \"{}\" is given twice", function.name)
                                    : fmt::format("[FunctionRegistry] the names \"{}\" and \"{}\" have the same hash, change one",
                                                  other->name, function.name));
  }
  if (const auto* other = find(function.local_key)) {
    throw std::invalid_argument(fmt::format("[FunctionRegistry] one callable under two names: \"{}\" and \"{}\"",
                                            other->name, function.name));
  }
  const auto added = std::make_shared<const detail::RegisteredFunction>(std::move(function));
  by_callable_.emplace(added->local_key, added);
  by_key_.emplace(added->key, added);
}

}  // namespace troupe
