// What every model and every layer is: named parameters, named parts, and a mode.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "autograd/variable.h"

namespace troupe::nn {

enum class Mode : std::uint8_t { train, eval };

/// A part of a model. Derive, create parameters and parts in the constructor, and give it the functions you like.
/// Has one place in memory. parameters() and the mode may be read from any thread; everything else as the class says.
class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Own parameters in the order of their creation, then those of each part.
  [[nodiscard]] std::vector<Variable> parameters() const;

  /// The same with their paths: "conv1.weight".
  [[nodiscard]] std::vector<std::pair<std::string, Variable>> named_parameters() const;

  /// Sets the mode of this module and all its parts. A new module trains.
  void set_mode(Mode mode);
  void train() { set_mode(Mode::train); }
  void eval() { set_mode(Mode::eval); }
  [[nodiscard]] Mode mode() const noexcept { return mode_; }

 protected:
  /// Makes `initial` a parameter. Throws ValueError `[nn] name given twice: weight`, or `[nn] not a name: a.b` if it is
  /// empty or has a dot.
  Variable add_parameter(std::string name, Tensor initial);

  /// Makes `part` a part of this module. Throws as add_parameter(), and if it is null.
  template <class M>
  std::shared_ptr<M> add_module(std::string name, std::shared_ptr<M> part) {
    adopt(std::move(name), part);
    return part;
  }

 private:
  void adopt(std::string name, std::shared_ptr<Module> part);
  void check_name(const std::string& name) const;

  Mode mode_ = Mode::train;
  std::vector<std::pair<std::string, Variable>> parameters_;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> parts_;
};

/// A module with one variable in and one out, which Sequential can chain.
class Layer : public Module {
 public:
  [[nodiscard]] virtual Variable forward(const Variable& x) = 0;
  [[nodiscard]] Variable operator()(const Variable& x) { return forward(x); }
};

}  // namespace troupe::nn
