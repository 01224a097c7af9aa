// What every model and every layer is: named parameters, named buffers, named parts, and a mode.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograd/variable.h"

namespace troupe::nn {

enum class Mode : std::uint8_t { train, eval };

/// Whether a buffer is saved with the parameters.
enum class Persistent : std::uint8_t { no, yes };

using NamedVariables = std::vector<std::pair<std::string, Variable>>;

/// A part of a model. Derive, create parameters and parts in the constructor, and give it the functions you like.
/// Has one place in memory. A parameter or a part that several modules share is listed once, under its first path.
///
/// Threads: everything const may be called on any thread, also while forwards run. The values of parameters and buffers
/// are replaced, never written into: a forward sees the old one or the new one, and a layer with running statistics
/// loses no update of forwards that run at once. What changes the module itself (mode, freeze, to, apply) runs alone.
class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// What summary() calls it: its class without namespaces, "Linear".
  [[nodiscard]] virtual std::string kind() const;

  /// Own parameters in the order of their creation, then those of each part.
  [[nodiscard]] std::vector<Variable> parameters() const;

  /// The same with their paths: "conv1.weight".
  [[nodiscard]] NamedVariables named_parameters() const;

  /// Values that are no parameters, such as running means: constants that the module itself replaces.
  [[nodiscard]] NamedVariables named_buffers() const;

  /// Parameters and persistent buffers, under all their paths: module by module, parameters before buffers.
  [[nodiscard]] NamedVariables named_state() const;

  /// This module as "", then its parts with their paths, each before its own parts. The pointers live as long as this.
  [[nodiscard]] std::vector<std::pair<std::string, Module*>> named_modules();
  [[nodiscard]] std::vector<std::pair<std::string, const Module*>> named_modules() const;

  /// Calls `visit` for each module, parts before what they are a part of.
  void apply(const std::function<void(Module&)>& visit);

  /// Parameters require no gradient from now on; or they do again. Graphs recorded before keep theirs.
  void freeze() { set_requires_grad(RequiresGrad::no); }
  void unfreeze() { set_requires_grad(RequiresGrad::yes); }
  void set_requires_grad(RequiresGrad requires_grad);

  /// Moves parameters and buffers; all or, if it throws, none. Graphs recorded before stay as they are.
  void to(Device device);
  /// Converts the floating ones. Throws DTypeError `[to] not a floating dtype: i64`.
  void to(DType dtype);

  /// Sets the mode of this module and all its parts. A new module trains.
  void set_mode(Mode mode);
  void train() { set_mode(Mode::train); }
  void eval() { set_mode(Mode::eval); }
  [[nodiscard]] Mode mode() const noexcept { return mode_; }

 protected:
  /// Makes `initial` a parameter. Throws ValueError `[nn] name given twice: weight`, or `[nn] not a name: a.b` if it is
  /// empty or has a dot.
  Variable add_parameter(std::string name, Tensor initial);

  /// Makes a parameter of another module one of this, too. Throws as above, and ValueError `[nn] not a leaf: weight`.
  Variable share_parameter(std::string name, Variable parameter);

  /// Makes `initial` a buffer, a constant: set_value() replaces it. Throws as add_parameter().
  Variable add_buffer(std::string name, Tensor initial, Persistent persistent = Persistent::yes);

  /// Makes `part` a part of this module. Throws as add_parameter(), and if it is null.
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

  /// All modules, shared ones under each of their paths, which end with a dot.
  [[nodiscard]] std::vector<std::pair<std::string, const Module*>> tree() const;
  void adopt(std::string name, std::shared_ptr<Module> part);
  void check_name(const std::string& name) const;
  void convert(const std::function<Tensor(const Tensor&)>& converted);

  Mode mode_ = Mode::train;
  NamedVariables parameters_;
  std::vector<std::pair<std::string, Buffer>> buffers_;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> parts_;
};

/// A module with one variable in and one out, which Sequential can chain.
class Layer : public Module {
 public:
  [[nodiscard]] virtual Variable forward(const Variable& x) = 0;
  [[nodiscard]] Variable operator()(const Variable& x) { return forward(x); }
};

}  // namespace troupe::nn
