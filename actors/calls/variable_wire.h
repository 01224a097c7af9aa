// How a Variable travels. Whatever encodes or decodes values of any type includes this, so that all agree.
#pragma once

#include "autograd/variable.h"
#include "messages/archive.h"
#include "messages/schema.h"

namespace troupe {

/// Variables travel as their value, whether they require a gradient, and their place in the message's boundary.
/// Throws EncodeError or DecodeError outside a call or its result: the archive must be that of a
/// PayloadWriter or PayloadReader, whose source defines save and load.
template <>
struct WireFormat<Variable> {
  static constexpr bool kTravels = true;
  static void save(OutArchive& archive, const Variable& variable);
  static void load(InArchive& archive, Variable& variable);
  template <class Schema>
  static void describe(Schema& schema) {
    schema.token("variable");
  }
};

}  // namespace troupe
