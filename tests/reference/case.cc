#include "tests/reference/case.h"

#include <stdexcept>

#include "tensor/io/npz.h"

namespace troupe::reference {

Case::Case(const Arrays& arrays, DType dtype) : arrays_(arrays), dtype_(dtype) {
  for (std::size_t i = 0; arrays.contains("in" + std::to_string(i)); ++i) {
    const std::string number = std::to_string(i);
    const bool expected = arrays.contains("g" + number);
    inputs_.emplace_back(find("in" + number), expected ? RequiresGrad::yes : RequiresGrad::no);
  }
}

bool Case::has(const std::string& option) const { return arrays_.contains("option." + option); }

const Tensor& Case::option(const std::string& name) const {
  const auto found = arrays_.find("option." + name);
  if (found == arrays_.end()) throw std::logic_error("the case has no option " + name);
  return found->second;
}

double Case::number(const std::string& name) const { return option(name).item<double>(); }

double Case::number_or(const std::string& name, double otherwise) const { return has(name) ? number(name) : otherwise; }

std::vector<double> Case::numbers(const std::string& name) const {
  const auto span = option(name).data<double>();
  return {span.begin(), span.end()};
}

std::int64_t Case::integer(const std::string& name) const { return option(name).item<std::int64_t>(); }

std::vector<std::int64_t> Case::integers(const std::string& name) const {
  const Tensor values = option(name).to(DType::i64);
  const auto span = values.data<std::int64_t>();
  return {span.begin(), span.end()};
}

std::vector<int> Case::dims(const std::string& name) const {
  const std::vector<std::int64_t> values = integers(name);
  return {values.begin(), values.end()};
}

Size2d Case::size2d(const std::string& name) const {
  const std::vector<std::int64_t> values = integers(name);
  return {values.at(0), values.at(1)};
}

Shape Case::shape(const std::string& name) const { return Shape(std::span<const std::int64_t>(integers(name))); }

std::string Case::text(const std::string& name) const {
  const auto bytes = option(name).data<std::uint8_t>();
  return {bytes.begin(), bytes.end()};
}

Reduction Case::reduction() const {
  const std::string name = text("reduction");
  return name == "none" ? Reduction::none : name == "sum" ? Reduction::sum : Reduction::mean;
}

Tensor Case::find(const std::string& name) const {
  const auto found = arrays_.find(name);
  if (found == arrays_.end()) return {};
  return is_floating(found->second.dtype()) ? found->second.to(dtype_) : found->second;
}

NamedTensors Case::all(const std::string& prefix) const {
  NamedTensors found;
  for (const auto& [name, array] : arrays_) {
    if (name.starts_with(prefix)) found.emplace_back(name.substr(prefix.size()), find(name));
  }
  return found;
}

std::map<std::string, Arrays> read_cases(const std::filesystem::path& folder) {
  std::map<std::string, Arrays> cases;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".npz") continue;
    for (auto& [name, array] : read_npz(file.path())) {
      const std::size_t slash = name.rfind('/');
      if (slash == std::string::npos) throw std::runtime_error(file.path().string() + ": no case: " + name);
      if (!cases[name.substr(0, slash)].emplace(name.substr(slash + 1), array).second)
        throw std::runtime_error(file.path().string() + ": in another file too: " + name);
    }
  }
  return cases;
}

}  // namespace troupe::reference
