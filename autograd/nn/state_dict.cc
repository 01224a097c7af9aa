#include "autograd/nn/state_dict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/error.h"

namespace troupe::nn {
namespace {

std::string kind_of(const Tensor& x) {
  return x.defined() ? fmt::format("{} {}", name_of(x.dtype()), to_string(x.shape())) : "undefined";
}

/// What is wrong with a state, in the order in which it is said.
struct Misfits {
  std::vector<std::string> missing;
  std::vector<std::string> unexpected;
  std::vector<std::string> twice;
  std::vector<std::string> different;

  [[nodiscard]] std::string text() const {
    std::vector<std::string> parts;
    const auto list = [&](const char* what, const std::vector<std::string>& names) {
      if (!names.empty()) parts.push_back(fmt::format("{}: {}", what, fmt::join(names, ", ")));
    };
    list("missing", missing);
    list("unexpected", unexpected);
    list("given twice", twice);
    parts.insert(parts.end(), different.begin(), different.end());
    return fmt::format("{}", fmt::join(parts, "; "));
  }
};

}  // namespace

NamedTensors state_dict(const Module& module) {
  NamedTensors state;
  for (const auto& [name, parameter] : module.named_parameters()) state.emplace_back(name, parameter.value());
  return state;
}

void load_state_dict(Module& module, const NamedTensors& state) {
  Misfits misfits;
  std::map<std::string_view, const Tensor*> left;  // not asked for yet
  for (const auto& [name, value] : state) {
    if (!left.emplace(name, &value).second) misfits.twice.push_back(name);
  }
  std::vector<std::pair<Variable, const Tensor*>> assignments;
  for (const auto& [name, parameter] : module.named_parameters()) {
    const auto found = left.find(name);
    if (found == left.end()) {
      misfits.missing.push_back(name);
      continue;
    }
    const std::string is = kind_of(*found->second);
    const std::string wanted = kind_of(parameter.value());
    if (is != wanted) misfits.different.push_back(fmt::format("{} is {}, not {}", name, is, wanted));
    assignments.emplace_back(parameter, found->second);
    left.erase(found);
  }
  for (const auto& [name, value] : left) misfits.unexpected.emplace_back(name);
  if (const std::string text = misfits.text(); !text.empty()) {
    throw ValueError(fmt::format("[load_state_dict] {}", text));
  }
  for (const auto& [parameter, value] : assignments) parameter.set_value(value->to(parameter.device()).clone());
}

}  // namespace troupe::nn
