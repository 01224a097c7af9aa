// oneDNN operations prepared for one set of shapes, and a cache of them. For the sources in this folder.
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

/// Attributes of every primitive: scratch memory comes from the caller, so that threads can share the primitive.
[[nodiscard]] dnnl::primitive_attr dnnl_attributes();

/// What several runs of plans have in common; of one thread. See DnnlPlan::run().
class DnnlRuns {
 public:
  /// The input at `address` in the layout `wanted`, or null. Nobody writes an input meanwhile.
  [[nodiscard]] const dnnl::memory* find(const void* address, const dnnl::memory::desc& wanted) const;
  void add(const void* address, dnnl::memory memory, Storage bytes);
  /// The input at `address` will not be asked for again: its memory can serve the next.
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

/// A primitive and how its arguments are laid out on either side: as the caller has them (`plain`) and as the
/// primitive wants them. Arguments that differ are reordered on the way. Immutable once built; any thread may run it.
class DnnlPlan {
 public:
  DnnlPlan(dnnl::primitive primitive, const dnnl::memory::desc& scratchpad);

  /// Adds argument `id` (DNNL_ARG_...), read or written by the primitive.
  void add_input(int id, const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted);
  void add_output(int id, const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted);
  /// An output, of f32, of which the caller wants the sum over all runs: finish() writes it.
  void add_summed_output(int id, const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted);

  using Addresses = std::vector<std::pair<int, void*>>;
  /// Runs on `arguments`, one address for each id added but for summed outputs; inputs are not written. What is in
  /// `runs` already is not reordered again.
  void run(const Addresses& arguments, DnnlRuns& runs) const;

  /// Writes a summed output after the last run.
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

/// Plans by shapes, options and number of threads; a plan is built once. Any thread.
class DnnlPlanCache {
 public:
  using Key = std::array<std::int64_t, 20>;

  /// Returns the plan of `key`, made by `build` if it is new.
  [[nodiscard]] std::shared_ptr<const DnnlPlan> get(const Key& key, const std::function<DnnlPlan()>& build);

 private:
  static constexpr std::size_t kPlansMax = 1024;

  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const DnnlPlan>> plans_;
};

/// Returns the cache of this process. It never goes away.
[[nodiscard]] DnnlPlanCache& dnnl_plans();

}  // namespace troupe::cpu
