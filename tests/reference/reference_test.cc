// Compares every case of data/ in f32 and f64 with torch: results and all gradients.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <optional>
#include <set>

#include "autograd/engine.h"
#include "autograd/nn/state_dict.h"
#include "tensor/print.h"
#include "tests/reference/entries.h"

using namespace troupe;
using namespace troupe::reference;

BOOST_AUTO_TEST_SUITE(reference_suite)

namespace {

/// Returns the largest permitted relative error.
double tolerance(DType dtype) { return dtype == DType::f32 ? 1e-5 : 1e-10; }

/// Errors are relative to the element, or to this share of the largest element if that is more: an element that is
/// small because large terms cancelled has their rounding errors.
constexpr double kFloor = 0.1;

Entries all_entries() {
  Entries all;
  for (const Entries& group : {
           elementwise_entries(), activation_entries(),  inplace_entries(),   reduce_entries(),
           product_entries(),     contraction_entries(), conv_entries(),      image_layer_entries(),
           image_entries(),       shape_entries(),       arrange_entries(),   nn_entries(),
           loss_entries(),        margin_loss_entries(), embedding_entries(), norm_entries(),
           options_entries(),     module_entries(),      rnn_entries(),       layer_entries(),
           attention_entries(),   optimizer_entries(),   schedule_entries(),
       }) {
    for (const auto& [op, entry] : group) {
      if (!all.emplace(op, entry).second) throw std::logic_error("two entries: " + op);
    }
  }
  return all;
}

double largest_magnitude(std::span<const double> values) {
  double largest = 0.0;
  for (const double value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

/// Returns the largest relative error of an element; infinity where one value is not finite and the other differs.
double error_of(const Tensor& got, const Tensor& expected) {
  const Tensor a = got.to(DType::f64).contiguous();
  const Tensor b = expected.to(DType::f64).contiguous();
  const auto x = a.data<double>();
  const auto y = b.data<double>();
  const double largest = largest_magnitude(y);
  const double floor = largest > 0.0 ? kFloor * largest : 1.0;
  double error = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    const double relative = std::abs(x[i] - y[i]) / std::max(std::abs(y[i]), floor);
    error = std::isfinite(relative) ? std::max(error, relative) : std::numeric_limits<double>::infinity();
  }
  return error;
}

/// Runs one case in one dtype and collects the errors.
class Run {
 public:
  Run(const Arrays& arrays, DType dtype) : case_(arrays, dtype) {}

  void run(const Entry& entry) {
    const Computed computed = entry(case_);
    const std::size_t expected_count = case_.all("out").size();
    if (computed.results.size() != expected_count) return complain("results", "there are not as many");
    for (std::size_t i = 0; i < expected_count; ++i) {
      const std::string name = "out" + std::to_string(i);
      compare(name, computed.results[i].value(), dtype_of_result(name));
    }
    if (complaints_.empty()) run_backward(computed);
    if (computed.module) {
      const NamedTensors state = nn::state_dict(*computed.module);
      for (const auto& [name, value] : case_.all("after.")) {
        const auto found = std::ranges::find(state, name, [](const auto& named) { return named.first; });
        compare("after." + name, found == state.end() ? Tensor() : found->second, value.dtype());
      }
    }
  }

  [[nodiscard]] const std::vector<std::string>& complaints() const { return complaints_; }
  [[nodiscard]] double largest_error() const { return largest_error_; }

 private:
  void run_backward(const Computed& computed) {
    std::vector<Variable> roots;
    std::vector<Tensor> root_gradients;
    for (std::size_t i = 0; i < computed.results.size(); ++i) {
      const Tensor gradient = case_.find("grad" + std::to_string(i));
      if (!gradient.defined()) continue;
      if (!computed.results[i].requires_grad()) return complain("out" + std::to_string(i), "has no gradient");
      roots.push_back(computed.results[i]);
      root_gradients.push_back(gradient.to(computed.results[i].dtype()));
    }
    if (roots.empty()) return;
    const Gradients gradients = backward(roots, root_gradients);
    for (std::size_t i = 0; i < case_.inputs().size(); ++i) {
      if (case_.in(i).requires_grad()) compare("g" + std::to_string(i), gradients.of(case_.in(i)), case_.dtype());
    }
    if (!computed.module) return;
    for (const auto& [name, parameter] : computed.module->named_parameters()) {
      compare("parameter_gradient." + name, gradients.of(parameter), case_.dtype());
    }
  }

  /// Returns the dtype of a result: that of the case if floating point, unless the case requests another.
  [[nodiscard]] DType dtype_of_result(const std::string& name) const {
    return case_.has("to") ? parse_dtype(case_.text("to")) : case_.find(name).dtype();
  }

  void compare(const std::string& name, const Tensor& got, DType dtype) {
    const Tensor expected = case_.find(name);
    if (!expected.defined()) return complain(name, "the data does not have it");
    if (!got.defined()) return complain(name, "was not computed");
    if (got.dtype() != dtype || got.shape() != expected.shape()) {
      return complain(name, std::string(name_of(got.dtype())) + to_string(got.shape()) + " instead of " +
                                std::string(name_of(dtype)) + to_string(expected.shape()));
    }
    const double error = error_of(got, expected);
    largest_error_ = std::max(largest_error_, error);
    const double allowed = is_floating(dtype) ? tolerance(case_.dtype()) : 0.0;
    if (!(error <= allowed)) complain(name, "relative error " + std::to_string(error / allowed) + " times the limit");
  }

  void complain(const std::string& name, const std::string& what) { complaints_.push_back(name + ": " + what); }

  Case case_;
  std::vector<std::string> complaints_;
  double largest_error_ = 0.0;
};

/// Returns the dtypes of a case's runs: only one if nothing is floating point.
std::vector<DType> dtypes_of(const Arrays& arrays) {
  for (const auto& [name, array] : arrays) {
    if ((name.starts_with("in") || name.starts_with("parameter.")) && is_floating(array.dtype())) {
      return {DType::f32, DType::f64};
    }
  }
  return {DType::f32};
}

/// Runs a case in one dtype and reports its errors. Returns the largest relative error if all are permitted.
std::optional<double> error_of_case(const std::string& name, const Arrays& arrays, DType dtype, const Entry& entry) {
  Run run(arrays, dtype);
  try {
    run.run(entry);
  } catch (const std::exception& error) {
    BOOST_ERROR(name << " " << name_of(dtype) << ": " << error.what());
    return std::nullopt;
  }
  for (const std::string& complaint : run.complaints()) BOOST_ERROR(name << " " << name_of(dtype) << ": " << complaint);
  return run.complaints().empty() ? std::optional(run.largest_error()) : std::nullopt;
}

std::string op_of(const std::string& name) { return name.substr(0, name.find('/')); }

}  // namespace

BOOST_AUTO_TEST_CASE(every_entry_has_a_case) {
  std::set<std::string> ops;
  for (const auto& [name, arrays] : read_cases(TROUPE_SOURCE_DIR "/tests/reference/data")) ops.insert(op_of(name));
  for (const auto& [op, entry] : all_entries()) BOOST_TEST(ops.contains(op), "no case for the entry " << op);
}

BOOST_AUTO_TEST_CASE(every_case_gives_what_torch_computed) {
  const Entries entries = all_entries();
  const std::map<std::string, Arrays> cases = read_cases(TROUPE_SOURCE_DIR "/tests/reference/data");
  std::map<DType, double> largest_errors;
  std::size_t passed = 0;
  for (const auto& [name, arrays] : cases) {
    const auto entry = entries.find(op_of(name));
    if (entry == entries.end()) {
      BOOST_ERROR(name << ": no entry computes it");
      continue;
    }
    bool all_passed = true;
    for (const DType dtype : dtypes_of(arrays)) {
      const std::optional<double> error = error_of_case(name, arrays, dtype, entry->second);
      all_passed = all_passed && error.has_value();
      if (error) largest_errors[dtype] = std::max(largest_errors[dtype], *error);
    }
    passed += all_passed ? 1 : 0;
  }
  BOOST_TEST(cases.size() > 0U);
  for (const auto& [dtype, error] : largest_errors) {
    std::cout << "largest relative error in " << name_of(dtype) << ": " << error << '\n';
  }
  std::cout << "reference: " << cases.size() << " cases, " << passed << " passed" << std::endl;
}

BOOST_AUTO_TEST_SUITE_END()
