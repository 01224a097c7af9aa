#include "actors/calls/function_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace troupe::detail {

FunctionKey function_key(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a: fixed, so two builds agree
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return {hash};
}

FunctionTable::FunctionTable() : exceptions_(std::make_shared<const ExceptionTypes>()) {}

void FunctionTable::add(RegisteredFunction function) {
  if (function.name.empty()) throw std::invalid_argument("[FunctionRegistry] a function needs a name");
  function.key = function_key(function.name);
  if (const auto* other = find(function.key)) {
    throw std::invalid_argument(
        other->name == function.name
            ? fmt::format("[FunctionRegistry] the name \"{}\" is given twice", function.name)
            : fmt::format("[FunctionRegistry] the names \"{}\" and \"{}\" have the same hash, change one", other->name,
                          function.name));
  }
  if (const auto* other = find(function.local_key)) {
    throw std::invalid_argument(
        fmt::format("[FunctionRegistry] one callable under two names: \"{}\" and \"{}\"", other->name, function.name));
  }
  const auto added = std::make_shared<const RegisteredFunction>(std::move(function));
  by_callable_.emplace(added->local_key, added);
  by_key_.emplace(added->key, added);
}

void FunctionTable::add(const RegisteredException& type) {
  auto exceptions = std::make_shared<ExceptionTypes>(*exceptions_);
  exceptions->add(type);
  exceptions_ = std::move(exceptions);
}

const RegisteredFunction* FunctionTable::find(const CallableKey& callable) const {
  if (const auto found = by_callable_.find(callable); found != by_callable_.end()) return found->second.get();
  return common_ != nullptr ? common_->find(callable) : nullptr;
}

const RegisteredFunction* FunctionTable::find(FunctionKey key) const { return find_shared(key).get(); }

std::shared_ptr<const RegisteredFunction> FunctionTable::find_shared(FunctionKey key) const {
  if (const auto found = by_key_.find(key); found != by_key_.end()) return found->second;
  return common_ != nullptr ? common_->find_shared(key) : nullptr;
}

std::vector<std::string> FunctionTable::names() const {
  std::vector<std::string> names;
  for (const auto& [key, function] : by_key_) names.push_back(function->name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace troupe::detail
