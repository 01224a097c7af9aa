// Base classes of models and layers: named parameters, named buffers, named parts, and a mode.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "autograd/variable.h"
#include "tensor/generator.h"

namespace troupe::nn {

enum class Mode : std::uint8_t { train, eval };

/// Whether a buffer is saved with the parameters.
enum class Persistent : std::uint8_t { no, yes };

using NamedVariables = std::vector<std::pair<std::string, Variable>>;

/// A part of a model. Derive from it, create parameters and parts in the constructor, and add member functions as
/// needed. Neither copyable nor movable. A parameter or part shared by several modules is listed once, under its first
/// path.
///
/// Threads: const functions are thread-safe, also while forwards run. The values of parameters and buffers are
/// replaced, never written in place: a forward sees the old or the new value, and a layer with running statistics loses
/// no update of concurrent forwards. Functions that change the module itself (mode, freeze, to, apply) must run alone.
class Module {
 public:
  Module();
  virtual ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Returns the class name without namespaces, for summary(): "Linear".
  [[nodiscard]] virtual std::string kind() const;

  /// Returns the module's own parameters in the order of their creation, then those of each part.
  [[nodiscard]] std::vector<Variable> parameters() const;

  /// Returns the same with their paths: "conv1.weight".
  [[nodiscard]] NamedVariables named_parameters() const;

  /// Returns the values that are not parameters, such as running means: constants that the module itself replaces.
  [[nodiscard]] NamedVariables named_buffers() const;

  /// Returns parameters and persistent buffers, under all their paths: module by module, parameters before buffers.
  [[nodiscard]] NamedVariables named_state() const;

  /// Returns the generators from which forwards draw, with their paths: "dropout.generator". A shared part's is listed
  /// once. The pointers are valid as long as this module lives. Threads: their draws are those of forwards.
  [[nodiscard]] std::vector<std::pair<std::string, Generator*>> named_generators();

  /// Returns this module as "", then its parts with their paths, each before its own parts. The pointers are valid as
  /// long as this module lives.
  [[nodiscard]] std::vector<std::pair<std::string, Module*>> named_modules();
  [[nodiscard]] std::vector<std::pair<std::string, const Module*>> named_modules() const;

  /// Calls `visit` for each module, parts before the module that contains them.
  void apply(const std::function<void(Module&)>& visit);

  /// Makes the parameters constants, or trainable again. Graphs recorded earlier keep their edges.
  void freeze() { set_requires_grad(RequiresGrad::no); }
  void unfreeze() { set_requires_grad(RequiresGrad::yes); }
  void set_requires_grad(RequiresGrad requires_grad);

  /// Moves parameters and buffers: all of them, or none if it throws. Graphs recorded earlier do not change.
  void to(Device device);
  /// Converts the floating point parameters and buffers. Throws DTypeError `[to] not a floating dtype: i64`.
  void to(DType dtype);

  /// Returns the device of the first parameter, of the first buffer if there is no parameter; without both, the CPU.
  [[nodiscard]] Device device() const;

  /// Sets the mode of this module and all its parts. The initial mode is train.
  void set_mode(Mode mode);
  void train() { set_mode(Mode::train); }
  void eval() { set_mode(Mode::eval); }
  [[nodiscard]] Mode mode() const noexcept { return mode_; }

 protected:
  /// Adds a parameter with the value `initial`. Throws ValueError `[nn] name given twice: weight`, or `[nn] not a name:
  /// a.b` if the name is empty or contains a dot.
  Variable add_parameter(std::string name, Tensor initial);

  /// Adds a parameter of another module to this one. Throws as above, and ValueError `[nn] not a leaf: weight`.
  Variable share_parameter(std::string name, Variable parameter);

  /// Adds a buffer with the value `initial`: a constant, which set_value() replaces. Throws as add_parameter().
  Variable add_buffer(std::string name, Tensor initial, Persistent persistent = Persistent::yes);

  /// Adds a generator from which forwards draw. REQUIRES: it lives as long as this module. Throws as add_parameter().
  void add_generator(std::string name, Generator& generator);

  /// Adds `part` to this module. Throws as add_parameter(), and if `part` is null.
  template <class M>
  std::shared_ptr<M> add_module(std::string name, std::shared_ptr<M> part) {
    adopt(std::move(name), part);
    return part;
  }

 private:
  struct Buffer {
    Variable value;
    Persistent persistent;
  };

  /// Returns all modules, shared ones under each of their paths. A path ends with a dot.
  [[nodiscard]] std::vector<std::pair<std::string, const Module*>> tree() const;
  void adopt(std::string name, std::shared_ptr<Module> part);
  void check_name(const std::string& name) const;
  void convert(const std::function<Tensor(const Tensor&)>& converted);
  [[nodiscard]] const Variable* first_parameter() const;
  [[nodiscard]] const Variable* first_buffer() const;

  Mode mode_ = Mode::train;
  NamedVariables parameters_;
  std::vector<std::pair<std::string, Buffer>> buffers_;
  std::vector<std::pair<std::string, Generator*>> generators_;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> parts_;
  std::unordered_set<std::string> names_;  // of all of these
};

/// A module that maps one variable to one variable, which Sequential can chain.
class Layer : public Module {
 public:
  [[nodiscard]] virtual Variable forward(const Variable& x) = 0;
  [[nodiscard]] Variable operator()(const Variable& x) { return forward(x); }
};

}  // namespace troupe::nn
