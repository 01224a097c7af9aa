// oneDNN primitives prepared for one set of shapes, and their cache. For the sources in this folder.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "tensor/storage.h"

namespace troupe::cpu {

/// Returns the CPU engine of this process.
[[nodiscard]] const dnnl::engine& dnnl_engine();

/// Returns the attributes of every primitive: the caller provides scratch memory, so that threads can share the
/// primitive.
[[nodiscard]] dnnl::primitive_attr dnnl_attributes();

/// Reordered inputs and sums that several runs of plans share. Not thread-safe. See DnnlPlan::run().
class DnnlRuns {
 public:
  /// Returns the input at `address` in the layout `wanted`, or null. REQUIRES: no thread writes the input meanwhile.
  [[nodiscard]] const dnnl::memory* find(const void* address, const dnnl::memory::desc& wanted) const;
  void add(const void* address, dnnl::memory memory, Storage bytes);
  /// Frees the memory of the input at `address` for reuse. REQUIRES: no later run uses it.
  void forget(const void* address);

 private:
  friend class DnnlPlan;
  struct Input {
    const void* address;
    dnnl::memory memory;
    Storage bytes;
  };
  struct Sum {
    int id;
    dnnl::memory memory;
    Storage bytes;
  };
  std::vector<Input> inputs_;
  std::vector<Sum> sums_;
};

/// A primitive, and the layout of each argument for the caller (`plain`) and for the primitive (`wanted`). Arguments
/// that differ are reordered around a run. Immutable once built; then thread-safe.
class DnnlPlan {
 public:
  DnnlPlan(dnnl::primitive primitive, const dnnl::memory::desc& scratchpad);

  /// Adds argument `id` (DNNL_ARG_...), which the primitive reads or writes.
  void add_input(int id, const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted);
  void add_output(int id, const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted);
  /// Adds an f32 output that is summed over all runs; finish() writes the sum.
  void add_summed_output(int id, const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted);

  using Addresses = std::vector<std::pair<int, void*>>;
  /// Runs the primitive. REQUIRES: `arguments` has one address per added id, except summed outputs. Does not write
  /// inputs; does not reorder those in `runs` again.
  void run(const Addresses& arguments, DnnlRuns& runs) const;

  /// Writes the summed outputs. REQUIRES: called after the last run.
  void finish(const Addresses& arguments, DnnlRuns& runs) const;

 private:
  enum class Role : std::uint8_t { input, output, summed_output };
  struct Step {
    dnnl::primitive primitive;
    dnnl::memory::desc scratchpad;
  };
  struct Argument {
    int id;
    Role role;
    dnnl::memory::desc plain;
    dnnl::memory::desc wanted;
    std::optional<Step> reorder;
  };

  void add(int id, Role role, const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted);
  [[nodiscard]] static dnnl::memory input_of(const Argument& argument, const dnnl::stream& stream, void* address,
                                             DnnlRuns& runs);

  Step main_;
  std::vector<Argument> arguments_;
};

/// Plans by shapes, options and number of threads. A plan is built once, except by threads that miss it together.
/// Thread-safe.
class DnnlPlanCache {
 public:
  using Key = std::array<std::int64_t, 20>;

  /// Returns the plan of `key`. If it is new, calls `build` to make it.
  [[nodiscard]] std::shared_ptr<const DnnlPlan> get(const Key& key, const std::function<DnnlPlan()>& build);

 private:
  static constexpr std::size_t kPlansMax = 1024;

  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const DnnlPlan>> plans_;
};

/// Returns the cache of this process. It is never destroyed.
[[nodiscard]] DnnlPlanCache& dnnl_plans();

}  // namespace troupe::cpu
