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

/// A primitive and how its arguments are laid out on either side: as the caller has them (`plain`) and as the
/// primitive wants them. Arguments that differ are reordered on the way. Immutable once built; any thread may run it.
class DnnlPlan {
 public:
  DnnlPlan(dnnl::primitive primitive, const dnnl::memory::desc& scratchpad);

  /// Adds argument `id` (DNNL_ARG_...), read or written by the primitive.
  void add_input(int id, const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted);
  void add_output(int id, const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted);

  /// Bytes of argument `id`, as the caller has it.
  [[nodiscard]] std::size_t size_of(int id) const;

  using Addresses = std::vector<std::pair<int, void*>>;
  /// Inputs as plans that run one after the other have reordered them. Nobody writes them meanwhile.
  class Reordered;
  /// Runs on `arguments`, one address for each id added; inputs are not written. What is in `reordered` already is not
  /// reordered again.
  void run(const Addresses& arguments, Reordered& reordered) const;
  void run(const Addresses& arguments) const;

 private:
  struct Step {
    dnnl::primitive primitive;
    dnnl::memory::desc scratchpad;
  };
  struct Argument {
    int id;
    bool is_input;
    dnnl::memory::desc plain;
    dnnl::memory::desc wanted;
    std::optional<Step> reorder;
  };

  void add(int id, bool is_input, const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted);

  Step main_;
  std::vector<Argument> arguments_;
};

class DnnlPlan::Reordered {
 public:
  /// The input at `address` in the layout `wanted`, or null.
  [[nodiscard]] const dnnl::memory* find(const void* address, const dnnl::memory::desc& wanted) const;
  void add(const void* address, dnnl::memory memory, Storage bytes);

 private:
  struct Input {
    const void* address;
    dnnl::memory memory;
    Storage bytes;
  };
  std::vector<Input> inputs_;
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
