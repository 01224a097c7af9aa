#include "autograd/nn/state_dict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/error.h"

namespace troupe::nn {
namespace {

std::string kind_of(const Tensor& x) {
  return x.defined() ? fmt::format("{} {}", name_of(x.dtype()), to_string(x.shape())) : "undefined";
}

/// Lists the errors of a state, in the order of the error text.
std::string misfits(const LoadResult& names, const std::vector<std::string>& twice,
                    const std::vector<std::string>& different) {
  std::vector<std::string> parts;
  const auto list = [&](const char* what, const std::vector<std::string>& named) {
    if (!named.empty()) parts.push_back(fmt::format("{}: {}", what, fmt::join(named, ", ")));
  };
  list("missing", names.missing);
  list("unexpected", names.unexpected);
  list("given twice", twice);
  parts.insert(parts.end(), different.begin(), different.end());
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

NamedTensors state_dict(const Module& module) {
  NamedTensors state;
  for (const auto& [name, variable] : module.named_state()) state.emplace_back(name, variable.value());
  return state;
}

LoadResult load_state_dict(Module& module, const NamedTensors& state, Strict strict) {
  LoadResult result;
  std::vector<std::string> twice;
  std::vector<std::string> different;
  std::map<std::string_view, const Tensor*> left;  // state values not matched yet
  for (const auto& [name, value] : state) {
    if (!left.emplace(name, &value).second) twice.push_back(name);
  }
  std::vector<std::pair<Variable, const Tensor*>> assignments;
  for (const auto& [name, variable] : module.named_state()) {
    const auto found = left.find(name);
    if (found == left.end()) {
      result.missing.push_back(name);
      continue;
    }
    const std::string is = kind_of(*found->second);
    const std::string wanted = kind_of(variable.value());
    if (is != wanted) different.push_back(fmt::format("{} is {}, not {}", name, is, wanted));
    assignments.emplace_back(variable, found->second);
    left.erase(found);
  }
  for (const auto& [name, value] : left) result.unexpected.emplace_back(name);
  const std::string text = misfits(strict == Strict::yes ? result : LoadResult{}, twice, different);
  if (!text.empty()) throw ValueError(fmt::format("[load_state_dict] {}", text));
  const auto copy_of = [](const auto& assignment) { return assignment.second->to(assignment.first.device()).clone(); };
  std::vector<Tensor> copies;  // all of them before the first is set: memory may run out
  copies.reserve(assignments.size());
  try {
    for (const auto& assignment : assignments) copies.push_back(copy_of(assignment));
  } catch (const DeviceMemoryError&) {  // no room for two of each: each takes the place of the former value
    copies.clear();
  }
  const bool has_all = copies.size() == assignments.size();
  for (std::size_t i = 0; i < assignments.size(); ++i)
    assignments[i].first.set_value(has_all ? std::move(copies[i]) : copy_of(assignments[i]));
  return result;
}

}  // namespace troupe::nn
