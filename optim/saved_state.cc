#include "optim/saved_state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "tensor/error.h"

namespace troupe::optim {

SavedState::SavedState(const NamedTensors& tensors, std::string prefix) : prefix_(std::move(prefix)) {
  for (const auto& [name, tensor] : tensors) {
    if (!name.starts_with(prefix_)) continue;
    if (!tensor.defined()) {
      complaints_.push_back(name + " is undefined");
    } else if (!left_.emplace(name.substr(prefix_.size()), tensor).second) {
      twice_.push_back(name);
    }
  }
}

Tensor SavedState::take(const std::string& name) {
  Tensor taken = take_if_there(name);
  if (!taken.defined()) missing_.push_back(prefix_ + name);
  return taken;
}

Tensor SavedState::take_if_there(const std::string& name) {
  const auto node = left_.extract(name);
  return node.empty() ? Tensor() : node.mapped();
}

template <class T>
std::optional<T> SavedState::take_scalar(const std::string& name) {
  const Tensor taken = take(name);
  if (!taken.defined()) return std::nullopt;
  if (taken.dtype() == dtype_of<T> && taken.dim() == 0) return taken.item<T>();
  complain(name,
           fmt::format("is {} {}, not {} ()", name_of(taken.dtype()), to_string(taken.shape()), name_of(dtype_of<T>)));
  return std::nullopt;
}

std::optional<double> SavedState::take_number(const std::string& name) { return take_scalar<double>(name); }
std::optional<std::int64_t> SavedState::take_integer(const std::string& name) {
  return take_scalar<std::int64_t>(name);
}

std::vector<std::string> SavedState::names() const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : left_) names.push_back(name);
  return names;
}

void SavedState::complain(const std::string& name, const std::string& what) {
  complaints_.push_back(fmt::format("{}{} {}", prefix_, name, what));
}

void SavedState::finish() const {
  std::vector<std::string> unexpected;
  for (const auto& [name, tensor] : left_) unexpected.push_back(prefix_ + name);
  std::vector<std::string> parts;
  const auto list = [&](const char* what, const std::vector<std::string>& names) {
    if (!names.empty()) parts.push_back(fmt::format("{}: {}", what, fmt::join(names, ", ")));
  };
  list("missing", missing_);
  list("unexpected", unexpected);
  list("given twice", twice_);
  parts.insert(parts.end(), complaints_.begin(), complaints_.end());
  if (!parts.empty()) throw ValueError(fmt::format("[load_state_dict] {}", fmt::join(parts, "; ")));
}

}  // namespace troupe::optim
